//! The format and the order of the keys of a table.
//!
//! ```text
//! stored key    | user key             | timestamp | fixed64 sequence, kind |
//!                 what callers see       if the        not in tables of
//!                                        comparator    user keys
//!                                        has them
//! ```
//!
//! In an ingested table, one global sequence number replaces those of all keys.

use std::cmp::Ordering;

use sstkit_coding::fixed::decode_fixed64;

use crate::comparator::Comparator;
use crate::error::{Error, Result};
use crate::raw::{Engine, EntryKind, InternalKey, MAX_SEQUENCE_NUMBER, Properties};
use crate::reader::open::table_read_options::{KeyForm, TableReadOptions};
use crate::visibility::UserKeys;

/// The format and the order of the keys of a table.
#[derive(Debug)]
pub(crate) struct KeySpace {
    /// Order and timestamp size. If the order is unknown, keys are compared bytewise, and only
    /// equality is meaningful.
    user_keys: UserKeys,
    /// The name of the comparator, if it is unknown.
    unknown_order: Option<String>,
    /// Whether keys are internal keys, not user keys.
    pub(crate) internal: bool,
    /// Replaces all sequence numbers.
    pub(crate) global_sequence_number: Option<u64>,
}

/// A position in the order of stored keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SeekTarget<'k> {
    /// With its timestamp.
    pub(crate) user_key: &'k [u8],
    /// Sequence number and kind; larger ones come first.
    tail: u64,
}

/// A seek key as stored: the caller's user key, with a timestamp if keys have them.
pub(crate) struct SearchKey<'k> {
    bare: &'k [u8],
    stamped: Option<Vec<u8>>,
}

impl SearchKey<'_> {
    fn user_key(&self) -> &[u8] {
        self.stamped.as_deref().unwrap_or(self.bare)
    }

    /// Just before all entries of the key (for [`KeySpace::newest`]).
    pub(crate) fn before(&self) -> SeekTarget<'_> {
        SeekTarget { user_key: self.user_key(), tail: u64::MAX }
    }

    /// Just after all entries of the key (for [`KeySpace::oldest`]).
    pub(crate) fn after(&self) -> SeekTarget<'_> {
        SeekTarget { user_key: self.user_key(), tail: 0 }
    }
}

impl KeySpace {
    /// According to properties and options; `internal` was detected.
    pub(crate) fn new(
        properties: &Properties,
        options: &TableReadOptions,
        internal: bool,
    ) -> Result<Self> {
        let (user_keys, unknown_order) = match comparator(properties, options) {
            Ok(comparator) if properties.has_persisted_timestamps() => {
                (UserKeys::new(comparator), None)
            }
            Ok(comparator) => (UserKeys::without_timestamps(comparator), None),
            Err(name) => (UserKeys::new(Comparator::Bytewise), Some(name)),
        };
        let global_sequence_number = global_sequence_number(properties, options)?;
        Ok(Self { user_keys, unknown_order, internal, global_sequence_number })
    }

    /// The comparator, or an error that names the unknown one.
    #[inline]
    pub(crate) fn order(&self) -> Result<&Comparator> {
        match &self.unknown_order {
            None => Ok(self.user_keys.comparator()),
            Some(name) => Err(Error::unsupported(format!(
                "unknown comparator {name:?}: the table can be scanned, but not searched"
            ))),
        }
    }

    /// The order of user keys, and their timestamp size.
    #[inline]
    pub(crate) fn user_keys(&self) -> &UserKeys {
        &self.user_keys
    }

    /// The size of the timestamp at the end of each stored user key.
    #[inline]
    pub(crate) fn timestamp_size(&self) -> usize {
        self.user_keys.timestamp_size()
    }

    /// Whether the order of the keys is known.
    pub(crate) fn is_ordered(&self) -> bool {
        self.unknown_order.is_none()
    }

    /// Whether stored user keys are in the order of their bytes.
    #[inline]
    pub(crate) fn is_bytewise(&self) -> bool {
        self.is_ordered() && matches!(self.user_keys.order(), Comparator::Bytewise)
    }

