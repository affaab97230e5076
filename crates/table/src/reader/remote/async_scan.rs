//! An asynchronous scan.
//!
//! A cursor runs in rounds over the windows that have arrived. Where a data block is missing, the scan waits for its
//! window and continues after the last key. While the keys of a window are returned, the next windows are in flight:
//! their futures are polled whenever the scan is.

use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::ops::{Bound, Range};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_core::Stream;

use super::rounds::ReadRound;
use super::windows::{FIRST_LENGTH, GROWTH, IN_FLIGHT};
use super::{AsyncSource, StagedSource};
use crate::error::{Error, Result};
use crate::filter::PrefixMode;
use crate::raw::BlockKind;
use crate::reader::Table;
use crate::reader::read_options::ReadOptions;
use crate::reader::scan::cursor::Cursor;
use crate::reader::value::Value;

/// Entries that are decoded at once, so that an executor gets its turn.
const BATCH: usize = 256;

/// A key and its value, or why the scan ended.
type ScannedPair = Result<(Vec<u8>, Value)>;

type Read = Pin<Box<dyn Future<Output = io::Result<Vec<Bytes>>> + Send>>;

/// Ranges that are being read.
struct PendingRead {
    ranges: Vec<Range<u64>>,
    future: Read,
    result: Option<io::Result<Vec<Bytes>>>,
}

/// The keys and values of a scan of an [`AsyncTable`](super::AsyncTable), in order: a [`Stream`], and
/// [`next`](Self::next) for those who need no combinators. An error ends it.
///
/// It is not [`Sync`]: it owns reads in flight, and sources need not return futures that several threads may
/// share.
pub struct AsyncScan<S> {
    source: Arc<S>,
    staged: StagedSource,
    table: Table,
    options: ReadOptions,
    cursor: Cursor,
    /// The last key that was returned.
    last_key: Option<Vec<u8>>,
    round: ReadRound,
    /// What the cursor waits for.
    awaited: Option<PendingRead>,
    /// The next windows, without gaps.
    ahead: VecDeque<PendingRead>,
    /// Where the sequential windows start, and where those end that have arrived or are awaited.
    first: u64,
    arrived: u64,
    /// The length of the next window, and of the longest.
    length: u64,
    max_length: u64,
    /// The length of the next window over the partitions of the index; 0 for a single one.
    partition_length: u64,
    items: VecDeque<(Vec<u8>, Value)>,
    error: Option<Error>,
    has_ended: bool,
}

impl<S: AsyncSource> AsyncScan<S> {
    pub(super) fn new(
        source: &Arc<S>,
        staged: &StagedSource,
        table: &Table,
        options: &ReadOptions,
    ) -> Self {
        let max_length = source.preferred_read().read_ahead.max(1);
        let mut options = options.clone().in_order(table.comparator().ok());
        if options.lower_bound() == Bound::Unbounded
            && options.prefix_mode == PrefixMode::SamePrefix
        {
            // A scan from the first key on has no prefix, and must not get one where it continues.
            options.prefix_mode = PrefixMode::Auto;
        }
        let first_length = FIRST_LENGTH.min(max_length);
        // The partition of a seek is read by itself: a short range needs no other.
        let partition_length = match options.lower_bound() {
            Bound::Unbounded => first_length,
            _ => 0,
        };
        Self {
            source: Arc::clone(source),
            staged: staged.clone(),
            table: table.clone(),
            cursor: table.cursor_with(&options),
            options,
            last_key: None,
            round: ReadRound::default(),
            awaited: None,
            ahead: VecDeque::new(),
            first: 0,
            arrived: 0,
            length: first_length,
            max_length,
            partition_length,
            items: VecDeque::new(),
            error: None,
            has_ended: false,
        }
    }

    /// The next key and value; `None` at the end.
    pub async fn next(&mut self) -> Option<Result<(Vec<u8>, Value)>> {
        poll_fn(|context| self.poll_entry(context)).await
    }

    fn poll_entry(&mut self, context: &mut Context<'_>) -> Poll<Option<ScannedPair>> {
        loop {
            if let Some(item) = self.items.pop_front() {
                return Poll::Ready(Some(Ok(item)));
            }
            if self.has_ended {
                return Poll::Ready(self.error.take().map(Err));
            }
            for window in &mut self.ahead {
                let _ = window.poll(context);
            }
            if let Some(awaited) = &mut self.awaited {
                ready!(awaited.poll(context));
                if let Some(PendingRead { ranges, result: Some(result), .. }) = self.awaited.take()
                {
                    self.arrive(&ranges, result);
                }
                continue;
            }
            self.decode();
        }
    }

