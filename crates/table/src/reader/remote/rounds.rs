//! Rounds of reads: all that an operation needs next, read at once.
//!
//! ```text
//! try, try, … each key ---> missing ranges ---> read together ---> try again ---> nothing is missing: done
//! ```
//!
//! While a round runs, the [staged sources](super::StagedSource) of its thread have only the ranges that earlier
//! rounds have read. A read of any other range fails, and the range is noted. So what an operation needs is found
//! by the operation itself, at any depth, and no rule about filters, indexes or blocks exists twice.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use crate::reader::open::source::Source;

/// Ranges that are closer are read as one.
const MAX_GAP: u64 = 8 << 10;

/// The most keys whose blocks are in memory at once, besides the cache.
pub(crate) const MAX_KEYS_IN_ROUND: usize = 1024;

/// The most sources that are read at the same time: those of 64 keys, and some more that a filter passes.
const MAX_THREADS: usize = 128;

thread_local! {
    /// The round that runs on this thread.
    static ROUND: RefCell<Option<ReadRound>> = const { RefCell::new(None) };
}

/// What the rounds of an operation have read, and what the last one lacked.
#[derive(Default)]
pub(crate) struct ReadRound {
    /// By the number of the source and the start of the range.
    fetched: BTreeMap<(u64, u64), Bytes>,
    missing: Vec<Missing>,
    /// Whether what is missing is read by itself, instead of being noted.
    reads_missing: bool,
    /// The length of the longest range that was found.
    longest: u64,
}

/// A range that a round lacked.
struct Missing {
    /// The number of the source.
    number: u64,
    source: Arc<dyn Source>,
    range: Range<u64>,
}

/// The ranges of a source that a round lacked: sorted, and not adjacent.
pub(crate) struct MissingRanges {
    number: u64,
    source: Arc<dyn Source>,
    ranges: Vec<Range<u64>>,
}

/// What a round says to a read.
pub(crate) enum RoundRead {
    /// There is no round, or it leaves reads to the source.
    Direct,
    Found(Bytes),
    Missing,
}

