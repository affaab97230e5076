//! The references of tables into blob files: each must lead to a record of its key.
//!
//! Only the header and the key of a record are read; its value is verified with the blob file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use sstkit_table::raw::{BlobIndex, EntryKind};
use sstkit_table::visibility::InternalIterator;
use sstkit_table::{KeyExcerpt, ReferenceVisitor, Source};

use super::report::{FileVerification, VerifyProblem};
use crate::column_family_data::ColumnFamilyData;
use crate::database::Database;
use crate::file_kind::FileKind;
use crate::file_system;
use crate::memtable::MemtableCursor;
use crate::raw::BlobFile;

/// Blob files that are open at once.
const MAX_OPEN: usize = 16;

/// `None` if it could not be opened.
type OpenedBlobFile = Option<Arc<BlobFile<Arc<dyn Source>>>>;

/// The blob files of a column family, opened when references lead to them. All threads share them.
pub(super) struct BlobReferences<'d> {
    family: &'d ColumnFamilyData,
    /// The numbers of the live ones.
    live: BTreeSet<u64>,
    /// Most recently used first; `None` if the file cannot be opened.
    open: Mutex<Vec<(u64, OpenedBlobFile)>>,
}

impl<'d> BlobReferences<'d> {
    /// `None` without a MANIFEST that says which blob files are live.
    pub(super) fn new(database: &Database, family: &'d ColumnFamilyData) -> Option<Self> {
        let state = database.manifest()?.column_families.get(&family.id)?;
        let live = state.live_blob_files().map(|file| file.number).collect();
        Some(Self { family, live, open: Mutex::default() })
    }

    fn check(&self, user_key: &[u8], index: &BlobIndex<'_>) -> Option<VerifyProblem> {
        let &BlobIndex::Stored { file: number, .. } = index else { return None };
        let key = KeyExcerpt(user_key);
        if !self.live.contains(&number) {
            return Some(VerifyProblem::damage(format!(
                "the value of {key} is in blob file {number}, which the MANIFEST does not list"
            )));
        }
        // A file that cannot be opened has a report of its own.
        let error = self.blob_file(number)?.check_reference(user_key, index).err()?;
        let problem = VerifyProblem::from(&error);
        Some(
            problem.prefixed(format_args!(
                "the value of {key} cannot be read from blob file {number}"
            )),
        )
    }

    fn blob_file(&self, number: u64) -> Option<Arc<BlobFile<Arc<dyn Source>>>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let at = open.iter().position(|(of, _)| *of == number);
        let entry = match at {
            Some(at) => open.remove(at),
            None => (number, self.open_file(number).map(Arc::new)),
        };
        open.truncate(MAX_OPEN - 1);
        open.insert(0, entry.clone());
        entry.1
    }

    fn open_file(&self, number: u64) -> Option<BlobFile<Arc<dyn Source>>> {
        let path = self.family.blobs.path(number);
        BlobFile::open(file_system::open(&path).ok()?.into_source(), self.family.id).ok()
    }
}

/// The blob files that newest versions in the logs refer to, and that do not exist: with a key each. The
/// MANIFEST need not list them yet.
pub(super) fn missing_blob_files(family: &ColumnFamilyData) -> BTreeMap<u64, Vec<u8>> {
    let mut missing = BTreeMap::new();
    let mut found = BTreeSet::new();
    let mut entries = MemtableCursor::new(&family.memtable);
    let mut more = entries.seek_to_first();
    while matches!(more, Ok(true)) {
        let index = match entries.kind() {
            EntryKind::BlobIndex => BlobIndex::decode_from(entries.value()).ok(),
            _ => None,
        };
        if let Some(BlobIndex::Stored { file: number @ 1.., .. }) = index
            && !missing.contains_key(&number)
            && !found.contains(&number)
        {
            match file_system::exists(&family.blobs.path(number)) {
                true => drop(found.insert(number)),
                false => {
                    missing.insert(number, family.keys.bare(entries.user_key()).to_vec());
                }
            }
        }
        more = entries.next_user_key(0);
    }
    missing
}

pub(super) struct ReferenceCheck<'c> {
    blobs: Option<&'c BlobReferences<'c>>,
    table: &'c Path,
    pub(super) report: FileVerification,
}

impl<'c> ReferenceCheck<'c> {
    pub(super) fn new(blobs: Option<&'c BlobReferences<'c>>, table: &'c Path) -> Self {
        Self { blobs, table, report: FileVerification::new(table, FileKind::Table) }
    }
}

impl ReferenceVisitor for ReferenceCheck<'_> {
    fn visit(&mut self, user_key: &[u8], index: &BlobIndex<'_>) {
        if let Some(problem) = self.blobs.and_then(|blobs| blobs.check(user_key, index)) {
            self.report.add(problem.prefixed(self.table.display()));
        }
    }
}
