//! Histograms of sizes, with bins that double.

use std::ops::AddAssign;

/// One bin for each number of significant bits.
const BINS: usize = u64::BITS as usize + 1;

/// How often each size occurs, by powers of two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizeHistogram {
    bins: [u64; BINS],
    sum: u64,
    smallest: u64,
    largest: u64,
}

/// A bin of a histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SizeBucket {
    /// The smallest size in it.
    pub from: u64,
    /// The largest size in it.
    pub to: u64,
    /// How many there are.
    pub count: u64,
}

impl Default for SizeHistogram {
    fn default() -> Self {
        Self { bins: [0; BINS], sum: 0, smallest: u64::MAX, largest: 0 }
    }
}

impl SizeHistogram {
    #[inline(always)] // see `Pass::take`
    pub(super) fn add(&mut self, size: u64) {
        self.bins[(u64::BITS - size.leading_zeros()) as usize] += 1;
        self.sum = self.sum.wrapping_add(size);
        self.smallest = self.smallest.min(size);
        self.largest = self.largest.max(size);
    }

    /// How many sizes there are.
    pub fn count(&self) -> u64 {
        self.bins.iter().sum()
    }

    /// The mean; `None` of nothing.
    pub fn mean(&self) -> Option<f64> {
        let count = self.count();
        (count > 0).then(|| self.sum as f64 / count as f64)
    }

    /// The smallest size; `None` of nothing.
    pub fn smallest(&self) -> Option<u64> {
        (self.count() > 0).then_some(self.smallest)
    }

    /// The largest size; `None` of nothing.
    pub fn largest(&self) -> Option<u64> {
        (self.count() > 0).then_some(self.largest)
    }

    /// The bins from the first to the last that is not empty: 0, 1, 2 to 3, 4 to 7 and so on.
    pub fn buckets(&self) -> Vec<SizeBucket> {
        let is_used = |&count: &u64| count > 0;
        let (Some(first), Some(last)) =
            (self.bins.iter().position(is_used), self.bins.iter().rposition(is_used))
        else {
            return Vec::new();
        };
        let bucket = |bits: usize| SizeBucket {
            from: if bits == 0 { 0 } else { 1 << (bits - 1) },
            to: if bits == 0 { 0 } else { u64::MAX >> (u64::BITS as usize - bits) },
            count: self.bins[bits],
        };
        (first..=last).map(bucket).collect()
    }
}

impl AddAssign<&Self> for SizeHistogram {
    fn add_assign(&mut self, other: &Self) {
        self.bins.iter_mut().zip(other.bins).for_each(|(sum, more)| *sum += more);
        self.sum = self.sum.wrapping_add(other.sum);
        self.smallest = self.smallest.min(other.smallest);
        self.largest = self.largest.max(other.largest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_double() {
        let mut histogram = SizeHistogram::default();
        assert_eq!((histogram.buckets(), histogram.mean()), (Vec::new(), None));
        for size in [1, 2, 3, 4, 7, 7, u64::MAX] {
            histogram.add(size);
        }
        let buckets = histogram.buckets();
        let bucket = |from, to, count| SizeBucket { from, to, count };
        assert_eq!(buckets[..3], [bucket(1, 1, 1), bucket(2, 3, 2), bucket(4, 7, 3)]);
        assert_eq!(buckets.last(), Some(&bucket(1 << 63, u64::MAX, 1)));
        assert_eq!((histogram.smallest(), histogram.largest()), (Some(1), Some(u64::MAX)));
        let mut zero = SizeHistogram::default();
        zero.add(0);
        zero += &histogram;
        assert_eq!(zero.buckets()[0], bucket(0, 0, 1));
        assert_eq!(zero.count(), 8);
    }
}
