//! How the blocks of a remote source are read: the tail when a table is opened, windows for scans.

use std::sync::Arc;

use bytes::Bytes;

use super::PreferredRead;
use super::windows::{ScannedBlock, Windows};
use crate::error::Result;
use crate::raw::{Block, BlockHandle, BlockKind};
use crate::reader::block::read_ahead::ReadAhead;
use crate::reader::block::reader::{BlockReader, read_exact};
use crate::reader::open::source::Source;

/// The most that is read of a remote file when it is opened, besides the first read.
const MAX_TAIL: u64 = 16 << 20;

/// How a remote source is read.
pub(crate) struct RemoteReads {
    pub(crate) preferred: PreferredRead,
    /// The source of the windows of scans, which threads of their own read; `None` if scans have no windows.
    pub(crate) windows: Option<Arc<dyn Source>>,
    /// Where the data blocks end: their windows end there, too. Unknown while the table is being opened.
    pub(crate) end_of_data: u64,
}

impl RemoteReads {
    pub(crate) fn new(preferred: PreferredRead, windows: Option<Arc<dyn Source>>) -> Self {
        Self { preferred, windows, end_of_data: u64::MAX }
    }
}

impl BlockReader<dyn Source + '_> {
    /// While a remote table is being opened: makes the tail contain the blocks at these offsets, in one read,
    /// except those that are too far away.
    pub(crate) fn extend_tail(&mut self, offsets: impl IntoIterator<Item = u64>) -> Result<()> {
        let Some((start, tail)) = self.tail.as_mut().filter(|_| self.remote.is_some()) else {
            return Ok(());
        };
        let near = start.saturating_sub(MAX_TAIL)..*start;
        let offsets = offsets.into_iter().filter(|offset| near.contains(offset));
        let Some(offset) = offsets.min() else { return Ok(()) };
        let before = read_exact(&*self.source, offset, (*start - offset) as usize)?;
        *tail = [before, std::mem::take(tail)].concat().into();
        *start = offset;
        Ok(())
    }

    /// Whether the tail has a block.
    pub(crate) fn tail_has(&self, handle: BlockHandle) -> bool {
        self.tail.as_ref().is_some_and(|(start, _)| *start <= handle.offset)
    }

    /// The readahead of a scan: reads of this size, or that grow if it is 0.
    pub(crate) fn new_read_ahead(&self, size: u64) -> ReadAhead {
        ReadAhead::with_size(size).over(self.new_windows(size))
    }

    /// Windows of this size, or that grow if it is 0; `None` if the source is not read in windows.
    pub(crate) fn new_windows(&self, size: u64) -> Option<Windows> {
        let remote = self.remote.as_ref()?;
        let max_length = if size > 0 { size } else { remote.preferred.read_ahead };
        Some(Windows::new(remote.windows.as_ref()?, max_length, size > 0))
    }

    /// A partition of an index from windows, unless it is in memory: a scan needs those beside it next. No window
    /// extends beyond `limit`.
    pub(crate) fn index_partition_in(
        &self,
        windows: &mut Windows,
        handle: BlockHandle,
        is_backward: bool,
        limit: u64,
    ) -> Result<Block<Bytes>> {
        let stored =
            self.stored_by(BlockKind::IndexPartition, handle, true, |offset, length| {
                if let Some(bytes) = self.in_tail(offset, length) {
                    return Ok(bytes);
                }
                let range = offset..offset.saturating_add(length as u64);
                // Not read by other threads: data blocks are in flight meanwhile, which hides the wait.
                let block = ScannedBlock { range, is_backward, is_long: false, limit };
                // A block in the cache must not keep the window.
                windows.part(&block).map(|bytes| Bytes::copy_from_slice(&bytes))
            })?;
        self.parse(stored)
    }
}