impl ReadRound {
    /// Runs `operation` with what has been read so far.
    pub(crate) fn run<T>(&mut self, operation: impl FnOnce() -> T) -> T {
        /// Takes the round back, also after a panic of a user's comparator or merge operator.
        struct Guard<'r> {
            round: &'r mut ReadRound,
            outer: Option<ReadRound>,
        }
        impl Drop for Guard<'_> {
            fn drop(&mut self) {
                *self.round = ROUND.replace(self.outer.take()).unwrap_or_default();
            }
        }
        let outer = ROUND.replace(Some(std::mem::take(self)));
        let _guard = Guard { round: self, outer };
        operation()
    }

    /// What was missing, by source.
    pub(crate) fn take_missing(&mut self) -> Vec<MissingRanges> {
        let mut missing = std::mem::take(&mut self.missing);
        missing.sort_by_key(|it| (it.number, it.range.start));
        let mut sources: Vec<MissingRanges> = Vec::new();
        for Missing { number, source, range } in missing {
            match sources.last_mut().filter(|last| last.number == number) {
                Some(last) => match last.ranges.last_mut() {
                    Some(last) if range.start.saturating_sub(last.end) <= MAX_GAP => {
                        last.end = last.end.max(range.end);
                    }
                    _ => last.ranges.push(range),
                },
                None => sources.push(MissingRanges { number, source, ranges: Vec::from([range]) }),
            }
        }
        sources
    }

    /// Adds ranges that have been read from a source.
    pub(crate) fn add(
        &mut self,
        number: u64,
        ranges: &[Range<u64>],
        bytes: Vec<Bytes>,
    ) -> io::Result<()> {
        let is_complete = bytes.len() == ranges.len()
            && ranges
                .iter()
                .zip(&bytes)
                .all(|(range, it)| it.len() as u64 == range.end - range.start);
        if !is_complete {
            return Err(io::Error::other("a vectored read returned ranges of other lengths"));
        }
        let starts = ranges.iter().map(|range| (number, range.start));
        self.fetched.extend(starts.zip(bytes));
        Ok(())
    }

    /// Reads what was missing, from all sources at the same time. False if nothing was missing, or a
    /// read failed.
    fn fetch(&mut self) -> bool {
        let missing = self.take_missing();
        let has_missing = !missing.is_empty();
        for group in missing.chunks(MAX_THREADS) {
            let results = std::thread::scope(|scope| {
                let read = |it: &MissingRanges| it.source.read_many(&it.ranges);
                let (first, others) = (&group[0], &group[1..]);
                let others: Vec<_> =
                    others.iter().map(|it| scope.spawn(move || read(it))).collect();
                let mut results = vec![read(first)];
                results.extend(others.into_iter().map(|it| {
                    it.join().unwrap_or_else(|_| Err(io::Error::other("a read panicked")))
                }));
                results
            });
            for (MissingRanges { number, ranges, .. }, bytes) in group.iter().zip(results) {
                if bytes.and_then(|bytes| self.add(*number, ranges, bytes)).is_err() {
                    return false;
                }
            }
        }
        has_missing
    }

    /// What was missing of the one source of an operation; `None` if nothing was.
    #[cfg(feature = "async")]
    pub(crate) fn take_missing_of(&mut self, number: u64) -> Option<Vec<Range<u64>>> {
        let mut missing = self.take_missing().into_iter();
        missing.find(|it| it.number == number).map(|it| it.ranges)
    }

    /// Drops the ranges that end before `offset`, except as many as the longest block may need that is before it.
    #[cfg(feature = "async")]
    pub(crate) fn forget_before(&mut self, number: u64, offset: u64) {
        let keep = offset.saturating_sub(self.longest);
        self.fetched
            .retain(|&(it, start), bytes| it != number || start + bytes.len() as u64 > keep);
    }

    /// The bytes of a range, which may begin in one of the fetched ranges and end in another.
    fn find(&mut self, number: u64, range: &Range<u64>) -> Option<Bytes> {
        let length = range.end - range.start;
        let bytes = self.covering(number, range.start)?;
        let bytes = match length <= bytes.len() as u64 {
            // A block in the cache must not keep a range that is much longer.
            true if bytes.len() as u64 > 2 * length => {
                Bytes::copy_from_slice(&bytes[..length as usize])
            }
            true => bytes.slice(..length as usize),
            false => {
                let mut joined = bytes.to_vec();
                while let Some(missing) =
                    length.checked_sub(joined.len() as u64).filter(|&it| it > 0)
                {
                    let next = self.covering(number, range.end - missing)?;
                    joined.extend_from_slice(&next[..next.len().min(missing as usize)]);
                }
                joined.into()
            }
        };
        self.longest = self.longest.max(length);
        Some(bytes)
    }

    /// The longest bytes from `offset` on; `None` if there are none.
    fn covering(&self, number: u64, offset: u64) -> Option<Bytes> {
        let before = self.fetched.range((number, 0)..=(number, offset));
        let from = before.filter_map(|(&(_, start), bytes)| {
            let at = usize::try_from(offset - start).ok()?;
            (at < bytes.len()).then(|| bytes.slice(at..))
        });
        from.max_by_key(Bytes::len)
    }
}

/// A read of a source with this number, by the round of this thread.
pub(crate) fn read(number: u64, source: &Arc<dyn Source>, range: Range<u64>) -> RoundRead {
    ROUND.with_borrow_mut(|round| {
        let Some(round) = round else { return RoundRead::Direct };
        match round.find(number, &range) {
            Some(bytes) => RoundRead::Found(bytes),
            None if round.reads_missing => RoundRead::Direct,
            None => {
                let source = Arc::clone(source);
                round.missing.push(Missing { number, source, range });
                RoundRead::Missing
            }
        }
    })
}

/// Whether the reads of this thread are part of a round. Then a source should be read for what is needed, and
/// for nothing more.
pub fn is_in_round() -> bool {
    ROUND.with_borrow(Option::is_some)
}

/// Runs `plan` until it lacks nothing, reading in between what it lacked from all sources at the same time; then
/// `read`, which finds these ranges. What it needs besides it reads by itself, also if a read of many ranges has
/// failed: the error of a single one says where it happened.
///
/// `plan` ignores errors, and should count nothing and change nothing, since it runs several times. Files that it
/// opens must be opened by other threads: a round knows only sources that were there before it.
pub fn read_in_rounds<T>(mut plan: impl FnMut(), read: impl FnOnce() -> T) -> T {
    if is_in_round() {
        // The outer operation has the rounds.
        return read();
    }
    let mut round = ReadRound::default();
    loop {
        round.run(&mut plan);
        if !round.fetch() {
            break;
        }
    }
    round.reads_missing = true;
    round.run(read)
}
