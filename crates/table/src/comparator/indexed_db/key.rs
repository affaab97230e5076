//! A decoded key of the backing store.

use std::cmp::Ordering;
use std::fmt;

use sstkit_coding::varint::get_varint64;

use super::encoded_key::{EncodedKey, Text, take_text};

/// The index ids with a meaning of their own, and the first of an index.
const DATA: u64 = 1;
const EXISTS: u64 = 2;
const BLOBS: u64 = 3;
const FIRST_INDEX: u64 = 30;

/// The metadata without fields: the names by kind.
const GLOBAL: [&str; 7] = [
    "schema version",
    "largest database id",
    "data version",
    "recovery blob journal",
    "active blob journal",
    "earliest sweep time",
    "earliest compaction time",
];
const DATABASE: [&str; 6] =
    ["origin", "name", "version as text", "largest object store id", "version", "next blob number"];

/// Fields of the metadata of an object store and of an index.
const OBJECT_STORE: [&str; 8] = [
    "name",
    "key path",
    "auto increment",
    "evictable",
    "last version",
    "largest index id",
    "has key path",
    "next generated key",
];
const INDEX: [&str; 4] = ["name", "unique", "key path", "multi-entry"];

/// The kinds of metadata with fields.
mod kind {
    pub(super) const SCOPES: u8 = 50;
    pub(super) const FREE_DATABASE: u8 = 100;
    pub(super) const DATABASE_NAME: u8 = 201;
    pub(super) const OBJECT_STORE: u8 = 50;
    pub(super) const INDEX: u8 = 100;
    pub(super) const FREE_OBJECT_STORE: u8 = 150;
    pub(super) const FREE_INDEX: u8 = 151;
    pub(super) const OBJECT_STORE_NAME: u8 = 200;
    pub(super) const INDEX_NAME: u8 = 201;
}

#[derive(Clone, Copy, Debug)]
pub(super) struct IndexedDbKey<'k> {
    /// Of the database, the object store and the index.
    ids: [u64; 3],
    rest: Rest<'k>,
}

#[derive(Clone, Copy, Debug)]
enum Rest<'k> {
    Metadata(Metadata<'k>),
    /// Of [`DATA`], [`EXISTS`] and [`BLOBS`]; `None` is the start of their range.
    Key(Option<EncodedKey<'k>>),
    Index {
        key: EncodedKey<'k>,
        sequence: u64,
        primary: Option<EncodedKey<'k>>,
    },
    /// An index id without a meaning.
    Other(&'k [u8]),
}

/// Compared field by field; fields that a kind does not have are the same in all of its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Metadata<'k> {
    kind: u8,
    numbers: [u64; 2],
    field: u8,
    /// UTF-16BE, or all of the rest.
    texts: [&'k [u8]; 2],
}

impl<'k> IndexedDbKey<'k> {
    /// `None` if it is not a valid key.
    pub(super) fn decode_from(key: &'k [u8]) -> Option<Self> {
        let (&lengths, mut input) = key.split_first()?;
        let mut ids = [0; 3];
        for (id, length) in ids.iter_mut().zip([lengths >> 5, lengths >> 2 & 7, lengths & 3]) {
            let (bytes, rest) = input.split_at_checked(usize::from(length) + 1)?;
            *id = bytes.iter().rev().fold(0, |id, &byte| id << 8 | u64::from(byte));
            input = rest;
        }
        let rest = match ids {
            [0, ..] => Rest::Metadata(Metadata::take_global(&mut input)?),
            [_, 0, _] => Rest::Metadata(Metadata::take_of_database(&mut input)?),
            [_, _, DATA | EXISTS | BLOBS] => match input {
                [] => Rest::Key(None),
                _ => Rest::Key(Some(EncodedKey::take_from(&mut input)?)),
            },
            [_, _, index] if index >= FIRST_INDEX && !input.is_empty() => take_index(&mut input)?,
            _ => Rest::Other(std::mem::take(&mut input)),
        };
        input.is_empty().then_some(Self { ids, rest })
    }

    pub(super) fn compare(&self, other: &Self) -> Ordering {
        self.ids.cmp(&other.ids).then_with(|| match (self.rest, other.rest) {
            (Rest::Metadata(a), Rest::Metadata(b)) => a.cmp(&b),
            (Rest::Key(Some(a)), Rest::Key(Some(b))) => a.compare(b),
            (Rest::Key(a), Rest::Key(b)) => a.is_some().cmp(&b.is_some()),
            (
                Rest::Index { key, sequence, primary },
                Rest::Index { key: other_key, sequence: other_sequence, primary: other_primary },
            ) => key.compare(other_key).then_with(|| match (primary, other_primary) {
                // Old keys have none, and are then equal whatever their sequence number.
                (Some(a), Some(b)) => a.compare(b).then(sequence.cmp(&other_sequence)),
                (a, b) => a.is_some().cmp(&b.is_some()),
            }),
            (Rest::Other(a), Rest::Other(b)) => a.cmp(b),
            // The start of an index' range.
            (Rest::Other(_), _) => Ordering::Less,
            (_, Rest::Other(_)) => Ordering::Greater,
            // The same ids have the same kind of rest.
            _ => Ordering::Equal,
        })
    }
}

fn take_index<'k>(input: &mut &'k [u8]) -> Option<Rest<'k>> {
    let key = EncodedKey::take_from(input)?;
    let sequence = if input.is_empty() { 0 } else { get_varint64(input)? };
    let primary = if input.is_empty() { None } else { Some(EncodedKey::take_from(input)?) };
    Some(Rest::Index { key, sequence, primary })
}

