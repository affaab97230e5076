//! The entries of one key when they are met from the oldest to the newest.
//!
//! ```text
//! met      b@3 value   b@5 merge (older file)   b@5 merge (newer file)   b@7 merge
//! kept     b@3 value                            b@5 merge                b@7 merge
//! ```
//!
//! What they come to is for [`Versions`] to say, from the newest to the oldest as always; here they
//! wait for their turn. An entry that hides the older ones lets go of them, once it is certain that
//! no newer source has an entry with its number, which would take its place: the next one has a larger
//! number, and so should all that follow. Where that is not so, what was let go may be needed.

use std::sync::Arc;

use sstkit_table::Value;
use sstkit_table::raw::EntryKind;

use super::versions::{Seen, Versions, has_reference};
use crate::keys::Keys;
use crate::version::TableFile;

/// The entries of one key that may matter, the oldest first.
#[derive(Debug, Default)]
pub(super) struct History {
    entries: Vec<Past>,
    is_contradicted: bool,
}

#[derive(Debug)]
struct Past {
    /// As stored, if it has a timestamp or is needed to resolve the value.
    user_key: Vec<u8>,
    sequence: u64,
    kind: EntryKind,
    is_covered: bool,
    /// If it is needed to resolve the value.
    file: Option<Arc<TableFile>>,
    value: Value,
}

impl History {
    /// Takes the next newer entry.
    pub(super) fn add(&mut self, seen: Seen<'_>, value: Value, keys: &Keys) {
        let needs_key = has_reference(seen.kind) || keys.timestamp_size() > 0;
        let next = Past {
            user_key: if needs_key { seen.user_key.to_vec() } else { Vec::new() },
            sequence: seen.sequence,
            kind: seen.kind,
            is_covered: seen.is_covered,
            file: seen.file.filter(|_| has_reference(seen.kind)).cloned(),
            value,
        };
        match self.entries.last() {
            Some(last) if last.is_same_write(&next, keys) => {
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
    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.is_contradicted = false;
    }

    /// Whether sequence numbers were out of order: the entries are not all that may matter.
    pub(super) fn is_contradicted(&self) -> bool {
        self.is_contradicted
    }

    /// Hands all entries over, the newest first, and is empty.
    pub(super) fn tell(&mut self, versions: &mut Versions, keys: &Keys) {
        while let Some(Past { user_key, sequence, kind, is_covered, file, value }) =
            self.entries.pop()
        {
            let seen =
                Seen { user_key: &user_key, sequence, kind, is_covered, file: file.as_ref() };
            if !versions.add(seen, || value, keys) {
                self.entries.clear();
            }
        }
    }
}

impl Past {
    fn is_same_write(&self, other: &Self, keys: &Keys) -> bool {
        self.sequence == other.sequence
            && keys.timestamp(&self.user_key) == keys.timestamp(&other.user_key)
    }

    fn hides_older(&self) -> bool {
        self.is_covered || self.kind != EntryKind::Merge
    }
}
