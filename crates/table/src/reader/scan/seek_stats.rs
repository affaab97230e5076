//! Counters of seeks.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::reader::open::core::Core;
use crate::reader::tickers::Ticker;

/// The state of the last seek of a cursor. Each event is counted once per seek. Threads may use a
/// cursor at once without moving it, so flags are atomic.
#[derive(Debug, Default)]
pub(crate) struct SeekStats {
    probed_filter: AtomicBool,
    /// The number of data blocks entered before it.
    blocks_before: u64,
    counted_data: bool,
    counted_value: AtomicBool,
}

impl SeekStats {
    pub(crate) fn new(blocks_before: u64) -> Self {
        Self { blocks_before, ..Self::default() }
    }

    /// The filter was probed.
    pub(crate) fn count_filter(&self, core: &Core, may: bool) {
        self.probed_filter.store(true, Ordering::Relaxed);
        count(core, if may { SeekTicker::FilterMatch } else { SeekTicker::Filtered });
    }

    /// Counts a seek that reads data, given the number of data blocks entered so far.
    #[inline]
    pub(crate) fn count_data(&mut self, core: &Core, blocks_entered: u64) {
        if !self.counted_data && blocks_entered > self.blocks_before {
            self.counted_data = true;
            count(core, SeekTicker::Data);
        }
    }

    /// A value was used.
    #[inline]
    pub(crate) fn count_value(&self, core: &Core) {
        if !self.counted_value.load(Ordering::Relaxed) && self.counted_data {
            self.counted_value.store(true, Ordering::Relaxed);
            let probed = self.probed_filter.load(Ordering::Relaxed);
            count(
                core,
                if probed { SeekTicker::UsefulFilterMatch } else { SeekTicker::UsefulNoFilter },
            );
        }
    }
}

fn count(core: &Core, ticker: SeekTicker) {
    core.blocks.count(ticker.of_level(core.is_last_level), 1);
}

/// The tickers of seeks, which exist twice: for the last level and for the others.
#[derive(Clone, Copy, Debug)]
enum SeekTicker {
    Filtered,
    FilterMatch,
    Data,
    UsefulFilterMatch,
    UsefulNoFilter,
}

impl SeekTicker {
    fn of_level(self, last: bool) -> Ticker {
        match (self, last) {
            (Self::Filtered, true) => Ticker::LastLevelSeekFiltered,
            (Self::Filtered, false) => Ticker::NonLastLevelSeekFiltered,
            (Self::FilterMatch, true) => Ticker::LastLevelSeekFilterMatch,
            (Self::FilterMatch, false) => Ticker::NonLastLevelSeekFilterMatch,
            (Self::Data, true) => Ticker::LastLevelSeekData,
            (Self::Data, false) => Ticker::NonLastLevelSeekData,
            (Self::UsefulFilterMatch, true) => Ticker::LastLevelSeekDataUsefulFilterMatch,
            (Self::UsefulFilterMatch, false) => Ticker::NonLastLevelSeekDataUsefulFilterMatch,
            (Self::UsefulNoFilter, true) => Ticker::LastLevelSeekDataUsefulNoFilter,
            (Self::UsefulNoFilter, false) => Ticker::NonLastLevelSeekDataUsefulNoFilter,
        }
    }
}
