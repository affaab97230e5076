//! Getting the entries out of a damaged table, and saying what was lost.
//!
//! ```text
//! file ---> survey ---> assembly ---> SalvageReport
//!           what is      what belongs    |
//!           readable     together        '---> write: a new table of all entries that are left
//! ```
//!
//! | file | what |
//! |---|---|
//! | `survey.rs`, `tail.rs` | what the footer, the metaindex and the index still lead to |
//! | `carver.rs`, `extent.rs`, `end_search.rs` | blocks found in the bytes of the file |
//! | `effort.rs` | a limit for the work that a hostile file can cause |
//! | `checksum_scheme.rs`, `infer.rs` | checksums; which ones, where the footer is lost |
//! | `contents.rs`, `reading.rs`, `carved_blocks.rs` | what a block is; dialects, dictionaries |
//! | `range_deletions.rs` | range deletion blocks: which can be used |
//! | `assembly.rs` | which blocks belong to the table; gaps and what was in them |
//! | `write.rs` | the new table |
//! | `window.rs` | reading, also where the disk fails |
//!
//! The source is only read. An entry is saved if its block is whole: the checksum fits, the keys are
//! well-formed and in order, and so are those of its neighbours. Nothing else is.

mod assembly;
mod carved_blocks;
mod carver;
mod checksum_scheme;
mod contents;
mod effort;
mod end_search;
mod extent;
mod infer;
mod range_deletions;
mod reading;
mod report;
mod survey;
mod tail;
mod window;
mod write;

use std::collections::HashSet;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use self::survey::{Survey, survey};
use self::window::Window;
use crate::comparator::Comparator;
use crate::error::Result;
use crate::raw::{DEFAULT_MAX_BLOCK_SIZE, Engine, Properties, property_names as names};
use crate::reader::{KeyForm, Source, Table, TableReadOptions, VerifyOptions};
use crate::visibility::UserKeys;

pub use self::report::{Loss, SalvageReport, Uncertainty};

/// How a damaged table is read.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SalvageOptions {
    /// The order of the keys, where the table does not say it, or is not known by its name.
    pub comparator: Option<Comparator>,
    /// The form of the keys; by default it is found out.
    pub key_form: KeyForm,
    /// The engine, where the table does not say it any more.
    pub engine: Option<Engine>,
    /// The most bytes a block may decompress to.
    pub max_block_size: usize,
    /// The sequence number of an ingested table, as its MANIFEST has it.
    pub global_sequence_number: Option<u64>,
    /// A MANIFEST says that all entries have that number: then the table was ingested, if the numbers in
    /// it are 0, also if its properties do not say it any more.
    pub has_one_sequence_number: bool,
    /// Threads that verify a table.
    pub threads: usize,
}

impl Default for SalvageOptions {
    fn default() -> Self {
        Self {
            comparator: None,
            key_form: KeyForm::Auto,
            engine: None,
            max_block_size: DEFAULT_MAX_BLOCK_SIZE,
            global_sequence_number: None,
            has_one_sequence_number: false,
            threads: 1,
        }
    }
}

/// A damaged table, and what is left of it.
///
/// ```no_run
/// use sstkit_table::{SalvageOptions, TableSalvage};
///
/// let salvage = TableSalvage::open("000011.sst", &SalvageOptions::default())?;
/// for loss in &salvage.report().losses {
///     println!("{} bytes at {}: {}", loss.length, loss.offset, loss.reason);
/// }
/// salvage.write("saved.sst", &salvage.table_options())?;
/// # Ok::<(), sstkit_table::Error>(())
/// ```
pub struct TableSalvage {
    source: Arc<dyn Source>,
    survey: Survey,
    report: SalvageReport,
    global_sequence_number: Option<u64>,
}

impl TableSalvage {
    /// Reads all of a file, and finds out what is left of the table in it.
    ///
    /// # Errors
    ///
    /// A file that cannot be opened; a table of a kind that is not supported. Damage is no error.
    #[cfg(any(unix, windows))]
    pub fn open(path: impl AsRef<Path>, options: &SalvageOptions) -> Result<Self> {
        let path = path.as_ref();
        let named = |error: crate::Error| error.in_file(path);
        let file = crate::raw::regular_file::open(path).map_err(|error| named(error.into()))?;
        Self::from_source(file, options).map_err(named)
    }

    /// The same, from any source.
    ///
    /// # Errors
    ///
    /// Those of [`open`](Self::open).
    pub fn from_source(source: impl Source + 'static, options: &SalvageOptions) -> Result<Self> {
        let source: Arc<dyn Source> = Arc::new(source);
        let problems = verify(&source, options);
        let mut window = Window::new(&*source)?;
        let mut survey = survey(&mut window, options)?;
        survey.settle_form();
        survey.settle_order();
        survey.drop_unusable_ranges();
        survey.drop_misplaced();
        survey.find_gaps(&mut window);
        survey.bound_losses();
        let mut salvage = Self {
            report: report(&survey, window.size(), problems, options),
            global_sequence_number: None,
            source: Arc::clone(&source),
            survey,
        };
        let given = options.global_sequence_number;
        let of_table = match &salvage.survey.properties {
            Some(properties) => match properties.global_sequence_number().ok().flatten() {
                Some(0) => given,
                stored => stored,
            },
            None if options.has_one_sequence_number => {
                given.filter(|_| salvage.sequences() == Some((0, 0)))
            }
            None => None,
        };
        salvage.global_sequence_number = of_table;
        salvage.report.sequences = salvage.sequences();
        salvage.check_embedded_blobs();
        Ok(salvage)
    }