    /// Adds ranges to the round.
    fn arrive(&mut self, ranges: &[Range<u64>], result: io::Result<Vec<Bytes>>) {
        let added = result.and_then(|bytes| self.round.add(self.staged.number(), ranges, bytes));
        if let Err(error) = added {
            self.fail(error.into());
        }
    }

    fn fail(&mut self, error: Error) {
        self.error = Some(match self.table.path() {
            Some(path) => error.in_file(path),
            None => error,
        });
        self.has_ended = true;
    }

    /// Decodes entries until there are enough, or something is missing.
    fn decode(&mut self) {
        let Self { cursor, last_key, round, items, .. } = self;
        let decoded: Result<bool> = round.run(|| {
            while items.len() < BATCH {
                if !advance(cursor, last_key.as_deref())? {
                    return Ok(false);
                }
                let value = cursor.value()?;
                let key = cursor.key().to_vec();
                last_key.get_or_insert_default().clone_from(&key);
                items.push_back((key, value));
            }
            Ok(true)
        });
        if let Some(ranges) = round.take_missing_of(self.staged.number()) {
            let kind = decoded.err().and_then(|error| error.block());
            // The cursor starts again after the last key: it may have moved without a filter that was missing.
            self.cursor = self.table.cursor_with(&self.options);
            match (ranges.as_slice(), kind) {
                ([block], Some(BlockKind::Data)) => self.await_window(block),
                ([partition], Some(BlockKind::IndexPartition)) => {
                    let window = self.partition_window(partition);
                    self.awaited = Some(self.read(vec![window]));
                }
                _ => self.awaited = Some(self.read(ranges)),
            }
            return;
        }
        match decoded {
            Ok(more) => self.has_ended = !more,
            Err(error) => self.fail(error),
        }
    }

    /// Waits for the next window of a data block, and starts to read those after it.
    fn await_window(&mut self, block: &Range<u64>) {
        let is_sequential = (self.first..=self.end_of_ahead()).contains(&block.start);
        if !is_sequential {
            // The start of the scan, or a jump.
            self.ahead.clear();
            (self.first, self.arrived) = (block.start, block.start);
        }
        self.round.forget_before(self.staged.number(), block.start);
        let limit = self.table.view().end_of_data().max(block.end);
        let in_flight = if is_sequential { 1 + IN_FLIGHT } else { 1 };
        while self.ahead.len() < in_flight && self.end_of_ahead() < limit {
            let start = self.end_of_ahead();
            let window = start..start.saturating_add(self.length).min(limit);
            self.length = self.length.saturating_mul(GROWTH).min(self.max_length);
            let window = self.read(vec![window]);
            self.ahead.push_back(window);
        }
        self.awaited = self.ahead.pop_front();
        self.arrived = self.awaited.as_ref().map_or(self.arrived, PendingRead::end);
    }

    /// A partition of the index, and after a seek those that follow it.
    fn partition_window(&mut self, partition: &Range<u64>) -> Range<u64> {
        let limit = self.table.view().end_of_partitions(partition.start);
        let end = partition.start.saturating_add(self.partition_length).min(limit);
        self.partition_length = match self.partition_length {
            0 => FIRST_LENGTH.min(self.max_length),
            length => length.saturating_mul(GROWTH).min(self.max_length),
        };
        partition.start..end.max(partition.end)
    }

    fn end_of_ahead(&self) -> u64 {
        self.ahead.back().map_or(self.arrived, PendingRead::end)
    }

    fn read(&self, ranges: Vec<Range<u64>>) -> PendingRead {
        let (source, wanted) = (Arc::clone(&self.source), ranges.clone());
        let future: Read = Box::pin(async move { source.read_many(&wanted).await });
        PendingRead { ranges, future, result: None }
    }
}

/// Moves to the next key, or to the one after `last_key` if the cursor lost its position.
fn advance(cursor: &mut Cursor, last_key: Option<&[u8]>) -> Result<bool> {
    match last_key {
        _ if cursor.is_valid() => cursor.next(),
        None => cursor.seek_to_first(),
        Some(key) => match cursor.seek(key)? && cursor.key() == key {
            true => cursor.next(),
            false => Ok(cursor.is_valid()),
        },
    }
}

impl PendingRead {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.result.is_none() {
            self.result = Some(ready!(self.future.as_mut().poll(context)));
        }
        Poll::Ready(())
    }

    fn end(&self) -> u64 {
        self.ranges.last().map_or(0, |range| range.end)
    }
}

impl<S: AsyncSource> Stream for AsyncScan<S> {
    type Item = Result<(Vec<u8>, Value)>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_entry(context)
    }
}

impl<S> fmt::Debug for AsyncScan<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncScan").field("table", &self.table).finish_non_exhaustive()
    }
}
