//! Blocks of entries, byte by byte: data blocks, range deletions, metaindex, properties.

use sstkit_table::raw::{Block, BlockHandle, InternalKey};

use crate::annotated::Dump;
use crate::wording::{count, handle_text, key_text, tail_text};

/// What the keys of a block are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keys {
    /// User key, sequence number and kind.
    Internal,
    /// User keys.
    User,
    /// Names of properties and meta blocks.
    Names,
}

/// What a block has on its last bytes, by the drawing.
pub(crate) struct Tail {
    pub(crate) restarts: usize,
    pub(crate) buckets: Option<usize>,
    pub(crate) values_start: Option<usize>,
    /// Bytes before the restart points.
    pub(crate) before: usize,
}

impl Tail {
    pub(crate) fn of(block: &[u8]) -> Self {
        let word = |end: usize| u32::from_le_bytes(*block[..end].last_chunk().expect("a word"));
        let mut end = block.len();
        let packed = word(end);
        end -= 4;
        let values_start = (packed & 1 << 28 != 0).then(|| {
            let start = word(end) as usize;
            end -= 4;
            start
        });
        let buckets = (packed & 1 << 31 != 0).then(|| {
            let buckets = u16::from_le_bytes(*block[..end].last_chunk().expect("a count"));
            end -= 2 + usize::from(buckets);
            usize::from(buckets)
        });
        let restarts = (packed & 0x0fff_ffff) as usize;
        Self { restarts, buckets, values_start, before: end - 4 * restarts }
    }
}

/// A value of which only the length is shown.
pub(crate) fn plain_value(dump: &mut Dump<'_>, _: &[u8], length: usize) {
    dump.short(length, format!("value, {length} bytes"));
}

/// A value that is a handle.
pub(crate) fn handle_value(dump: &mut Dump<'_>, _: &[u8], length: usize) {
    let end = dump.position() + length;
    dump.varints(|[offset, size]| handle_text(BlockHandle::new(offset, size)));
    assert_eq!(dump.position(), end);
}

/// How entries are shown.
pub(crate) struct Style<'s> {
    pub(crate) keys: Keys,
    /// Writes a value of this length for a given key.
    pub(crate) value: &'s dyn Fn(&mut Dump<'_>, &[u8], usize),
    /// Whether an entry is shown, by its number.
    pub(crate) shown: &'s dyn Fn(usize) -> bool,
    /// The entries that are not.
    pub(crate) hidden: &'s str,
}

/// A block of entries without separated values, from here on.
pub(crate) fn dump_block(dump: &mut Dump<'_>, block: &[u8], style: &Style<'_>) {
    let start = dump.position();
    let tail = Tail::of(block);
    let raw = Block::parse(block).expect("a block");
    let mut entries = raw.entries();
    let mut key = Vec::new();
    let mut number = 0;
    while dump.position() < start + tail.before {
        if (style.shown)(number) {
            dump.show(style.hidden);
        } else {
            dump.hide();
        }
        let [shared, non_shared, value] = dump.varints(|[shared, non_shared, value]| {
            format!("shared {shared}, non-shared {non_shared}, value {value}")
        });
        dump_key(dump, &mut key, shared, non_shared, style.keys);
        let value_start = dump.position() - start;
        (style.value)(dump, &key, value as usize);
        assert!(entries.advance().expect("an entry"));
        assert_eq!(entries.key(), key);
        assert_eq!(entries.value_range(), value_start..dump.position() - start);
        number += 1;
    }
    assert!(!entries.advance().expect("the end"));
    dump.show(style.hidden);
    dump_restarts(dump, tail.restarts);
    assert!(tail.buckets.is_none() && tail.values_start.is_none());
    dump_packed(dump);
}

/// The new part of a key; the whole one is remembered.
pub(crate) fn dump_key(
    dump: &mut Dump<'_>,
    key: &mut Vec<u8>,
    shared: u64,
    non_shared: u64,
    keys: Keys,
) {
    let length = non_shared as usize;
    key.truncate(shared as usize);
    key.extend_from_slice(dump.peek(length));
    match keys {
        Keys::Internal => {
            let user_key = &key[..key.len() - InternalKey::TAIL_LENGTH];
            assert!(length >= InternalKey::TAIL_LENGTH, "no version shares its tail here");
            dump.bytes(length - InternalKey::TAIL_LENGTH, key_text(user_key));
            dump.fixed64(tail_text);
        }
        Keys::User => _ = dump.bytes(length, key_text(key)),
        Keys::Names => _ = dump.short(length, key_text(key)),
    }
}

/// Restart points: all, or the first two and the last.
pub(crate) fn dump_restarts(dump: &mut Dump<'_>, restarts: usize) {
    for i in 0..restarts {
        if restarts > 4 && i == 2 {
            dump.hide();
        }
        if i + 1 == restarts {
            dump.show(count(restarts.saturating_sub(3), "more restart point"));
        }
        dump.fixed32(|at| format!("restart point {i}: {at:#x}"));
    }
}

/// The last word of a block.
pub(crate) fn dump_packed(dump: &mut Dump<'_>) {
    dump.fixed32(packed_text);
}

pub(crate) fn packed_text(packed: u32) -> String {
    let mut text = count((packed & 0x0fff_ffff) as usize, "restart point");
    for (bit, flag) in [(28, "separated values"), (29, "uniform keys"), (31, "hash index")] {
        if packed & 1 << bit != 0 {
            text.push_str(&format!("; bit {bit}: {flag}"));
        }
    }
    text
}
