//! One file of a damaged database, or a damaged table.

use std::path::Path;

use serde::Serialize;
use sstkit_db::{FileKind, FileOutcome, SalvagedFile, UnusedWrites};
use sstkit_table::raw::FormatVersion;
use sstkit_table::{Loss, SalvageReport};

use crate::encoding::Encoding;
use crate::names;

/// A file, and what happens to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SalvagedFileDescription {
    /// The file.
    pub file: String,
    /// What it is, as in a [`VerifyReport`](crate::VerifyReport).
    pub kind: &'static str,
    /// What happens to it: `sound`, `salvaged`, `lost`, `obsolete`, `orphaned` or `rebuilt`.
    pub outcome: &'static str,
    /// Its size in bytes; 0 if it does not exist.
    pub size: u64,
    /// The name of its column family, if it has one.
    pub column_family: Option<String>,
    /// The level of a table, if a MANIFEST says so.
    pub level: Option<u32>,
    /// The smallest key of a table, if it is known.
    pub smallest_key: Option<String>,
    /// The largest key of a table, if it is known.
    pub largest_key: Option<String>,
    /// Entries, writes or values that are saved.
    pub entries_saved: u64,
    /// Those that are lost, if that is known.
    pub entries_lost: Option<u64>,
    /// Those that are lost at least.
    pub entries_lost_at_least: u64,
    /// Bytes that held entries and are lost, or not used.
    pub bytes_lost: u64,
    /// The parts of it that are lost, in the order of the file.
    pub losses: Vec<LossDescription>,
    /// What else was found in a damaged table.
    pub table: Option<SalvagedTableDetails>,
    /// What else is to be said, as sentences.
    pub notes: Vec<String>,
}

/// A part of a file that is lost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LossDescription {
    /// The kind of block of a table, if it is known.
    pub block: Option<&'static str>,
    /// Where it starts in the file.
    pub offset: u64,
    /// Bytes; 0 for what is not in the file any more.
    pub length: u64,
    /// Whether it held entries: an index or a filter is rebuilt.
    pub has_entries: bool,
    /// Lost entries have keys after this one, or are older versions of it; `None` for the beginning.
    pub after: Option<String>,
    /// Lost entries have keys before this one, or are versions of it; `None` for the end.
    pub before: Option<String>,
    /// Writes of a log in it, if it is readable and only not used.
    pub entries: Option<u64>,
    /// These writes by column family.
    pub unused: Vec<UnusedWritesDescription>,
    /// Why it is lost.
    pub reason: String,
}

/// Writes to a column family in a log that are readable, and not used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct UnusedWritesDescription {
    /// The name of the column family.
    pub column_family: String,
    /// The number of writes.
    pub entries: u64,
    /// The smallest key of them; `None` if their order is not known.
    pub smallest_key: Option<String>,
    /// The largest one.
    pub largest_key: Option<String>,
}

/// What was found in a damaged table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SalvagedTableDetails {
    /// The format version, if it is known.
    pub format_version: Option<u32>,
    /// The type of the checksums, if it is known.
    pub checksum: Option<&'static str>,
    /// Whether blocks were searched for in the bytes of the file, at least in a part of it.
    pub carved: bool,
    /// Data blocks that are saved.
    pub blocks: u64,
    /// Deletions among the entries that are saved, without range tombstones.
    pub deletions: u64,
    /// Range tombstones that are saved.
    pub range_deletions: u64,
    /// Entries, range tombstones included, that there were, by the properties.
    pub expected_entries: Option<u64>,
    /// The smallest sequence number that is saved.
    pub smallest_seq: Option<u64>,
    /// The largest one.
    pub largest_seq: Option<u64>,
    /// Other problems that verification found.
    pub problems: Vec<String>,
}

