//! Range deletion blocks: which of them can be used, and what is in them.

use bytes::Bytes;

use super::report::Uncertainty;
use super::survey::Survey;
use super::tail::lost;
use crate::raw::{Block, BlockHandle, BlockKind, EntryKind, InternalKey};
use crate::visibility::UserKeys;

/// A range deletion block whose checksum fits.
#[derive(Debug)]
pub(super) struct RangeDeletions {
    pub(super) handle: BlockHandle,
    pub(super) contents: Bytes,
}

impl RangeDeletions {
    /// The sequence numbers of the range tombstones.
    pub(super) fn sequences(&self) -> Vec<u64> {
        let mut sequences = Vec::new();
        let _ = self.each(|key, _| {
            sequences.push(key.sequence);
            Ok(())
        });
        sequences
    }

    /// Calls `each` with all of them.
    fn each(
        &self,
        mut each: impl FnMut(&InternalKey<'_>, &[u8]) -> Result<(), String>,
    ) -> Result<(), String> {
        let text = |error: crate::Error| error.to_string();
        let mut entries = Block::parse(self.contents.clone()).map_err(text)?.into_entries();
        while entries.advance().map_err(text)? {
            each(&InternalKey::decode_from(entries.key()).map_err(text)?, entries.value())?;
        }
        Ok(())
    }

    /// Why it cannot be used, although its checksum fits: no engine writes such a block.
    fn defect(&self, keys: &UserKeys) -> Option<String> {
        let size = keys.timestamp_size();
        let check = |key: &InternalKey<'_>, end: &[u8]| match () {
            () if key.kind != EntryKind::RangeDeletion => Err("an entry is no range deletion"),
            () if key.user_key.len() < size || end.len() < size => Err("a key has no timestamp"),
            () if keys.compare(keys.bare(key.user_key), keys.bare(end)).is_gt() => {
                Err("a range ends before it begins")
            }
            () => Ok(()),
        };
        self.each(|key, end| check(key, end).map_err(str::to_owned)).err()
    }
}

impl Survey {
    /// Leaves out range tombstones that cannot be sorted, and blocks that make no sense.
    pub(super) fn drop_unusable_ranges(&mut self) {
        let Some(keys) = &self.reading.rules.order else {
            if !self.range_deletions.is_empty() {
                self.range_deletions.clear();
                self.uncertain.push(Uncertainty::RangeTombstones);
            }
            return;
        };
        let losses = &mut self.losses;
        self.range_deletions.retain(|block| match block.defect(keys) {
            None => true,
            Some(reason) => {
                losses.push(lost(BlockKind::RangeDeletion, block.handle, &reason));
                false
            }
        });
    }
}
