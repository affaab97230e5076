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
use crate::reader::block::access::BlockAccess;
use crate::reader::block::large_blocks;
use crate::reader::block::read_ahead::ReadAhead;
use crate::reader::cache::{BlockKey, CachedBlock, CachedFile, Priority, SlotHint};
use crate::reader::open::source::Source;
use crate::reader::remote::RemoteReads;
use crate::reader::tickers::{Ticker, Tickers};

/// Reads the blocks of one file.
pub(crate) struct BlockReader<S: ?Sized = dyn Source> {
    pub(crate) source: Box<S>,
    /// Bytes of the file that are in memory, and where they start: its end while a table is being opened, and of a
    /// remote one the partitions of its index after that.
    pub(crate) tail: Option<(u64, Bytes)>,
    /// A source where each read costs a round trip.
    pub(crate) remote: Option<RemoteReads>,
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

#[derive(Clone, Copy)]
enum CacheEvent {
    Hit(u64),
    Miss,
    Add(u64),
}

/// Reads exactly `length` bytes; a source that returns fewer or more has failed.
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

impl BlockReader<dyn Source + '_> {
    /// Adds to an error where it happened.
    pub(crate) fn locate(&self, error: Error, kind: BlockKind, offset: u64) -> Error {
        self.in_file(error.in_block(kind, offset))
    }

    pub(crate) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    pub(crate) fn in_file(&self, error: Error) -> Error {
        match &self.file {
            Some(file) => error.in_file(file),
            None => error,
        }
    }

    #[inline]
    pub(crate) fn count(&self, ticker: Ticker, count: u64) {
        if count > 0
            && let Some(tickers) = &self.tickers
        {
            tickers.add(ticker, count);
        }
    }

    fn read(&self, offset: u64, length: usize) -> Result<Bytes> {
        match self.in_tail(offset, length) {
            Some(bytes) => Ok(bytes),
            None => read_exact(&*self.source, offset, length),
        }
    }

    /// Bytes that are in memory.
    #[inline]
    pub(crate) fn in_tail(&self, offset: u64, length: usize) -> Option<Bytes> {
        let (start, tail) = self.tail.as_ref()?;
        let bytes = tail.read_at(offset.checked_sub(*start)?, length).ok()?;
        Some(match self.remote {
            None => bytes,
            // A block that is kept must not keep the tail, which is long.
            Some(_) => Bytes::copy_from_slice(&bytes),
        })
    }

    /// A block as it is in the file, checksum verified; not cached.
    pub(crate) fn stored(
        &self,
        kind: BlockKind,
        handle: BlockHandle,
    ) -> Result<StoredBlock<Bytes>> {
        self.stored_by(kind, handle, true, |offset, length| self.read(offset, length))
    }

    pub(crate) fn stored_by(
        &self,
        kind: BlockKind,
        handle: BlockHandle,
        verify: bool,
        read: impl FnOnce(u64, usize) -> Result<Bytes>,
    ) -> Result<StoredBlock<Bytes>> {
        let verified = || {
            let range = handle.stored_range(self.limit)?;
            let mut contents = read(handle.offset, range.len())?;
            let block = match verify {
                true => self.decoder.verify(kind, handle, &contents)?,
                false => self.decoder.split(kind, handle, &contents)?,
            };
            let trailer = block.trailer;
            contents.truncate(contents.len() - Trailer::LENGTH);
            Ok(StoredBlock { kind, handle, contents, trailer })
        };
        verified().map_err(|error| self.locate(error, kind, handle.offset))
    }

    /// The contents of a block, decompressed; not cached.
    pub(crate) fn contents(&self, kind: BlockKind, handle: BlockHandle) -> Result<Bytes> {
        self.decompress(self.stored(kind, handle)?)
    }

    /// The same of a filter, aligned to cache lines, unless the file is in memory already.
    pub(crate) fn filter_contents(&self, kind: BlockKind, handle: BlockHandle) -> Result<Bytes> {
        let stored = self.stored_by(kind, handle, true, |offset, length| {
            if self.source.is_in_memory() && self.remote.is_none() {
                return self.read(offset, length);
            }
            if self.tail.is_some() || self.remote.is_some() {
                // Read first: the size of a remote file is only what a server says.
                let read = self.read(offset, length)?;
                let mut bytes = AlignedBytes::zeroed(read.len());
                bytes.copy_from_slice(&read);
                return Ok(Bytes::from_owner(bytes));
            }
            let mut bytes = AlignedBytes::zeroed(length);
            self.source.read_into(offset, &mut bytes)?;
            Ok(Bytes::from_owner(bytes))
        })?;
        self.decompress(stored)
    }

    /// The contents of a stored block; data blocks with the table's dictionary.
    pub(crate) fn decompress(&self, block: StoredBlock<Bytes>) -> Result<Bytes> {
        let dictionary = match block.kind {
            BlockKind::Data => self.dictionary()?,
            _ => None,
        };
        let decompressed = match self.decoder.decompress(&block, dictionary) {
            Ok(Cow::Owned(contents)) => contents,
            Ok(Cow::Borrowed(_)) => return Ok(block.contents),
            Err(error) => return Err(self.in_file(error)),
        };
        large_blocks::counted(decompressed, block.contents.len(), self.decoder.max_block_size())
            .map_err(|error| self.locate(error, block.kind, block.handle.offset))
    }

