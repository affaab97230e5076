//! `optimize_filters_for_memory`: filter sizes that leave no slack in the allocator.
//!
//! A filter of 65,541 bytes may occupy 81,920 in a cache whose allocator has size classes. With
//! this option a builder grows a filter into the slack, or shrinks a later one to make up for it,
//! so that the *average* false-positive rate stays what the policy asks for. The account is kept as
//! a running `balance` in units of rate·2³²; below zero means that earlier filters came out better
//! than asked.
//!
//! The sizes therefore depend on the allocator and on what was built before. RocksDB asks malloc;
//! here the allocator is stated ([`UsableSize`]), so that the same input gives the same bytes
//! everywhere.
//!
//! Whatever the allocator, the option has a second effect on cache-local Bloom filters: the number
//! of probes follows from the filter's real size instead of the configured bits per key. A filter
//! of ten keys fills one 64-byte block whatever was asked for, and gets the 24 probes that suit 51
//! bits per key.

use std::sync::atomic::{AtomicI64, Ordering};

use crate::trailer::TRAILER_LENGTH;

/// From this size on, a glibc process that has just started maps pages.
pub const GLIBC_MMAP_THRESHOLD: usize = 128 << 10;

/// How many bytes an allocation of a given size really occupies.
#[derive(Clone, Copy, Debug, Default)]
pub enum UsableSize {
    /// As many as asked for: no slack, so sizes stay as they are. RocksDB built without support for
    /// `malloc_usable_size` behaves so.
    #[default]
    Exact,
    /// glibc's malloc: 16-byte steps less an 8-byte header; from a threshold on, whole pages.
    Glibc {
        /// [`GLIBC_MMAP_THRESHOLD`] in a process that has just started. When a block above it is freed,
        /// glibc raises the threshold to that block's size (up to 32 MiB), so that in the long run
        /// filters of all sizes come from the heap: `usize::MAX` describes that.
        mmap_threshold: usize,
    },
    /// jemalloc: four size classes per power of two.
    Jemalloc,
    /// Any other.
    Custom(fn(usize) -> usize),
}

impl UsableSize {
    /// Bytes usable in an allocation of `request` bytes: never fewer.
    pub fn of(self, request: usize) -> usize {
        match self {
            Self::Exact => request,
            Self::Glibc { mmap_threshold } => glibc_usable(request, mmap_threshold),
            Self::Jemalloc => jemalloc_usable(request),
            Self::Custom(usable) => usable(request).max(request),
        }
    }
}

fn glibc_usable(request: usize, mmap_threshold: usize) -> usize {
    const WORD: usize = 8;
    const GRAIN: usize = 16;
    const MIN_CHUNK: usize = 32;
    const PAGE: usize = 4096;
    // Nobody asks for more than half of the address space; the arithmetic must not overflow.
    let chunk =
        request.min(usize::MAX / 2).saturating_add(WORD).next_multiple_of(GRAIN).max(MIN_CHUNK);
    if chunk >= mmap_threshold {
        // A mapping of its own has a header of two words, and another word before it is aligned.
        (chunk + WORD).next_multiple_of(PAGE) - 2 * WORD
    } else {
        chunk - WORD
    }
}

fn jemalloc_usable(request: usize) -> usize {
    const QUANTUM: usize = 16;
    match request {
        0..=8 => 8,
        9..=128 => request.next_multiple_of(QUANTUM),
        _ => {
            // Between 2^g and 2^(g+1) there are four classes, 2^(g-2) apart.
            let group = (request - 1).ilog2();
            request.checked_next_multiple_of(1 << (group - 2)).unwrap_or(request)
        }
    }
}

/// The state of `optimize_filters_for_memory`: shared by all filters of one policy.
#[derive(Debug, Default)]
pub struct MemorySizing {
    usable_size: UsableSize,
    balance: AtomicI64,
}

impl MemorySizing {
    /// A fresh account over an allocator.
    pub fn new(usable_size: UsableSize) -> Self {
        Self { usable_size, balance: AtomicI64::new(0) }
    }

    /// What filters have cost over (or, if negative, under) what their policy asked for, in
    /// rate·2³².
    pub fn balance(&self) -> i64 {
        self.balance.load(Ordering::Relaxed)
    }

