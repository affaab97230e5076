//! Blocks that are not compressed.
//!
//! ```text
//! 00 | key length | value length | key | value | shared … | … | 0 | restart … | count
//!                                                               ^ an entry here would have no key
//! ```

use sstkit_coding::fixed::{decode_fixed16, decode_fixed32};
use sstkit_coding::varint::get_varint32;

use super::{Extent, Extents, STEP};
use crate::raw::{EntryKind, InternalKey};

impl Extents {
    /// Over the entries, up to the restart points that follow them.
    pub(in crate::salvage) fn uncompressed(&mut self, bytes: &[u8]) -> Extent {
        if bytes.first() != Some(&0) {
            return Extent::NoBlock;
        }
        self.whole_keys.clear();
        let (mut at, mut last_key) = (0, 0);
        loop {
            self.work += STEP;
            let rest = &bytes[at..];
            // An entry would have an empty key.
            if rest.starts_with(&[0; 4]) && at > 0 {
                return self.restarts(bytes, at);
            }
            let Some((lengths, header)) = entry_lengths(rest) else {
                return if rest.len() < 15 { Extent::Beyond } else { Extent::NoBlock };
            };
            let [shared, non_shared, value] = lengths;
            let key = shared.saturating_add(non_shared);
            if shared > last_key || key == 0 {
                return Extent::NoBlock;
            }
            if at == 0 && self.internal && !may_be_first(&rest[header..], non_shared) {
                return Extent::NoBlock;
            }
            if shared == 0 {
                self.whole_keys.push(at as u32);
            }
            last_key = key;
            at = (at + header).saturating_add(non_shared).saturating_add(value);
            if at > bytes.len() {
                return Extent::Beyond;
            }
        }
    }

    /// The restart points at `at`: each is the offset of an entry with a whole key. Behind them is
    /// their number, or a hash index and then their number.
    fn restarts(&mut self, bytes: &[u8], at: usize) -> Extent {
        const HASH_INDEX: u32 = 1 << 31;
        const UNIFORM: u32 = 1 << 29;
        let word = |at: usize| Some(decode_fixed32(*bytes.get(at..)?.first_chunk()?));
        let (mut count, mut next) = (0, at);
        let mut candidates = self.whole_keys.iter();
        loop {
            let Some(found) = word(next) else { return Extent::Beyond };
            // Never an offset, since entries are longer than a byte.
            if count > 0 && found & !UNIFORM == count {
                return Extent::Ends(next + 4);
            }
            if !candidates.any(|&offset| offset == found) {
                break;
            }
            (count, next) = (count + 1, next + 4);
        }
        if count == 0 {
            return Extent::NoBlock;
        }
        let after = &bytes[next..];
        self.work += after.len().min(usize::from(u16::MAX)) as u64;
        for buckets in 1..=usize::from(u16::MAX) {
            let Some(tail) = after.get(buckets..buckets + 6) else { return Extent::Beyond };
            let &[a, b, ref packed @ ..] = tail else { continue };
            let Some(packed) = packed.first_chunk().map(|it| decode_fixed32(*it)) else { continue };
            if packed & !UNIFORM == HASH_INDEX | count
                && usize::from(decode_fixed16([a, b])) == buckets
            {
                return Extent::Ends(next + buckets + 6);
            }
        }
        Extent::NoBlock
    }

    /// With separated values, the first entry has one number more before its key, a zero; the values
    /// are somewhere behind the keys.
    pub(super) fn separated(&self, bytes: &[u8]) -> bool {
        let Some(([_, key, _], header)) = entry_lengths(bytes) else { return false };
        let rest = &bytes[header..];
        let Some((0, rest)) = rest.split_first().map(|(first, rest)| (*first, rest)) else {
            return false;
        };
        let is_followed = rest.get(key..).is_none_or(|next| match entry_lengths(next) {
            Some(([shared, non_shared, _], _)) => shared <= key && shared.max(non_shared) > 0,
            None => next.len() < 15,
        });
        key > 0 && is_followed && (!self.internal || is_point(rest, key))
    }
}

/// Lengths of the shared and the other part of a key and of the value, and how many bytes say so.
fn entry_lengths(bytes: &[u8]) -> Option<([usize; 3], usize)> {
    let mut input = bytes;
    let mut next = || get_varint32(&mut input).map(|length| length as usize);
    let lengths = [next()?, next()?, next()?];
    Some((lengths, bytes.len() - input.len()))
}

/// Whether a block of internal keys, or of names, may start with this key; what is not there is not
/// held against it.
fn may_be_first(key: &[u8], length: usize) -> bool {
    let names: [&[u8]; 4] = [b"rocksdb.", b"filter.", b"fullfilter.", b"partitionedfilter."];
    is_point(key, length) || names.into_iter().any(|name| key.starts_with(name))
}

fn is_point(key: &[u8], length: usize) -> bool {
    let Some(at) = length.checked_sub(InternalKey::TAIL_LENGTH) else { return false };
    key.get(at).is_none_or(|&kind| EntryKind::from_byte(kind).is_some())
}
