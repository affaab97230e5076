//! RocksDB's `SstFileWriter` and `SstFileReader`.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::ptr;

use anyhow::Result;

use super::ffi::{self, ShimEntries, ShimReader, ShimSettings};
use crate::comparison::Family;
use crate::data::{Answer, Entries, Key};
use crate::reader::{Scan, TableReader};
use crate::settings::Settings;

/// What a large read-ahead is; by itself RocksDB begins with 8 KiB and goes up to 256.
pub(super) const READ_AHEAD: u64 = 2 << 20;

/// Writes a table. Returns its size.
pub(crate) fn write(path: &Path, settings: Settings, entries: &Entries) -> Result<u64> {
    let path = c_path(path)?;
    let (settings, entries) = (ShimSettings::new(settings, 0), ShimEntries::new(entries));
    let mut file_size = 0;
    // SAFETY: all of it outlives the call; the message is not used again.
    unsafe {
        ffi::check(ffi::shim_write(path.as_ptr(), &settings, &entries, &mut file_size))?;
    }
    Ok(file_size)
}

/// Sorts in memory what comes in the given order, and writes it.
pub(crate) fn sort_and_write(
    path: &Path,
    settings: Settings,
    entries: &Entries,
    order: &[u32],
) -> Result<u64> {
    assert_eq!(order.len() as u64, entries.len());
    let path = c_path(path)?;
    let (settings, entries) = (ShimSettings::new(settings, 0), ShimEntries::new(entries));
    let mut file_size = 0;
    // SAFETY: as in `write`; as many numbers as entries.
    unsafe {
        ffi::check(ffi::shim_sort_and_write(
            path.as_ptr(),
            &settings,
            &entries,
            order.as_ptr(),
            &mut file_size,
        ))?;
    }
    Ok(file_size)
}

/// A table open in RocksDB, without a database around it.
pub(crate) struct Reader(*mut ShimReader);

// SAFETY: RocksDB's table readers are made for many threads; each call makes its own iterator.
unsafe impl Sync for Reader {}

impl Reader {
    pub(crate) fn open(path: &Path, settings: Settings, cache_bytes: u64) -> Result<Self> {
        let path = c_path(path)?;
        let settings = ShimSettings::new(settings, cache_bytes);
        let mut reader = ptr::null_mut();
        // SAFETY: all of it outlives the call; the message is not used again.
        unsafe { ffi::check(ffi::shim_reader_open(path.as_ptr(), &settings, &mut reader))? };
        Ok(Self(reader))
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        // SAFETY: it was opened, and is closed once.
        unsafe { ffi::shim_reader_close(self.0) };
    }
}

impl TableReader for Reader {
    fn name(&self) -> String {
        "RocksDB".into()
    }

    fn family(&self) -> Family {
        Family::RocksDb
    }

    fn read_aheads(&self) -> &[u64] {
        &[0, READ_AHEAD]
    }

    fn scan(&self, scan: Scan) -> Result<Answer> {
        let mut answer = Answer::default();
        let (fill_cache, backward) = (scan.fill_cache.into(), scan.backward.into());
        // SAFETY: the reader is open; the answer outlives the call.
        unsafe {
            ffi::check(ffi::shim_reader_scan(
                self.0,
                scan.read_ahead,
                fill_cache,
                backward,
                &mut answer,
            ))?;
        }
        Ok(answer)
    }

    fn seek(&self, keys: &[Key], next: usize) -> Result<Answer> {
        let mut answer = Answer::default();
        let count = keys.len() as u64;
        // SAFETY: the reader is open; there are as many keys as said.
        unsafe {
            ffi::check(ffi::shim_reader_seek(
                self.0,
                keys.as_ptr(),
                count,
                next as u64,
                &mut answer,
            ))?;
        }
        Ok(answer)
    }

    fn get(&self, keys: &[Key]) -> Result<Answer> {
        let mut answer = Answer::default();
        let count = keys.len() as u64;
        // SAFETY: the reader is open; there are as many keys as said.
        unsafe {
            ffi::check(ffi::shim_reader_get(self.0, keys.as_ptr(), count, &mut answer))?;
        }
        Ok(answer)
    }

    fn get_many(&self, keys: &[Key], batch: usize) -> Result<Answer> {
        let mut answer = Answer::default();
        let count = keys.len() as u64;
        // SAFETY: the reader is open; there are as many keys as said.
        unsafe {
            ffi::check(ffi::shim_reader_multi_get(
                self.0,
                keys.as_ptr(),
                count,
                batch as u64,
                &mut answer,
            ))?;
        }
        Ok(answer)
    }
}

fn c_path(path: &Path) -> Result<CString> {
    Ok(CString::new(path.as_os_str().as_bytes())?)
}