    /// The number of bytes after the user key in keys of data blocks.
    #[inline]
    pub(crate) fn tail_length(&self) -> usize {
        if self.internal { InternalKey::TAIL_LENGTH } else { 0 }
    }

    /// Whether equal keys have equal bytes, so that their hashes are equal. Keys with an unknown
    /// comparator are compared bytewise.
    #[inline]
    pub(crate) fn equal_means_same_bytes(&self) -> bool {
        self.user_keys.comparator().equal_means_same_bytes()
    }

    /// The seek key before the newest version of a key.
    pub(crate) fn newest<'k>(&self, key: &'k [u8]) -> SearchKey<'k> {
        self.stamped(key, 0xff)
    }

    /// The seek key after the oldest version of a key.
    pub(crate) fn oldest<'k>(&self, key: &'k [u8]) -> SearchKey<'k> {
        self.stamped(key, 0)
    }

    fn stamped<'k>(&self, bare: &'k [u8], fill: u8) -> SearchKey<'k> {
        let stamped = (self.timestamp_size() > 0).then(|| {
            let mut key = Vec::with_capacity(bare.len() + self.timestamp_size());
            key.extend_from_slice(bare);
            key.resize(bare.len() + self.timestamp_size(), fill);
            key
        });
        SearchKey { bare, stamped }
    }

    /// Compares stored user keys, timestamps included.
    #[inline]
    pub(crate) fn compare_stored(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.user_keys.compare_stored(a, b)
    }

    /// Compares keys without timestamps.
    #[inline]
    pub(crate) fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.user_keys.compare(a, b)
    }

    /// Compares a key of a data block with `target`.
    #[inline]
    pub(crate) fn compare_entry(&self, stored: &[u8], target: &SeekTarget<'_>) -> Ordering {
        if !self.internal {
            return self.compare_stored(stored, target.user_key);
        }
        // Too short for an internal key: corruption, which decoding reports.
        let (user_key, tail) = match stored.split_last_chunk() {
            Some((user_key, tail)) => (user_key, decode_fixed64(*tail)),
            None => (stored, 0),
        };
        self.compare_stored(user_key, target.user_key).then_with(|| target.tail.cmp(&tail))
    }

    /// Compares a key of an index with `target`.
    #[inline]
    pub(crate) fn compare_index(
        &self,
        stored: &[u8],
        target: &SeekTarget<'_>,
        user_keys: bool,
    ) -> Ordering {
        match user_keys {
            true => self.compare_stored(stored, target.user_key),
            false => self.compare_entry(stored, target),
        }
    }

    /// Compares two keys of data blocks.
    pub(crate) fn compare_entries(&self, a: &[u8], b: &[u8]) -> Ordering {
        match (self.internal, b.split_last_chunk()) {
            (true, Some((user_key, tail))) => {
                self.compare_entry(a, &SeekTarget { user_key, tail: decode_fixed64(*tail) })
            }
            _ => self.compare_stored(a, b),
        }
    }

    /// The stored user key, timestamp included, of a stored key.
    #[inline]
    pub(crate) fn stored_user_key<'a>(&self, stored: &'a [u8], is_user_key: bool) -> &'a [u8] {
        match self.internal && !is_user_key {
            true => {
                stored.split_last_chunk::<{ InternalKey::TAIL_LENGTH }>().map_or(stored, |s| s.0)
            }
            false => stored,
        }
    }

    /// Decodes a key of a data block.
    pub(crate) fn decode<'a>(&self, stored: &'a [u8]) -> Result<InternalKey<'a>> {
        if !self.internal {
            return Ok(InternalKey { user_key: stored, sequence: 0, kind: EntryKind::Value });
        }
        let mut key = InternalKey::decode_from(stored)?;
        if !key.kind.is_point() {
            return Err(Error::corrupt(format!("{key:?} is not valid in a data block")));
        }
        if key.user_key.len() < self.timestamp_size() {
            return Err(Error::corrupt(format!("{key:?} is shorter than its timestamp")));
        }
        if let Some(global) = self.global_sequence_number {
            key.sequence = global;
        }
        Ok(key)
    }

    /// The stored sequence number and kind of a key of a data block; `None` if
    /// [`decode`](Self::decode) fails. For scans, which usually need nothing else.
    #[inline]
    pub(crate) fn tail(&self, stored: &[u8]) -> Option<(u64, EntryKind)> {
        if !self.internal {
            return Some((0, EntryKind::Value));
        }
        let (user_key, tail) = stored.split_last_chunk()?;
        let tail = decode_fixed64(*tail);
        let kind = EntryKind::from_byte(tail as u8).filter(|kind| kind.is_point())?;
        (user_key.len() >= self.timestamp_size()).then_some((tail >> 8, kind))
    }

    /// The sequence number of an entry decoded by [`tail`](Self::tail).
    #[inline]
    pub(crate) fn sequence(&self, stored: u64) -> u64 {
        self.global_sequence_number.filter(|_| self.internal).unwrap_or(stored)
    }

    /// A stored user key without its timestamp.
    #[inline]
    pub(crate) fn bare<'a>(&self, user_key: &'a [u8]) -> &'a [u8] {
        self.user_keys.bare(user_key)
    }

    /// The timestamp of a stored user key; empty if there is none.
    pub(crate) fn timestamp<'a>(&self, user_key: &'a [u8]) -> &'a [u8] {
        self.user_keys.timestamp(user_key)
    }
}

