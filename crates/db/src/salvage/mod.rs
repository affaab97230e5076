//! Getting out what is left of a damaged database, and saying what is lost.
//!
//! ```text
//! directory ---> inventory      which files there are
//!           ---> MANIFEST       whole: it counts. Damaged: what it still says is evidence.
//!           ---> tables         sound, damaged, lost, obsolete
//!           ---> logs           up to the damage, or past it
//!           ---> blob files     values that are lost
//!                  |
//!                  v
//!           DatabaseSalvageReport      <--- a dry run ends here
//!                  |
//!                  '---> write: a folder of tables, or a database
//! ```
//!
//! | file | what |
//! |---|---|
//! | `database_survey.rs` | the order of the steps above; `table_survey.rs`: tables and blob files |
//! | `inventory.rs` | the files, by their names |
//! | `manifest_choice.rs`, `manifest_evidence.rs` | which MANIFEST counts; what damaged ones still say |
//! | `table_listing.rs` | whether tables are those that a MANIFEST lists |
//! | `table_examination.rs`, `table_entries.rs` | one table: sound, damaged or lost; its entries |
//! | `atomic_units.rs` | range tombstones of a damaged table that its neighbours have, too |
//! | `found_families.rs` | column families, also without a MANIFEST |
//! | `inferred_order.rs` | the order of the keys, where no file says it |
//! | `log_scan.rs`, `log_replay.rs` | what logs contain, and where they are damaged; what is used |
//! | `blob_values.rs` | values in blob files, of which some are lost |
//! | `suspicion.rs` | what is uncertain: obsolete tables, deletions that are lost |
//! | `level_order.rs`, `common_keys.rs`, `age_graph.rs` | levels by overlap and sequence numbers |
//! | `saved_entries.rs`, `new_database.rs` | new tables; the result |
//! | `salvage_report.rs` | what was saved, what was lost, what cannot be known |
//!
//! The source is only read, and not locked.

mod age_graph;
mod atomic_units;
mod blob_values;
mod common_keys;
mod database_survey;
mod found_families;
mod inferred_order;
mod inventory;
mod level_order;
mod log_replay;
mod log_scan;
mod manifest_choice;
mod manifest_evidence;
mod new_database;
mod salvage_report;
mod saved_entries;
mod suspicion;
mod table_entries;
mod table_examination;
mod table_listing;
mod table_survey;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use sstkit_coding::setters;
use sstkit_table::raw::Engine;

use self::blob_values::BlobValues;
use self::database_survey::Survey;
use self::found_families::FoundFamily;
use self::inventory::Numbered;
pub use self::new_database::SalvageSummary;
pub use self::salvage_report::{
    DatabaseSalvageReport, DatabaseUncertainty, FileOutcome, LogLoss, LostValue, SalvagedFamily,
    SalvagedFile, UnusedWrites,
};
use self::table_examination::TableHints;
use crate::database::DatabaseOptions;
use crate::error::Result;
use crate::memtable::Memtable;
use crate::output::{Progress, ProgressCallback};
use crate::raw::{BlobFileMetaData, OptionsFile};

/// How a damaged database is read.
#[derive(Clone, Debug)]
pub struct DatabaseSalvageOptions {
    read: DatabaseOptions,
    engine: Option<Engine>,
    past_damage: bool,
    threads: usize,
    progress: Option<ProgressCallback>,
}

impl Default for DatabaseSalvageOptions {
    fn default() -> Self {
        Self {
            read: DatabaseOptions::default(),
            engine: None,
            past_damage: false,
            threads: 1,
            progress: None,
        }
    }
}

setters! {
    impl DatabaseSalvageOptions:

    /// How tables and logs are read: comparators, limits, other directories.
    pub fn read(mut self, options: DatabaseOptions) { self.read = options; }

    /// The engine, if no file tells it any more.
    pub fn engine(mut self, engine: Engine) { self.engine = Some(engine); }

    /// Whether logs are read past damage. Default: no; what follows the first damaged part is left out,
    /// so that what is saved is a state that the database once had.
    pub fn past_damage(mut self, on: bool) { self.past_damage = on; }

    /// The number of threads that verify a table. Default: 1.
    pub fn threads(mut self, threads: usize) { self.threads = threads.max(1); }

    /// Called regularly with the progress. `Break` stops the work with an error, and leaves nothing
    /// behind.
    pub fn progress(
        mut self,
        callback: impl Fn(&Progress) -> ControlFlow<()> + Send + Sync + 'static,
    ) {
        self.progress = Some(ProgressCallback::new(callback));
    }
}

/// A damaged database, and what is left of it.
///
/// ```no_run
/// use sstkit_db::{DatabaseSalvage, DatabaseSalvageOptions};
///
/// let salvage = DatabaseSalvage::open("path/to/db", &DatabaseSalvageOptions::default())?;
/// for uncertainty in &salvage.report().uncertain {
///     println!("{uncertainty}");
/// }
/// salvage.write_database("path/to/new-db")?;
/// # Ok::<(), sstkit_db::Error>(())
/// ```
///
/// Sound tables and blob files are taken over as they are, and what is left of damaged ones is
/// rewritten. Logs become tables. If the MANIFEST is lost, the tables themselves say which column family
/// they are of, and their keys and sequence numbers which levels they can be in.
pub struct DatabaseSalvage {
    hints: TableHints,
    progress: Option<ProgressCallback>,
    engine: Engine,
    /// The MANIFEST is whole: levels are known.
    is_exact: bool,
    options_file: OptionsFile,
    families: BTreeMap<u32, FoundFamily>,
    memtables: BTreeMap<u32, Arc<Memtable>>,
    /// Sound logs that are taken over as they are, since some order of keys is not known.
    logs: Numbered,
    /// The number of the first log that counts for each column family.
    log_numbers: BTreeMap<u32, u64>,
    blob_values: BlobValues,
    blob_metadata: BTreeMap<(u32, u64), BlobFileMetaData>,
    last_sequence: u64,
    /// Larger than the numbers of all files.
    next_number: u64,
    report: DatabaseSalvageReport,
}

impl DatabaseSalvage {
    /// Reads everything that is left of the database in a directory, of a directory of tables, or of a
    /// single table.
    ///
    /// # Errors
    ///
    /// Fails if the directory cannot be read, if nothing in it is of a database, and if logs take more
    /// memory than allowed. Damage is no error.
    pub fn open(path: impl AsRef<Path>, options: &DatabaseSalvageOptions) -> Result<Self> {
        Survey::new(path.as_ref(), options)?.run()
    }

    /// What is saved, what is lost, and what cannot be known.
    pub fn report(&self) -> &DatabaseSalvageReport {
        &self.report
    }
}

impl fmt::Debug for DatabaseSalvage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DatabaseSalvage").field("report", &self.report).finish_non_exhaustive()
    }
}