    /// The next data block of a scan, from the cache if possible. If it has to be read it is cached,
    /// unless `access` says otherwise, or the scan is long and the cache full. `hint` is as with
    /// [`cached`](Self::cached).
    pub(crate) fn data_block_ahead(
        &self,
        handle: BlockHandle,
        hint: &SlotHint,
        ahead: &mut ReadAhead,
        access: BlockAccess,
    ) -> Result<Block<Bytes>> {
        let kind = BlockKind::Data;
        ahead.follow(handle);
        let Some(file) = &self.cache else { return self.load_ahead(handle, ahead, access, false) };
        if !access.fill_cache || ahead.is_long() {
            if let Some(block) = self.cached_data_block(file, handle, hint)? {
                return Ok(block);
            }
            let key = BlockKey { file: file.number, kind, handle };
            if !access.fill_cache || !file.cache.admits_scanned(&key) {
                self.count_cache(kind, CacheEvent::Miss);
                return self.load_ahead(handle, ahead, access, false);
            }
        }
        let load = || self.load_ahead(handle, ahead, access, true);
        self.cached_entries((kind, handle), Priority::Low, hint, load)
    }

    /// A data block, if the cache has it, as a counted use.
    fn cached_data_block(
        &self,
        file: &CachedFile,
        handle: BlockHandle,
        hint: &SlotHint,
    ) -> Result<Option<Block<Bytes>>> {
        let kind = BlockKind::Data;
        let key = BlockKey { file: file.number, kind, handle };
        let Some(block) = file.cache.get(&key, Priority::Low, hint) else { return Ok(None) };
        self.count_cache(kind, CacheEvent::Hit(block.len()));
        self.entries_of(block, kind, handle).map(Some)
    }

    /// A data block, from the cache if possible; otherwise loaded as `access` says. `hint` is as with
    /// [`cached`](Self::cached).
    #[inline]
    pub(crate) fn data_block(
        &self,
        handle: BlockHandle,
        hint: &SlotHint,
        access: BlockAccess,
    ) -> Result<Block<Bytes>> {
        match access == BlockAccess::default() {
            true => self.block(BlockKind::Data, handle, Priority::Low, hint),
            false => self.data_block_with(handle, hint, access),
        }
    }

    #[inline(never)]
    fn data_block_with(
        &self,
        handle: BlockHandle,
        hint: &SlotHint,
        access: BlockAccess,
    ) -> Result<Block<Bytes>> {
        let kind = BlockKind::Data;
        let load = || {
            let read = |offset, length| self.read(offset, length);
            self.parse(self.stored_by(kind, handle, access.verify_checksums, read)?)
        };
        if access.fill_cache {
            return self.cached_entries((kind, handle), Priority::Low, hint, load);
        }
        let Some(file) = &self.cache else { return load() };
        if let Some(block) = self.cached_data_block(file, handle, hint)? {
            return Ok(block);
        }
        self.count_cache(kind, CacheEvent::Miss);
        load()
    }

    /// The next data block of a pass over the file as it is in the file; not cached.
    pub(crate) fn stored_ahead(
        &self,
        handle: BlockHandle,
        ahead: &mut ReadAhead,
    ) -> Result<StoredBlock<Bytes>> {
        ahead.follow(handle);
        self.stored_by(BlockKind::Data, handle, true, |offset, length| {
            self.read_ahead(offset, length, ahead)
        })
    }

    /// Its bytes, trailer included, not verified.
    pub(crate) fn raw_ahead(&self, handle: BlockHandle, ahead: &mut ReadAhead) -> Result<Bytes> {
        ahead.follow(handle);
        let stored = handle.stored_range(self.limit);
        stored
            .and_then(|range| self.read_ahead(handle.offset, range.len(), ahead))
            .map_err(|error| self.locate(error, BlockKind::Data, handle.offset))
    }

    /// Bytes of the block that `ahead` follows, from what was read ahead if possible.
    fn read_ahead(&self, offset: u64, length: usize, ahead: &mut ReadAhead) -> Result<Bytes> {
        if self.source.is_in_memory() {
            return self.read(offset, length);
        }
        let part = ahead.part(&*self.source, offset, length, self.read_ahead_limit())?;
        part.map_or_else(|| self.read(offset, length), Ok)
    }

    /// Where reads ahead end.
    fn read_ahead_limit(&self) -> u64 {
        self.remote.as_ref().map_or(self.limit, |remote| remote.end_of_data.min(self.limit))
    }

    pub(crate) fn parse(&self, stored: StoredBlock<Bytes>) -> Result<Block<Bytes>> {
        let (kind, handle) = (stored.kind, stored.handle);
        self.entries(kind, handle, self.decompress(stored)?)
    }

