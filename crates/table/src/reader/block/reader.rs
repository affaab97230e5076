//! From a handle to a block: bounds, cache, read, checksum, codec.
//!
//! ```text
//! handle --- inside the file? ---> cache --- miss ---> source ---> checksum ---> codec ---> block
//!                                    '--- hit -------------------------------------------->
//! ```

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use sstkit_filter::AlignedBytes;

use crate::error::{Error, ErrorKind, Result};
use crate::raw::{Block, BlockDecoder, BlockHandle, BlockKind, Dictionary, StoredBlock, Trailer};
use crate::reader::block::large_blocks;
use crate::reader::block::read_ahead::ReadAhead;
use crate::reader::cache::{BlockKey, CachedBlock, CachedFile, Priority, RecycledBuffer, SlotHint};
use crate::reader::open::source::Source;
use crate::reader::tickers::{Ticker, Tickers};

/// Reads the blocks of one file.
pub(crate) struct BlockReader {
    pub(crate) source: Box<dyn Source>,
    /// The last bytes of the file and where they start, while a table is being opened.
    pub(crate) tail: Option<(u64, Bytes)>,
    /// For messages.
    pub(crate) file: Option<PathBuf>,
    /// Where the blocks end: the footer's offset.
    pub(crate) limit: u64,
    pub(crate) decoder: BlockDecoder,
    pub(crate) cache: Option<CachedFile>,
    pub(crate) tickers: Option<Arc<Tickers>>,
    pub(crate) dictionary_handle: Option<BlockHandle>,
    pub(crate) dictionary: OnceLock<Dictionary>,
}

/// A block as it lies in the file, checksum verified.
pub(crate) struct StoredBytes {
    bytes: Bytes,
    pub(crate) trailer: Trailer,
}

impl StoredBytes {
    /// Without the trailer.
    pub(crate) fn contents(&self) -> Bytes {
        self.bytes.slice(..self.bytes.len() - Trailer::LENGTH)
    }

    /// Whether `contents` are these very bytes, not compressed.
    fn holds(&self, contents: &Bytes) -> bool {
        std::ptr::eq(self.bytes.as_ptr(), contents.as_ptr())
    }
}

/// What happens in the cache, with the bytes of the block.
#[derive(Clone, Copy)]
enum CacheEvent {
    Hit(u64),
    Miss,
    Add(u64),
}

/// Reads exactly so many bytes; a source that gives others than it was asked for has failed.
pub(crate) fn read_exact(source: &dyn Source, offset: u64, length: usize) -> Result<Bytes> {
    let bytes = source.read_at(offset, length)?;
    if bytes.len() != length {
        return Err(Error::new(
            ErrorKind::Io,
            format!("read {} bytes instead of {length}", bytes.len()),
        ));
    }
    Ok(bytes)
}

impl BlockReader {
    /// Adds to an error where it happened.
    pub(crate) fn locate(&self, error: Error, kind: BlockKind, offset: u64) -> Error {
        self.in_file(error.in_block(kind, offset))
    }

    /// The name of the file, if it has one.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Adds to an error the name of the file.
    pub(crate) fn in_file(&self, error: Error) -> Error {
        match &self.file {
            Some(file) => error.in_file(file),
            None => error,
        }
    }

    pub(crate) fn count(&self, ticker: Ticker, count: u64) {
        if let Some(tickers) = &self.tickers {
            tickers.add(ticker, count);
        }
    }

    fn read(&self, offset: u64, length: usize) -> Result<Bytes> {
        if let Some((start, tail)) = &self.tail
            && let Some(at) = offset.checked_sub(*start)
            && let Ok(bytes) = tail.read_at(at, length)
        {
            return Ok(bytes);
        }
        read_exact(&*self.source, offset, length)
    }

    /// The same, to memory that may be at hand.
    fn read_to(&self, recycled: RecycledBuffer, offset: u64, length: usize) -> Result<Bytes> {
        if recycled.is_empty() || self.tail.is_some() || self.source.is_in_memory() {
            return self.read(offset, length);
        }
        let mut bytes = recycled.bytes(length);
        self.source.read_into(offset, &mut bytes)?;
        Ok(bytes.into())
    }

    /// The stored bytes of a block, read anew.
    pub(crate) fn stored(&self, kind: BlockKind, handle: BlockHandle) -> Result<StoredBytes> {
        self.stored_by(kind, handle, |offset, length| self.read(offset, length))
    }

    fn stored_by(
        &self,
        kind: BlockKind,
        handle: BlockHandle,
        read: impl FnOnce(u64, usize) -> Result<Bytes>,
    ) -> Result<StoredBytes> {
        let verified = || {
            let range = handle.stored_range(self.limit)?;
            let bytes = read(handle.offset, range.len())?;
            let trailer = self.decoder.verify(kind, handle, &bytes)?.trailer;
            Ok(StoredBytes { bytes, trailer })
        };
        verified().map_err(|error| self.locate(error, kind, handle.offset))
    }

