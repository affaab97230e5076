//! The range tombstones of a table.

use std::sync::Arc;

use sstkit_coding::debug_struct;

use crate::error::{Error, Result};
use crate::raw::{BlockHandle, BlockKind, EntryKind, InternalKey};
use crate::reader::block::reader::BlockReader;
use crate::reader::open::core::Core;
use crate::reader::open::key_space::KeySpace;
use crate::visibility::{Fragment, Fragments, ReadView, UserKeys};

/// The factor by which prefix sharing may expand a block of range tombstones. In a forged block, a
/// few bytes could represent a key as long as the block, many times. The engines share no prefixes
/// here.
const MAX_EXPANSION: usize = 16;
/// The size that even the smallest block may expand to.
const MIN_BUDGET: usize = 4096;

/// A range tombstone: deletes the keys from `start` to `end` (exclusive).
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RangeTombstone {
    /// The first deleted key, without timestamp.
    pub start: Vec<u8>,
    /// The end of the range, exclusive, without timestamp.
    pub end: Vec<u8>,
    /// The sequence number of the write.
    pub sequence: u64,
    /// The timestamp of the write; empty if keys have none.
    pub timestamp: Vec<u8>,
}

debug_struct!(RangeTombstone { start: bytes, end: bytes, sequence, timestamp: bytes });

impl RangeTombstone {
    /// A range tombstone from `start` to `end`, both without timestamps.
    pub fn new(
        start: impl Into<Vec<u8>>,
        end: impl Into<Vec<u8>>,
        sequence: u64,
        timestamp: impl Into<Vec<u8>>,
    ) -> Self {
        Self { start: start.into(), end: end.into(), sequence, timestamp: timestamp.into() }
    }

    /// Whether the range contains `key`, which is without timestamp.
    pub fn contains(&self, key: &[u8], keys: &UserKeys) -> bool {
        keys.compare(&self.start, key).is_le() && keys.compare(key, &self.end).is_lt()
    }

    /// The sequence number of the newest tombstone over `key` that is visible in `view`, of
    /// tombstones in any order.
    pub fn newest_over<'t>(
        tombstones: impl IntoIterator<Item = &'t Self>,
        key: &[u8],
        view: &ReadView,
        keys: &UserKeys,
    ) -> Option<u64> {
        let sees = |it: &&Self| view.sees(it.sequence, &it.timestamp, keys);
        let over = tombstones.into_iter().filter(|it| sees(it) && it.contains(key, keys));
        over.map(|it| it.sequence).max()
    }
}

/// The range tombstones of a table.
#[derive(Debug, Default)]
pub(crate) struct RangeTombstones {
    /// As stored, but without empty ranges, sorted by start key.
    stored: Vec<RangeTombstone>,
    /// Empty if the order is unknown.
    fragments: Fragments,
    /// The largest sequence number.
    newest: u64,
}

impl RangeTombstones {
    /// Reads the range tombstone block of a table.
    pub(crate) fn read(
        blocks: &BlockReader,
        handle: Option<BlockHandle>,
        keys: &KeySpace,
    ) -> Result<Self> {
        let Some(handle) = handle else { return Ok(Self::default()) };
        let kind = BlockKind::RangeDeletion;
        let decode = || {
            let block = blocks.block_uncached(kind, handle)?;
            let mut budget = block.bytes().len().saturating_mul(MAX_EXPANSION).max(MIN_BUDGET);
            let mut entries = block.into_entries();
            let mut stored = Vec::new();
            while entries.advance()? {
                budget = budget
                    .checked_sub(entries.key().len() + entries.value().len())
                    .ok_or_else(|| {
                        Error::corrupt("the range tombstones expand too far by sharing prefixes")
                    })?;
                stored.push(decode(entries.key(), entries.value(), keys)?);
            }
            Ok(stored)
        };
        let stored = decode().map_err(|error| blocks.locate(error, kind, handle.offset))?;
        Ok(Self::new(stored, keys))
    }

    fn new(mut stored: Vec<RangeTombstone>, keys: &KeySpace) -> Self {
        if !keys.is_ordered() {
            return Self { stored, ..Self::default() };
        }
        stored.retain(|it| keys.compare(&it.start, &it.end).is_lt());
        stored.sort_by(|a, b| {
            keys.compare(&a.start, &b.start).then_with(|| b.sequence.cmp(&a.sequence))
        });
        let fragments = Fragments::seen(&stored, &ReadView::default(), keys.user_keys());
        let newest = stored.iter().map(|it| it.sequence).max().unwrap_or(0);
        Self { stored, fragments, newest }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.stored.is_empty()
    }

    pub(crate) fn stored(&self) -> &[RangeTombstone] {
        &self.stored
    }

    pub(crate) fn fragments(&self) -> &Fragments {
        &self.fragments
    }

    /// The sequence number of the newest tombstone over `key`.
    pub(crate) fn newest_over(&self, key: &[u8], keys: &KeySpace) -> Option<u64> {
        self.fragments.over(key, keys.user_keys()).map(|fragment| fragment.age)
    }

    /// The sequence number of the newest tombstone over `key` that is visible in `view`.
    pub(crate) fn newest_seen_over(
        &self,
        key: &[u8],
        view: &ReadView,
        keys: &KeySpace,
    ) -> Option<u64> {
        let newest = self.newest_over(key, keys);
        if view.timestamp.is_none() && newest <= Some(view.sequence) {
            return newest;
        }
        RangeTombstone::newest_over(&self.stored, key, view, keys.user_keys())
    }

    /// Whether a point is covered.
    pub(crate) fn covers(&self, point: &InternalKey<'_>, keys: &KeySpace) -> bool {
        !self.stored.is_empty()
            && self.newest_over(keys.bare(point.user_key), keys) > Some(point.sequence)
    }

    /// The fragments of the tombstones that are visible in `view`; `None` if all are.
    fn seen(&self, view: &ReadView, keys: &KeySpace) -> Option<Fragments> {
        let sees_all = view.timestamp.is_none() && self.newest <= view.sequence;
        (!sees_all).then(|| Fragments::seen(&self.stored, view, keys.user_keys()))
    }
}

fn decode(key: &[u8], end: &[u8], keys: &KeySpace) -> Result<RangeTombstone> {
    let begin = InternalKey::decode_from(key)?;
    if begin.kind != EntryKind::RangeDeletion {
        return Err(Error::corrupt(format!("{begin:?} is not valid in the range deletion block")));
    }
    let sequence = keys.global_sequence_number.unwrap_or(begin.sequence);
    let timestamp = keys.timestamp(begin.user_key);
    Ok(RangeTombstone::new(keys.bare(begin.user_key), keys.bare(end), sequence, timestamp))
}

/// The range tombstones of a table that are visible in a view.
pub struct SeenTombstones {
    core: Arc<Core>,
    /// Set if not all tombstones are visible.
    seen: Option<Fragments>,
}

sstkit_coding::debug_opaque!(SeenTombstones);

impl SeenTombstones {
    pub(crate) fn new(core: &Arc<Core>, view: &ReadView) -> Self {
        let seen = core.range_deletions.seen(view, &core.keys);
        Self { core: Arc::clone(core), seen }
    }

    /// The fragments.
    #[inline]
    pub fn fragments(&self) -> &Fragments {
        self.seen.as_ref().unwrap_or(self.core.range_deletions.fragments())
    }

    /// The fragment that contains `key`.
    pub fn over(&self, key: &[u8]) -> Option<&Fragment> {
        self.fragments().over(key, self.core.keys.user_keys())
    }
}
