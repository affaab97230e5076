//! Computes the visible state of a key from its entries.
//!
//! ```text
//! newest first            what is visible
//! value …                 the value
//! deletion …              nothing; the same for an entry that a range tombstone covers
//! merge, merge, value …   the operands on top of the value
//! merge, merge, deletion  the operands on top of nothing; the same at the end of the entries
//! ```

use std::collections::BTreeSet;

use crate::raw::EntryKind;
use crate::reader::Value;
use crate::visibility::UserKeys;

/// A visible entry.
#[derive(Clone, Copy)]
pub struct SeenEntry<'a> {
    /// As stored, with its timestamp.
    pub user_key: &'a [u8],
    /// The sequence number.
    pub sequence: u64,
    /// The kind.
    pub kind: EntryKind,
    /// Whether a newer range tombstone covers it.
    pub is_covered: bool,
}

sstkit_coding::debug_struct!(SeenEntry<'_> { user_key: bytes, sequence, kind, is_covered });

/// The entries of one key, until they determine its value. `O` is the origin of an entry, if its
/// value may depend on it.
#[derive(Clone)]
pub struct Versions<O> {
    /// Newest first.
    operands: Vec<Value>,
    base: Option<Base<O>>,
    /// The timestamp of the newest entry.
    timestamp: Vec<u8>,
    /// Sequence numbers and timestamps of the operands.
    taken: BTreeSet<(u64, Vec<u8>)>,
    is_decided: bool,
}

sstkit_coding::debug_struct!([O: core::fmt::Debug] Versions<O> {
    operands, base, timestamp: bytes, taken: bytes, is_decided,
});

/// A stored value, with the data needed to resolve it.
#[derive(Clone)]
pub struct Base<O> {
    /// The kind.
    pub kind: EntryKind,
    /// The value as stored.
    pub value: Value,
    /// The key as stored, if the value may be in a blob file, which repeats it.
    pub user_key: Vec<u8>,
    /// The origin of the entry, if the value may depend on it.
    pub origin: Option<O>,
}

sstkit_coding::debug_struct!([O: core::fmt::Debug] Base<O> {
    kind, value, user_key: bytes, origin,
});

impl<O> Default for Versions<O> {
    fn default() -> Self {
        Self {
            operands: Vec::new(),
            base: None,
            timestamp: Vec::new(),
            taken: BTreeSet::new(),
            is_decided: false,
        }
    }
}

impl<O> Versions<O> {
    /// Adds the next older entry. Returns whether older ones are needed.
    pub fn add(
        &mut self,
        seen: SeenEntry<'_>,
        value: impl FnOnce() -> Value,
        origin: impl FnOnce() -> O,
        keys: &UserKeys,
    ) -> bool {
        self.add_with(seen, value, || has_reference(seen.kind).then(origin), keys)
    }

    fn add_with(
        &mut self,
        seen: SeenEntry<'_>,
        value: impl FnOnce() -> Value,
        origin: impl FnOnce() -> Option<O>,
        keys: &UserKeys,
    ) -> bool {
        if self.is_decided {
            return false;
        }
        if self.is_repeated(&seen, keys) {
            return true;
        }
        if self.operands.is_empty() {
            self.timestamp.clear();
            self.timestamp.extend_from_slice(keys.timestamp(seen.user_key));
        }
        match seen.kind {
            _ if seen.is_covered => self.is_decided = true,
            EntryKind::Merge => {
                let write = (seen.sequence, keys.timestamp(seen.user_key).to_vec());
                self.operands.push(value());
                self.taken.insert(write);
            }
            EntryKind::Deletion
            | EntryKind::SingleDeletion
            | EntryKind::DeletionWithTimestamp
            | EntryKind::RangeDeletion => self.is_decided = true,
            EntryKind::Value
            | EntryKind::BlobIndex
            | EntryKind::WideColumnEntity
            | EntryKind::ValuePreferredSeqno => {
                let has_reference = has_reference(seen.kind);
                let user_key = if has_reference { seen.user_key.to_vec() } else { Vec::new() };
                let (kind, value, origin) = (seen.kind, value(), origin());
                self.base = Some(Base { kind, value, user_key, origin });
                self.is_decided = true;
            }
        }
        !self.is_decided
    }

    /// Whether an entry with the same sequence number was added from a newer source. This happens
    /// only if it is unknown which tables are live: a write that was compacted into another table
    /// is then found twice, and the newer one counts.
    fn is_repeated(&self, seen: &SeenEntry<'_>, keys: &UserKeys) -> bool {
        has_several_sources::<O>()
            && !self.taken.is_empty()
            && self.taken.contains(&(seen.sequence, keys.timestamp(seen.user_key).to_vec()))
    }

    /// The operands, newest first.
    pub fn operands(&self) -> &[Value] {
        &self.operands
    }

    /// The base of the operands.
    pub fn base(&self) -> Option<&Base<O>> {
        self.base.as_ref()
    }

    /// The timestamp of the newest entry; empty if keys have none.
    pub fn timestamp(&self) -> &[u8] {
        &self.timestamp
    }

    /// The value, if it needs no merging and no resolving.
    pub fn plain_value(&self) -> Option<&Value> {
        match &self.base {
            Some(Base { kind: EntryKind::Value, value, .. }) if self.operands.is_empty() => {
                Some(value)
            }
            _ => None,
        }
    }

    /// The same, removed from the entries.
    pub fn take_plain_value(&mut self) -> Option<Value> {
        self.plain_value()?;
        self.base.take().map(|base| base.value)
    }

    /// Whether older entries cannot change the result.
    pub fn is_decided(&self) -> bool {
        self.is_decided
    }

    /// Whether the key has a value.
    pub fn is_visible(&self) -> bool {
        self.base.is_some() || !self.operands.is_empty()
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.operands.clear();
        self.base = None;
        self.timestamp.clear();
        self.taken.clear();
        self.is_decided = false;
    }
}

/// Whether entries may come from several sources. The origin of a single source is zero-sized.
const fn has_several_sources<O>() -> bool {
    size_of::<O>() > 0
}

/// Whether the value of such an entry may be a reference, which needs key and origin.
fn has_reference(kind: EntryKind) -> bool {
    matches!(kind, EntryKind::BlobIndex | EntryKind::WideColumnEntity)
}

/// Collects the entries of one key from oldest to newest.
///
/// ```text
/// met      b@3 value   b@5 merge (older file)   b@5 merge (newer file)   b@7 merge
/// kept     b@3 value                            b@5 merge                b@7 merge
/// ```
///
/// [`Versions`] takes entries from newest to oldest; here they are buffered for that. An entry that
/// hides older ones drops them as soon as no newer source can have an entry with the same sequence
/// number, which would replace it: the next entry has a larger number, and so should all following
/// ones. Otherwise a dropped entry may be needed.
#[derive(Debug)]
pub(crate) struct History<O> {
    /// Oldest first.
    entries: Vec<PastEntry<O>>,
    is_contradicted: bool,
}

#[derive(Debug)]
struct PastEntry<O> {
    /// As stored, if it has a timestamp or is needed to resolve the value.
    user_key: Vec<u8>,
    sequence: u64,
    kind: EntryKind,
    is_covered: bool,
    /// Set if it is needed to resolve the value.
    origin: Option<O>,
    value: Value,
}

impl<O> Default for History<O> {
    fn default() -> Self {
        Self { entries: Vec::new(), is_contradicted: false }
    }
}

impl<O> History<O> {
    /// Adds the next newer entry.
    pub(crate) fn add(
        &mut self,
        seen: SeenEntry<'_>,
        value: Value,
        origin: impl FnOnce() -> O,
        keys: &UserKeys,
    ) {
        let SeenEntry { user_key, sequence, kind, is_covered } = seen;
        let needs_key = has_reference(kind) || keys.timestamp_size() > 0;
        let user_key = if needs_key { user_key.to_vec() } else { Vec::new() };
        let origin = has_reference(kind).then(origin);
        let next = PastEntry { user_key, sequence, kind, is_covered, origin, value };
        match self.entries.last() {
            Some(last) if has_several_sources::<O>() && last.is_same_write(&next, keys) => {
                self.entries.pop();
            }
            Some(last) if last.sequence >= next.sequence => self.is_contradicted = true,
            Some(last) if last.hides_older() => {
                let older = self.entries.len() - 1;
                self.entries.drain(..older);
            }
            _ => {}
        }
        self.entries.push(next);
    }

    /// Removes all entries.
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.is_contradicted = false;
    }

    /// Whether sequence numbers were out of order, so that dropped entries may be needed.
    pub(crate) fn is_contradicted(&self) -> bool {
        self.is_contradicted
    }

    /// Moves all entries to `versions`, newest first.
    pub(crate) fn drain_into(&mut self, versions: &mut Versions<O>, keys: &UserKeys) {
        while let Some(entry) = self.entries.pop() {
            let PastEntry { user_key, sequence, kind, is_covered, origin, value } = entry;
            let seen = SeenEntry { user_key: &user_key, sequence, kind, is_covered };
            if !versions.add_with(seen, || value, || origin, keys) {
                self.entries.clear();
            }
        }
    }
}

impl<O> PastEntry<O> {
    fn is_same_write(&self, other: &Self, keys: &UserKeys) -> bool {
        self.sequence == other.sequence
            && keys.timestamp(&self.user_key) == keys.timestamp(&other.user_key)
    }

    fn hides_older(&self) -> bool {
        self.is_covered || self.kind != EntryKind::Merge
    }
}
