//! What is saved of a damaged table or database, what is lost, and what cannot be known: what `sst
//! salvage` shows.

mod salvaged_file;
mod uncertainty;

use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use sstkit_db::{DatabaseSalvageReport, SalvageSummary};
use sstkit_table::SalvageReport;

use crate::database::database_kind;
use crate::encoding::Encoding;
use crate::info::table_kind;

pub use self::salvaged_file::{
    LossDescription, SalvagedFileDescription, SalvagedTableDetails, UnusedWritesDescription,
};
pub use self::uncertainty::UncertaintyDescription;

/// What is saved of a damaged table, directory of tables or database.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SalvageDescription {
    /// What was read.
    pub path: String,
    /// What it is, or was, as in a [`DatabaseInfo`](crate::DatabaseInfo) or
    /// [`TableInfo`](crate::TableInfo).
    pub kind: &'static str,
    /// Whether nothing was written.
    pub dry_run: bool,
    /// The output, if there is one.
    pub output: Option<String>,
    /// What it is: `table`, `folder` or `database`.
    #[serde(rename = "as")]
    pub output_kind: Option<&'static str>,
    /// Whether no entry is lost.
    pub complete: bool,
    /// Entries that are saved: versions of keys and range tombstones.
    pub entries_saved: u64,
    /// Entries that are lost, if that is known.
    pub entries_lost: Option<u64>,
    /// Entries that are lost at least.
    pub entries_lost_at_least: u64,
    /// Bytes that held entries and are lost, or not used.
    pub bytes_lost: u64,
    /// The column families of a database or directory.
    pub column_families: Vec<SalvagedFamilyDescription>,
    /// The files, also those that do not exist any more.
    pub files: Vec<SalvagedFileDescription>,
    /// Keys whose values are lost with a blob file; at most 10,000.
    pub lost_values: Vec<LostValueDescription>,
    /// The number of such keys, including those that are not listed.
    pub lost_value_count: u64,
    /// What cannot be known.
    pub uncertain: Vec<UncertaintyDescription>,
    /// What was written; `None` without output.
    pub written: Option<WrittenDescription>,
    /// How long it took.
    pub seconds: f64,
}

/// A column family that is saved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SalvagedFamilyDescription {
    /// Its id.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// The name of its comparator.
    pub comparator: String,
    /// Tables that are used.
    pub tables: u64,
    /// Entries that are saved.
    pub entries_saved: u64,
}

/// A key whose value is lost with a blob file. It is deleted in the output, so that no older value of it
/// is visible.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LostValueDescription {
    /// The name of the column family.
    pub column_family: String,
    /// The user key.
    pub key: String,
    /// The number of the blob file.
    pub blob_file: u64,
    /// Why it cannot be read.
    pub reason: String,
}

/// What was written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct WrittenDescription {
    /// Tables.
    pub tables: u64,
    /// Tables among them that were taken over as they are.
    pub copied: u64,
    /// Blob files, which are taken over as they are.
    pub blob_files: u64,
    /// Tables of the source that had to be merged, since no order of them was right.
    pub merged: u64,
    /// Column families whose recorded levels contradict the sequence numbers. The larger numbers count.
    pub reordered: Vec<String>,
}

impl SalvageDescription {
    /// Describes what is left of a table.
    pub fn of_table(path: &Path, report: &SalvageReport, encoding: Encoding) -> Self {
        let file = SalvagedFileDescription::of_table(path, report, encoding);
        let uncertain = report
            .uncertain
            .iter()
            .map(|it| UncertaintyDescription::of_table(path, it, encoding))
            .collect();
        Self {
            path: path.display().to_string(),
            kind: table_kind(report.engine),
            dry_run: true,
            output: None,
            output_kind: None,
            complete: !file.has_losses(),
            entries_saved: file.entries_saved,
            entries_lost: file.entries_lost,
            entries_lost_at_least: file.entries_lost_at_least,
            bytes_lost: file.bytes_lost,
            column_families: Vec::new(),
            files: vec![file],
            lost_values: Vec::new(),
            lost_value_count: 0,
            uncertain,
            written: None,
            seconds: 0.0,
        }
    }

    /// Describes what is left of a database, or of a directory of tables.
    pub fn of_database(report: &DatabaseSalvageReport, encoding: Encoding) -> Self {
        let families = report.column_families.iter().map(|family| SalvagedFamilyDescription {
            id: family.id,
            name: family.name.clone(),
            comparator: family.comparator.clone(),
            tables: family.tables,
            entries_saved: family.entries,
        });
        let lost_values = report.lost_values.iter().map(|lost| LostValueDescription {
            column_family: lost.column_family.clone(),
            key: encoding.encode(&lost.key),
            blob_file: lost.blob_file,
            reason: lost.reason.clone(),
        });
        let files = report.files.iter();
        let uncertain = report.uncertain.iter();
        Self {
            path: report.path.display().to_string(),
            kind: match report.path.is_file() {
                true => table_kind(report.engine),
                false => database_kind(report.engine, report.is_folder),
            },
            dry_run: true,
            output: None,
            output_kind: None,
            complete: !report.has_losses(),
            entries_saved: report.entries(),
            entries_lost: report.entries_lost(),
            entries_lost_at_least: report.entries_lost_at_least(),
            bytes_lost: report.bytes_lost(),
            column_families: families.collect(),
            files: files.map(|it| SalvagedFileDescription::of(it, encoding)).collect(),
            lost_values: lost_values.collect(),
            lost_value_count: report.lost_value_count,
            uncertain: uncertain.map(|it| UncertaintyDescription::of(it, encoding)).collect(),
            written: None,
            seconds: 0.0,
        }
    }

    /// Adds what was written. `None` for a single table.
    #[must_use]
    pub fn written(
        self,
        (output, output_kind): (&Path, &'static str),
        summary: Option<&SalvageSummary>,
    ) -> Self {
        let one = WrittenDescription { tables: 1, ..WrittenDescription::default() };
        let written = summary.map_or(one, |it| WrittenDescription {
            tables: it.tables,
            copied: it.copied,
            blob_files: it.blob_files,
            merged: it.merged,
            reordered: it.reordered.clone(),
        });
        Self {
            dry_run: false,
            output: Some(output.display().to_string()),
            output_kind: Some(output_kind),
            written: Some(written),
            ..self
        }
    }

    /// Adds how long it took.
    #[must_use]
    pub fn in_time(self, time: Duration) -> Self {
        Self { seconds: time.as_secs_f64(), ..self }
    }
}
