//! The references of tables into blob files: each must lead to a record of its key.
//!
//! Only the header and the key of a record are read for that; its value is verified with the blob
//! file.

use std::collections::BTreeSet;
use std::fs::File;

use sstkit_db::Database;
use sstkit_db::raw::{BlobFile, FileName};
use sstkit_table::KeyExcerpt;
use sstkit_table::raw::{BlobIndex, ColumnValue, EntryKind, decode_wide_columns, regular_file};

use crate::verify::Problem;

/// Blob files that are open at once.
const MAX_OPEN: usize = 16;

/// The blob files of a column family, opened as references lead to them.
pub(super) struct BlobReferences<'d> {
    database: &'d Database,
    column_family: u32,
    /// The numbers of those that are alive.
    live: BTreeSet<u64>,
    /// The one used last first; `None` if it cannot be opened.
    open: Vec<(u64, Option<BlobFile<File>>)>,
}

impl<'d> BlobReferences<'d> {
    /// `None` where no MANIFEST says which blob files are alive.
    pub(super) fn new(database: &'d Database, column_family: u32) -> Option<Self> {
        let family = database.manifest()?.column_families.get(&column_family)?;
        let live = family.live_blob_files().map(|file| file.number).collect();
        Some(Self { database, column_family, live, open: Vec::new() })
    }

    /// What is wrong with the references of an entry. Values that cannot be decoded have been
    /// reported with their table.
    pub(super) fn check(&mut self, user_key: &[u8], kind: EntryKind, value: &[u8]) -> Vec<Problem> {
        match kind {
            EntryKind::BlobIndex => {
                let index = BlobIndex::decode_from(value).ok();
                index.and_then(|index| self.check_one(user_key, &index)).into_iter().collect()
            }
            EntryKind::WideColumnEntity => {
                let columns = decode_wide_columns(value).unwrap_or_default();
                let indexes = columns.iter().filter_map(|column| match &column.value {
                    ColumnValue::Blob(index) => Some(index),
                    _ => None,
                });
                indexes.filter_map(|index| self.check_one(user_key, index)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn check_one(&mut self, user_key: &[u8], index: &BlobIndex<'_>) -> Option<Problem> {
        // Blob file 0 is the table itself.
        let &BlobIndex::Stored { file: number @ 1.., .. } = index else { return None };
        let key = KeyExcerpt(user_key);
        if !self.live.contains(&number) {
            return Some(Problem::of_file(format!(
                "the value of {key} is in blob file {number}, which the MANIFEST does not list"
            )));
        }
        // A file that cannot be opened has a report of its own.
        let error = self.blob_file(number)?.check_reference(user_key, index).err()?;
        let mut problem = Problem::from(&error);
        problem.message =
            format!("the value of {key} cannot be read from blob file {number}: {error}");
        Some(problem)
    }

    fn blob_file(&mut self, number: u64) -> Option<&BlobFile<File>> {
        let at = self.open.iter().position(|(open, _)| *open == number);
        let entry = match at {
            Some(at) => self.open.remove(at),
            None => (number, self.open_file(number)),
        };
        self.open.truncate(MAX_OPEN - 1);
        self.open.insert(0, entry);
        self.open[0].1.as_ref()
    }

    fn open_file(&self, number: u64) -> Option<BlobFile<File>> {
        let path = self.database.path().join(FileName::Blob(number).to_string());
        BlobFile::open(regular_file::open(&path).ok()?, self.column_family).ok()
    }
}
