//! The ranges in which two tables may differ, found on several threads.
//!
//! ```text
//! keys       a ----- f ----- k ----- p ----- t ----- z
//! thread 1   [ part 1 )      [ part 3 )      [ part 5 )     compared by their stored bytes
//! thread 2           [ part 2 )      [ part 4 )
//! taken      part 1, part 2, part 3, ...                    in the order of the keys
//! ```
//!
//! Comparing is mostly copying out of the page cache, which one thread does no faster than `cat`.

use std::ops::Bound;
use std::panic::resume_unwind;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::{thread, vec};

use sstkit_table::{Comparator, KeyRange, Table, UnequalRanges};

use crate::error::Result;

/// Stored bytes of one of the tables in a part.
pub(super) const PART_SIZE: u64 = 16 << 20;

/// Parts that a thread may be ahead.
const AHEAD: usize = 2;

type TableResult<T> = sstkit_table::Result<T>;

/// How the ranges of two tables are found; `None` if their bytes cannot be compared.
pub(super) type FindUnequal = fn(&Table, &Table, KeyRange) -> TableResult<Option<UnequalRanges>>;

/// What is found in a part: its ranges, and how many pairs of blocks are the same.
type Part = (Vec<KeyRange>, u64);

/// Walks through the ranges of all parts, in order.
pub(super) struct ParallelRanges {
    workers: Vec<Worker>,
    /// Which of them has the next part.
    next: usize,
    /// Parts that are not taken yet.
    parts: usize,
    ranges: vec::IntoIter<KeyRange>,
    skipped: u64,
}

/// A thread, and where its parts arrive. It ends when no one takes them any more.
struct Worker {
    /// Never locked: it makes the walk `Sync`, as other iterators are.
    parts: Option<Mutex<Receiver<TableResult<Part>>>>,
    thread: Option<JoinHandle<()>>,
}

impl ParallelRanges {
    /// Of comparable tables, within a range; `None` if there would be one part only.
    pub(super) fn new(
        (a, b): (&Table, &Table),
        range: &KeyRange,
        find: FindUnequal,
        threads: usize,
        part_size: u64,
    ) -> Result<Option<Self>> {
        let size = a.approximate_size((range.0.as_ref(), range.1.as_ref()))?;
        let parts = usize::try_from(size / part_size).unwrap_or(usize::MAX);
        if threads < 2 || parts < 2 {
            return Ok(None);
        }
        let parts = split(a, range, parts)?;
        let worker = |nth: usize| {
            let own: Vec<KeyRange> = parts.iter().skip(nth).step_by(threads).cloned().collect();
            let (sender, receiver) = sync_channel(AHEAD);
            let (a, b) = (a.clone(), b.clone());
            let thread = thread::spawn(move || work(&a, &b, own, find, &sender));
            Worker { parts: Some(Mutex::new(receiver)), thread: Some(thread) }
        };
        let workers = (0..threads.min(parts.len())).map(worker).collect();
        let ranges = Vec::new().into_iter();
        Ok(Some(Self { workers, next: 0, parts: parts.len(), ranges, skipped: 0 }))
    }

    /// The next range of the current part.
    pub(super) fn next_of_part(&mut self) -> Option<KeyRange> {
        self.ranges.next()
    }

    /// Waits for the next part; false if there are no more.
    pub(super) fn next_part(&mut self) -> Result<bool> {
        if self.parts == 0 {
            return Ok(false);
        }
        let worker = &mut self.workers[self.next];
        let parts = worker.parts.as_mut().and_then(|parts| parts.get_mut().ok());
        let Some(part) = parts.and_then(|parts| parts.recv().ok()) else {
            // It has not sent all of its parts.
            if let Some(Err(panic)) = worker.thread.take().map(JoinHandle::join) {
                resume_unwind(panic);
            }
            return Ok(false);
        };
        let (ranges, skipped) = part?;
        self.next = (self.next + 1) % self.workers.len();
        self.parts -= 1;
        self.ranges = ranges.into_iter();
        self.skipped += skipped;
        Ok(true)
    }

    /// Pairs of blocks that are the same, in the parts so far. A pair at the border of two parts is in both.
    pub(super) fn skipped_blocks(&self) -> u64 {
        self.skipped
    }
}

impl Drop for ParallelRanges {
    fn drop(&mut self) {
        self.workers.iter_mut().for_each(|worker| drop(worker.parts.take()));
        for worker in &mut self.workers {
            // A panic has been passed on, or comes from a part that no one wanted.
            drop(worker.thread.take().map(JoinHandle::join));
        }
    }
}

