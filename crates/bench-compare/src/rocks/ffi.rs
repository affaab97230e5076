//! What `src/shim` has to offer; the structures are those of `src/shim/shim.h`.

use std::ffi::{CStr, c_char, c_int};

use anyhow::{Result, bail};
use librocksdb_sys as _; // RocksDB is linked through it

use crate::data::{Answer, Entries, Key};
use crate::settings::{BLOCK_SIZE, Checksum, Codec, FORMAT_VERSION, Settings};

#[repr(C)]
pub(super) struct ShimSettings {
    codec: u32,
    checksum: u32,
    block_size: u32,
    format_version: u32,
    parallel_threads: u32,
    cache_bytes: u64,
}

impl ShimSettings {
    pub(super) fn new(settings: Settings, cache_bytes: u64) -> Self {
        Self {
            codec: match settings.codec {
                Codec::None => 0,
                Codec::Lz4 => 4,
                Codec::Zstd => 7,
            },
            checksum: match settings.checksum {
                Checksum::Crc32c => 1,
                Checksum::Xxh3 => 4,
            },
            block_size: BLOCK_SIZE as u32,
            format_version: FORMAT_VERSION,
            parallel_threads: settings.threads as u32,
            cache_bytes,
        }
    }
}

#[repr(C)]
pub(super) struct ShimEntries {
    keys: *const Key,
    pool: *const u8,
    count: u64,
}

impl ShimEntries {
    pub(super) fn new(entries: &Entries) -> Self {
        Self { keys: entries.keys.as_ptr(), pool: entries.pool.as_ptr(), count: entries.len() }
    }
}

/// A `ShimReader` of C++.
#[repr(C)]
pub(super) struct ShimReader {
    _opaque: [u8; 0],
}

/// A `ShimFilterBuilder` of C++.
#[repr(C)]
pub(super) struct ShimFilterBuilder {
    _opaque: [u8; 0],
}

/// A `ShimFilter` of C++.
#[repr(C)]
pub(super) struct ShimFilter {
    _opaque: [u8; 0],
}

unsafe extern "C" {
    pub(super) fn shim_version(version: *mut u32);
    fn shim_free_message(message: *mut c_char);

    pub(super) fn shim_write(
        path: *const c_char,
        settings: *const ShimSettings,
        entries: *const ShimEntries,
        file_size: *mut u64,
    ) -> *mut c_char;
    pub(super) fn shim_sort_and_write(
        path: *const c_char,
        settings: *const ShimSettings,
        entries: *const ShimEntries,
        order: *const u32,
        file_size: *mut u64,
    ) -> *mut c_char;

    pub(super) fn shim_reader_open(
        path: *const c_char,
        settings: *const ShimSettings,
        reader: *mut *mut ShimReader,
    ) -> *mut c_char;
    pub(super) fn shim_reader_close(reader: *mut ShimReader);
    pub(super) fn shim_reader_scan(
        reader: *mut ShimReader,
        readahead: u64,
        fill_cache: c_int,
        backward: c_int,
        answer: *mut Answer,
    ) -> *mut c_char;
    pub(super) fn shim_reader_seek(
        reader: *mut ShimReader,
        keys: *const Key,
        count: u64,
        next: u64,
        answer: *mut Answer,
    ) -> *mut c_char;
    pub(super) fn shim_reader_get(
        reader: *mut ShimReader,
        keys: *const Key,
        count: u64,
        answer: *mut Answer,
    ) -> *mut c_char;
    pub(super) fn shim_reader_multi_get(
        reader: *mut ShimReader,
        keys: *const Key,
        count: u64,
        batch: u64,
        answer: *mut Answer,
    ) -> *mut c_char;

    pub(super) fn shim_filter_builder(
        policy: *const c_char,
        bits_per_key: u64,
    ) -> *mut ShimFilterBuilder;
    pub(super) fn shim_filter_add(
        builder: *mut ShimFilterBuilder,
        keys: *const u8,
        key_size: u64,
        count: u64,
    );
    pub(super) fn shim_filter_finish(builder: *mut ShimFilterBuilder) -> *mut ShimFilter;
    pub(super) fn shim_filter_free(filter: *mut ShimFilter);
    pub(super) fn shim_filter_bytes(filter: *mut ShimFilter, length: *mut u64) -> *const u8;
    pub(super) fn shim_filter_query(
        filter: *mut ShimFilter,
        keys: *const u8,
        key_size: u64,
        count: u64,
    ) -> u64;
    pub(super) fn shim_filter_query_batch(
        filter: *mut ShimFilter,
        keys: *const u8,
        key_size: u64,
        count: u64,
    ) -> u64;
    pub(super) fn shim_filters_query(
        filters: *const *mut ShimFilter,
        which: *const u32,
        keys: *const u8,
        key_size: u64,
        count: u64,
    ) -> u64;
    pub(super) fn shim_filters_query_batch(
        filters: *const *mut ShimFilter,
        which: *const u32,
        keys: *const u8,
        key_size: u64,
        count: u64,
    ) -> u64;
}

/// What a message of the shim says.
///
/// # Safety
///
/// `message` is null or comes from the shim, and is not used again.
pub(super) unsafe fn check(message: *mut c_char) -> Result<()> {
    if message.is_null() {
        return Ok(());
    }
    // SAFETY: a string of C, as the caller promises.
    let text = unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned();
    // SAFETY: allocated by the shim.
    unsafe { shim_free_message(message) };
    bail!("RocksDB: {text}");
}
