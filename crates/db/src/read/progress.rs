//! How far a lookup has come, and whether what is left can change the answer.
//!
//! ```text
//! level 0   k@9 merge                  taken
//! level 1   k@7 value                  taken: decides, the lookup is settled at 7
//! level 2   a file with k, newest 5    nothing in it can be newer: not read
//! level 3   a file with k, newest 8    could have k@8, if files were mixed up: read
//!             its k is @3              as it should be
//!             its k is @8              the levels contradict the numbers: start again, by numbers
//! ```
//!
//! Sources are looked into from the newest to the oldest, which is the order of sequence numbers in
//! every directory that an engine wrote, and their entries are taken as they come. Where numbers
//! turn out to contradict that order, only a lookup that has all entries in hand is right.

use std::sync::Arc;

use sstkit_table::Value;

use super::versions::{Seen, Versions};
use crate::keys::Keys;
use crate::version::TableFile;

/// What a lookup has found so far.
#[derive(Debug, Default)]
pub(super) struct Progress {
    pub(super) versions: Versions,
    /// Number of the newest range deletion over the key.
    newest_deletion: Option<u64>,
    /// The same without the source that is being looked into: it deletes equal numbers, too.
    deletion_above: Option<u64>,
    /// The smallest number that was taken.
    oldest: Option<u64>,
    is_contradicted: bool,
}

impl Progress {
    /// From here on an older source is looked into.
    pub(super) fn begin_source(&mut self) {
        self.deletion_above = self.newest_deletion;
    }

    /// A range deletion of the source is over the key.
    pub(super) fn note_deletion(&mut self, sequence: Option<u64>) {
        let deletes_newer = |sequence| self.oldest.is_some_and(|oldest| sequence > oldest);
        self.is_contradicted |= sequence.is_some_and(deletes_newer);
        self.newest_deletion = self.newest_deletion.max(sequence);
    }

    /// Whether the range deletions so far delete an entry of the source.
    pub(super) fn is_covered(&self, sequence: u64) -> bool {
        self.newest_deletion.is_some_and(|deletion| deletion > sequence)
            || self.deletion_above.is_some_and(|deletion| deletion >= sequence)
    }

    /// Takes an entry of the source, the newest first; true if older ones of it matter.
    pub(super) fn take(
        &mut self,
        seen: Seen<'_>,
        value: impl FnOnce() -> Value,
        keys: &Keys,
    ) -> bool {
        if self.is_newer_than_taken(&seen, keys) {
            self.is_contradicted = true;
            return false;
        }
        self.oldest = Some(self.oldest.map_or(seen.sequence, |oldest| oldest.min(seen.sequence)));
        self.versions.add(seen, value, keys)
    }

    /// Timestamps say which of two entries is newer before numbers do.
    fn is_newer_than_taken(&self, seen: &Seen<'_>, keys: &Keys) -> bool {
        let Some(last) = self.versions.last() else { return false };
        let (timestamp, taken) = (keys.timestamp(seen.user_key), self.versions.last_timestamp());
        match timestamp == taken {
            true => seen.sequence > last,
            false => keys.is_later(timestamp, taken),
        }
    }

    /// Whether entries were out of order: what was taken means nothing.
    pub(super) fn is_contradicted(&self) -> bool {
        self.is_contradicted
    }

    /// The sequence number above which an entry could still change the answer, once there is one.
    pub(super) fn settled(&self) -> Option<u64> {
        match self.versions.is_decided() {
            true => self.versions.last().max(self.newest_deletion),
            false => self.newest_deletion,
        }
    }

    /// Whether the answer is known, as far as the order of the sources can be trusted.
    pub(super) fn is_settled(&self) -> bool {
        self.versions.is_decided() || self.newest_deletion.is_some()
    }

    /// Whether a file could change the answer.
    pub(super) fn may_change(&self, file: &Arc<TableFile>, keys: &Keys) -> bool {
        let Some(settled) = self.settled() else { return true };
        file.newest() > settled || self.may_be_later(file, keys)
    }

    /// Whether timestamps could make an entry of the file newer than the one that decided.
    fn may_be_later(&self, file: &Arc<TableFile>, keys: &Keys) -> bool {
        if keys.timestamp_size() == 0 || !self.versions.is_decided() {
            return false;
        }
        let last = self.versions.last_timestamp();
        file.meta.max_timestamp.as_deref().is_none_or(|largest| keys.is_later(largest, last))
    }
}