/// About this number of parts of a range, in order.
fn split(table: &Table, (lower, upper): &KeyRange, parts: usize) -> Result<Vec<KeyRange>> {
    let order: &Comparator = table.comparator()?;
    let is_inside = |key: &Vec<u8>| {
        let after_lower = match lower {
            Bound::Included(bound) | Bound::Excluded(bound) => {
                order.compare_without_timestamp(key, bound).is_gt()
            }
            Bound::Unbounded => true,
        };
        let before_upper = match upper {
            Bound::Included(bound) | Bound::Excluded(bound) => {
                order.compare_without_timestamp(key, bound).is_lt()
            }
            Bound::Unbounded => true,
        };
        after_lower && before_upper
    };
    let mut found = Vec::new();
    let mut start = lower.clone();
    for key in table.split_keys(parts)?.into_iter().filter(is_inside) {
        found.push((start, Bound::Excluded(key.clone())));
        start = Bound::Included(key);
    }
    found.push((start, upper.clone()));
    Ok(found)
}

fn work(
    a: &Table,
    b: &Table,
    parts: Vec<KeyRange>,
    find: FindUnequal,
    sender: &SyncSender<TableResult<Part>>,
) {
    for range in parts {
        let part = find_part(a, b, range, find);
        let has_failed = part.is_err();
        if sender.send(part).is_err() || has_failed {
            return;
        }
    }
}

fn find_part(a: &Table, b: &Table, range: KeyRange, find: FindUnequal) -> TableResult<Part> {
    let Some(mut unequal) = find(a, b, range.clone())? else { return Ok((vec![range], 0)) };
    let mut ranges = Vec::new();
    while let Some(range) = unequal.next_range()? {
        ranges.push(range);
    }
    Ok((ranges, unequal.skipped_blocks()))
}

#[cfg(test)]
mod tests {
    use std::ops::RangeBounds;

    use sstkit_table::{TableOptions, TableWriter};

    use super::*;

    /// A linear congruential generator.
    struct Random(u64);

    impl Random {
        fn below(&mut self, limit: u64) -> u64 {
            self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (self.0 >> 33) % limit
        }

        fn bytes(&mut self, length: u64) -> Vec<u8> {
            (0..length).map(|_| self.below(256) as u8).collect()
        }
    }

    fn table(entries: &[(Vec<u8>, u64)]) -> Table {
        let mut bytes = Vec::new();
        let options = TableOptions::rocksdb().block_size(64);
        let mut writer = TableWriter::to_sink(&mut bytes, &options).unwrap();
        for (key, value) in entries {
            writer.put(key, &value.to_be_bytes()).unwrap();
        }
        writer.finish().unwrap();
        Table::from_bytes(bytes).unwrap()
    }

    /// Every key that differs is in one range, and the ranges are in order.
    #[test]
    fn ranges_of_all_parts() {
        let mut skipped = 0;
        for seed in 0..50 {
            let mut random = Random(seed << 32);
            let entries: Vec<(Vec<u8>, u64)> = (0..500_u16)
                .filter(|_| random.below(4) > 0)
                .map(|key| (key.to_be_bytes().to_vec(), 0))
                .collect();
            let mut changed = entries.clone();
            changed.retain(|_| random.below(100) > 0);
            changed.iter_mut().for_each(|entry| entry.1 += u64::from(random.below(100) == 0));
            let (a, b) = (table(&entries), table(&changed));
            let lower = Bound::Included(random.bytes(1));
            let upper = Bound::Excluded([&lower_of(&lower)[..], &random.bytes(2)].concat());
            let range = match random.below(2) {
                0 => (Bound::Unbounded, Bound::Unbounded),
                _ => (lower, upper),
            };
            let find: FindUnequal = |a, b, range| a.unequal_ranges(b, range);
            let Some(mut parallel) = ParallelRanges::new((&a, &b), &range, find, 3, 256).unwrap()
            else {
                continue;
            };
            let mut found = Vec::new();
            while parallel.next_part().unwrap() {
                found.extend(std::iter::from_fn(|| parallel.next_of_part()));
            }
            let within = |range: &KeyRange, key: &Vec<u8>| range.contains(key);
            let unchanged = |key: &Vec<u8>| {
                let value = |of: &[(Vec<u8>, u64)]| of.iter().find(|it| it.0 == *key).cloned();
                value(&entries) == value(&changed)
            };
            for (key, _) in entries.iter().filter(|(key, _)| within(&range, key)) {
                let count = found.iter().filter(|range| within(range, key)).count();
                assert!(count <= 1, "seed {seed}: {key:?} is in {count} ranges");
                assert!(count == 1 || unchanged(key), "seed {seed}: {key:?} is in no range");
            }
            let starts = |it: &KeyRange| lower_of(&it.0);
            assert!(found.is_sorted_by_key(starts), "seed {seed}: {found:?}");
            skipped += parallel.skipped_blocks();
        }
        assert!(skipped > 100, "{skipped}");
    }

    fn lower_of(bound: &Bound<Vec<u8>>) -> Vec<u8> {
        match bound {
            Bound::Included(key) | Bound::Excluded(key) => key.clone(),
            Bound::Unbounded => Vec::new(),
        }
    }
}
