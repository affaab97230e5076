//! The position of a point lookup in the index: in the flat index, if there is one.

use crate::error::{Error, Result};
use crate::index::flat_index::BlockLocation;
use crate::index::index_cursor::{Access, IndexBytes, IndexCursor};
use crate::raw::{BlockHandle, BlockKind};
use crate::reader::cache::SlotHint;
use crate::reader::open::core::Core;
use crate::reader::open::key_space::SeekTarget;

/// A borrowing cursor, as point lookups use it.
pub(crate) type LentIndex<'t> = IndexCursor<&'t Core, IndexBytes<'t>>;

pub(crate) enum IndexPosition<'a, 't> {
    /// An entry of the flat index.
    Direct { core: &'t Core, places: &'t [BlockLocation], entry: usize },
    /// The position of a cursor.
    Cursor(&'a mut LentIndex<'t>, SlotHint),
}

impl<'a, 't> IndexPosition<'a, 't> {
    /// The first entry whose key is not less than `target`. Creates a cursor if needed.
    pub(crate) fn seek(
        core: &'t Core,
        cursor: &'a mut Option<LentIndex<'t>>,
        target: &SeekTarget<'_>,
        access: Access,
    ) -> Result<Option<Self>> {
        if let Some((places, entry)) = core.direct_entry(target) {
            return Ok((entry < places.len()).then_some(Self::Direct { core, places, entry }));
        }
        let cursor = match cursor {
            Some(cursor) => cursor,
            none => none.insert(IndexCursor::lent(core, access)?),
        };
        Ok(cursor.seek(target)?.then(|| Self::Cursor(cursor, SlotHint::default())))
    }

    pub(crate) fn handle(&self) -> BlockHandle {
        match self {
            Self::Direct { places, entry, .. } => places[*entry].handle(),
            Self::Cursor(cursor, _) => cursor.handle(),
        }
    }

    pub(crate) fn hint(&self) -> &SlotHint {
        match self {
            Self::Direct { places, entry, .. } => &places[*entry].hint,
            Self::Cursor(_, hint) => hint,
        }
    }

    /// The first stored key of the data block, if the index has it.
    pub(crate) fn first_key(&self) -> Option<&[u8]> {
        match self {
            Self::Direct { .. } => None,
            Self::Cursor(cursor, _) => cursor.first_key(),
        }
    }

    /// In an index of two levels, key and handle of the partition, and whether it was in the cache.
    pub(crate) fn partition(&self) -> Option<(&[u8], BlockHandle, bool)> {
        match self {
            Self::Direct { .. } => None,
            Self::Cursor(cursor, _) => {
                let (separator, handle) = cursor.partition()?;
                Some((separator, handle, cursor.partition_was_cached()))
            }
        }
    }

    /// The separator, as stored.
    pub(crate) fn key(&self) -> Result<&[u8]> {
        match self {
            Self::Direct { core, entry, .. } => {
                let index = core.pinned_index.as_ref();
                let key = index.and_then(|index| core.index_format.restart_key(index, *entry));
                key.ok_or_else(|| {
                    let error = Error::corrupt("an entry that was read before is unreadable");
                    core.blocks.locate(error, BlockKind::Index, core.index.offset)
                })
            }
            Self::Cursor(cursor, _) => Ok(cursor.key()),
        }
    }

    /// Moves to the next entry, if there is one.
    pub(crate) fn next(&mut self) -> Result<bool> {
        match self {
            Self::Direct { places, entry, .. } => {
                let more = *entry + 1 < places.len();
                *entry += usize::from(more);
                Ok(more)
            }
            Self::Cursor(cursor, _) => cursor.next(),
        }
    }
}
