//! The entries of a block, with the range of each of their fields.
//!
//! ```text
//! points     | shared | non_shared | value length | value offset | key suffix | type, seq | value |
//!                                                   separated values, at restart points
//! index      | shared | non_shared | value length | separator suffix | offset | size | first key |
//!                                    without delta encoding
//! ```

use std::ops::Range;

use bytes::Bytes;
use serde::Serialize;
use sstkit_coding::varint::{get_varint32, get_varint64, get_varsigned64};
use sstkit_table::Result;
use sstkit_table::raw::{
    Block, BlockKind, IndexEntries, InternalKey, KeyExpansion, property_names,
};

use super::field::Fields;
use crate::encoding::Encoding;
use crate::inspected_table::InspectedTable;
use crate::layout::Form;
use crate::names;

/// Bytes of a key or value that a row shows.
const SHOWN: usize = 512;

/// An entry of a block.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct EntryRow {
    /// The index in the block.
    pub index: u64,
    /// The offset in the contents.
    pub offset: u64,
    /// The bytes that it takes there; without the value, if values are separate.
    pub length: u64,
    /// The index of its restart point, if it has one.
    pub restart: Option<u64>,
    /// The bytes that its key shares with the previous one.
    pub shared: u64,
    /// The shared part of the user key; of a long one the first 512 bytes.
    pub shared_key: String,
    /// The rest of the user key; of a long one the first 512 bytes.
    pub own_key: String,
    /// The length of the user key.
    pub key_length: u64,
    /// The type, if keys include it.
    #[serde(rename = "type")]
    pub kind: Option<&'static str>,
    /// The sequence number, if keys include it.
    pub seq: Option<u64>,
    /// The value as stored, or as the number that a property is; of a long one the first 512 bytes.
    /// `None` in an index.
    pub value: Option<String>,
    /// The length of the value.
    pub value_length: u64,
    /// The handle in an index entry or the metaindex: offset and size.
    pub handle: Option<[u64; 2]>,
    /// The first key of that block, in indexes that have it.
    pub first_key: Option<String>,
}

/// Reads the entries of a block.
pub(super) struct Reader<'f> {
    pub(super) file: &'f InspectedTable,
    pub(super) kind: BlockKind,
    pub(super) form: Form,
    pub(super) block: Block<Bytes>,
    pub(super) encoding: Encoding,
    /// The entries to describe.
    pub(super) page: Range<u64>,
}

/// An entry that a cursor has decoded.
struct Decoded<'k> {
    index: u64,
    /// In the contents.
    range: Range<usize>,
    restart: Option<u64>,
    key: &'k [u8],
    is_internal: bool,
}

