//! From the entries of one key to what the user sees of it.
//!
//! ```text
//! newest first            what the user sees
//! value …                 the value
//! deletion …              nothing; the same for an entry under a newer range deletion
//! merge, merge, value …   the operands on top of the value
//! merge, merge, deletion  the operands on top of nothing; the same at the end of the entries
//! ```

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use sstkit_table::Value;
use sstkit_table::raw::EntryKind;

use crate::keys::Keys;
use crate::version::TableFile;

/// An entry that the view sees.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen<'a> {
    /// As stored, with its timestamp.
    pub(crate) user_key: &'a [u8],
    pub(crate) sequence: u64,
    pub(crate) kind: EntryKind,
    /// A newer range deletion is over it.
    pub(crate) is_covered: bool,
    /// Its table; `None` in the memtable.
    pub(crate) file: Option<&'a Arc<TableFile>>,
}

/// The entries of one key, as far as they matter.
#[derive(Clone, Debug, Default)]
pub(crate) struct Versions {
    /// The newest first.
    pub(crate) operands: VecDeque<Value>,
    /// What is under them.
    pub(crate) base: Option<Base>,
    /// Of the newest entry.
    pub(crate) timestamp: Vec<u8>,
    /// Numbers and timestamps of the operands.
    taken: BTreeSet<(u64, Vec<u8>)>,
    is_decided: bool,
}

/// A value of some kind, and what is needed to resolve it.
#[derive(Clone, Debug)]
pub(crate) struct Base {
    pub(crate) kind: EntryKind,
    pub(crate) value: Value,
    /// The key as stored, if the value may be in a blob file, which repeats it.
    pub(crate) user_key: Vec<u8>,
    /// The table, in which the value may be.
    pub(crate) file: Option<Arc<TableFile>>,
}

impl Versions {
    /// Takes the next older entry; true if still older ones matter.
    pub(crate) fn add(
        &mut self,
        seen: Seen<'_>,
        value: impl FnOnce() -> Value,
        keys: &Keys,
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
                self.operands.push_back(value());
                self.taken.insert((seen.sequence, keys.timestamp(seen.user_key).to_vec()));
            }
            EntryKind::Deletion
            | EntryKind::SingleDeletion
            | EntryKind::DeletionWithTimestamp
            | EntryKind::RangeDeletion => self.is_decided = true,
            EntryKind::Value
            | EntryKind::BlobIndex
            | EntryKind::WideColumnEntity
            | EntryKind::ValuePreferredSeqno => {
                self.base = Some(Base::new(seen, value()));
                self.is_decided = true;
            }
        }
        !self.is_decided
    }

    /// Whether an entry with the same number was taken from a newer source. That cannot be in a sound
    /// database, but where nobody knows which tables are alive: of a write that was compacted into
    /// another table both are there, and what the newer one has made of it counts.
    fn is_repeated(&self, seen: &Seen<'_>, keys: &Keys) -> bool {
        !self.taken.is_empty()
            && self.taken.contains(&(seen.sequence, keys.timestamp(seen.user_key).to_vec()))
    }

    /// Whether older entries could not change anything.
    pub(crate) fn is_decided(&self) -> bool {
        self.is_decided
    }

    /// Whether the key has a value.
    pub(crate) fn is_visible(&self) -> bool {
        self.base.is_some() || !self.operands.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.operands.clear();
        self.base = None;
        self.timestamp.clear();
        self.taken.clear();
        self.is_decided = false;
    }
}

impl Base {
    fn new(seen: Seen<'_>, value: Value) -> Self {
        let has_reference = has_reference(seen.kind);
        Self {
            kind: seen.kind,
            value,
            user_key: if has_reference { seen.user_key.to_vec() } else { Vec::new() },
            file: seen.file.filter(|_| has_reference).cloned(),
        }
    }
}

/// Whether the value of such an entry may lead to another file, for which key and table are needed.
pub(super) fn has_reference(kind: EntryKind) -> bool {
    matches!(kind, EntryKind::BlobIndex | EntryKind::WideColumnEntity)
}
