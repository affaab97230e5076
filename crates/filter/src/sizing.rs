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

/// How many bytes an allocation of a given size really occupies.
#[derive(Clone, Copy, Debug, Default)]
pub enum UsableSize {
    /// As many as asked for: no slack, so sizes stay as they are. RocksDB built without support for
    /// `malloc_usable_size` behaves so.
    #[default]
    Exact,
    /// glibc's malloc: 16-byte steps less an 8-byte header; from 128 KiB on, whole pages.
    Glibc,
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
            Self::Glibc => glibc_usable(request),
            Self::Jemalloc => jemalloc_usable(request),
            Self::Custom(usable) => usable(request).max(request),
        }
    }
}

fn glibc_usable(request: usize) -> usize {
    const HEADER: usize = 8;
    const GRAIN: usize = 16;
    const MIN_CHUNK: usize = 32;
    const MMAP_THRESHOLD: usize = 128 << 10;
    const PAGE: usize = 4096;
    if request >= MMAP_THRESHOLD {
        // A mapping of its own has a two-word header.
        return (request + 2 * HEADER).next_multiple_of(PAGE) - 2 * HEADER;
    }
    (request + HEADER).next_multiple_of(GRAIN).max(MIN_CHUNK) - HEADER
}

fn jemalloc_usable(request: usize) -> usize {
    const QUANTUM: usize = 16;
    match request {
        0..=8 => 8,
        9..=128 => request.next_multiple_of(QUANTUM),
        _ => {
            // Between 2^g and 2^(g+1) there are four classes, 2^(g-2) apart.
            let group = (request - 1).ilog2();
            request.next_multiple_of(1 << (group - 2))
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
            let data = target - TRAILER_LENGTH;
            if let Some(smaller) = (12..16)
                .map(|sixteenths| round_down(sixteenths * data / 16 + TRAILER_LENGTH))
                .find(|&smaller| rate(smaller) <= allowed)
            {
                size = smaller;
            }
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

    #[test]
    fn allocators_never_give_less_than_asked() {
        for request in (1..if cfg!(miri) { 300 } else { 10_000 }).chain((1..64).map(|i| i * 37_113))
        {
            for model in [UsableSize::Exact, UsableSize::Glibc, UsableSize::Jemalloc] {
                assert!(model.of(request) >= request, "{model:?} {request}");
            }
        }
    }

    #[test]
    fn known_classes() {
        assert_eq!([1, 24, 25, 40, 41].map(glibc_usable), [24, 24, 40, 40, 56]);
        assert_eq!(glibc_usable(200_000), 200_704 - 16);
        assert_eq!([1, 17, 128, 129, 161, 5000].map(jemalloc_usable), [8, 32, 128, 160, 192, 5120]);
    }

    #[test]
    fn the_balance_is_spent_on_a_smaller_filter() {
        // Rate falls with size; sizes are 5 + a multiple of 64.
        let rate = |size: usize| 10.0 / size as f64;
        let round_down = |size: usize| (size - 5) / 64 * 64 + 5;
        let sizing = MemorySizing::new(UsableSize::Jemalloc);

        // 4357 + 5 bytes sit in a class of 5120: the filter grows into it.
        let grown = sizing.choose(4357, rate, round_down);
        assert_eq!(grown, round_down(5120 - 5));
        assert!(sizing.balance() < 0);

        // The next one may be worse than asked for by as much.
        let shrunk = sizing.choose(4357, rate, round_down);
        assert!(shrunk < 4357, "{shrunk}");
        let total = rate(grown) + rate(shrunk);
        assert!(total <= 2.0 * rate(4357) * 1.05, "{total}");
    }
}