    /// A data block that [`ReadAhead`] knows to be next, which will be cached or not.
    fn load_ahead(
        &self,
        handle: BlockHandle,
        ahead: &mut ReadAhead,
        access: BlockAccess,
        will_be_cached: bool,
    ) -> Result<Block<Bytes>> {
        let kind = BlockKind::Data;
        let mut is_part = false;
        let stored = self.stored_by(kind, handle, access.verify_checksums, |offset, length| {
            let part = match self.source.is_in_memory() {
                true => None,
                false => ahead.part(&*self.source, offset, length, self.read_ahead_limit())?,
            };
            is_part = part.is_some();
            part.map_or_else(|| self.read(offset, length), Ok)
        })?;
        let start = stored.contents.as_ptr();
        let mut contents = self.decompress(stored)?;
        if will_be_cached && is_part && std::ptr::eq(start, contents.as_ptr()) {
            // A cached block must not keep everything that was read ahead.
            contents = Bytes::copy_from_slice(&contents);
        }
        self.entries(kind, handle, contents)
    }

    /// A block of entries; not cached.
    pub(crate) fn block_uncached(
        &self,
        kind: BlockKind,
        handle: BlockHandle,
    ) -> Result<Block<Bytes>> {
        self.parse(self.stored(kind, handle)?)
    }

    /// A block of entries, from the cache if possible. `hint` is as with [`cached`](Self::cached).
    pub(crate) fn block(
        &self,
        kind: BlockKind,
        handle: BlockHandle,
        priority: Priority,
        hint: &SlotHint,
    ) -> Result<Block<Bytes>> {
        let load = || self.block_uncached(kind, handle);
        self.cached_entries((kind, handle), priority, hint, load)
    }

    /// A block of entries from the cache, or what `load` reads.
    #[inline]
    pub(crate) fn cached_entries(
        &self,
        (kind, handle): (BlockKind, BlockHandle),
        priority: Priority,
        hint: &SlotHint,
        load: impl FnOnce() -> Result<Block<Bytes>>,
    ) -> Result<Block<Bytes>> {
        let load = |given| {
            let block = match given {
                Some(contents) => self.entries(kind, handle, contents),
                None => load(),
            };
            block.map(CachedBlock::Block)
        };
        let block = self.cached(kind, handle, priority, hint, load)?;
        self.entries_of(block, kind, handle)
    }

    /// The entries in the contents of a block.
    pub(crate) fn entries(
        &self,
        kind: BlockKind,
        handle: BlockHandle,
        contents: Bytes,
    ) -> Result<Block<Bytes>> {
        Block::parse(contents).map_err(|error| self.locate(error, kind, handle.offset))
    }

    /// The entries of a cached block.
    #[inline]
    fn entries_of(
        &self,
        block: CachedBlock,
        kind: BlockKind,
        handle: BlockHandle,
    ) -> Result<Block<Bytes>> {
        match block {
            CachedBlock::Block(block) => Ok(block),
            // Nothing else is cached under these kinds.
            _ => self.block_uncached(kind, handle),
        }
    }

    /// What the cache has for `handle`, without counting or moving it.
    pub(crate) fn peek(&self, kind: BlockKind, handle: BlockHandle) -> Option<CachedBlock> {
        let file = self.cache.as_ref()?;
        file.cache.peek(&BlockKey { file: file.number, kind, handle })
    }

    /// A block of entries, without a trace in the cache or the tickers.
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

    /// The cached block of `handle`, or what `load` makes of its contents, which it is given or reads.
    /// `hint` is where in the cache it may be, and is updated.
    pub(crate) fn cached(
        &self,
        kind: BlockKind,
        handle: BlockHandle,
        priority: Priority,
        hint: &SlotHint,
        load: impl FnOnce(Option<Bytes>) -> Result<CachedBlock>,
    ) -> Result<CachedBlock> {
        let Some(file) = &self.cache else { return load(None) };
        let key = BlockKey { file: file.number, kind, handle };
        let (block, found) = file.cache.get_or_load(key, priority, hint, |given| {
            // A block that cannot be loaded was missed, too.
            self.count_cache(kind, CacheEvent::Miss);
            load(given)
        })?;
        let bytes = block.len();
        self.count_cache(kind, if found { CacheEvent::Hit(bytes) } else { CacheEvent::Add(bytes) });
        Ok(block)
    }

    fn count_cache(&self, kind: BlockKind, event: CacheEvent) {
        use Ticker::*;
        let Some(tickers) = &self.tickers else { return };
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
        match event {
            CacheEvent::Hit(bytes) => {
                tickers.add_all([(BlockCacheHit, 1), (hit, 1), (BlockCacheBytesRead, bytes)]);
            }
            CacheEvent::Miss => tickers.add_all([(BlockCacheMiss, 1), (miss, 1)]),
            CacheEvent::Add(bytes) => tickers.add_all([
                (BlockCacheAdd, 1),
                (add, 1),
                (BlockCacheBytesWrite, bytes),
                (insert, bytes),
            ]),
        }
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
        // If another thread was faster, its dictionary is the same.
        Ok(Some(self.dictionary.get_or_init(|| dictionary)))
    }
}