fn comparator(properties: &Properties, options: &TableReadOptions) -> Result<Comparator, String> {
    // LevelDB's databases record the comparator, its tables do not; nor do the oldest tables of
    // RocksDB.
    let Some(name) = properties.comparator().map(String::from_utf8_lossy) else {
        return match &options.unknown_order {
            Some(name) => Err(name.clone()),
            None => Ok(options.comparators.last().cloned().unwrap_or_default()),
        };
    };
    let given = options.comparators.iter().rfind(|comparator| comparator.name() == name);
    let known = given.cloned().or_else(|| name.parse().ok());
    let assumed = || Some(Comparator::named(&*name, options.order_of_unknown.as_ref()?));
    known.or_else(assumed).ok_or_else(|| name.clone().into_owned())
}

/// The global sequence number from the properties, or from the MANIFEST if the property is unset.
fn global_sequence_number(
    properties: &Properties,
    options: &TableReadOptions,
) -> Result<Option<u64>> {
    if let Some(given) = options.global_sequence_number.filter(|&it| it > MAX_SEQUENCE_NUMBER) {
        return Err(Error::invalid_input(format!("the sequence number {given} is too large")));
    }
    match (properties.global_sequence_number()?, options.global_sequence_number) {
        (None, _) => Ok(None),
        // Not ingested yet: the sequence numbers in the file, all 0, are valid.
        (Some(0), None) => Ok(None),
        (Some(0), Some(given)) => Ok(Some(given)),
        (Some(stored), Some(given)) if stored != given => Err(Error::mismatch(
            "the global sequence number does not match the MANIFEST",
            given,
            stored,
        )),
        (Some(stored), _) => Ok(Some(stored)),
    }
}

/// Whether a key of an index can be an internal key. Nothing else in LevelDB's tables tells the
/// format of keys. LevelDB writes only the kinds 0 and 1, at the eighth byte from the end.
pub(crate) fn looks_internal(key: &[u8]) -> bool {
    key.last_chunk::<{ InternalKey::TAIL_LENGTH }>()
        .is_some_and(|tail| tail[0] <= EntryKind::Value as u8)
}

impl KeyForm {
    /// Whether keys are internal keys, if that is known without examining them.
    pub(crate) fn is_internal(self, engine: Engine) -> Option<bool> {
        match (self, engine) {
            (Self::Internal, _) | (Self::Auto, Engine::RocksDb) => Some(true),
            (Self::User, _) => Some(false),
            (Self::Auto, Engine::LevelDb) => None,
        }
    }
}
