//! Records of a compressed log.
//!
//! ```text
//! record        one zstd frame per record
//! fragments     | first: 28 B5 2F FD …  | middle: …  | last: … |     cut anywhere
//! ```
//!
//! The checksum of a fragment is that of its compressed bytes. The records of types 9, 10, 11, 130
//! and 131 are never compressed.

#[cfg(feature = "zstd")]
use zstd::stream::raw::{DParameter, Decoder, InBuffer, Operation, OutBuffer};

#[cfg(feature = "zstd")]
use super::block_reader::BLOCK_SIZE;
use crate::error::{Error, Result};

/// The default limit for decompressed records. RocksDB writes none above 4 GiB.
pub const DEFAULT_MAX_RECORD_SIZE: usize = 1 << 30;

/// The maximum window size of a frame; RocksDB uses 2 MiB.
#[cfg(feature = "zstd")]
const MAX_WINDOW_LOG: u32 = 23;

/// The one codec that RocksDB compresses logs with.
const ZSTD: u32 = 7;

/// Without the feature `zstd` there is none, and a compressed log is an error.
pub(super) struct Decompressor {
    #[cfg(feature = "zstd")]
    decoder: Decoder<'static>,
    /// What the frame still needs; 0 between frames.
    missing: usize,
}

/// Compressed bytes that are no frame.
pub(super) struct BadFrame;

impl Decompressor {
    /// For the codec that a compression record names, if it is known.
    pub(super) fn new(codec: u32) -> Result<Option<Self>> {
        if codec != ZSTD {
            return Ok(None);
        }
        #[cfg(not(feature = "zstd"))]
        return Err(Error::unsupported(
            "the log is compressed with zstd (enable the feature \"zstd\" of sstkit-db)",
        ));
        #[cfg(feature = "zstd")]
        {
            let mut decoder = Decoder::new()?;
            decoder.set_parameter(DParameter::WindowLogMax(MAX_WINDOW_LOG))?;
            Ok(Some(Self { decoder, missing: 0 }))
        }
    }

    /// Prepares for the first fragment of a record.
    pub(super) fn begin(&mut self) -> Result<()> {
        self.missing = 0;
        #[cfg(feature = "zstd")]
        self.decoder.reinit()?;
        Ok(())
    }

    /// Whether the record is whole.
    pub(super) fn is_complete(&self) -> bool {
        self.missing == 0
    }

    #[cfg(not(feature = "zstd"))]
    pub(super) fn append(
        &mut self,
        _: &[u8],
        _: &mut Vec<u8>,
        _: usize,
    ) -> Result<Result<(), BadFrame>> {
        Ok(Err(BadFrame))
    }

    /// Appends what a fragment holds to `record`, up to `max_size` bytes altogether.
    #[cfg(feature = "zstd")]
    pub(super) fn append(
        &mut self,
        fragment: &[u8],
        record: &mut Vec<u8>,
        max_size: usize,
    ) -> Result<Result<(), BadFrame>> {
        let mut input = InBuffer::around(fragment);
        let mut piece = [0; BLOCK_SIZE];
        while !fragment.is_empty() {
            let mut output = OutBuffer::around(&mut piece[..]);
            match self.decoder.run(&mut input, &mut output) {
                Ok(missing) => self.missing = missing,
                Err(_) => return Ok(Err(BadFrame)),
            }
            let written = output.as_slice();
            if written.len() > max_size.saturating_sub(record.len()) {
                return Err(Error::unsupported(format!(
                    "a log record decompresses to more than {max_size} bytes"
                )));
            }
            record.extend_from_slice(written);
            // A full piece may not be the last one, unless the frame has ended with it.
            let has_more = self.missing > 0 && written.len() == BLOCK_SIZE;
            if input.pos() == fragment.len() && !has_more {
                break;
            }
        }
        Ok(Ok(()))
    }
}
