//! Entries in memory, in order of arrival, with slots for sorting.
//!
//! ```text
//! bytes   | key | kind | varint32 length | value |  key | kind | length | value |  …
//!                 |
//!                 '-- its upper bit is set if a sequence number other than 0 follows, varint64
//!           ^                                       ^
//! slots     number of the key, offset, length       number of the key, offset, length   …
//! ```
//!
//! Only the slots are sorted, 16 bytes each, by the number first: most comparisons never read a
//! key. The offset of an entry tells its order of arrival.
//!
//! In sorted order, entries are scattered over the memory, and a cache miss takes as long as
//! writing four or five entries. Several entries are therefore prefetched at once.

use std::cmp::Reverse;

use sstkit_coding::varint::{get_varint32, get_varint64, put_varint32, put_varint64};
use sstkit_table::raw::{EntryKind, InternalKey};

use super::Duplicates;
use super::key_prefix::KeyPrefix;

/// Offsets are stored in 32 bits.
pub(super) const MAX_ARENA: usize = u32::MAX as usize;

/// The maximum size of an entry besides key and value.
const ENTRY_OVERHEAD: usize = MAX_KIND + 5;

/// The maximum size of a kind and a sequence number.
pub(super) const MAX_KIND: usize = 1 + 10;

/// Flag in the kind byte: a sequence number follows.
const HAS_SEQUENCE: u8 = 0x80;

/// Memory of the table writer per entry: a hash for the filter, its bits, a share of the index.
const WRITER_OVERHEAD: usize = 10;

/// The number of entries to prefetch.
const AHEAD: usize = 32;

const CACHE_LINE: usize = 64;

/// Lines of an entry to prefetch; the hardware prefetches the rest of a larger one.
const LINES_AHEAD: usize = 3;

/// Entries in memory.
#[derive(Debug, Default)]
pub(super) struct Arena {
    bytes: Vec<u8>,
    slots: Vec<Slot>,
    /// A key arrived that is not after the previous one.
    disordered: bool,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    number: u64,
    key: u32,
    key_length: u32,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct RawEntry<'a> {
    pub(super) key: &'a [u8],
    pub(super) sequence: u64,
    pub(super) kind: EntryKind,
    pub(super) value: &'a [u8],
}

impl RawEntry<'_> {
    /// The key as stored.
    pub(super) fn internal_key(&self) -> InternalKey<'_> {
        InternalKey { user_key: self.key, sequence: self.sequence, kind: self.kind }
    }

    /// The size in memory.
    pub(super) fn footprint(&self) -> usize {
        self.key.len() + self.value.len() + ENTRY_OVERHEAD + size_of::<Slot>() + WRITER_OVERHEAD
    }
}

impl Arena {
    /// An arena with this capacity. Untouched memory costs nothing.
    pub(super) fn with_capacity(bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes.min(MAX_ARENA)), ..Self::default() }
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// The memory in use, including what the table writer will need.
    pub(super) fn footprint(&self) -> usize {
        self.bytes.len() + self.slots.len() * (size_of::<Slot>() + WRITER_OVERHEAD)
    }

    pub(super) fn has_place(&self, entry: &RawEntry<'_>) -> bool {
        self.bytes.len() + entry.footprint() <= MAX_ARENA
    }

    /// Adds an entry that fits.
    #[inline]
    pub(super) fn push(&mut self, entry: &RawEntry<'_>, order: &KeyPrefix) {
        let RawEntry { key, sequence, kind, value } = *entry;
        if !self.disordered
            && let Some(&last) = self.slots.last()
        {
            self.disordered = order.comparator().compare(self.key(last), key).is_ge();
        }
        let place = self.bytes.len() as u32;
        self.bytes.extend_from_slice(key);
        put_kind(&mut self.bytes, kind, sequence);
        put_varint32(&mut self.bytes, value.len() as u32);
        self.bytes.extend_from_slice(value);
        self.slots.push(Slot { number: 0, key: place, key_length: key.len() as u32 });
    }

    /// Sorts by key, then by sequence number, newest first. Of several entries with the same key
    /// and sequence number, the one to keep comes first.
    pub(super) fn sort(&mut self, order: &KeyPrefix, duplicates: Duplicates) {
        if !self.disordered {
            return;
        }
        let bytes = &self.bytes[..];
        for slot in &mut self.slots {
            slot.number = order.of(key(bytes, *slot));
        }
        let by_key = |a: &Slot, b: &Slot| {
            let by_key = order.compare((a.number, key(bytes, *a)), (b.number, key(bytes, *b)));
            by_key.then_with(|| sequence(bytes, *b).cmp(&sequence(bytes, *a)))
        };
        match duplicates {
            Duplicates::Last => self.slots.sort_unstable_by(|a, b| {
                by_key(a, b).then_with(|| Reverse(a.key).cmp(&Reverse(b.key)))
            }),
            Duplicates::First | Duplicates::Error => {
                self.slots.sort_unstable_by(|a, b| by_key(a, b).then_with(|| a.key.cmp(&b.key)));
            }
        }
    }

    /// The entries, in order after sorting.
    pub(super) fn iter(&self) -> impl Iterator<Item = RawEntry<'_>> {
        self.slots.chunks(AHEAD).flat_map(|slots| {
            self.touch(slots);
            slots.iter().map(|&slot| self.entry(slot))
        })
    }

    /// Loads entries into the cache. These reads are independent of each other.
    fn touch(&self, slots: &[Slot]) {
        let mut touched = 0;
        for slot in slots {
            for line in 0..LINES_AHEAD {
                touched ^= self.bytes.get(slot.key as usize + line * CACHE_LINE).unwrap_or(&0);
            }
        }
        std::hint::black_box(touched);
    }

    fn key(&self, slot: Slot) -> &[u8] {
        key(&self.bytes, slot)
    }

    fn entry(&self, slot: Slot) -> RawEntry<'_> {
        let (key, mut rest) = self.bytes[slot.key as usize..].split_at(slot.key_length as usize);
        // `push` has written both, so they are always present.
        let (kind, sequence) = get_kind(&mut rest).unwrap_or((EntryKind::Value, 0));
        let length = get_varint32(&mut rest).unwrap_or(0) as usize;
        RawEntry { key, sequence, kind, value: &rest[..length] }
    }
}

#[inline]
pub(super) fn put_kind(bytes: &mut Vec<u8>, kind: EntryKind, sequence: u64) {
    if sequence == 0 {
        bytes.push(kind as u8);
    } else {
        bytes.push(kind as u8 | HAS_SEQUENCE);
        put_varint64(bytes, sequence);
    }
}

/// Reads the output of [`put_kind`].
#[inline]
pub(super) fn get_kind(input: &mut &[u8]) -> Option<(EntryKind, u64)> {
    let byte = *input.split_off_first()?;
    let sequence = if byte & HAS_SEQUENCE == 0 { 0 } else { get_varint64(input)? };
    Some((EntryKind::from_byte(byte & !HAS_SEQUENCE)?, sequence))
}

fn sequence(bytes: &[u8], slot: Slot) -> u64 {
    let mut rest = &bytes[slot.key as usize + slot.key_length as usize..];
    get_kind(&mut rest).map_or(0, |(_, sequence)| sequence)
}

fn key(bytes: &[u8], slot: Slot) -> &[u8] {
    &bytes[slot.key as usize..][..slot.key_length as usize]
}
