//! Split keys from samples, so that parts have about the same number of bytes.
//!
//! ```text
//! samples      a:10  c:10  f:30  k:10  m:10  s:10      key:bytes that it stands for
//! shards                       |k                      must be split there
//! 4 parts      a c   | f       |k m s                  50 of 80 bytes are before k: 2 or 3 parts
//! ```

use std::cmp::Ordering;

use crate::comparator::Comparator;
use crate::error::{Error, Result};

/// Sampled keys, without timestamps, each with the bytes that it stands for.
#[derive(Clone, Default)]
pub struct KeySamples {
    samples: Vec<(Vec<u8>, u64)>,
    /// Every `interval`th offered key is kept.
    interval: u64,
    offered: u64,
    /// Bytes of the keys since the last one that was kept.
    pending: u64,
}

sstkit_coding::debug_struct!(KeySamples { samples: bytes, interval, offered, pending });

/// More samples than this are thinned out.
const MAX_SAMPLES: usize = 1 << 16;

impl KeySamples {
    /// Takes a key into account that stands for `bytes` of data. Of many keys a sample is kept.
    pub fn offer(&mut self, key: &[u8], bytes: u64) {
        self.offered += 1;
        self.pending = self.pending.saturating_add(bytes);
        if !self.offered.is_multiple_of(self.interval.max(1)) {
            return;
        }
        self.samples.push((key.to_vec(), std::mem::take(&mut self.pending)));
        if self.samples.len() >= MAX_SAMPLES {
            // Each second one stands for its neighbour, too.
            self.interval = self.interval.max(1) * 2;
            let pairs = self.samples.chunks(2);
            self.samples = pairs
                .map(|pair| (pair[0].0.clone(), pair.iter().map(|(_, bytes)| bytes).sum()))
                .collect();
        }
    }

    /// Keys at which to split the data into about `parts` parts of the same size. Each of the
    /// `shards`, which are in order, is one of them: no part contains keys of two shards.
    ///
    /// # Errors
    ///
    /// Fails if there are more shards than parts, or they are not in order.
    pub fn split_keys(
        &self,
        parts: usize,
        shards: &[Vec<u8>],
        comparator: &Comparator,
    ) -> Result<Vec<Vec<u8>>> {
        let compare = |a: &[u8], b: &[u8]| comparator.compare_without_timestamp(a, b);
        if shards.windows(2).any(|pair| compare(&pair[0], &pair[1]).is_ge()) {
            return Err(Error::invalid_input("the shard boundaries are not in order"));
        }
        if parts <= shards.len() {
            let (boundaries, needed) = (shards.len(), shards.len() + 1);
            return Err(Error::invalid_input(format!(
                "{boundaries} shard boundaries need {needed} parts or more, not {parts}"
            )));
        }
        let samples = self.sorted(compare);
        let total: u128 = samples.iter().map(|(_, bytes)| u128::from(*bytes)).sum();
        let mut splits = Vec::with_capacity(parts);
        let mut rest = &samples[..];
        for end in shards.iter().map(Some).chain([None]) {
            let within = end.map_or(rest.len(), |end| {
                rest.partition_point(|(key, _)| compare(key, end).is_lt())
            });
            let (shard, after) = rest.split_at(within);
            rest = after;
            let bytes: u128 = shard.iter().map(|(_, bytes)| u128::from(*bytes)).sum();
            let share = (parts as u128 * bytes + total / 2).checked_div(total).unwrap_or(0).max(1);
            split_shard(shard, bytes, share, splits.last().cloned(), compare, &mut splits);
            splits.extend(end.cloned());
        }
        Ok(splits)
    }

    /// In order, one for each key.
    fn sorted(&self, compare: impl Fn(&[u8], &[u8]) -> Ordering) -> Vec<(Vec<u8>, u64)> {
        let mut samples = self.samples.clone();
        samples.sort_by(|(a, _), (b, _)| compare(a, b));
        samples.dedup_by(|next, kept| {
            let same = compare(&next.0, &kept.0).is_eq();
            if same {
                kept.1 = kept.1.saturating_add(next.1);
            }
            same
        });
        samples
    }
}

/// Splits the samples of a shard, which starts at `start`, into `parts` parts.
fn split_shard(
    samples: &[(Vec<u8>, u64)],
    total: u128,
    parts: u128,
    start: Option<Vec<u8>>,
    compare: impl Fn(&[u8], &[u8]) -> Ordering,
    splits: &mut Vec<Vec<u8>>,
) {
    let (mut before, mut part) = (0_u128, 1);
    for (number, (key, bytes)) in samples.iter().enumerate() {
        let is_first = number == 0 || start.as_ref().is_some_and(|it| compare(it, key).is_ge());
        if part < parts && before * parts >= total * part && !is_first {
            splits.push(key.clone());
            // A key with many bytes may fill several parts.
            while part < parts && before * parts >= total * part {
                part += 1;
            }
        }
        before += u128::from(*bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn splits(parts: usize, shards: &[&str]) -> Result<Vec<String>> {
        let mut samples = KeySamples::default();
        for (key, bytes) in [("s", 10), ("c", 10), ("f", 30), ("a", 10), ("m", 10), ("k", 10)] {
            samples.offer(key.as_bytes(), bytes);
        }
        let shards: Vec<Vec<u8>> = shards.iter().map(|it| it.as_bytes().to_vec()).collect();
        let keys = samples.split_keys(parts, &shards, &Comparator::Bytewise)?;
        Ok(keys.into_iter().map(|key| String::from_utf8(key).unwrap()).collect())
    }

    #[test]
    fn by_bytes() {
        assert_eq!(splits(1, &[]).unwrap(), [""; 0]);
        assert_eq!(splits(2, &[]).unwrap(), ["k"]);
        assert_eq!(splits(4, &[]).unwrap(), ["f", "k", "m"]);
        // No key can be split.
        assert_eq!(splits(100, &[]).unwrap(), ["c", "f", "k", "m", "s"]);
    }

    #[test]
    fn at_shards() {
        assert_eq!(splits(4, &["k"]).unwrap(), ["f", "k", "s"]);
        assert_eq!(splits(2, &["b"]).unwrap(), ["b", "k"]);
        assert_eq!(splits(3, &["x", "y"]).unwrap(), ["k", "m", "x", "y"]);
        assert!(splits(2, &["b", "c"]).is_err());
        assert!(splits(3, &["c", "b"]).is_err());
    }

    #[test]
    fn many_keys_are_thinned_out() {
        let mut samples = KeySamples::default();
        for number in 0..1_000_000_u32 {
            samples.offer(&number.to_be_bytes(), 100);
        }
        assert!(samples.samples.len() < MAX_SAMPLES);
        let keys = samples.split_keys(4, &[], &Comparator::Bytewise).unwrap();
        for (key, expected) in keys.iter().zip([250_000, 500_000, 750_000]) {
            let found = u32::from_be_bytes(key[..].try_into().unwrap());
            assert!(found.abs_diff(expected) < 1000, "{found}");
        }
        assert_eq!(keys.len(), 3);
    }
}