    /// The size to build instead of `target`, both with the trailer.
    ///
    /// `rate` estimates the false-positive rate at a size; `round_down` gives the largest valid
    /// size not above one.
    pub(crate) fn choose(
        &self,
        target: usize,
        rate: impl Fn(usize) -> f64,
        round_down: impl Fn(usize) -> usize,
    ) -> usize {
        /// The block trailer is allocated with the filter.
        const BLOCK_TRAILER_LENGTH: usize = 5;
        const UNIT: f64 = 4_294_967_296.0;

        let target_rate = rate(target);
        let mut size = target;
        let balance = self.balance();
        if balance < 0 {
            let allowed = -(balance as f64) / UNIT + target_rate;
            let data = (target - TRAILER_LENGTH) as u64;
            let smaller = (12..16)
                .map(|sixteenths| round_down((sixteenths * data / 16) as usize + TRAILER_LENGTH))
                // Without data a filter would deny everything.
                .filter(|&smaller| smaller > TRAILER_LENGTH)
                .find(|&smaller| rate(smaller) <= allowed);
            size = smaller.unwrap_or(size);
        }
        let request = size + BLOCK_TRAILER_LENGTH;
        let usable = self.usable_size.of(request);
        // More than a quarter of slack is another matter (an allocator that cannot tell, or a page
        // rounding on a tiny filter): then the size stays.
        if usable - usable / 4 <= request && usable > request {
            size = round_down(usable - BLOCK_TRAILER_LENGTH);
        }
        let difference = ((rate(size) - target_rate) * UNIT) as i64;
        self.balance.fetch_add(difference, Ordering::Relaxed);
        size
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRESH_GLIBC: UsableSize = UsableSize::Glibc { mmap_threshold: GLIBC_MMAP_THRESHOLD };

    #[test]
    fn allocators_never_give_less_than_asked() {
        let few = 1..if cfg!(miri) { 300 } else { 10_000 };
        for request in few.chain((1..64).map(|i| i * 37_113)).chain([usize::MAX / 2]) {
            for model in [UsableSize::Exact, FRESH_GLIBC, UsableSize::Jemalloc] {
                assert!(model.of(request) >= request, "{model:?} {request}");
            }
        }
        for model in [FRESH_GLIBC, UsableSize::Jemalloc, UsableSize::Custom(|_| 0)] {
            model.of(usize::MAX);
        }
    }

    #[test]
    fn known_classes() {
        let heap = |request| UsableSize::Glibc { mmap_threshold: usize::MAX }.of(request);
        assert_eq!([1, 24, 25, 40, 41].map(heap), [24, 24, 40, 40, 56]);
        assert_eq!([131_048, 131_049, 200_010].map(heap), [131_048, 131_064, 200_024]);
        // The chunk with its header decides, not the request.
        let mapped = |request| FRESH_GLIBC.of(request);
        assert_eq!(
            [131_048, 131_049, 131_064].map(mapped),
            [131_048, 131_056 + 4096, 131_056 + 4096]
        );
        assert_eq!(mapped(200_010), 200_688);
        let jemalloc = |request| UsableSize::Jemalloc.of(request);
        assert_eq!([1, 17, 128, 129, 161, 5000].map(jemalloc), [8, 32, 128, 160, 192, 5120]);
    }

    /// Sizes of 5 bytes and a multiple of 64, whose rate falls as they grow.
    fn choose(sizing: &MemorySizing, target: usize) -> usize {
        sizing.choose(target, |size| 10.0 / size as f64, |size| (size - 5) / 64 * 64 + 5)
    }

    fn units(rate: f64) -> i64 {
        (rate * 4_294_967_296.0) as i64
    }

    #[test]
    fn the_balance_is_spent_on_a_smaller_filter() {
        let sizing = MemorySizing::new(UsableSize::Jemalloc);
        // 4357 + 5 bytes sit in a class of 5120: the filter grows into it.
        assert_eq!(choose(&sizing, 4357), 5061);
        let earned = units(10.0 / 5061.0 - 10.0 / 4357.0);
        assert_eq!(sizing.balance(), earned);
        // That pays for a filter of 14/16, which fits a class of 4096 with its trailer.
        assert_eq!(choose(&sizing, 4357), 3781 + 256);
        let spent = units(10.0 / 4037.0 - 10.0 / 4357.0);
        assert_eq!(sizing.balance(), earned + spent);
    }

    #[test]
    fn more_than_a_quarter_of_slack_is_left_alone() {
        for (usable, expected) in [
            // A third of slack is a quarter of the whole: just used.
            (UsableSize::Custom(|request| request + request / 3), 1285 + 384),
            (UsableSize::Custom(|request| request + request / 3 + 4), 1285),
        ] {
            assert_eq!(choose(&MemorySizing::new(usable), 1285), expected, "{usable:?}");
        }
    }

    #[test]
    fn the_block_trailer_needs_room_too() {
        // Room for 64 bytes more, but not for the five of the block's trailer.
        let sizing = MemorySizing::new(UsableSize::Custom(|request| request + 63));
        assert_eq!(choose(&sizing, 1285), 1285);
        let sizing = MemorySizing::new(UsableSize::Custom(|request| request + 64));
        assert_eq!(choose(&sizing, 1285), 1285 + 64);
    }

    #[test]
    fn a_filter_is_never_shrunk_to_nothing() {
        let sizing =
            MemorySizing { usable_size: UsableSize::Exact, balance: AtomicI64::new(i64::MIN) };
        assert_eq!(choose(&sizing, 69), 69);
    }
}
