//! Wide-column entities: a value of named columns.
//!
//! ```text
//! version 1
//! | 1 | n | name length, name, value length   n times | values |
//!
//! version 2 (RocksDB 11, when a column is kept elsewhere)
//! | 2 | n | bytes of name lengths | bytes of value lengths | bytes of names |
//! | u8 kind   n times: 01 inline, 11 a blob index |
//! | name lengths | value lengths | names | values |
//!
//! varint32 each, unless said otherwise
//! ```
//!
//! Names ascend, bytewise and strictly. The column with the empty name is the default one, which a
//! plain `get` returns.

use std::borrow::Cow;

use sstkit_coding::varint::{
    get_length_prefixed_slice, get_varint32, put_length_prefixed_slice, put_varint32,
};

use super::BlobIndex;
use crate::error::{Error, Result};
use crate::key_excerpt::KeyExcerpt;
use crate::raw::EntryKind;

/// A column of an entity.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct WideColumn<'a> {
    /// Empty for the default column.
    pub name: &'a [u8],
    /// What it holds.
    pub value: ColumnValue<'a>,
}

sstkit_coding::debug_struct!(WideColumn<'_> { name: bytes, value });

/// What a column holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ColumnValue<'a> {
    /// These bytes.
    Inline(&'a [u8]),
    /// A value kept elsewhere.
    Blob(BlobIndex<'a>),
}

sstkit_coding::debug_enum!(ColumnValue<'_> {
    Inline(value: bytes), Blob(index),
});

/// The columns of an entry of kind
/// [`WideColumnEntity`](crate::raw::EntryKind::WideColumnEntity), in the order of their names.
pub fn decode_wide_columns(entity: &[u8]) -> Result<Vec<WideColumn<'_>>> {
    let mut input = entity;
    let columns = match get_varint32(&mut input) {
        Some(1) => decode_v1(input),
        Some(2) => decode_v2(input)?,
        Some(version) => {
            return Err(Error::unsupported(format!("wide column version {version}")));
        }
        None => None,
    };
    let columns = columns.ok_or_else(|| Error::corrupt("the wide columns are unreadable"))?;
    if let Some(pair) = columns.windows(2).find(|pair| pair[0].name >= pair[1].name) {
        return Err(Error::mismatch(
            "the wide columns are not in order",
            format_args!("more than {}", KeyExcerpt(pair[0].name)),
            KeyExcerpt(pair[1].name),
        ));
    }
    Ok(columns)
}

/// Appends an entity of these columns, whose names ascend, bytewise and strictly.
///
/// # Errors
///
/// Names out of order; names or values that their lengths cannot describe.
pub fn encode_wide_columns(columns: &[WideColumn<'_>], out: &mut Vec<u8>) -> Result<()> {
    if let Some(pair) = columns.windows(2).find(|pair| pair[0].name >= pair[1].name) {
        return Err(Error::invalid_input(format!(
            "the column \"{}\" does not sort before \"{}\"",
            pair[0].name.escape_ascii(),
            pair[1].name.escape_ascii()
        )));
    }
    let values = columns.iter().map(|column| column.value.encode()).collect::<Vec<_>>();
    let longest = columns.iter().map(|column| column.name.len());
    let longest = longest.chain(values.iter().map(|value| value.len())).max().unwrap_or(0);
    if u32::try_from(longest.max(columns.len())).is_err() {
        return Err(Error::invalid_input("an entity with a name or value of 4 GiB or more"));
    }
    if columns.iter().all(|column| matches!(column.value, ColumnValue::Inline(_))) {
        put_varint32(out, 1);
        put_varint32(out, columns.len() as u32);
        for (column, value) in columns.iter().zip(&values) {
            put_length_prefixed_slice(out, column.name);
            put_varint32(out, value.len() as u32);
        }
    } else {
        encode_v2(columns, &values, out);
    }
    values.iter().for_each(|value| out.extend_from_slice(value));
    Ok(())
}

/// All of a version 2 entity but the values.
fn encode_v2(columns: &[WideColumn<'_>], values: &[Cow<'_, [u8]>], out: &mut Vec<u8>) {
    let (mut kinds, mut names) = (Vec::new(), Vec::new());
    let (mut name_lengths, mut value_lengths) = (Vec::new(), Vec::new());
    for (column, value) in columns.iter().zip(values) {
        kinds.push(match column.value {
            ColumnValue::Inline(_) => EntryKind::Value as u8,
            ColumnValue::Blob(_) => EntryKind::BlobIndex as u8,
        });
        names.extend_from_slice(column.name);
        put_varint32(&mut name_lengths, column.name.len() as u32);
        put_varint32(&mut value_lengths, value.len() as u32);
    }
    put_varint32(out, 2);
    for length in [columns.len(), name_lengths.len(), value_lengths.len(), names.len()] {
        put_varint32(out, length as u32);
    }
    for section in [kinds, name_lengths, value_lengths, names] {
        out.extend_from_slice(&section);
    }
}

impl<'a> ColumnValue<'a> {
    fn encode(&self) -> Cow<'a, [u8]> {
        match self {
            Self::Inline(value) => Cow::Borrowed(value),
            Self::Blob(blob) => {
                let mut value = Vec::new();
                blob.encode_to(&mut value);
                Cow::Owned(value)
            }
        }
    }
}

fn decode_v1(mut input: &[u8]) -> Option<Vec<WideColumn<'_>>> {
    let count = get_count(&mut input)?;
    let mut columns = Vec::with_capacity(count);
    for _ in 0..count {
        let name = get_length_prefixed_slice(&mut input)?;
        columns.push((name, get_varint32(&mut input)?));
    }
    let columns = columns
        .into_iter()
        .map(|(name, length)| {
            let value = ColumnValue::Inline(input.split_off(..length as usize)?);
            Some(WideColumn { name, value })
        })
        .collect::<Option<_>>()?;
    input.is_empty().then_some(columns)
}