    /// The contents of a block, read anew and decompressed.
    pub(crate) fn contents(&self, kind: BlockKind, handle: BlockHandle) -> Result<Bytes> {
        let stored = self.stored(kind, handle)?;
        self.decompress(kind, handle, &stored)
    }

    /// The same of a filter: in memory where its parts are cache lines, unless it lies in memory
    /// already.
    pub(crate) fn filter_contents(&self, kind: BlockKind, handle: BlockHandle) -> Result<Bytes> {
        let stored = self.stored_by(kind, handle, |offset, length| {
            if self.tail.is_some() || self.source.is_in_memory() {
                return self.read(offset, length);
            }
            let mut bytes = AlignedBytes::zeroed(length);
            self.source.read_into(offset, &mut bytes)?;
            Ok(Bytes::from_owner(bytes))
        })?;
        self.decompress(kind, handle, &stored)
    }

    fn decompress(
        &self,
        kind: BlockKind,
        handle: BlockHandle,
        stored: &StoredBytes,
    ) -> Result<Bytes> {
        let dictionary = match kind {
            BlockKind::Data => self.dictionary()?,
            _ => None,
        };
        let contents = stored.contents();
        let block = StoredBlock { kind, handle, contents: &contents, trailer: stored.trailer };
        let decompressed = match self.decoder.decompress(&block, dictionary) {
            Ok(Cow::Owned(contents)) => Some(contents),
            Ok(Cow::Borrowed(_)) => None,
            Err(error) => return Err(self.in_file(error)),
        };
        let Some(decompressed) = decompressed else { return Ok(contents) };
        large_blocks::counted(decompressed, contents.len(), self.decoder.max_block_size())
            .map_err(|error| self.locate(error, kind, handle.offset))
    }

    /// A data block on the way of a scan, from the cache if it is there. If it is not, it goes
    /// there, unless it is not to, or the scan is long and the cache full. `hint` is as with
    /// [`cached`](Self::cached).
    pub(crate) fn data_block_ahead(
        &self,
        handle: BlockHandle,
        hint: &SlotHint,
        ahead: &mut ReadAhead,
        fill_cache: bool,
    ) -> Result<Block<Bytes>> {
        let kind = BlockKind::Data;
        ahead.follow(handle);
        let Some(file) = &self.cache else { return self.load_ahead(handle, ahead, None) };
        let cache = &file.cache;
        if !fill_cache || ahead.is_long() {
            let key = BlockKey { file: file.number, kind, handle };
            if let Some(block) = cache.get(&key, Priority::Low, hint) {
                self.count_cache(kind, CacheEvent::Hit(block.len()));
                return self.entries_of(block, kind, handle);
            }
            if !fill_cache || !cache.admits_scanned(&key) {
                self.count_cache(kind, CacheEvent::Miss);
                return self.load_ahead(handle, ahead, None);
            }
        }
        let load =
            |recycled| self.load_ahead(handle, ahead, Some(recycled)).map(CachedBlock::Block);
        let block = self.cached(kind, handle, Priority::Low, hint, load)?;
        self.entries_of(block, kind, handle)
    }

    /// A data block on the way through many of them, read anew.
    pub(crate) fn data_block_anew(
        &self,
        handle: BlockHandle,
        ahead: &mut ReadAhead,
    ) -> Result<Block<Bytes>> {
        ahead.follow(handle);
        self.load_ahead(handle, ahead, None)
    }

    /// The same of a block that is known to be next. If it is to be kept there is memory for it.
    fn load_ahead(
        &self,
        handle: BlockHandle,
        ahead: &mut ReadAhead,
        keep: Option<RecycledBuffer>,
    ) -> Result<Block<Bytes>> {
        let kind = BlockKind::Data;
        let (keeps, mut recycled) = (keep.is_some(), keep.unwrap_or_default());
        let mut is_part = false;
        let stored = self.stored_by(kind, handle, |offset, length| {
            let part = match self.source.is_in_memory() {
                true => None,
                false => ahead.part(&*self.source, offset, length, self.limit)?,
            };
            is_part = part.is_some();
            part.map_or_else(|| self.read_to(std::mem::take(&mut recycled), offset, length), Ok)
        })?;
        let mut contents = self.decompress(kind, handle, &stored)?;
        if keeps && is_part && stored.holds(&contents) {
            // A block that is kept must not hold on to all that was read.
            contents = recycled.copy_of(&contents);
        }
        Block::parse(contents).map_err(|error| self.locate(error, kind, handle.offset))
    }

    /// A block of entries, read anew.
    pub(crate) fn block_uncached(
        &self,
        kind: BlockKind,
        handle: BlockHandle,
    ) -> Result<Block<Bytes>> {
        self.block_to(RecycledBuffer::default(), kind, handle)
    }

    /// The same, in memory that may be at hand.
    fn block_to(
        &self,
        recycled: RecycledBuffer,
        kind: BlockKind,
        handle: BlockHandle,
    ) -> Result<Block<Bytes>> {
        let read = |offset, length| self.read_to(recycled, offset, length);
        let stored = self.stored_by(kind, handle, read)?;
        Block::parse(self.decompress(kind, handle, &stored)?)
            .map_err(|error| self.locate(error, kind, handle.offset))
    }

