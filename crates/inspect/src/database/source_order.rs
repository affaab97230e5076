//! Sequence numbers against the order of the sources: the log is newer than level 0, a newer file of
//! level 0 than an older one, and a level than the next one.
//!
//! ```text
//! log        a@101                      of each key, what is in a newer source has larger numbers
//! level 0    a@90   b@95
//! level 1    a@97   b@12                a@97 contradicts: readers may take it or a@90 for newer
//! ```
//!
//! An engine stops at the first source that has an answer, so a log or a table that was restored from
//! an old copy brings old values back.

use std::collections::HashMap;

use sstkit_db::{ColumnFamily, Entry};
use sstkit_table::KeyExcerpt;
use sstkit_table::raw::EntryKind;

use crate::verify::{Problem, VerifyReport};

/// How new sources are: the log is 0.
struct Ranks {
    of_files: HashMap<u64, usize>,
    count: usize,
}

impl Ranks {
    fn of(family: &ColumnFamily) -> Self {
        let mut ranks = Self { of_files: HashMap::new(), count: 1 };
        for level in family.levels() {
            for file in &level.files {
                ranks.of_files.insert(file.number(), ranks.count);
                // The files of level 0 are listed from the newest on; others do not overlap.
                ranks.count += usize::from(level.number == 0);
            }
            ranks.count += usize::from(level.number > 0);
        }
        ranks
    }

    fn of_entry(&self, entry: &Entry) -> usize {
        entry.file.and_then(|file| self.of_files.get(&file)).copied().unwrap_or(0)
    }
}

/// The entry of a key that is in the oldest source so far.
struct Oldest {
    entry: Entry,
    rank: usize,
    /// A key is reported once.
    is_reported: bool,
}

/// Goes through all entries of a column family, which are told by key and the newest first.
pub(super) fn check(family: &ColumnFamily, report: &mut VerifyReport) {
    let ranks = Ranks::of(family);
    if ranks.count < 2 || (ranks.count == 2 && family.memtable_entries() == 0) {
        return;
    }
    let mut oldest: Option<Oldest> = None;
    for entry in family.entries() {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                let mut problem = Problem::from(&error);
                problem.message = format!("the order of logs and levels was not checked: {error}");
                report.add(problem);
                return;
            }
        };
        let rank = ranks.of_entry(&entry);
        let is_same =
            |it: &Oldest| (&it.entry.key, &it.entry.timestamp) == (&entry.key, &entry.timestamp);
        match oldest.as_mut().filter(|it| is_same(it)) {
            None => oldest = Some(Oldest { entry, rank, is_reported: false }),
            Some(seen) => {
                if !seen.is_reported && contradicts(seen, &entry, rank) {
                    report.add(Problem::of_file(describe(family, &seen.entry, &entry)));
                    seen.is_reported = true;
                }
                if rank >= seen.rank {
                    (seen.entry, seen.rank) = (entry, rank);
                }
            }
        }
    }
}

/// Whether an entry is in a newer source than one with a larger number, or in another one than a
/// different write with the same number.
fn contradicts(seen: &Oldest, entry: &Entry, rank: usize) -> bool {
    let is_same_write = (seen.entry.kind, &seen.entry.value) == (entry.kind, &entry.value)
        && entry.kind != EntryKind::Merge;
    match seen.entry.sequence == entry.sequence {
        true => rank != seen.rank && !is_same_write,
        false => rank < seen.rank,
    }
}

fn describe(family: &ColumnFamily, seen: &Entry, entry: &Entry) -> String {
    let place = |entry: &Entry| match (entry.level, entry.file) {
        (Some(level), Some(file)) => format!("table {file} of level {level}"),
        _ => "the log".to_owned(),
    };
    format!(
        "sequence numbers contradict the order of logs and levels: {} of column family {:?} has \
         number {} in {} and number {} in {}",
        KeyExcerpt(&entry.key),
        family.name(),
        entry.sequence,
        place(entry),
        seen.sequence,
        place(seen),
    )
}