impl<'k> Metadata<'k> {
    fn of_kind(kind: u8) -> Self {
        Self { kind, numbers: [0; 2], field: 0, texts: [&[]; 2] }
    }

    fn take_global(input: &mut &'k [u8]) -> Option<Self> {
        let mut it = Self::of_kind(take_byte(input)?);
        match it.kind {
            kind::FREE_DATABASE => it.numbers[0] = get_varint64(input)?,
            kind::DATABASE_NAME => it.texts = [take_text(input)?, take_text(input)?],
            // Scopes, and kinds of later versions; the simple ones have no rest.
            _ => it.texts[0] = std::mem::take(input),
        }
        Some(it)
    }

    fn take_of_database(input: &mut &'k [u8]) -> Option<Self> {
        let mut it = Self::of_kind(take_byte(input)?);
        match it.kind {
            kind::OBJECT_STORE => {
                it.numbers[0] = get_varint64(input)?;
                it.field = take_byte(input)?;
            }
            kind::INDEX => {
                it.numbers = [get_varint64(input)?, get_varint64(input)?];
                it.field = take_byte(input)?;
            }
            kind::FREE_OBJECT_STORE => it.numbers[0] = get_varint64(input)?,
            kind::FREE_INDEX => it.numbers = [get_varint64(input)?, get_varint64(input)?],
            kind::OBJECT_STORE_NAME => it.texts[0] = take_text(input)?,
            kind::INDEX_NAME => {
                it.numbers[0] = get_varint64(input)?;
                it.texts[0] = take_text(input)?;
            }
            _ => it.texts[0] = std::mem::take(input),
        }
        Some(it)
    }

    fn put_global(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, numbers, texts, .. } = self;
        match (*kind, GLOBAL.get(usize::from(*kind))) {
            (_, Some(name)) => f.write_str(name),
            (kind::SCOPES, _) => write!(f, "scopes {}", texts[0].escape_ascii()),
            (kind::FREE_DATABASE, _) => write!(f, "free database id {}", numbers[0]),
            (kind::DATABASE_NAME, _) => {
                write!(f, "id of database {} of origin {}", Text(texts[1]), Text(texts[0]))
            }
            (kind, _) => write!(f, "metadata {kind} {}", texts[0].escape_ascii()),
        }
    }

    fn put_of_database(&self, database: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, numbers: [first, second], field, texts } = self;
        let named =
            |names: &[&'static str]| names.get(usize::from(*field)).copied().unwrap_or("unknown");
        write!(f, "metadata of database {database}")?;
        match (*kind, DATABASE.get(usize::from(*kind))) {
            (_, Some(name)) => write!(f, ": {name}"),
            (kind::OBJECT_STORE, _) => {
                write!(f, ", object store {first}: {}", named(&OBJECT_STORE))
            }
            (kind::INDEX, _) => {
                write!(f, ", object store {first}, index {second}: {}", named(&INDEX))
            }
            (kind::FREE_OBJECT_STORE, _) => write!(f, ": free object store id {first}"),
            (kind::FREE_INDEX, _) => {
                write!(f, ", object store {first}: free index id {second}")
            }
            (kind::OBJECT_STORE_NAME, _) => write!(f, ": id of object store {}", Text(texts[0])),
            (kind::INDEX_NAME, _) => {
                write!(f, ", object store {first}: id of index {}", Text(texts[0]))
            }
            (kind, _) => write!(f, ": metadata {kind} {}", texts[0].escape_ascii()),
        }
    }
}

fn take_byte(input: &mut &[u8]) -> Option<u8> {
    let (&byte, rest) = input.split_first()?;
    *input = rest;
    Some(byte)
}

/// What the key is about.
impl fmt::Display for IndexedDbKey<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [database, store, index] = self.ids;
        match self.rest {
            Rest::Metadata(metadata) if database == 0 => return metadata.put_global(f),
            Rest::Metadata(metadata) => return metadata.put_of_database(database, f),
            _ => write!(f, "database {database}, object store {store}")?,
        }
        match index {
            DATA => {}
            EXISTS => f.write_str(", exists")?,
            BLOBS => f.write_str(", blobs")?,
            index => write!(f, ", index {index}")?,
        }
        match self.rest {
            Rest::Key(Some(key)) | Rest::Index { key, primary: None, .. } => write!(f, ": {key}"),
            Rest::Index { key, primary: Some(primary), .. } => write!(f, ": {key} of {primary}"),
            Rest::Other(bytes) if !bytes.is_empty() => write!(f, ": {}", bytes.escape_ascii()),
            _ => Ok(()),
        }
    }
}
