//! Sequence numbers against the order of the sources: the log is newer than level 0, a newer file of
//! level 0 than an older one, and a level than the next one.
//!
//! ```text
//! log        a@101                      of each key, what is in a newer source has larger numbers
//! level 0    a@90   b@95
//! level 1    a@97   b@12                a@97 contradicts: a@90 is what readers see, and older
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

/// What was seen of a key, of which the newer sources come first.
struct Seen {
    /// The current source.
    rank: usize,
    /// The entry of the current source with the smallest number.
    smallest: Entry,
    /// That of all newer sources.
    smallest_above: Option<Entry>,
    /// A key is reported once.
    is_reported: bool,
}

impl Seen {
    fn first(entry: Entry, rank: usize) -> Self {
        Self { rank, smallest: entry, smallest_above: None, is_reported: false }
    }

    /// Goes on to the source of the next entry.
    fn go_to(&mut self, rank: usize, entry: &Entry) {
        if self.rank != rank {
            let above = std::mem::replace(&mut self.smallest, entry.clone());
            self.rank = rank;
            let is_smaller = |it: &Entry| above.sequence < it.sequence;
            if self.smallest_above.as_ref().is_none_or(is_smaller) {
                self.smallest_above = Some(above);
            }
        }
    }

    /// The entry of a newer source that an entry of the current one contradicts.
    fn contradicted(&self, entry: &Entry) -> Option<&Entry> {
        self.smallest_above.as_ref().filter(|above| contradicts(above, entry))
    }
}

/// Goes through all entries of a column family, which are told by key and the newest source first.
pub(super) fn check(family: &ColumnFamily, report: &mut VerifyReport) {
    let ranks = Ranks::of(family);
    if ranks.count < 2 || (ranks.count == 2 && family.memtable_entries() == 0) {
        return;
    }
    let mut current: Option<Seen> = None;
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
        let Some(seen) = current.as_mut().filter(|it| it.smallest.key == entry.key) else {
            current = Some(Seen::first(entry, rank));
            continue;
        };
        seen.go_to(rank, &entry);
        let problem = seen.contradicted(&entry).map(|above| describe(family, above, &entry));
        if let Some(problem) = problem.filter(|_| !seen.is_reported) {
            report.add(Problem::of_file(problem));
            seen.is_reported = true;
        }
        if entry.sequence < seen.smallest.sequence {
            seen.smallest = entry;
        }
    }
}

/// Whether an entry of an older source has a larger number, or the same one and is another write.
fn contradicts(above: &Entry, entry: &Entry) -> bool {
    let write = |it: &Entry| (it.kind, it.value.clone(), it.timestamp.clone());
    let is_same_write = || entry.kind != EntryKind::Merge && write(above) == write(entry);
    entry.sequence > above.sequence || entry.sequence == above.sequence && !is_same_write()
}

fn describe(family: &ColumnFamily, above: &Entry, entry: &Entry) -> String {
    let place = |entry: &Entry| match (entry.level, entry.file) {
        (Some(level), Some(file)) => format!("table {file} of level {level}"),
        _ => "the log".to_owned(),
    };
    format!(
        "sequence numbers contradict the order of logs and levels: {} of column family {:?} has \
         sequence number {} in {} but {} in {}",
        KeyExcerpt(&entry.key),
        family.name(),
        above.sequence,
        place(above),
        entry.sequence,
        place(entry),
    )
}