impl SalvagedFileDescription {
    /// Describes a file of a database.
    pub(super) fn of(file: &SalvagedFile, encoding: Encoding) -> Self {
        let (smallest, largest) = file.bounds.clone().unzip();
        let key = |key: Option<Vec<u8>>| key.map(|key| encoding.encode(&key));
        let unused = |unused: &UnusedWrites| {
            let (smallest, largest) = unused.bounds.clone().unzip();
            UnusedWritesDescription {
                column_family: unused.column_family.clone(),
                entries: unused.writes,
                smallest_key: key(smallest),
                largest_key: key(largest),
            }
        };
        let of_table = file.table.iter().flat_map(|it| &it.losses);
        let of_log = file.log_losses.iter().map(|loss| LossDescription {
            block: None,
            offset: loss.offset,
            length: loss.length,
            has_entries: true,
            after: None,
            before: None,
            entries: loss.writes,
            unused: loss.unused.iter().map(unused).collect(),
            reason: loss.reason.clone(),
        });
        Self {
            file: file.path.display().to_string(),
            kind: file.kind.name(),
            outcome: file.outcome.name(),
            size: file.size,
            column_family: file.column_family.clone(),
            level: file.level,
            smallest_key: key(smallest),
            largest_key: key(largest),
            entries_saved: file.entries,
            entries_lost: file.entries_lost,
            entries_lost_at_least: file.entries_lost.unwrap_or(0).max(file.entries_lost_at_least),
            bytes_lost: file.bytes_lost(),
            losses: of_table
                .map(|loss| LossDescription::of_block(loss, encoding))
                .chain(of_log)
                .collect(),
            table: file.table.as_ref().map(SalvagedTableDetails::of),
            notes: file.notes.clone(),
        }
    }

    /// Describes a table on its own.
    pub(super) fn of_table(path: &Path, report: &SalvageReport, encoding: Encoding) -> Self {
        let (smallest, largest) = report.bounds.clone().unzip();
        let key = |key: Option<Vec<u8>>| key.map(|key| encoding.encode(&key));
        let entries = report.entries + report.range_tombstones;
        let outcome = match (report.sound, entries) {
            (true, _) => FileOutcome::Sound,
            (false, 0) => FileOutcome::Lost,
            (false, _) => FileOutcome::Salvaged,
        };
        let losses = report.losses.iter();
        Self {
            file: path.display().to_string(),
            kind: FileKind::Table.name(),
            outcome: outcome.name(),
            size: report.size,
            column_family: None,
            level: None,
            smallest_key: key(smallest),
            largest_key: key(largest),
            entries_saved: entries,
            entries_lost: report.entries_lost(),
            entries_lost_at_least: report.entries_lost().unwrap_or(0),
            bytes_lost: report.bytes_lost(),
            losses: losses.map(|loss| LossDescription::of_block(loss, encoding)).collect(),
            table: Some(SalvagedTableDetails::of(report)),
            notes: Vec::new(),
        }
    }

    /// Whether entries of it are lost.
    pub(super) fn has_losses(&self) -> bool {
        self.outcome == FileOutcome::Lost.name()
            || self.losses.iter().any(|it| it.has_entries)
            || self.entries_lost.is_some_and(|lost| lost > 0)
    }
}

impl LossDescription {
    fn of_block(loss: &Loss, encoding: Encoding) -> Self {
        let key = |key: &Option<Vec<u8>>| key.as_ref().map(|key| encoding.encode(key));
        Self {
            block: loss.kind.map(names::block_kind),
            offset: loss.offset,
            length: loss.length,
            has_entries: loss.has_entries(),
            after: key(&loss.after),
            before: key(&loss.before),
            entries: None,
            unused: Vec::new(),
            reason: loss.reason.clone(),
        }
    }
}

impl SalvagedTableDetails {
    fn of(report: &SalvageReport) -> Self {
        let (smallest_seq, largest_seq) = report.sequences.unzip();
        Self {
            format_version: report.version.map(FormatVersion::number),
            checksum: report.checksum.map(names::checksum),
            carved: report.carved,
            blocks: report.blocks,
            deletions: report.deletions,
            range_deletions: report.range_tombstones,
            expected_entries: report.expected_entries,
            smallest_seq,
            largest_seq,
            problems: report.problems.clone(),
        }
    }
}
