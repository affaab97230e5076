//! A file that is written as a stream, compressed or not.

use std::io::{self, Write as _};

use flate2::write::GzEncoder;
use sstkit_table::output::{FinishedFile, OutputFile};

use super::file_writer::FileWriter;

/// How a file is compressed as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileCompression {
    Gzip,
    Zstd,
}

impl FileCompression {
    /// By the extension of a file.
    pub(crate) fn of_extension(extension: &str) -> Option<Self> {
        match extension {
            "gz" => Some(Self::Gzip),
            "zst" | "zstd" => Some(Self::Zstd),
            _ => None,
        }
    }
}

/// Writes to a file that appears when it is complete.
pub(super) enum FileSink {
    Plain(OutputFile),
    Gzip(GzEncoder<FileWriter>),
    Zstd(zstd::stream::write::Encoder<'static, FileWriter>),
}

impl FileSink {
    pub(super) fn new(file: OutputFile, compression: Option<FileCompression>) -> io::Result<Self> {
        Ok(match compression {
            None => Self::Plain(file),
            Some(FileCompression::Gzip) => {
                Self::Gzip(GzEncoder::new(FileWriter::new(file), flate2::Compression::default()))
            }
            Some(FileCompression::Zstd) => {
                let level = zstd::DEFAULT_COMPRESSION_LEVEL;
                Self::Zstd(zstd::stream::write::Encoder::new(FileWriter::new(file), level)?)
            }
        })
    }

    /// Writes what is in the buffer, and leaves an empty one.
    pub(super) fn write(&mut self, buffer: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Self::Plain(file) => return file.write(buffer),
            Self::Gzip(file) => file.write_all(buffer)?,
            Self::Zstd(file) => file.write_all(buffer)?,
        }
        buffer.clear();
        Ok(())
    }

    pub(super) fn finish(self) -> io::Result<FinishedFile> {
        match self {
            Self::Plain(file) => file.finish(),
            Self::Gzip(file) => file.finish()?.finish(),
            Self::Zstd(file) => file.finish()?.finish(),
        }
    }
}
