//! From the entries of one key to the state that is visible.
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

/// An entry that the read sees.
#[derive(Clone, Copy, Debug)]
pub struct SeenEntry<'a> {
    /// As stored, with its timestamp.
    pub user_key: &'a [u8],
    /// The sequence number.
    pub sequence: u64,
    /// What it does to its key.
    pub kind: EntryKind,
    /// Whether a newer range tombstone is over it.
    pub is_covered: bool,
}

/// The entries of one key, as far as they matter. `O` is where an entry comes from, as far as its
/// value may depend on that.
#[derive(Clone, Debug)]
pub struct Versions<O> {
    /// The newest first.
    operands: Vec<Value>,
    base: Option<Base<O>>,
    /// Of the newest entry.
    timestamp: Vec<u8>,
    /// Sequence numbers and timestamps of the operands.
    taken: BTreeSet<(u64, Vec<u8>)>,
    is_decided: bool,
}

/// A value of some kind, with what is needed to resolve it.
#[derive(Clone, Debug)]
pub struct Base<O> {
    /// What the entry does.
    pub kind: EntryKind,
    /// The value as stored.
    pub value: Value,
    /// The key as stored, if the value may be in a blob file, which repeats it.
    pub user_key: Vec<u8>,
    /// Where the entry comes from, if the value may depend on that.
    pub origin: Option<O>,
}

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
    /// Adds the next older entry; true if older ones matter.
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

    /// Whether an entry with the same number was taken from a newer source. That cannot be in a sound
    /// database, but where it is not known which tables are live: of a write that was compacted into
    /// another table both are found, and what the newer one has made of it counts.
    fn is_repeated(&self, seen: &SeenEntry<'_>, keys: &UserKeys) -> bool {
        has_several_sources::<O>()
            && !self.taken.is_empty()
            && self.taken.contains(&(seen.sequence, keys.timestamp(seen.user_key).to_vec()))
    }

    /// The operands, the newest first.
    pub fn operands(&self) -> &[Value] {
        &self.operands
    }

    /// What the operands apply to.
    pub fn base(&self) -> Option<&Base<O>> {
        self.base.as_ref()
    }

    /// The timestamp of the newest entry; empty where keys have none.
    pub fn timestamp(&self) -> &[u8] {
        &self.timestamp
    }

    /// The value, if it needs neither merging nor resolving.
    pub fn plain_value(&self) -> Option<&Value> {
        match &self.base {
            Some(Base { kind: EntryKind::Value, value, .. }) if self.operands.is_empty() => {
                Some(value)
            }
            _ => None,
        }
    }

    /// Whether older entries could not change anything.
    pub fn is_decided(&self) -> bool {
        self.is_decided
    }

    /// Whether the key has a value.
    pub fn is_visible(&self) -> bool {
        self.base.is_some() || !self.operands.is_empty()
    }

    /// Forgets all entries.
    pub fn clear(&mut self) {
        self.operands.clear();
        self.base = None;
        self.timestamp.clear();
        self.taken.clear();
        self.is_decided = false;
    }
}

/// Whether entries may come from several sources. Those of one source have an origin without a size:
/// there is nothing to tell apart, and each of its entries counts.
const fn has_several_sources<O>() -> bool {
    size_of::<O>() > 0
}

/// Whether the value of such an entry may be in another place, for which key and origin are needed.
fn has_reference(kind: EntryKind) -> bool {
    matches!(kind, EntryKind::BlobIndex | EntryKind::WideColumnEntity)
}

/// The entries of one key when they are met from the oldest to the newest.
///
/// ```text
/// met      b@3 value   b@5 merge (older file)   b@5 merge (newer file)   b@7 merge
/// kept     b@3 value                            b@5 merge                b@7 merge
/// ```
///
/// [`Versions`] takes entries from the newest to the oldest; here they wait for that. An entry that
/// hides older ones drops them once it is certain that no newer source has an entry with its number,
/// which would replace it: the next entry has a larger number, and so should all that follow. Where
/// that is not so, what was dropped may be needed.
#[derive(Debug)]
pub(crate) struct History<O> {
    /// The oldest first.
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
    /// If it is needed to resolve the value.
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

    /// Forgets all entries.
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.is_contradicted = false;
    }

    /// Whether sequence numbers were out of order: the entries are not all that may matter.
    pub(crate) fn is_contradicted(&self) -> bool {
        self.is_contradicted
    }

    /// Moves all entries to `versions`, the newest first.
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