impl Reader<'_> {
    /// The rows of the page, the number of all entries up to an error, and the error. Marks the
    /// fields of all entries.
    pub(super) fn read(&self, fields: &mut Fields) -> (Vec<EntryRow>, u64, Result<()>) {
        let (mut rows, mut count) = (Vec::new(), 0);
        let result = match self.form {
            Form::Points | Form::Names => self.read_points(fields, &mut rows, &mut count),
            Form::Index | Form::FilterIndex => self.read_index(fields, &mut rows, &mut count),
        };
        fields.of_entry(None);
        (rows, count, result)
    }

    fn read_points(
        &self,
        fields: &mut Fields,
        rows: &mut Vec<EntryRow>,
        count: &mut u64,
    ) -> Result<()> {
        let bytes = self.block.bytes();
        let mut expansion = KeyExpansion::of_block(bytes.len());
        let mut entries = self.block.clone().into_entries();
        loop {
            let start = entries.next_offset();
            if !entries.advance()? {
                return Ok(());
            }
            expansion.add(entries.key().len())?;
            let entry = Decoded {
                index: *count,
                range: start..entries.next_offset(),
                restart: self.restart(entries.restart_index(), start),
                key: entries.key(),
                is_internal: self.form == Form::Points && self.file.table().has_internal_keys(),
            };
            *count += 1;
            let value = entries.value_range();
            let is_shown = self.page.contains(&entry.index);
            let is_marked = fields.overlap(&entry.range) || fields.overlap(&value);
            if !is_shown && !is_marked {
                continue;
            }
            let mut marker = Marker::new(bytes, &entry, fields);
            let shared = marker.varint32("shared");
            let own = marker.varint32("non_shared") as usize;
            marker.varint32("value length");
            if self.block.has_separated_values() && entry.restart.is_some() {
                marker.varint32("value offset");
            }
            marker.key(own, entry.is_internal);
            self.mark_value(&entry, value.clone(), fields);
            if is_shown {
                let mut row = self.row(&entry, shared as usize);
                let value = &bytes[value];
                row.value_length = value.len() as u64;
                row.handle = self.handle_of(value);
                row.value =
                    Some(self.property(entry.key, value).unwrap_or_else(|| self.text(value)));
                rows.push(row);
            }
        }
    }

    fn read_index(
        &self,
        fields: &mut Fields,
        rows: &mut Vec<EntryRow>,
        count: &mut u64,
    ) -> Result<()> {
        let bytes = self.block.bytes();
        let format = self.form.index_format(self.file);
        let mut expansion = KeyExpansion::of_block(bytes.len());
        let mut entries = IndexEntries::new(self.block.clone(), format)?;
        loop {
            let start = entries.next_offset();
            if !entries.advance()? {
                return Ok(());
            }
            expansion.add(entries.key().len())?;
            let entry = Decoded {
                index: *count,
                range: start..entries.next_offset(),
                restart: self.restart(entries.restart_index(), start),
                key: entries.key(),
                is_internal: self.file.table().has_internal_keys() && !format.user_keys,
            };
            *count += 1;
            let is_shown = self.page.contains(&entry.index);
            if !is_shown && !fields.overlap(&entry.range) {
                continue;
            }
            let mut marker = Marker::new(bytes, &entry, fields);
            let shared = marker.varint32("shared");
            let own = marker.varint32("non_shared") as usize;
            if !format.delta_values {
                marker.varint32("value length");
            }
            marker.key(own, entry.is_internal);
            let value_length = entry.range.end.saturating_sub(marker.at) as u64;
            if format.delta_values && shared != 0 {
                marker.varsigned64("size difference");
            } else {
                marker.varint64("block offset");
                marker.varint64("block size");
            }
            if let Some(first) = entries.first_key() {
                marker.varint32("first key length");
                marker.rest("first key", || Some(self.text(first)));
            }
            if is_shown {
                let handle = entries.handle();
                let mut row = self.row(&entry, shared as usize);
                row.value_length = value_length;
                row.handle = Some([handle.offset, handle.size]);
                row.first_key = entries.first_key().map(|key| self.text(self.user_key(key)));
                rows.push(row);
            }
        }
    }

    fn row(&self, entry: &Decoded<'_>, shared: usize) -> EntryRow {
        let parts = InternalKey::decode_from(entry.key).ok().filter(|_| entry.is_internal);
        let user_key = parts.map_or(entry.key, |parts| parts.user_key);
        let (shared_key, own_key) = user_key.split_at(shared.min(user_key.len()));
        EntryRow {
            index: entry.index,
            offset: entry.range.start as u64,
            length: entry.range.len() as u64,
            restart: entry.restart,
            shared: shared as u64,
            shared_key: self.text(shared_key),
            own_key: self.text(own_key),
            key_length: user_key.len() as u64,
            kind: parts.map(|parts| names::entry_kind(parts.kind)),
            seq: parts.map(|parts| parts.sequence),
            ..EntryRow::default()
        }
    }

    fn restart(&self, index: usize, offset: usize) -> Option<u64> {
        let is_restart = index < self.block.restart_count() && self.block.restart(index) == offset;
        is_restart.then_some(index as u64)
    }

    fn text(&self, bytes: &[u8]) -> String {
        match bytes.get(..SHOWN) {
            Some(start) if bytes.len() > SHOWN => self.encoding.encode(start) + "…",
            _ => self.encoding.encode(bytes),
        }
    }

    /// The user key of a stored internal key.
    fn user_key<'k>(&self, key: &'k [u8]) -> &'k [u8] {
        let parts = InternalKey::decode_from(key).ok();
        parts.filter(|_| self.file.table().has_internal_keys()).map_or(key, |it| it.user_key)
    }

    fn mark_value(&self, entry: &Decoded<'_>, value: Range<usize>, fields: &mut Fields) {
        let bytes = self.block.bytes();
        if self.handle_of(&bytes[value.clone()]).is_some() {
            let mut marker = Marker { bytes, at: value.start, end: value.end, fields };
            marker.varint64("block offset");
            marker.varint64("block size");
            return;
        }
        let number = || self.property(entry.key, &bytes[value.clone()]);
        fields.add(value.clone(), "value", number);
    }

    /// The handle that the value of a metaindex entry is.
    fn handle_of(&self, value: &[u8]) -> Option<[u64; 2]> {
        if self.kind != BlockKind::MetaIndex {
            return None;
        }
        let mut rest = value;
        let handle = [get_varint64(&mut rest)?, get_varint64(&mut rest)?];
        rest.is_empty().then_some(handle)
    }

    /// The number that the value of a property is.
    fn property(&self, name: &[u8], value: &[u8]) -> Option<String> {
        if self.kind != BlockKind::Properties || property_names::encoding(name).is_none() {
            return None;
        }
        let properties = self.file.table().properties();
        // The table may have the property twice; the text is then shown.
        properties.get(std::str::from_utf8(name).ok()?).filter(|known| *known == value)?;
        properties.number(std::str::from_utf8(name).ok()?).map(|number| number.to_string())
    }
}

