//! Charging a builder's memory to a budget.
//!
//! Building a filter of ten million keys takes 80 MB for their hashes, and a Ribbon 290 MB more while
//! it is solved. RocksDB can charge such memory to its block cache; here it is charged to whatever
//! implements [`MemoryBudget`].
//!
//! | what | when | bytes |
//! |---|---|---|
//! | hash entries | on the 16,384th entry, and every 32,768 after | 262,144 each time |
//! | Ribbon's banding | before it is allocated | 20 per slot |
//! | Ribbon's keys, dealt out by slot | before they are allocated | 8 per key |
//! | the filter itself | before it is allocated | its size |
//!
//! Only the banding may be refused: a Ribbon builder then falls back to a Bloom filter, as RocksDB
//! does under a full cache with a strict limit. The others are reported but go ahead, since without
//! them there is no filter at all. Everything is given back when `finish` returns: from then on the
//! filter's bytes are the caller's. (The room that a growing list of entries has in reserve is not
//! charged: up to 8 MiB beyond a million entries, and up to 24 MiB beyond twelve million. What a
//! user-made policy takes is its own affair.)

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Something that counts memory and may refuse it.
pub trait MemoryBudget: fmt::Debug + Send + Sync {
    /// Takes `bytes` from the budget, or says `false` and takes nothing.
    fn try_reserve(&self, bytes: usize) -> bool;

    /// Takes `bytes` whatever the limit: they will be allocated in any case.
    fn reserve(&self, bytes: usize);

    /// Gives `bytes` back.
    fn release(&self, bytes: usize);
}

/// A budget with a fixed limit.
///
/// ```
/// use sstkit_filter::{FixedBudget, MemoryBudget};
///
/// let budget = FixedBudget::new(1000);
/// assert!(budget.try_reserve(600));
/// assert!(!budget.try_reserve(600));
/// budget.release(600);
/// assert_eq!((budget.used(), budget.peak()), (0, 600));
/// ```
#[derive(Debug)]
pub struct FixedBudget {
    limit: usize,
    used: AtomicUsize,
    peak: AtomicUsize,
}

impl FixedBudget {
    /// A budget of `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { limit, used: AtomicUsize::new(0), peak: AtomicUsize::new(0) }
    }

    /// Bytes reserved now.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// The most bytes that were reserved at one time.
    pub fn peak(&self) -> usize {
        self.peak.load(Ordering::Relaxed)
    }
}

impl FixedBudget {
    /// Changes what is used, and says what it is then.
    fn update(&self, change: impl Fn(usize) -> usize) -> usize {
        let before = self
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| Some(change(used)))
            .unwrap_or_else(|used| used);
        change(before)
    }
}

impl MemoryBudget for FixedBudget {
    fn try_reserve(&self, bytes: usize) -> bool {
        let taken = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            used.checked_add(bytes).filter(|&sum| sum <= self.limit)
        });
        match taken {
            Ok(before) => {
                self.peak.fetch_max(before + bytes, Ordering::Relaxed);
                true
            }
            Err(_) => false,
        }
    }

    fn reserve(&self, bytes: usize) {
        let used = self.update(|used| used.saturating_add(bytes));
        self.peak.fetch_max(used, Ordering::Relaxed);
    }

    fn release(&self, bytes: usize) {
        self.update(|used| used.saturating_sub(bytes));
    }
}

/// What one builder has taken from a budget; given back on drop.
#[derive(Debug)]
pub(crate) struct Charge {
    budget: Option<Arc<dyn MemoryBudget>>,
    bytes: usize,
}

impl Charge {
    pub(crate) fn new(budget: Option<Arc<dyn MemoryBudget>>) -> Self {
        Self { budget, bytes: 0 }
    }

    pub(crate) fn reserve(&mut self, bytes: usize) {
        if let Some(budget) = &self.budget {
            budget.reserve(bytes);
            self.bytes += bytes;
        }
    }

    /// A charge of its own for `bytes`, if the budget has room for them.
    pub(crate) fn try_split(&self, bytes: usize) -> Option<Self> {
        let Some(budget) = &self.budget else {
            return Some(Self { budget: None, bytes: 0 });
        };
        budget.try_reserve(bytes).then(|| Self { budget: Some(Arc::clone(budget)), bytes })
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        if let Some(budget) = &self.budget {
            budget.release(self.bytes);
        }
    }
}
