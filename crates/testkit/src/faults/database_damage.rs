//! Damage to the files of a database.

use std::fs;
use std::path::{Path, PathBuf};

use sstkit_db::raw::{FileName, LogEvent, LogReader};
use sstkit_table::Table;
use sstkit_table::raw::{BlockHandle, Engine};

use crate::random::Random;

/// What happens to a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatabaseDamage {
    /// `CURRENT` is deleted.
    CurrentDeleted,
    /// The MANIFEST is deleted.
    ManifestDeleted,
    /// The second half of the MANIFEST is cut off.
    ManifestCut,
    /// A bit of a data block flips.
    DataBlock,
    /// A bit of a data block flips in each table.
    EveryTable,
    /// The index of a table is overwritten with zeros.
    Index,
    /// The footer of a table is cut off.
    Footer,
    /// The second half of a table is cut off.
    TableCut,
    /// A table is deleted.
    TableDeleted,
    /// The header of a record in the middle of a log is overwritten, or the start of its payload.
    Log,
    /// All OPTIONS files are deleted.
    OptionsDeleted,
    /// A few bytes in the middle of a blob file are overwritten.
    BlobFile,
    /// A blob file is deleted.
    BlobFileDeleted,
}

impl DatabaseDamage {
    /// All kinds.
    pub const ALL: [Self; 13] = [
        Self::CurrentDeleted,
        Self::ManifestDeleted,
        Self::ManifestCut,
        Self::DataBlock,
        Self::EveryTable,
        Self::Index,
        Self::Footer,
        Self::TableCut,
        Self::TableDeleted,
        Self::Log,
        Self::OptionsDeleted,
        Self::BlobFile,
        Self::BlobFileDeleted,
    ];

    /// What happens, in words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CurrentDeleted => "CURRENT deleted",
            Self::ManifestDeleted => "MANIFEST deleted",
            Self::ManifestCut => "second half of the MANIFEST cut off",
            Self::DataBlock => "a bit of one data block flipped",
            Self::EveryTable => "a bit of one data block flipped in each table",
            Self::Index => "index of the largest table zeroed",
            Self::Footer => "footer of the largest table cut off",
            Self::TableCut => "second half of the largest table cut off",
            Self::TableDeleted => "largest table deleted",
            Self::Log => "middle of the log overwritten",
            Self::OptionsDeleted => "OPTIONS deleted",
            Self::BlobFile => "middle of the largest blob file overwritten",
            Self::BlobFileDeleted => "largest blob file deleted",
        }
    }

    /// Damages the database in a folder. Returns false if it has no such file.
    ///
    /// # Panics
    ///
    /// If a file cannot be read or written.
    pub fn apply(self, folder: &Path, random: &mut Random) -> bool {
        let size = |path: &PathBuf| fs::metadata(path).expect("a file").len();
        let mut tables = files(folder, |name| matches!(name, FileName::Table(_)));
        // One that a compaction was writing when the database was copied is no table yet.
        tables.retain(|path| Table::open(path).is_ok());
        tables.sort_by_key(size);
        let mut blob_files = files(folder, |name| matches!(name, FileName::Blob(_)));
        blob_files.sort_by_key(size);
        let options = files(folder, |name| matches!(name, FileName::Options(_)));
        let manifests = files(folder, |name| matches!(name, FileName::Manifest(_)));
        let mut logs = files(folder, |name| matches!(name, FileName::Log(_)));
        logs.retain(|path| record_starts(path).len() > 2);
        let damaged = match self {
            Self::CurrentDeleted => Some(folder.join("CURRENT")),
            Self::ManifestDeleted | Self::ManifestCut => manifests.last().cloned(),
            Self::Log => logs.last().cloned(),
            Self::OptionsDeleted => options.last().cloned(),
            Self::BlobFile | Self::BlobFileDeleted => blob_files.last().cloned(),
            _ => tables.last().cloned(),
        };
        let Some(path) = damaged else { return false };
        match self {
            Self::CurrentDeleted
            | Self::ManifestDeleted
            | Self::TableDeleted
            | Self::BlobFileDeleted => fs::remove_file(path).expect("removed"),
            Self::OptionsDeleted => {
                options.iter().for_each(|path| fs::remove_file(path).expect("removed"));
            }
            Self::ManifestCut | Self::TableCut => change(&path, |bytes| {
                let half = bytes.len() / 2;
                bytes.truncate(half);
            }),
            Self::Footer => change(&path, |bytes| {
                let rest = bytes.len() - 24;
                bytes.truncate(rest);
            }),
            Self::DataBlock => flip(&path, random),
            Self::EveryTable => tables.iter().for_each(|path| flip(path, random)),
            Self::Index => change(&path, |bytes| {
                let table = Table::from_bytes(bytes.clone()).expect("a table");
                // Since format version 6 the metaindex has it.
                let index = table.view().metaindex().index();
                let index = index.or_else(|| table.footer().index).expect("an index");
                bytes[range(index)].fill(0);
            }),
            Self::Log => {
                let starts = record_starts(&path);
                // Not the last one: in a recycled log nobody could tell that from what was there before.
                let start = starts[starts.len() / 2] + 12 * random.index(2);
                change(&path, |bytes| overwrite(&mut bytes[start..]));
            }
            Self::BlobFile => change(&path, |bytes| {
                let middle = bytes.len() / 2;
                overwrite(&mut bytes[middle..]);
            }),
        }
        true
    }
}

fn overwrite(bytes: &mut [u8]) {
    bytes.iter_mut().take(20).for_each(|byte| *byte = 0x5a);
}

/// Where the records of a log start.
pub(super) fn record_starts(path: &Path) -> Vec<usize> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let FileName::Log(number) = FileName::parse(name) else { return Vec::new() };
    let bytes = fs::read(path).expect("read");
    // It reads the records of both engines.
    let mut log = LogReader::new(&bytes[..], Engine::RocksDb, number);
    let mut starts = Vec::new();
    while let Some(LogEvent::Record(record)) = log.next_record().expect("in memory") {
        starts.push(record.offset as usize);
    }
    starts
}

/// Flips a bit in the middle of a data block, if there is one.
fn flip(path: &Path, random: &mut Random) {
    change(path, |bytes| {
        let table = Table::from_bytes(bytes.clone()).expect("a table");
        let mut index = table.view().index().expect("an index");
        let mut blocks = Vec::new();
        while index.advance().expect("an index") {
            blocks.push(index.handle());
        }
        if !blocks.is_empty() {
            let block = range(blocks[random.index(blocks.len())]);
            bytes[block.start + block.len() / 2] ^= 0x10;
        }
    });
}

fn range(handle: BlockHandle) -> std::ops::Range<usize> {
    handle.offset as usize..(handle.offset + handle.size) as usize
}

fn change(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).expect("read");
    change(&mut bytes);
    fs::write(path, bytes).expect("written");
}

/// The files of a folder with such a name, by name.
fn files(folder: &Path, is_wanted: impl Fn(&FileName) -> bool) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            is_wanted(&FileName::parse(name))
        })
        .collect();
    files.sort();
    files
}
