//! Comparators that no engine has.

use std::cmp::Ordering;
use std::sync::Arc;

use sstkit_table::{Comparator, KeyOrder};

/// By length, then by bytes.
#[derive(Debug)]
pub struct ShortFirst;

impl KeyOrder for ShortFirst {
    fn name(&self) -> &str {
        "test.ShortFirst"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        (a.len(), a).cmp(&(b.len(), b))
    }
}

/// The order of [`ShortFirst`].
pub fn short_first() -> Comparator {
    Comparator::User(Arc::new(ShortFirst))
}

/// By length, then by bytes backwards: an order that nothing else has.
#[derive(Debug)]
pub struct ShortFirstBackwards;

impl KeyOrder for ShortFirstBackwards {
    fn name(&self) -> &str {
        "test.ShortFirstBackwards"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        (a.len(), b).cmp(&(b.len(), a))
    }
}

/// The order of [`ShortFirstBackwards`].
pub fn short_first_backwards() -> Comparator {
    Comparator::User(Arc::new(ShortFirstBackwards))
}

/// Ignores ASCII case. With `exact` it claims that equal keys have equal bytes, which is false: a
/// writer then builds filters that a reader must not trust.
#[derive(Debug)]
pub struct IgnoreCase {
    /// What [`KeyOrder::equal_means_same_bytes`] returns.
    pub exact: bool,
}

impl KeyOrder for IgnoreCase {
    fn name(&self) -> &str {
        "test.IgnoreCase"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        a.to_ascii_lowercase().cmp(&b.to_ascii_lowercase())
    }

    fn equal_means_same_bytes(&self) -> bool {
        self.exact
    }
}

/// The order of [`IgnoreCase`].
pub fn ignore_case() -> Comparator {
    Comparator::User(Arc::new(IgnoreCase { exact: false }))
}
