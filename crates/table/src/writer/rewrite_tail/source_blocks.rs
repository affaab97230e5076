//! The data blocks of the source, each read once.

use std::cmp::Ordering;

use bytes::Bytes;

use crate::comparator::Comparator;
use crate::error::{Error, Result};
use crate::options::TableOptions;
use crate::raw::{
    Block, BlockEntries, BlockHandle, BlockKind, InternalKey, StoredBlock, TableView,
};
use crate::reader::IndexWalk;
use crate::reader::block::read_ahead::ReadAhead;

/// Reads the data blocks of a table in order.
pub(super) struct SourceBlocks<'t, 'a> {
    source: &'t TableView<'a>,
    index: IndexWalk<'t, 'a>,
    ahead: ReadAhead,
}

impl<'t, 'a> SourceBlocks<'t, 'a> {
    pub(super) fn new(source: &'t TableView<'a>) -> Result<Self> {
        Ok(Self { source, index: source.index()?, ahead: source.blocks.new_read_ahead(0) })
    }

    /// The next block as it is in the file, checksum verified.
    pub(super) fn next(&mut self) -> Result<Option<StoredBlock<Bytes>>> {
        match self.index.advance()? {
            true => {
                let handle = self.index.handle();
                self.source.blocks.stored_ahead(handle, &mut self.ahead).map(Some)
            }
            false => Ok(None),
        }
    }

    /// The key of the last block in the index, as stored.
    pub(super) fn separator(&self) -> &[u8] {
        self.index.key()
    }

    /// The entries of a block.
    pub(super) fn entries(&self, stored: StoredBlock<Bytes>) -> Result<BlockEntries<Bytes>> {
        let handle = stored.handle;
        let contents = self.source.blocks.decompress(stored)?;
        let block = Block::parse(contents).map_err(|error| locate(self.source, error, handle))?;
        Ok(block.into_entries())
    }
}

/// Adds to an error which data block of the source it is about.
pub(super) fn locate(source: &TableView<'_>, error: Error, handle: BlockHandle) -> Error {
    source.blocks.locate(error, BlockKind::Data, handle.offset)
}

/// The key of a point entry, long enough for the comparator.
pub(super) fn point<'k>(key: &'k [u8], options: &TableOptions) -> Result<InternalKey<'k>> {
    let key = InternalKey::decode_from(key)?;
    if !key.kind.is_point() || key.user_key.len() < options.comparator.timestamp_size() {
        return Err(Error::corrupt(format!("{key:?} is not valid in a data block")));
    }
    Ok(key)
}

/// An index over keys out of order would find nothing.
pub(super) fn check_order(
    comparator: &Comparator,
    before: &[u8],
    key: &InternalKey<'_>,
) -> Result<()> {
    let before = InternalKey::decode_from(before)?;
    let order = comparator
        .compare(before.user_key, key.user_key)
        .then_with(|| (key.sequence, key.kind).cmp(&(before.sequence, before.kind)));
    match order {
        Ordering::Less => Ok(()),
        _ => Err(Error::corrupt(format!("{key:?} does not sort after {before:?}"))),
    }
}
