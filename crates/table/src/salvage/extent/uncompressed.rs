//! Blocks that are not compressed.
//!
//! ```text
//! 00 | key length | value length | key | value | shared … | … | 0 | restart … | count
//!                                                               ^ an entry here would have no key
//! 00 | key length | key | offset | size | shared … | … | 0 | restart … | count        index
//! ```

use sstkit_coding::fixed::{decode_fixed16, decode_fixed32};
use sstkit_coding::varint::{get_varint32, get_varint64};

use super::{Extent, Extents, STEP};
use crate::raw::{EntryKind, InternalKey};

/// How entries are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    /// Key and value.
    Plain,
    /// Key and handle, or its difference to the handle before: an index.
    Delta,
}

/// An entry, as far as its place is concerned.
struct Lengths {
    shared: usize,
    non_shared: usize,
    /// Where its key starts.
    key: usize,
    /// Where it ends.
    end: usize,
}

impl Extents {
    /// A block of keys and values.
    pub(in crate::salvage) fn uncompressed(&mut self, bytes: &[u8]) -> Extent {
        self.entries(bytes, Encoding::Plain)
    }

    /// A block of an index whose handles are delta-encoded.
    pub(in crate::salvage) fn delta_index(&mut self, bytes: &[u8]) -> Extent {
        self.entries(bytes, Encoding::Delta)
    }

    /// Over the entries, up to the restart points that follow them.
    fn entries(&mut self, bytes: &[u8], encoding: Encoding) -> Extent {
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
            let Some(entry) = encoding.lengths(rest) else {
                return if rest.len() < 32 { Extent::Beyond } else { Extent::NoBlock };
            };
            let key = entry.shared.saturating_add(entry.non_shared);
            if entry.shared > last_key || key == 0 {
                return Extent::NoBlock;
            }
            let is_checked = at == 0 && self.internal && encoding == Encoding::Plain;
            if is_checked && !may_be_first(&rest[entry.key..], entry.non_shared) {
                return Extent::NoBlock;
            }
            if entry.shared == 0 {
                self.whole_keys.push(at as u32);
            }
            last_key = key;
            at = at.saturating_add(entry.end);
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
        // A bucket has the number of a restart point, or says that there is none, or several.
        const NO_RESTART: u8 = 254;
        let after = &bytes[next..];
        let is_bucket = |bucket: &&u8| u32::from(**bucket) < count || **bucket >= NO_RESTART;
        let buckets = after.iter().take_while(is_bucket).count().min(usize::from(u16::MAX));
        self.work += buckets as u64;
        for buckets in 1..=buckets {
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
    /// are somewhere behind the keys. Only RocksDB writes such blocks, with internal keys.
    pub(super) fn separated(bytes: &[u8]) -> bool {
        let Some(([_, key, _], header)) = entry_lengths(bytes) else { return false };
        let rest = &bytes[header..];
        let Some((0, rest)) = rest.split_first().map(|(first, rest)| (*first, rest)) else {
            return false;
        };
        let is_followed = rest.get(key..).is_none_or(|next| match entry_lengths(next) {
            Some(([shared, non_shared, _], _)) => shared <= key && shared.max(non_shared) > 0,
            None => next.len() < 15,
        });
        is_followed && is_point(rest, key)
    }
}

impl Encoding {
    /// The entry with which `bytes` start; `None` if its lengths cannot be read.
    fn lengths(self, bytes: &[u8]) -> Option<Lengths> {
        match self {
            Self::Plain => {
                let ([shared, non_shared, value], key) = entry_lengths(bytes)?;
                let end = key.saturating_add(non_shared).saturating_add(value);
                Some(Lengths { shared, non_shared, key, end })
            }
            Self::Delta => {
                let mut input = bytes;
                let (shared, non_shared) = (get_varint32(&mut input)?, get_varint32(&mut input)?);
                let (shared, non_shared) = (shared as usize, non_shared as usize);
                let key = bytes.len() - input.len();
                let value = key.saturating_add(non_shared);
                let Some(mut input) = bytes.get(value..) else {
                    return Some(Lengths { shared, non_shared, key, end: value });
                };
                // A handle, or the difference of the sizes.
                for _ in 0..if shared == 0 { 2 } else { 1 } {
                    get_varint64(&mut input)?;
                }
                Some(Lengths { shared, non_shared, key, end: bytes.len() - input.len() })
            }
        }
    }
}

/// Lengths of the shared and the other part of a key and of the value, and how many bytes say so.
fn entry_lengths(bytes: &[u8]) -> Option<([usize; 3], usize)> {
    let mut input = bytes;
    let mut next = || get_varint32(&mut input).map(|length| length as usize);
    let lengths = [next()?, next()?, next()?];
    Some((lengths, bytes.len() - input.len()))
}

/// Whether a block of internal keys, or of names, may start with this key. Bytes that were not read yet
/// do not rule it out.
fn may_be_first(key: &[u8], length: usize) -> bool {
    let names: [&[u8]; 4] = [b"rocksdb.", b"filter.", b"fullfilter.", b"partitionedfilter."];
    is_point(key, length) || names.into_iter().any(|name| key.starts_with(name))
}

fn is_point(key: &[u8], length: usize) -> bool {
    let Some(at) = length.checked_sub(InternalKey::TAIL_LENGTH) else { return false };
    key.get(at).is_none_or(|&kind| EntryKind::from_byte(kind).is_some())
}
