//! The filter against the keys of a data block: it must pass all of them, and their prefixes.
//!
//! A full filter is probed for many keys at once, so that their cache lines are fetched together.

use sstkit_filter::{FilterLayout, HashedKey};

use crate::error::Error;
use crate::filter::FilterReader;
use crate::key_excerpt::KeyExcerpt;
use crate::raw::BlockHandle;
use crate::reader::open::core::Core;

/// Bytes of keys in a batch; the last key may exceed them. Keys that share prefixes can expand a small
/// block to gigabytes.
const BATCH_BYTES: usize = 64 << 10;
const BATCH_KEYS: usize = 4096;

/// Stored keys of one data block that the filter has not been probed for yet, and the key before
/// them.
#[derive(Debug, Default)]
pub(super) struct KeyBatch {
    /// The key before the batch, then the keys of the batch.
    bytes: Vec<u8>,
    /// Where the key before the batch ends, if there is one.
    carried: Option<usize>,
    /// Where each key of the batch ends.
    ends: Vec<usize>,
}

impl KeyBatch {
    /// Removes all keys but remembers the last one.
    pub(super) fn clear(&mut self) {
        if let Some(&end) = self.ends.last() {
            let start = self.ends.iter().nth_back(1).copied().or(self.carried).unwrap_or(0);
            self.bytes.copy_within(start..end, 0);
            self.bytes.truncate(end - start);
            self.carried = Some(end - start);
            self.ends.clear();
        }
    }

    /// The key that was added last, even if the batch has been cleared since.
    #[inline]
    pub(super) fn last(&self) -> Option<&[u8]> {
        match self.ends[..] {
            [] => self.carried.map(|end| &self.bytes[..end]),
            [_] => Some(&self.bytes[self.carried.unwrap_or(0)..]),
            [.., start, _] => Some(&self.bytes[start..]),
        }
    }

    /// Adds a key; true if the filter must be probed before more are added.
    #[inline]
    pub(super) fn push(&mut self, key: &[u8]) -> bool {
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
        self.bytes.len() >= BATCH_BYTES || self.ends.len() >= BATCH_KEYS
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = [self.carried.unwrap_or(0)].into_iter().chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.bytes[start..end])
    }

    /// The probes that the filter must pass: each stored key and its prefix, if they are in the
    /// filter.
    fn probes<'b>(
        &'b self,
        core: &'b Core,
        filter: &'b FilterReader,
    ) -> impl Iterator<Item = (&'b [u8], &'b [u8])> {
        let has_prefixes = filter.layout() != FilterLayout::Block;
        self.iter().flat_map(move |stored| {
            let bare = core.keys.bare(core.keys.stored_user_key(stored, false));
            let whole = filter.has_whole_keys.then_some(bare);
            let prefix = if has_prefixes { filter.stored_prefix(bare) } else { None };
            [whole, prefix].into_iter().flatten().map(move |probe| (stored, probe))
        })
    }

    /// A problem for each key of the batch that the filter denies. The keys are those of the block at
    /// `handle`.
    pub(super) fn denied(&self, core: &Core, handle: BlockHandle) -> Vec<Error> {
        let Some(filter) = core.filter.as_ref().filter(|_| core.keys.is_ordered()) else {
            return Vec::new();
        };
        let mut hashed = Vec::with_capacity(2 * self.ends.len());
        hashed.extend(self.probes(core, filter).map(|(_, probe)| HashedKey::new(probe)));
        let mut passed = vec![true; hashed.len()];
        match filter.layout() {
            FilterLayout::Full => filter.may_contain_batch(&core.blocks, &hashed, &mut passed),
            FilterLayout::Block => {
                for (key, passed) in hashed.iter().zip(&mut passed) {
                    *passed = filter.may_contain_in_block(&core.blocks, handle.offset, key);
                }
            }
            _ => {
                let probes = self.probes(core, filter).zip(&hashed).zip(&mut passed);
                for (((stored, _), key), passed) in probes {
                    let bare = core.keys.bare(core.keys.stored_user_key(stored, false));
                    let search = core.keys.newest(bare);
                    *passed = filter.may_contain(&core.blocks, &core.keys, key, &search.before());
                }
            }
        }
        if passed.iter().all(|&passed| passed) {
            return Vec::new();
        }
        let denied = self.probes(core, filter).zip(passed).filter(|&(_, passed)| !passed);
        denied.map(|((stored, probe), _)| denial(core, stored, probe)).collect()
    }
}

fn denial(core: &Core, stored: &[u8], probe: &[u8]) -> Error {
    match core.keys.decode(stored) {
        Ok(key) => {
            Error::corrupt(format!("the filter does not match {} of {key:?}", KeyExcerpt(probe)))
        }
        Err(error) => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_key_outlives_the_batch() {
        let mut batch = KeyBatch::default();
        assert_eq!(batch.last(), None);
        batch.clear();
        assert_eq!(batch.last(), None);
        for keys in [&["a"][..], &["bb", "c"], &[], &["", "ddd", "e"], &[""]] {
            let before = batch.last().map(<[u8]>::to_vec);
            for key in keys {
                batch.push(key.as_bytes());
                assert_eq!(batch.last(), Some(key.as_bytes()));
            }
            assert!(batch.iter().eq(keys.iter().map(|key| key.as_bytes())), "{keys:?}");
            batch.clear();
            assert_eq!(batch.iter().count(), 0);
            assert_eq!(
                batch.last().map(<[u8]>::to_vec),
                keys.last().map(|key| key.as_bytes().to_vec()).or(before)
            );
        }
    }
}
