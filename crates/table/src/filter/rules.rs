//! What a filter may be probed for: RocksDB's rules.
//!
//! | operation | probe |
//! |---|---|
//! | lookup, whole keys are in the filter | the key |
//! | lookup, only prefixes are, and of the reader's extractor | the prefix of the key |
//! | any other lookup | none |
//! | seek, [`PrefixMode::TotalOrder`] | none |
//! | seek, [`PrefixMode::SamePrefix`], extractor unchanged | the prefix of the seek key |
//! | forward seek, bounded above within one prefix | that prefix |
//! | scan of all keys that start with some bytes, any other mode | their prefix, if they are long enough |
//! | any other seek | none |
//!
//! Two more, which RocksDB leaves to its users. Where keys may be equal without having the same
//! bytes, nothing is probed for: the filter knows bytes. In a user-made order no seek probes: keys of
//! one prefix may be anywhere, also in partitions that are not probed, and two keys of one prefix
//! may have others between them.

use sstkit_filter::{FilterLayout, PrefixExtractor};

use super::FilterReader;
use crate::comparator::Comparator;
use crate::reader::open::key_space::KeySpace;

/// How seeks use the prefixes in a filter, and where a scan ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PrefixMode {
    /// Seeks probe no filter (RocksDB's `total_order_seek`).
    TotalOrder,
    /// Seeks probe the filter where that cannot change what is found: a forward seek whose upper
    /// bound is within the prefix of the seek key (RocksDB's `auto_prefix_mode`).
    #[default]
    Auto,
    /// Only keys with the prefix of the seek key are wanted (RocksDB's `prefix_same_as_start`):
    /// seeks in both directions probe the filter, and a scan ends with the prefix.
    SamePrefix,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FilterProbe<'k> {
    WholeKey(&'k [u8]),
    Prefix(&'k [u8]),
}

impl<'k> FilterProbe<'k> {
    #[inline]
    pub(crate) fn bytes(self) -> &'k [u8] {
        match self {
            Self::WholeKey(bytes) | Self::Prefix(bytes) => bytes,
        }
    }
}

impl FilterReader {
    #[inline]
    pub(crate) fn lookup_probe<'k>(
        &self,
        key: &'k [u8],
        keys: &KeySpace,
    ) -> Option<FilterProbe<'k>> {
        if self.whole_key {
            return keys.equal_means_same_bytes().then_some(FilterProbe::WholeKey(key));
        }
        self.stored_prefix(key)
            .filter(|_| self.lookups_probe_prefixes(keys))
            .map(FilterProbe::Prefix)
    }

    pub(crate) fn lookups_probe_prefixes(&self, keys: &KeySpace) -> bool {
        !self.whole_key
            && self.has_prefixes
            && !self.extractor_changed
            // In RocksDB's filter blocks, which prefixes are added depends on the previous blocks.
            && self.layout != FilterLayout::Block
            && keys.equal_means_same_bytes()
    }

    /// Whether prefixes are in the filter. `None` if the extractor is unknown.
    pub(crate) fn has_prefixes(&self) -> Option<bool> {
        if self.has_prefixes { self.extractor.as_ref().map(|_| true) } else { Some(false) }
    }

    /// The prefix of `key` as stored in the filter.
    pub(crate) fn stored_prefix<'k>(&self, key: &'k [u8]) -> Option<&'k [u8]> {
        self.extractor.as_ref().filter(|_| self.has_prefixes)?.prefix(key)
    }

    /// The prefix that a seek to `key` probes for, if any.
    pub(crate) fn seek_prefix<'k>(
        &self,
        mode: PrefixMode,
        key: &'k [u8],
        upper_bound: Option<&[u8]>,
        backward: bool,
        order: &Comparator,
    ) -> Option<&'k [u8]> {
        let need_bound = match mode {
            // A probe would need the offset of a data block, that is, the seek itself.
            _ if self.layout == FilterLayout::Block => return None,
            _ if is_custom(order) => return None,
            PrefixMode::TotalOrder => return None,
            PrefixMode::Auto => true,
            PrefixMode::SamePrefix => self.extractor_changed,
        };
        let prefix = self.stored_prefix(key)?;
        if !need_bound {
            return Some(prefix);
        }
        let bound = upper_bound.filter(|_| !backward)?;
        let extractor = self.extractor.as_ref()?;
        let same = extractor.prefix(bound)? == prefix;
        let next = extractor.full_length() == Some(bound.len())
            && is_next_of_same_length(prefix, bound)
            && matches!(order, Comparator::Bytewise | Comparator::BytewiseWithTimestamp);
        (same || next).then_some(prefix)
    }

    /// The common prefix of all keys that start with `start`, if there is one.
    pub(crate) fn common_prefix<'k>(
        &self,
        start: &'k [u8],
        order: &Comparator,
    ) -> Option<&'k [u8]> {
        if is_custom(order) {
            return None;
        }
        let prefix = self.stored_prefix(start).filter(|_| self.layout != FilterLayout::Block)?;
        match self.extractor.as_ref()? {
            PrefixExtractor::Noop => None,
            // It has the maximum length, so further bytes of a key do not change it.
            extractor => (extractor.full_length() == Some(prefix.len())).then_some(prefix),
        }
    }
}

/// Whether the order is custom, so that keys with the same prefix may not be adjacent.
fn is_custom(order: &Comparator) -> bool {
    matches!(order, Comparator::User(_))
}

/// Whether keys that start with some bytes sort before these bytes.
pub(crate) fn is_reversed(order: &Comparator) -> bool {
    matches!(order, Comparator::ReverseBytewise | Comparator::ReverseBytewiseWithTimestamp)
}

/// Whether `next` is the bytewise successor of `prefix` among keys of the same length.
fn is_next_of_same_length(prefix: &[u8], next: &[u8]) -> bool {
    if prefix.len() != next.len() {
        return false;
    }
    let Some(at) = prefix.iter().zip(next).position(|(a, b)| a != b) else { return false };
    prefix[at].checked_add(1) == Some(next[at])
        && prefix[at + 1..].iter().all(|&byte| byte == 0xff)
        && next[at + 1..].iter().all(|&byte| byte == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_of_the_same_length() {
        for (prefix, next, is) in [
            (&b"ab"[..], &b"ac"[..], true),
            (b"ab", b"ad", false),
            (b"a\xff", b"b\0", true),
            (b"a\xff", b"b\x01", false),
            (b"ax", b"b\0", false),
            (b"ab", b"ab", false),
            (b"ab", b"ac\0", false),
            (b"\xff", b"\0", false),
        ] {
            assert_eq!(is_next_of_same_length(prefix, next), is, "{prefix:?} {next:?}");
        }
    }
}