    /// A block of entries, from the cache if it is there. `hint` is as with
    /// [`cached`](Self::cached).
    pub(crate) fn block(
        &self,
        kind: BlockKind,
        handle: BlockHandle,
        priority: Priority,
        hint: &SlotHint,
    ) -> Result<Block<Bytes>> {
        let load = |recycled| self.block_to(recycled, kind, handle).map(CachedBlock::Block);
        let block = self.cached(kind, handle, priority, hint, load)?;
        self.entries_of(block, kind, handle)
    }

    /// What was kept for a block of entries.
    #[inline]
    fn entries_of(
        &self,
        block: CachedBlock,
        kind: BlockKind,
        handle: BlockHandle,
    ) -> Result<Block<Bytes>> {
        match block {
            CachedBlock::Block(block) => Ok(block),
            // Nothing else is kept under these kinds.
            _ => self.block_uncached(kind, handle),
        }
    }

    /// What the cache has for `handle`. Leaves no trace.
    pub(crate) fn peek(&self, kind: BlockKind, handle: BlockHandle) -> Option<CachedBlock> {
        let file = self.cache.as_ref()?;
        file.cache.peek(&BlockKey { file: file.number, kind, handle })
    }

    /// A block of entries, from the cache if it is there. Leaves no trace.
    pub(crate) fn block_quietly(
        &self,
        kind: BlockKind,
        handle: BlockHandle,
    ) -> Result<Block<Bytes>> {
        match self.peek(kind, handle) {
            Some(CachedBlock::Block(block)) => Ok(block),
            _ => self.block_uncached(kind, handle),
        }
    }

    /// What the cache has for `handle`, or what `load` makes, of memory that may be at hand. `hint`
    /// says where in the cache it may be, and then where it is.
    pub(crate) fn cached(
        &self,
        kind: BlockKind,
        handle: BlockHandle,
        priority: Priority,
        hint: &SlotHint,
        load: impl FnOnce(RecycledBuffer) -> Result<CachedBlock>,
    ) -> Result<CachedBlock> {
        let Some(file) = &self.cache else { return load(RecycledBuffer::default()) };
        let key = BlockKey { file: file.number, kind, handle };
        let (block, found) = file.cache.get_or_load(key, priority, hint, |recycled| {
            // What cannot be loaded was missed, too.
            self.count_cache(kind, CacheEvent::Miss);
            load(recycled)
        })?;
        let bytes = block.len();
        self.count_cache(kind, if found { CacheEvent::Hit(bytes) } else { CacheEvent::Add(bytes) });
        Ok(block)
    }

    /// Counts a data block of so many bytes that was found in the cache.
    #[inline]
    pub(crate) fn count_data_hit(&self, bytes: u64) {
        self.count_cache(BlockKind::Data, CacheEvent::Hit(bytes));
    }

    fn count_cache(&self, kind: BlockKind, event: CacheEvent) {
        use Ticker::*;
        if self.tickers.is_none() {
            return;
        }
        let [hit, miss, add, insert] = match kind {
            BlockKind::Data => [
                BlockCacheDataHit,
                BlockCacheDataMiss,
                BlockCacheDataAdd,
                BlockCacheDataBytesInsert,
            ],
            BlockKind::Index | BlockKind::IndexPartition => [
                BlockCacheIndexHit,
                BlockCacheIndexMiss,
                BlockCacheIndexAdd,
                BlockCacheIndexBytesInsert,
            ],
            _ => [
                BlockCacheFilterHit,
                BlockCacheFilterMiss,
                BlockCacheFilterAdd,
                BlockCacheFilterBytesInsert,
            ],
        };
        let counts: &[(Ticker, u64)] = match event {
            CacheEvent::Hit(bytes) => &[(BlockCacheHit, 1), (hit, 1), (BlockCacheBytesRead, bytes)],
            CacheEvent::Miss => &[(BlockCacheMiss, 1), (miss, 1)],
            CacheEvent::Add(bytes) => {
                &[(BlockCacheAdd, 1), (add, 1), (BlockCacheBytesWrite, bytes), (insert, bytes)]
            }
        };
        counts.iter().for_each(|&(ticker, count)| self.count(ticker, count));
    }

    /// The compression dictionary of the data blocks, if there is one. Read once.
    pub(crate) fn dictionary(&self) -> Result<Option<&Dictionary>> {
        let Some(handle) = self.dictionary_handle else { return Ok(None) };
        if let Some(dictionary) = self.dictionary.get() {
            return Ok(Some(dictionary));
        }
        let kind = BlockKind::CompressionDictionary;
        let dictionary = Dictionary::new(self.contents(kind, handle)?)
            .map_err(|error| self.locate(error, kind, handle.offset))?;
        // Another thread may have been faster: its dictionary is the same.
        Ok(Some(self.dictionary.get_or_init(|| dictionary)))
    }
}
