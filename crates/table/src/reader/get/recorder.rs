//! Records the steps of a point lookup.

use bytes::Bytes;
use sstkit_filter::{Filter, FilterBlock, HashedKey};

use crate::error::{Error, Result};
use crate::index::position::IndexPosition;
use crate::raw::{Block, BlockHandle, InternalKey};
use crate::reader::block::access::BlockAccess;
use crate::reader::open::core::Core;
use crate::reader::open::key_space::SeekTarget;
use crate::reader::read_options::ReadOptions;
use crate::reader::value::Value;

/// Receives each step of a lookup. Methods that a recorder does not implement do nothing and cost
/// nothing, since lookups are compiled for each type of recorder.
pub(crate) trait Recorder {
    /// Whether anything is recorded. If so, the fast path is not taken, since it has no steps.
    const RECORDS: bool = true;

    /// Whether the lookup counts nothing and adds nothing to the cache.
    const IS_QUIET: bool = false;

    /// How data blocks are loaded.
    #[inline]
    fn block_access(&self) -> BlockAccess {
        BlockAccess::default()
    }

    /// Whether filters are probed.
    #[inline]
    fn uses_filters(&self) -> bool {
        true
    }

    /// Whether values are handles into blocks, never copies.
    #[inline]
    fn pins(&self) -> bool {
        false
    }

    /// A lookup of `key` starts.
    fn start(&mut self, _core: &Core, _key: &[u8]) {}

    /// A partition of the filter is about to be read.
    fn filter_partition(
        &mut self,
        _separator: &[u8],
        _handle: BlockHandle,
        _is_cached: impl FnOnce() -> bool,
    ) {
    }

    /// The filter, or a partition of it, is probed.
    fn filter(&mut self, _filter: &Filter<Bytes>, _query: &HashedKey<'_>) {}

    /// The filter cannot be read.
    fn filter_problem(&mut self, _error: impl FnOnce() -> Option<Error>) {}

    /// The index has a data block for the key.
    fn index_entry(&mut self, _index: &IndexPosition<'_, '_>) -> Result<()> {
        Ok(())
    }

    /// A filter block is probed for the data block at `offset`.
    fn filter_block(&mut self, _filter: &FilterBlock<Bytes>, _offset: u64, _query: &HashedKey<'_>) {
    }

    /// A data block is about to be read.
    fn data_block(&mut self, _core: &Core, _handle: BlockHandle) -> Result<()> {
        Ok(())
    }

    /// A data block was read and is searched.
    fn search(
        &mut self,
        _core: &Core,
        _block: &Block<Bytes>,
        _key: &[u8],
        _target: &SeekTarget<'_>,
    ) -> Result<()> {
        Ok(())
    }

    /// An entry of the key was found. Returns whether older ones are needed for the record.
    fn entry(&mut self, _core: &Core, _entry: &InternalKey<'_>, _value: &Value) -> bool {
        false
    }
}

/// Records nothing.
pub(crate) struct NoRecorder;

impl Recorder for NoRecorder {
    const RECORDS: bool = false;
}

/// Records nothing, and reads as the options say.
pub(crate) struct WithOptions<'o>(pub(crate) &'o ReadOptions);

impl Recorder for WithOptions<'_> {
    const RECORDS: bool = false;

    fn block_access(&self) -> BlockAccess {
        self.0.block_access()
    }

    fn uses_filters(&self) -> bool {
        self.0.use_filters
    }

    fn pins(&self) -> bool {
        self.0.pin_data
    }
}