/// Marks the fields of an entry one after another. The cursor has decoded them, so they are sound.
struct Marker<'m> {
    bytes: &'m [u8],
    at: usize,
    end: usize,
    fields: &'m mut Fields,
}

impl<'m> Marker<'m> {
    fn new(bytes: &'m [u8], entry: &Decoded<'_>, fields: &'m mut Fields) -> Self {
        fields.of_entry(Some(entry.index));
        Self { bytes, at: entry.range.start, end: entry.range.end, fields }
    }

    fn number<T: Copy + ToString>(
        &mut self,
        name: &'static str,
        get: impl FnOnce(&mut &[u8]) -> Option<T>,
    ) -> Option<T> {
        let mut rest = self.bytes.get(self.at..)?;
        let length = rest.len();
        let value = get(&mut rest)?;
        let end = self.at + length - rest.len();
        self.fields.add(self.at..end, name, || Some(value.to_string()));
        self.at = end;
        Some(value)
    }

    fn varint32(&mut self, name: &'static str) -> u32 {
        self.number(name, get_varint32).unwrap_or(0)
    }

    fn varint64(&mut self, name: &'static str) {
        self.number(name, get_varint64);
    }

    fn varsigned64(&mut self, name: &'static str) {
        self.number(name, get_varsigned64);
    }

    /// The part of the key that is stored, with the tail of an internal key if all of it is.
    fn key(&mut self, length: usize, is_internal: bool) {
        let (start, end) = (self.at, (self.at + length).min(self.bytes.len()));
        self.at = end;
        let tail = end.saturating_sub(InternalKey::TAIL_LENGTH);
        if !is_internal || tail < start {
            return self.fields.add(start..end, "key", || None);
        }
        self.fields.add(start..tail, "key", || None);
        let parts = InternalKey::decode_from(&self.bytes[tail..end]).ok();
        let kind = || parts.map(|parts| names::entry_kind(parts.kind).to_owned());
        self.fields.add(tail..tail + 1, "type", kind);
        let sequence = || parts.map(|parts| parts.sequence.to_string());
        self.fields.add(tail + 1..end, "sequence number", sequence);
    }

    fn rest(&mut self, name: &'static str, value: impl FnOnce() -> Option<String>) {
        self.fields.add(self.at..self.end, name, value);
    }
}

/// Marks what is after the entries: restart points, hash index, packed word.
pub(super) fn mark_end(block: &Block<Bytes>, fields: &mut Fields) {
    const WORD: usize = 4;
    let length = block.bytes().len();
    let packed = length.saturating_sub(WORD);
    let count = block.restart_count();
    fields.add(packed..length, "restart count", || {
        let mut text = count.to_string();
        for (is_set, flag) in [
            (block.hash_index().is_some(), "hash index"),
            (block.has_uniform_keys(), "uniform keys"),
            (block.has_separated_values(), "separated values"),
        ] {
            if is_set {
                text = text + ", " + flag;
            }
        }
        Some(text)
    });
    let mut end = packed;
    if block.has_separated_values() {
        end -= WORD;
        let keys_end = Some(block.keys_end().to_string());
        fields.add(end..end + WORD, "values start", || keys_end);
    }
    if let Some(index) = block.hash_index() {
        let buckets = index.buckets().len();
        fields.add(end - 2..end, "bucket count", || Some(buckets.to_string()));
        end -= 2 + buckets;
        fields.add(end..end + buckets, "hash buckets", || None);
    }
    let start = end.saturating_sub(count * WORD);
    for at in 0..count {
        let from = start + at * WORD;
        let range = from..from + WORD;
        if fields.overlap(&range) {
            fields.add(range, "restart point", || Some(block.restart(at).to_string()));
        }
    }
}