    /// What was saved, and what was lost.
    pub fn report(&self) -> &SalvageReport {
        &self.report
    }

    /// The properties of the table, if they are readable.
    pub fn properties(&self) -> Option<&Properties> {
        self.survey.properties.as_ref()
    }

    /// The order of the keys; `None` if it is not known.
    pub fn comparator(&self) -> Option<&Comparator> {
        self.survey.reading.rules.order.as_ref().map(UserKeys::comparator)
    }

    /// Whether keys are internal ones, with sequence numbers.
    pub fn has_internal_keys(&self) -> bool {
        self.survey.reading.rules.internal == Some(true)
    }
}

impl fmt::Debug for TableSalvage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableSalvage").field("report", &self.report).finish_non_exhaustive()
    }
}

/// Everything that verification finds, with offsets, including what is rebuilt.
fn verify(source: &Arc<dyn Source>, options: &SalvageOptions) -> Vec<(Option<u64>, String)> {
    let mut read = TableReadOptions::default()
        .key_form(options.key_form)
        .no_block_cache()
        .max_block_size(options.max_block_size);
    if let Some(comparator) = &options.comparator {
        read = read.comparator(comparator.clone());
    }
    if let Some(number) = options.global_sequence_number {
        read = read.global_sequence_number(number);
    }
    match Table::from_source(Arc::clone(source), &read) {
        Ok(table) => {
            let found = table.verify_with(&VerifyOptions::default().threads(options.threads));
            found.problems().iter().map(|error| (error.offset(), error.to_string())).collect()
        }
        Err(error) => vec![(error.offset(), error.to_string())],
    }
}

fn report(
    survey: &Survey,
    size: u64,
    problems: Vec<(Option<u64>, String)>,
    options: &SalvageOptions,
) -> SalvageReport {
    let sum = |of: fn(&contents::DataSummary) -> u64| {
        survey.saved.iter().map(|it| of(&it.summary)).sum::<u64>()
    };
    let internal = survey.reading.rules.internal == Some(true);
    let bounds = survey.saved.first().zip(survey.saved.last()).map(|(first, last)| {
        let key = |stored: &[u8]| assembly::user_key(stored, internal).to_vec();
        (key(&first.summary.first), key(&last.summary.last))
    });
    let number = |name| survey.properties.as_ref().and_then(|it| it.number(name));
    let mut uncertain = survey.uncertain.clone();
    let engine = survey.engine.or(options.engine).unwrap_or_else(|| {
        uncertain.push(Uncertainty::AssumedEngine(Engine::RocksDb));
        Engine::RocksDb
    });
    if let Some(name) = &survey.unknown_order {
        uncertain.push(Uncertainty::UnknownOrder(name.clone()));
    }
    let named: HashSet<u64> = survey.losses.iter().map(|it| it.offset).collect();
    let mut report = SalvageReport {
        size,
        sound: problems.is_empty() && survey.losses.is_empty(),
        engine,
        version: survey.version,
        checksum: survey.checksum,
        carved: survey.losses.iter().any(|it| it.reason == assembly::NOTHING_FOUND)
            || survey.saved.iter().any(|it| !it.indexed),
        blocks: survey.saved.len() as u64,
        entries: sum(|it| it.entries),
        deletions: sum(|it| it.deletions),
        range_tombstones: survey.range_deletions.iter().map(|it| it.sequences().len() as u64).sum(),
        expected_entries: number(names::NUM_ENTRIES),
        expected_deletions: number(names::DELETED_KEYS),
        bounds,
        sequences: None,
        has_references: survey.saved.iter().any(|it| it.summary.has_references),
        losses: survey.losses.clone(),
        uncertain,
        problems: problems
            .into_iter()
            .filter(|(offset, _)| offset.is_none_or(|offset| !named.contains(&offset)))
            .map(|(_, message)| message)
            .collect(),
    };
    if report.expected_entries == Some(report.entries + report.range_tombstones) {
        report
            .losses
            .iter_mut()
            .filter(|it| it.kind.is_none())
            .for_each(|it| it.is_metadata = true);
    }
    if survey.has_open_end() {
        let last = report.bounds.as_ref().map(|(_, last)| last.clone());
        report.uncertain.push(Uncertainty::End(last));
    }
    deletions_lost(&mut report, survey);
    report
}

/// Whether deletions may be lost, and where.
fn deletions_lost(report: &mut SalvageReport, survey: &Survey) {
    let number = |name| survey.properties.as_ref().and_then(|it| it.number(name));
    let ranges = number(names::NUM_RANGE_DELETIONS).or_else(|| {
        // Where the tail is whole and names none, there are none.
        let metaindex = survey.metaindex.as_ref()?;
        metaindex.range_deletions().is_none().then_some(0)
    });
    let may_have_ranges = report.engine == Engine::RocksDb
        && !report.losses.iter().all(|it| it.kind == Some(crate::raw::BlockKind::Data));
    let ranges_lost = ranges.map_or(may_have_ranges, |all| all > report.range_tombstones);
    if ranges_lost {
        report.uncertain.push(Uncertainty::RangeTombstones);
    }
    if report.expected_deletions == Some(report.deletions + report.range_tombstones) {
        return;
    }
    for loss in report.losses.iter().filter(|it| it.has_entries()) {
        if loss.kind != Some(crate::raw::BlockKind::RangeDeletion) {
            let (after, before) = (loss.after.clone(), loss.before.clone());
            report.uncertain.push(Uncertainty::Deletions { after, before });
        }
    }
}
