//! Batches that several threads make, in the order of the keys.
//!
//! ```text
//! ranges    |---0---|---1---|---2---|---3---|---4---|    split by the index, some MiB each
//! threads       A       B       A       B                each takes the next range
//! channels      = ==    = =                              a few batches of each range
//! consumer      ^ reads range 0 to its end, then 1, …
//! ```
//!
//! A thread that is ahead waits when its channel is full. The first range that has not ended is always one
//! that a thread works on, so that the consumer never waits for nothing. The threads end when the
//! batches are dropped.

use std::collections::VecDeque;
use std::ops::Bound;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::{fmt, thread};

use arrow_array::RecordBatch;
use sstkit_table::{Comparator, KeyRange};

use super::batches::Batches;
use crate::error::{Error, Result};

/// Bytes of a range: large enough that seeking to it costs nothing, small enough that all threads have
/// work until the end.
pub(super) const RANGE_BYTES: u64 = 4 << 20;

/// Batches of a range that wait for the consumer.
const WAITING: usize = 4;

/// What makes the batches of a range.
pub(super) type OpenRange = dyn Fn(KeyRange) -> Result<Batches> + Send + Sync;

/// A batch, or the end of a range.
type Message = Result<Option<RecordBatch>>;

/// The ranges that no thread has taken yet.
type Work = Arc<Mutex<VecDeque<(KeyRange, SyncSender<Message>)>>>;

/// The batches of ranges that follow each other.
pub(super) struct ParallelBatches {
    /// Those that have not been read to their end.
    ranges: VecDeque<Receiver<Message>>,
}

impl ParallelBatches {
    /// Starts the threads.
    pub(super) fn start(
        ranges: Vec<KeyRange>,
        threads: usize,
        open: &Arc<OpenRange>,
    ) -> Result<Self> {
        let (work, ranges): (VecDeque<_>, VecDeque<_>) = ranges
            .into_iter()
            .map(|range| {
                let (sender, receiver) = sync_channel(WAITING);
                ((range, sender), receiver)
            })
            .unzip();
        let work = Arc::new(Mutex::new(work));
        for _ in 0..threads {
            let (work, open) = (Arc::clone(&work), Arc::clone(open));
            let run = move || read_ranges(&work, &*open);
            let started = thread::Builder::new().name("sstkit scan".into()).spawn(run);
            started.map_err(|error| Error::from(sstkit_db::Error::from(error)))?;
        }
        Ok(Self { ranges })
    }

    /// The next batch of the first range that has one.
    pub(super) fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        while let Some(range) = self.ranges.front() {
            match range.recv() {
                Ok(Ok(Some(batch))) => return Ok(Some(batch)),
                Ok(Ok(None)) => {
                    self.ranges.pop_front();
                }
                Ok(Err(error)) => return Err(error),
                // Without an end of the range, rows would be missing.
                Err(_) => {
                    let what = "a thread of the scan has panicked";
                    return Err(sstkit_db::Error::from(std::io::Error::other(what)).into());
                }
            }
        }
        Ok(None)
    }
}

/// Reads ranges until there are no more, or nobody wants them.
fn read_ranges(work: &Work, open: &OpenRange) {
    loop {
        let next = work.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let Some((range, sender)) = next else { return };
        let mut batches = match open(range) {
            Ok(batches) => batches,
            Err(error) => {
                let _ = sender.send(Err(error));
                return;
            }
        };
        loop {
            let batch = batches.next_batch();
            let has_ended = !matches!(batch, Ok(Some(_)));
            let has_failed = batch.is_err();
            if sender.send(batch).is_err() || has_failed {
                return;
            }
            if has_ended {
                break;
            }
        }
    }
}

impl fmt::Debug for ParallelBatches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParallelBatches").field("ranges", &self.ranges.len()).finish()
    }
}

/// Cuts a range at the split keys that are inside of it.
pub(super) fn cut(
    (lower, upper): (Bound<Vec<u8>>, Bound<Vec<u8>>),
    splits: Vec<Vec<u8>>,
    order: &Comparator,
) -> Vec<KeyRange> {
    let compare = |a: &[u8], b: &[u8]| order.compare_without_timestamp(a, b);
    let is_inside = |key: &[u8]| {
        let is_after = match &lower {
            Bound::Included(bound) | Bound::Excluded(bound) => compare(key, bound).is_gt(),
            Bound::Unbounded => true,
        };
        is_after
            && match &upper {
                Bound::Included(bound) | Bound::Excluded(bound) => compare(key, bound).is_lt(),
                Bound::Unbounded => true,
            }
    };
    let mut ranges = Vec::new();
    let mut start = lower.clone();
    for split in splits.into_iter().filter(|key| is_inside(key)) {
        let end = Bound::Excluded(split.clone());
        ranges.push((std::mem::replace(&mut start, Bound::Included(split)), end));
    }
    ranges.push((start, upper.clone()));
    ranges
}
