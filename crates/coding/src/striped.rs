//! Counters that many threads add to at once.
//!
//! ```text
//! stripe 0   | counter 0 | counter 1 | …    one thread
//! stripe 1   | counter 0 | counter 1 | …    another thread
//!   …          each in cache lines of its own
//! stripe 8   | counter 0 | counter 1 | …    all other threads
//! ```
//!
//! A counter that several threads add to moves its cache line from core to core with each addition,
//! which takes longer than most lookups. Here each of the first threads owns a stripe until it ends, and
//! reading a counter sums the stripes. Only its owner changes a stripe, so an addition is a load and a
//! store: an atomic addition takes five nanoseconds, even if no other thread uses the cache line.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Stripes that one thread owns.
const OWNED: usize = 8;

/// The stripe of all other threads.
const SHARED: usize = OWNED;

const STRIPES: usize = OWNED + 1;

thread_local! {
    /// The stripe of this thread; `STRIPES` before it has one.
    static STRIPE: Cell<usize> = const { Cell::new(STRIPES) };
    /// Returns the stripe when the thread ends.
    static OWNER: Owner = Owner::take_stripe();
}

/// Which stripes have an owner. The lock also orders the additions of an owner before those of the next one.
static TAKEN: Mutex<[bool; OWNED]> = Mutex::new([false; OWNED]);

struct Owner(usize);

impl Owner {
    fn take_stripe() -> Self {
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        let free = taken.iter_mut().enumerate().find(|(_, is_taken)| !**is_taken);
        Self(free.map_or(SHARED, |(stripe, is_taken)| {
            *is_taken = true;
            stripe
        }))
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        // What is counted from here on, by destructors of other variables of the thread.
        STRIPE.set(SHARED);
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(is_taken) = taken.get_mut(self.0) {
            *is_taken = false;
        }
    }
}

/// `N` counters, each by its number.
///
/// Memory for a stripe is allocated when the first of its threads adds something.
///
/// ```
/// use sstkit_coding::striped::StripedCounters;
///
/// let counters = StripedCounters::<2>::default();
/// counters.add(1, 5);
/// std::thread::scope(|scope| {
///     scope.spawn(|| counters.add(1, 2));
/// });
/// assert_eq!((counters.get(0), counters.get(1)), (0, 7));
/// ```
#[derive(Debug)]
pub struct StripedCounters<const N: usize> {
    stripes: [OnceLock<Box<Stripe<N>>>; STRIPES],
    /// The sums at the last reset: only its owner may set a counter of a stripe to 0.
    at_reset: [AtomicU64; N],
}

/// The counters of one thread, or of several if it is shared.
#[derive(Debug)]
#[repr(align(64))]
struct Stripe<const N: usize> {
    counters: [AtomicU64; N],
    is_shared: bool,
}

impl<const N: usize> Stripe<N> {
    fn new(is_shared: bool) -> Box<Self> {
        Box::new(Self { counters: [const { AtomicU64::new(0) }; N], is_shared })
    }

    /// Adds to a counter. The counts order nothing else.
    #[inline]
    fn add(&self, counter: usize, count: u64) {
        let counter = &self.counters[counter];
        if self.is_shared {
            counter.fetch_add(count, Ordering::Relaxed);
        } else {
            let sum = counter.load(Ordering::Relaxed).wrapping_add(count);
            counter.store(sum, Ordering::Relaxed);
        }
    }
}

impl<const N: usize> Default for StripedCounters<N> {
    fn default() -> Self {
        Self {
            stripes: [const { OnceLock::new() }; STRIPES],
            at_reset: [const { AtomicU64::new(0) }; N],
        }
    }
}

impl<const N: usize> StripedCounters<N> {
    /// The counters of this thread.
    #[inline]
    fn local(&self) -> &Stripe<N> {
        match self.stripes.get(STRIPE.get()).and_then(OnceLock::get) {
            Some(stripe) => stripe,
            None => self.make_local(),
        }
    }

    #[cold]
    fn make_local(&self) -> &Stripe<N> {
        if STRIPE.get() == STRIPES {
            // A thread that is about to end, and whose owner is gone, shares.
            STRIPE.set(OWNER.try_with(|owner| owner.0).unwrap_or(SHARED));
        }
        let stripe = STRIPE.get();
        self.stripes[stripe].get_or_init(|| Stripe::new(stripe == SHARED))
    }

    /// Adds to a counter.
    #[inline]
    pub fn add(&self, counter: usize, count: u64) {
        self.local().add(counter, count);
    }

    /// Adds to several counters, which is faster than adding to one after the other.
    #[inline]
    pub fn add_all<const M: usize>(&self, counts: [(usize, u64); M]) {
        let local = self.local();
        counts.iter().for_each(|&(counter, count)| local.add(counter, count));
    }

    /// The sum of what all threads have added to a counter since the last reset.
    pub fn get(&self, counter: usize) -> u64 {
        self.sum(counter).wrapping_sub(self.at_reset[counter].load(Ordering::Relaxed))
    }

    /// Counts all counters from 0.
    pub fn reset(&self) {
        for (counter, at_reset) in self.at_reset.iter().enumerate() {
            at_reset.store(self.sum(counter), Ordering::Relaxed);
        }
    }

    fn sum(&self, counter: usize) -> u64 {
        let stripes = self.stripes.iter().filter_map(OnceLock::get);
        let counts = stripes.map(|stripe| stripe.counters[counter].load(Ordering::Relaxed));
        counts.fold(0, u64::wrapping_add)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    /// More threads than stripes at the same time, so that some share one.
    #[test]
    fn sums_what_all_threads_add() {
        const THREADS: usize = 3 * STRIPES;
        let counters = StripedCounters::<3>::default();
        let barrier = Barrier::new(THREADS);
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (counters, barrier) = (&counters, &barrier);
                scope.spawn(move || {
                    counters.add(thread % 3, 1);
                    barrier.wait();
                    (0..10_000).for_each(|_| counters.add(thread % 3, 1));
                });
            }
        });
        assert_eq!([0, 1, 2].map(|counter| counters.get(counter)), [STRIPES as u64 * 10_001; 3]);
        counters.reset();
        assert_eq!([0, 1, 2].map(|counter| counters.get(counter)), [0; 3]);
        counters.add_all([(0, 3), (2, 4)]);
        assert_eq!([0, 1, 2].map(|counter| counters.get(counter)), [3, 0, 4]);
    }

    /// Threads that follow each other may own the same stripe.
    #[test]
    fn stripes_have_new_owners() {
        let counters = StripedCounters::<1>::default();
        for thread in 1..=4 * STRIPES as u64 {
            std::thread::scope(|scope| {
                scope.spawn(|| counters.add(0, 1));
            });
            assert_eq!(counters.get(0), thread);
        }
    }

    #[test]
    fn stripes_share_no_cache_line() {
        assert_eq!((align_of::<Stripe<1>>(), size_of::<Stripe<9>>()), (64, 128));
    }
}
