//! Damage to the files of a database.

use std::fs;
use std::path::{Path, PathBuf};

use sstkit_db::raw::FileName;
use sstkit_table::Table;
use sstkit_table::raw::BlockHandle;

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
    /// A few bytes in the middle of a log are overwritten.
    Log,
}

impl DatabaseDamage {
    /// All kinds.
    pub const ALL: [Self; 10] = [
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
        }
    }

    /// Damages the database in a folder. Returns false if it has no such file.
    ///
    /// # Panics
    ///
    /// If a file cannot be read or written.
    pub fn apply(self, folder: &Path, random: &mut Random) -> bool {
        let mut tables = files(folder, |name| matches!(name, FileName::Table(_)));
        tables.sort_by_key(|path| fs::metadata(path).expect("a file").len());
        let manifests = files(folder, |name| matches!(name, FileName::Manifest(_)));
        let mut logs = files(folder, |name| matches!(name, FileName::Log(_)));
        logs.retain(|path| fs::metadata(path).expect("a file").len() > 200);
        let damaged = match self {
            Self::CurrentDeleted => Some(folder.join("CURRENT")),
            Self::ManifestDeleted | Self::ManifestCut => manifests.last().cloned(),
            Self::Log => logs.last().cloned(),
            _ => tables.last().cloned(),
        };
        let Some(path) = damaged else { return false };
        match self {
            Self::CurrentDeleted | Self::ManifestDeleted | Self::TableDeleted => {
                fs::remove_file(path).expect("removed");
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
            Self::Log => change(&path, |bytes| {
                let middle = bytes.len() / 2;
                bytes[middle..middle + 20].fill(0x5a);
            }),
        }
        true
    }
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