/// `None` for lengths that do not fit; an error for a column that is not readable in itself.
fn decode_v2(mut input: &[u8]) -> Result<Option<Vec<WideColumn<'_>>>> {
    let Some(sections) = Sections::take(&mut input) else { return Ok(None) };
    let Sections { kinds, mut name_lengths, mut value_lengths, mut names } = sections;
    let mut values = input;
    let mut columns = Vec::with_capacity(kinds.len());
    for &kind in kinds {
        let Some(name) = take_slice(&mut name_lengths, &mut names) else { return Ok(None) };
        let Some(value) = take_slice(&mut value_lengths, &mut values) else { return Ok(None) };
        let value = match EntryKind::from_byte(kind) {
            Some(EntryKind::Value) => ColumnValue::Inline(value),
            Some(EntryKind::BlobIndex) => ColumnValue::Blob(BlobIndex::decode_from(value)?),
            _ => {
                return Err(Error::mismatch(
                    format!("the wide column {} has an unknown kind", KeyExcerpt(name)),
                    "0x01 or 0x11",
                    format_args!("{kind:#04x}"),
                ));
            }
        };
        columns.push(WideColumn { name, value });
    }
    let all_used = [name_lengths, value_lengths, names, values].iter().all(|rest| rest.is_empty());
    Ok(all_used.then_some(columns))
}

/// The parts of a version 2 entity; the values are what remains.
struct Sections<'a> {
    kinds: &'a [u8],
    name_lengths: &'a [u8],
    value_lengths: &'a [u8],
    names: &'a [u8],
}

impl<'a> Sections<'a> {
    fn take(input: &mut &'a [u8]) -> Option<Self> {
        let count = get_count(input)?;
        let name_lengths = get_varint32(input)? as usize;
        let value_lengths = get_varint32(input)? as usize;
        let names = get_varint32(input)? as usize;
        Some(Self {
            kinds: input.split_off(..count)?,
            name_lengths: input.split_off(..name_lengths)?,
            value_lengths: input.split_off(..value_lengths)?,
            names: input.split_off(..names)?,
        })
    }
}

/// A number of columns. Each takes two bytes at least, so what is left bounds what may be
/// allocated for them.
fn get_count(input: &mut &[u8]) -> Option<usize> {
    let count = get_varint32(input)? as usize;
    (count <= input.len() / 2).then_some(count)
}

fn take_slice<'a>(lengths: &mut &[u8], bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = get_varint32(lengths)? as usize;
    bytes.split_off(..length)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const V1: &[u8] = &[1, 2, 0, 3, 1, b'a', 2, b'x', b'y', b'z', b'v', b'w'];
    const V2: &[u8] =
        &[2, 2, 2, 2, 1, 0x01, 0x11, 0, 1, 3, 5, b'a', b'x', b'y', b'z', 1, 9, 100, 3, 0];

    #[test]
    fn both_versions_come_back() {
        let inline = WideColumn { name: b"a", value: ColumnValue::Inline(b"alpha") };
        let stored =
            BlobIndex::Stored { expiration: None, file: 0, offset: 9, size: 300, codec: 0 };
        let blob = WideColumn { name: b"b", value: ColumnValue::Blob(stored) };
        for (columns, version) in [(vec![], 1), (vec![inline], 1), (vec![inline, blob], 2)] {
            let mut bytes = Vec::new();
            encode_wide_columns(&columns, &mut bytes).unwrap();
            assert_eq!(bytes[0], version);
            assert_eq!(decode_wide_columns(&bytes).unwrap(), columns);
        }
        assert!(encode_wide_columns(&[inline, inline], &mut Vec::new()).is_err());
    }

    #[test]
    fn version_1() {
        assert_eq!(
            decode_wide_columns(V1).unwrap(),
            [
                WideColumn { name: b"", value: ColumnValue::Inline(b"xyz") },
                WideColumn { name: b"a", value: ColumnValue::Inline(b"vw") },
            ]
        );
        assert_eq!(decode_wide_columns(&[1, 0]).unwrap(), []);
    }

    #[test]
    fn version_2() {
        let blob = BlobIndex::Stored { expiration: None, file: 9, offset: 100, size: 3, codec: 0 };
        assert_eq!(
            decode_wide_columns(V2).unwrap(),
            [
                WideColumn { name: b"", value: ColumnValue::Inline(b"xyz") },
                WideColumn { name: b"a", value: ColumnValue::Blob(blob) },
            ]
        );
    }

    #[test]
    fn lengths_must_be_exact() {
        for entity in [V1, V2] {
            for length in 0..entity.len() {
                assert!(decode_wide_columns(&entity[..length]).is_err());
            }
            assert!(decode_wide_columns(&[entity, &[0]].concat()).is_err());
        }
    }

    #[test]
    fn order_kind_version_and_count_are_checked() {
        for (entity, text) in [
            (&[1, 2, 1, b'a', 0, 1, b'a', 0][..], "not in order"),
            (&[2, 1, 1, 1, 0, 0x02, 0, 0], "unknown kind"),
            (&[3, 0], "version 3"),
            (&[1, 0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0], "unreadable"),
        ] {
            let error = decode_wide_columns(entity).unwrap_err();
            assert!(error.to_string().contains(text), "{error}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(version in 1u8..3, bytes in prop::collection::vec(0u8..9, 0..40)) {
            let _ = decode_wide_columns(&[&[version], &bytes[..]].concat());
        }
    }
}
