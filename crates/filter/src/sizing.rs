//! `optimize_filters_for_memory`: filter sizes without internal fragmentation.
//!
//! A filter of 65,541 bytes may occupy 81,920 bytes with an allocator that has size classes. With
//! this option, a builder enlarges a filter to use that space, and shrinks a later one in return, so
//! that the *average* false-positive rate is that of the policy. `balance` is the running sum of the
//! differences, in units of rate·2³². A negative balance means that the rates so far are lower than
//! requested.
//!
//! Sizes therefore depend on the allocator and on previously built filters. RocksDB queries malloc.
//! Here the allocator is an explicit parameter ([`UsableSize`]), so that the same input gives the
//! same bytes everywhere.
//!
//! The option has a second effect on cache-local Bloom filters, with any allocator: the number of
//! probes follows from the actual size instead of the configured bits per key. A filter with ten keys
//! always has one 64-byte block. It gets 24 probes, the best number for 51 bits per key.

use core::sync::atomic::{AtomicI64, Ordering};

use crate::trailer::TRAILER_LENGTH;

/// The size from which glibc's malloc uses `mmap`, in a process that has just started.
pub const GLIBC_MMAP_THRESHOLD: usize = 128 << 10;

/// A model of the usable size of allocations.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub enum UsableSize {
    /// The requested size, so filter sizes do not change. RocksDB behaves like this if it is built
    /// without `malloc_usable_size`.
    #[default]
    Exact,
    /// glibc's malloc: multiples of 16 bytes minus an 8-byte header. Whole pages above a threshold.
    Glibc {
        /// [`GLIBC_MMAP_THRESHOLD`] in a process that has just started. When a larger block is freed,
        /// glibc raises the threshold to its size (up to 32 MiB). In a long-running process filters
        /// of all sizes come from the heap. Use `usize::MAX` for that.
        mmap_threshold: usize,
    },
    /// jemalloc: four size classes per power of two.
    Jemalloc,
    /// Any other allocator.
    Custom(fn(usize) -> usize),
}

impl UsableSize {
    /// The usable size of an allocation of `request` bytes, at least `request`.
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
    // Clamped to half of the address space, so that the arithmetic cannot overflow.
    let chunk =
        request.min(usize::MAX / 2).saturating_add(WORD).next_multiple_of(GRAIN).max(MIN_CHUNK);
    if chunk >= mmap_threshold {
        // A mapping has a header of two words, and one more word before alignment.
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
            // Between 2^g and 2^(g+1) there are four size classes, 2^(g-2) apart.
            let group = (request - 1).ilog2();
            request.checked_next_multiple_of(1 << (group - 2)).unwrap_or(request)
        }
    }
}

/// The state of `optimize_filters_for_memory`, shared by all filters of a policy.
#[derive(Debug, Default)]
pub struct MemorySizing {
    usable_size: UsableSize,
    balance: AtomicI64,
}

impl MemorySizing {
    /// A new state with a balance of zero.
    pub fn new(usable_size: UsableSize) -> Self {
        Self { usable_size, balance: AtomicI64::new(0) }
    }

    /// The sum of the differences between actual and requested rates, in rate·2³². Negative if the
    /// actual rates are lower.
    pub fn balance(&self) -> i64 {
        self.balance.load(Ordering::Relaxed)
    }

    /// The size to build instead of `target`. Both include the trailer.
    ///
    /// `rate` estimates the false-positive rate for a size. `round_down` rounds down to a valid
    /// size.
    pub(crate) fn choose(
        &self,
        target: usize,
        rate: impl Fn(usize) -> f64,
        round_down: impl Fn(usize) -> usize,
    ) -> usize {
        /// The block trailer is in the same allocation as the filter.
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
                // A filter without data contains nothing.
                .filter(|&smaller| smaller > TRAILER_LENGTH)
                .find(|&smaller| rate(smaller) <= allowed);
            size = smaller.unwrap_or(size);
        }
        let request = size + BLOCK_TRAILER_LENGTH;
        let usable = self.usable_size.of(request);
        // With more than a quarter of unused space, the size is kept: the allocator reports something
        // else, or a tiny filter is rounded up to a page.
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
    fn usable_size_is_at_least_the_request() {
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
    fn known_size_classes() {
        let heap = |request| UsableSize::Glibc { mmap_threshold: usize::MAX }.of(request);
        assert_eq!([1, 24, 25, 40, 41].map(heap), [24, 24, 40, 40, 56]);
        assert_eq!([131_048, 131_049, 200_010].map(heap), [131_048, 131_064, 200_024]);
        // The threshold applies to the chunk with its header, not to the request.
        let mapped = |request| FRESH_GLIBC.of(request);
        assert_eq!(
            [131_048, 131_049, 131_064].map(mapped),
            [131_048, 131_056 + 4096, 131_056 + 4096]
        );
        assert_eq!(mapped(200_010), 200_688);
        let jemalloc = |request| UsableSize::Jemalloc.of(request);
        assert_eq!([1, 17, 128, 129, 161, 5000].map(jemalloc), [8, 32, 128, 160, 192, 5120]);
    }

    /// Valid sizes are multiples of 64 plus 5. The rate decreases with the size.
    fn choose(sizing: &MemorySizing, target: usize) -> usize {
        sizing.choose(target, |size| 10.0 / size as f64, |size| (size - 5) / 64 * 64 + 5)
    }

    fn units(rate: f64) -> i64 {
        (rate * 4_294_967_296.0) as i64
    }

    #[test]
    fn negative_balance_allows_a_smaller_filter() {
        let sizing = MemorySizing::new(UsableSize::Jemalloc);
        // 4357 + 5 bytes are in the size class of 5120, so the filter grows.
        assert_eq!(choose(&sizing, 4357), 5061);
        let earned = units(10.0 / 5061.0 - 10.0 / 4357.0);
        assert_eq!(sizing.balance(), earned);
        // The balance allows a filter of 14/16, which with its trailer is in the size class of 4096.
        assert_eq!(choose(&sizing, 4357), 3781 + 256);
        let spent = units(10.0 / 4037.0 - 10.0 / 4357.0);
        assert_eq!(sizing.balance(), earned + spent);
    }

    #[test]
    fn more_than_a_quarter_unused_keeps_the_size() {
        for (usable, expected) in [
            // A third more is a quarter of the whole: just within the limit.
            (UsableSize::Custom(|request| request + request / 3), 1285 + 384),
            (UsableSize::Custom(|request| request + request / 3 + 4), 1285),
        ] {
            assert_eq!(choose(&MemorySizing::new(usable), 1285), expected, "{usable:?}");
        }
    }

    #[test]
    fn block_trailer_is_counted() {
        // Room for 64 more bytes, but not for the block trailer.
        let sizing = MemorySizing::new(UsableSize::Custom(|request| request + 63));
        assert_eq!(choose(&sizing, 1285), 1285);
        let sizing = MemorySizing::new(UsableSize::Custom(|request| request + 64));
        assert_eq!(choose(&sizing, 1285), 1285 + 64);
    }

    #[test]
    fn filter_never_shrinks_to_zero() {
        let sizing =
            MemorySizing { usable_size: UsableSize::Exact, balance: AtomicI64::new(i64::MIN) };
        assert_eq!(choose(&sizing, 69), 69);
    }
}
