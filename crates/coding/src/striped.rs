//! Counters that many threads add to at once.
//!
//! ```text
//! stripe 0   | counter 0 | counter 1 | …    threads 0, 8, 16 …
//! stripe 1   | counter 0 | counter 1 | …    threads 1, 9, 17 …
//!   …          each in cache lines of its own
//! ```
//!
//! A counter that several threads add to moves its cache line from core to core with each addition,
//! which takes longer than most lookups. Here each thread adds to its stripe, and reading a counter
//! sums the stripes.

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// A power of two. More threads than this share stripes.
const STRIPES: usize = 8;

thread_local! {
    /// The stripe of this thread; `STRIPES` before it has one.
    static STRIPE: Cell<usize> = const { Cell::new(STRIPES) };
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
}

/// The counters of some threads.
#[derive(Debug)]
#[repr(align(64))]
pub struct Stripe<const N: usize>([AtomicU64; N]);

impl<const N: usize> Stripe<N> {
    fn new() -> Box<Self> {
        Box::new(Self([const { AtomicU64::new(0) }; N]))
    }

    /// Adds to a counter. The counts order nothing else.
    #[inline]
    pub fn add(&self, counter: usize, count: u64) {
        self.0[counter].fetch_add(count, Ordering::Relaxed);
    }
}

impl<const N: usize> Default for StripedCounters<N> {
    fn default() -> Self {
        Self { stripes: [const { OnceLock::new() }; STRIPES] }
    }
}

impl<const N: usize> StripedCounters<N> {
    /// The counters of this thread: several additions find them once.
    #[inline]
    pub fn local(&self) -> &Stripe<N> {
        let stripe = STRIPE.get();
        match self.stripes.get(stripe).and_then(OnceLock::get) {
            Some(stripe) => stripe,
            None => self.make_local(),
        }
    }

    #[cold]
    fn make_local(&self) -> &Stripe<N> {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        if STRIPE.get() == STRIPES {
            STRIPE.set(NEXT.fetch_add(1, Ordering::Relaxed) % STRIPES);
        }
        self.stripes[STRIPE.get()].get_or_init(Stripe::new)
    }

    /// Adds to a counter.
    #[inline]
    pub fn add(&self, counter: usize, count: u64) {
        self.local().add(counter, count);
    }

    /// The sum of what all threads have added to a counter.
    pub fn get(&self, counter: usize) -> u64 {
        self.each().map(|stripe| stripe.0[counter].load(Ordering::Relaxed)).sum()
    }

    /// Sets all counters to 0.
    pub fn reset(&self) {
        self.each().flat_map(|stripe| &stripe.0).for_each(|it| it.store(0, Ordering::Relaxed));
    }

    fn each(&self) -> impl Iterator<Item = &Stripe<N>> {
        self.stripes.iter().filter_map(OnceLock::get).map(|stripe| &**stripe)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_what_all_threads_add() {
        let counters = StripedCounters::<3>::default();
        std::thread::scope(|scope| {
            for thread in 0..3 * STRIPES {
                let counters = &counters;
                scope.spawn(move || (0..100).for_each(|_| counters.add(thread % 3, 1)));
            }
        });
        assert_eq!([0, 1, 2].map(|counter| counters.get(counter)), [STRIPES as u64 * 100; 3]);
        counters.reset();
        assert_eq!([0, 1, 2].map(|counter| counters.get(counter)), [0; 3]);
    }

    #[test]
    fn stripes_share_no_cache_line() {
        assert_eq!((align_of::<Stripe<1>>(), size_of::<Stripe<9>>()), (64, 128));
    }
}
