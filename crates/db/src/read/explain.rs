//! A lookup, written down: which sources were asked, what each said, and why.

use std::sync::Arc;

use sstkit_table::explain::{DataStep, LookupTrace};
use sstkit_table::raw::EntryKind;
use sstkit_table::visibility::{ReadView, Recency, Resolver, SeenEntry};
use sstkit_table::{RangeTombstone, RecordValue, Value};

use super::Versions;
use super::lookup::{get, newest_deletion_of};
use crate::column_family_data::ColumnFamilyData;
use crate::error::Result;
use crate::version::{Run, TableFile};

/// The way of a lookup through a column family.
///
/// Steps and answer are those of the sequence number. What a [file](Step::File) says of itself, in
/// its trace, is as of now: it may show newer entries than those that counted.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Explanation {
    /// What was looked up.
    pub key: Vec<u8>,
    /// Where.
    pub column_family: String,
    /// As of which sequence number.
    pub sequence: u64,
    /// The sources, the newest first.
    pub steps: Vec<Step>,
    /// Whether sequence numbers alone say which entry is newer, since nobody knows which source is.
    pub is_by_sequence: bool,
    /// What came out.
    pub answer: Answer,
}

/// One source of a lookup.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Step {
    /// What the write-ahead log left in memory.
    Memtable {
        /// The newest visible range deletion over the key.
        range_deletion: Option<u64>,
        /// The visible entries of the key, the newest first, as far as they matter.
        entries: Vec<MemtableEntry>,
    },
    /// Files whose key ranges do not contain the key.
    OutOfRange {
        /// Their level.
        level: u32,
        /// Their numbers.
        files: Vec<u64>,
    },
    /// A file that was asked.
    File {
        /// Its level.
        level: u32,
        /// Its number.
        file: u64,
        /// The newest visible range deletion of this file over the key.
        range_deletion: Option<u64>,
        /// What its filter, index and data blocks said. Entries and answer are those of the newest
        /// view of this file alone.
        trace: Box<LookupTrace>,
    },
    /// Files that might have the key, but were not asked: the answer was known before.
    NotAsked {
        /// Their level.
        level: u32,
        /// Their numbers.
        files: Vec<u64>,
    },
}

/// An entry of the memtable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemtableEntry {
    /// When it was written.
    pub sequence: u64,
    /// What it does.
    pub kind: EntryKind,
    /// Whether a range deletion covers it.
    pub is_covered: bool,
}

/// What a lookup comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// No source has the key.
    NotThere,
    /// The newest thing that happened to the key is its deletion.
    Deleted,
    /// The key is there.
    Found(RecordValue),
}

/// Looks `key` up, and writes down how.
pub(crate) fn explain(
    family: &ColumnFamilyData,
    view: &ReadView,
    key: &[u8],
) -> Result<Explanation> {
    let family = family.readable()?.map_or(family, |ordered| ordered);
    // First the walk, which leaves no trace: so it sees what the lookup will find in the cache.
    let mut walk = Walk { family, view, key, versions: Versions::default(), deletion: None };
    let mut steps = vec![walk.memtable()];
    for run in &family.version.runs {
        walk.run(run, &mut steps)?;
    }
    let versions = get(family, view, key)?;
    let answer = match versions.is_visible() {
        true => Answer::Found(family.record_value(key, &versions)?),
        false if walk.is_done() => Answer::Deleted,
        false => Answer::NotThere,
    };
    let (key, column_family) = (key.to_vec(), family.name.clone());
    let is_by_sequence = family.version.recency == Recency::BySequence;
    Ok(Explanation { key, column_family, sequence: view.sequence, steps, is_by_sequence, answer })
}

/// Follows a lookup without counting anything.
struct Walk<'a> {
    family: &'a ColumnFamilyData,
    view: &'a ReadView,
    key: &'a [u8],
    /// Without their values.
    versions: Versions,
    /// Number of the newest range deletion over the key, of the sources so far.
    deletion: Option<u64>,
}

impl Walk<'_> {
    fn is_done(&self) -> bool {
        self.versions.is_decided() || self.deletion.is_some()
    }

    fn memtable(&mut self) -> Step {
        let (memtable, keys) = (&self.family.memtable, &self.family.keys);
        let range_deletion =
            RangeTombstone::newest_over(memtable.range_deletions(), self.key, self.view, keys);
        self.deletion = range_deletion;
        let mut entries = Vec::new();
        memtable.lookup(self.key, |user_key, sequence, kind, _| {
            if !self.view.sees(sequence, keys.timestamp(user_key), keys) {
                return true;
            }
            let is_covered = self.deletion > Some(sequence);
            entries.push(MemtableEntry { sequence, kind, is_covered });
            let seen = SeenEntry { user_key, sequence, kind, is_covered };
            self.versions.add(seen, Value::default, || None, keys)
        });
        Step::Memtable { range_deletion, entries }
    }

    fn run(&mut self, run: &Run, steps: &mut Vec<Step>) -> Result<()> {
        let (level, keys) = (run.level, &self.family.keys);
        let candidates = run.files_with(self.key, keys);
        let is_candidate =
            |file: &&Arc<TableFile>| candidates.iter().any(|it| Arc::ptr_eq(it, file));
        let number = |file: &Arc<TableFile>| file.meta.number;
        let others: Vec<u64> =
            run.files.iter().filter(|file| !is_candidate(file)).map(number).collect();
        if !others.is_empty() {
            steps.push(Step::OutOfRange { level, files: others });
        }
        // As in a lookup: by sequence numbers alone, all have to be probed.
        let asks_all = self.family.version.recency == Recency::BySequence;
        let mut asked = 0;
        if asks_all || !self.is_done() {
            let deletion = newest_deletion_of(candidates, self.key, self.family, self.view)?;
            self.deletion = self.deletion.max(deletion);
            while asked < candidates.len() && (asks_all || !self.versions.is_decided()) {
                steps.push(self.file(&candidates[asked])?);
                asked += 1;
            }
        }
        if asked < candidates.len() {
            let files = candidates[asked..].iter().map(number).collect();
            steps.push(Step::NotAsked { level, files });
        }
        Ok(())
    }

    fn file(&mut self, file: &Arc<TableFile>) -> Result<Step> {
        let table = self.family.table(file)?;
        let range_deletion = table.newest_range_deletion_at(self.key, self.view)?;
        let trace = table.explain(self.key)?;
        let has_entries = |data: &DataStep| !data.entries.is_empty();
        if trace.blocks.iter().filter_map(|block| block.data.as_ref()).any(has_entries) {
            self.entries(file)?;
        }
        let (level, file) = (file.level, file.meta.number);
        Ok(Step::File { level, file, range_deletion, trace: Box::new(trace) })
    }

    /// Takes the entries of the key, which the file has. (A trace shows what the newest view needs.)
    fn entries(&mut self, file: &Arc<TableFile>) -> Result<()> {
        let keys = &self.family.keys;
        let mut cursor = self.family.quiet_table(file)?.entry_cursor();
        let mut more = cursor.seek(self.key)?;
        while more && keys.compare(keys.bare(cursor.user_key()), self.key).is_eq() {
            let (user_key, sequence, kind) = (cursor.user_key(), cursor.sequence(), cursor.kind());
            if self.view.sees(sequence, keys.timestamp(user_key), keys) {
                let is_covered = self.deletion > Some(sequence);
                let seen = SeenEntry { user_key, sequence, kind, is_covered };
                if !self.versions.add(seen, Value::default, || None, keys) {
                    break;
                }
            }
            more = cursor.next()?;
        }
        Ok(())
    }
}
