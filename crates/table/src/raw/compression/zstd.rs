//! Zstandard frames.

use std::cell::RefCell;

use zstd::zstd_safe::{DCtx, get_error_name, get_frame_content_size};

use super::dictionary::Dictionary;
use super::size::{self, DeclaredSize};
use crate::error::{Error, Result};

/// A block of a frame has a header of three bytes and at least one more, and yields at most
/// 128 KiB.
const MAX_EXPANSION: u64 = 128 * 1024 / 4;

thread_local! {
    /// A context takes over 100 KiB, so there is one per thread.
    static CONTEXT: RefCell<Option<DCtx<'static>>> = const { RefCell::new(None) };
}

pub(super) fn decompress(
    mut stored: &[u8],
    declared: DeclaredSize,
    dictionary: Option<&Dictionary>,
    max_size: usize,
) -> Result<Vec<u8>> {
    let declared = match declared.take(&mut stored)? {
        Some(declared) => declared,
        None => get_frame_content_size(stored)
            .ok()
            .flatten()
            .ok_or_else(|| Error::corrupt("the zstd frame has no content size"))?,
    };
    let size = size::check(declared, stored.len(), MAX_EXPANSION, max_size)?;
    let dictionary = dictionary.map(Dictionary::for_zstd).transpose()?;

    // zstd writes up to the capacity, which may exceed the requested size: `check_output` enforces the
    // exact size.
    let mut contents = size::allocate(size)?;
    CONTEXT.with_borrow_mut(|context| {
        let context = match context {
            Some(context) => context,
            None => context.insert(
                DCtx::try_create().ok_or_else(|| Error::unsupported("zstd is out of memory"))?,
            ),
        };
        match dictionary {
            Some(dictionary) => context.decompress_using_ddict(&mut contents, stored, dictionary),
            None => context.decompress(&mut contents, stored),
        }
        .map_err(|code| {
            Error::corrupt("zstd decompression failed").with_source(get_error_name(code))
        })
    })?;
    size::check_output(size, contents.len())?;
    Ok(contents)
}
