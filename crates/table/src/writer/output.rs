//! Where blocks go: a sink, the offset in it, and the checksums of the blocks.

use std::io;
use std::path::Path;

use sstkit_coding::checksum::{ChecksumType, context_modifier};

use super::returned_sink::CallerSink;
use crate::error::{Error, Result};
use crate::output::{FileRange, FinishedFile, OutputFile};
use crate::raw::{BlockHandle, Trailer};

/// Size of the pieces that the sink gets: small enough to stay in the processor's cache until then.
const BUFFER_SIZE: usize = 256 << 10;

/// What the bytes of a table are written to.
pub(crate) enum Sink<'s> {
    /// A file of ours, under a temporary name.
    File(OutputFile),
    /// The caller's.
    Writer(Box<dyn CallerSink + 's>),
}

impl Sink<'_> {
    /// Writes what is in the buffer, and leaves an empty one.
    fn write(&mut self, buffer: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Self::File(file) => file.write(buffer),
            Self::Writer(writer) => {
                writer.write_all(buffer)?;
                buffer.clear();
                Ok(())
            }
        }
    }

    /// Syncs a file of ours; flushes and returns a sink of the caller's.
    fn finish(self) -> io::Result<Option<FinishedFile>> {
        match self {
            Self::File(file) => file.finish().map(Some),
            Self::Writer(writer) => writer.give_back().map(|()| None),
        }
    }
}

/// A sink with the blocks written so far.
pub(crate) struct Output<'s> {
    sink: Sink<'s>,
    buffer: Vec<u8>,
    offset: u64,
    checksum: ChecksumType,
    base_context_checksum: u32,
}

impl<'s> Output<'s> {
    pub(crate) fn new(sink: Sink<'s>, checksum: ChecksumType, base_context_checksum: u32) -> Self {
        Self { sink, buffer: Vec::new(), offset: 0, checksum, base_context_checksum }
    }

    /// Bytes written so far.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Whether this is a file of ours, to which the system can copy.
    pub(crate) fn is_file(&self) -> bool {
        matches!(self.sink, Sink::File(_))
    }

    /// The folder of a file of ours.
    pub(crate) fn folder(&self) -> Option<&Path> {
        match &self.sink {
            Sink::File(file) => file.folder(),
            Sink::Writer(_) => None,
        }
    }

    /// Whether a checksum of the whole file is computed.
    pub(crate) fn is_checksummed(&self) -> bool {
        matches!(&self.sink, Sink::File(file) if file.is_checksummed())
    }

    /// Has the system copy a part of another file to a file of ours. It is left out of the checksum
    /// of the whole file.
    pub(crate) fn copy(&mut self, part: FileRange) -> Result<()> {
        self.sink.write(&mut self.buffer)?;
        let Sink::File(file) = &mut self.sink else {
            return Err(Error::invalid_input("parts of files are copied to files only"));
        };
        self.offset += part.length as u64;
        Ok(file.copy(part)?)
    }

    /// Sets the checksum of everything up to here, if one is computed.
    pub(crate) fn set_checksum(&mut self, so_far: u32) -> Result<()> {
        self.sink.write(&mut self.buffer)?;
        match &mut self.sink {
            Sink::File(file) => Ok(file.set_checksum(so_far)?),
            Sink::Writer(_) => Ok(()),
        }
    }

    pub(crate) fn bytes_in_sink(&self) -> u64 {
        self.offset - self.buffer.len() as u64
    }

    pub(crate) fn write_block(&mut self, contents: &[u8], codec: u8) -> Result<BlockHandle> {
        let checksum = self.checksum.compute(contents, codec);
        self.write_summed_block(contents, codec, checksum)
    }

    /// Writes a block whose checksum, without context, is known.
    pub(crate) fn write_summed_block(
        &mut self,
        contents: &[u8],
        codec: u8,
        checksum: u32,
    ) -> Result<BlockHandle> {
        let handle = BlockHandle::new(self.offset, contents.len() as u64);
        let modifier = context_modifier(self.base_context_checksum, self.offset);
        self.write(contents)?;
        self.write(&Trailer { codec, checksum: checksum.wrapping_add(modifier) }.encode())?;
        Ok(handle)
    }

    /// Writes zeros.
    pub(crate) fn pad(&mut self, mut length: u64) -> Result<()> {
        const ZEROS: [u8; 4096] = [0; 4096];
        while length > 0 {
            let part = length.min(ZEROS.len() as u64);
            self.write(&ZEROS[..part as usize])?;
            length -= part;
        }
        Ok(())
    }

    /// Writes bytes that are no block.
    pub(crate) fn write(&mut self, mut bytes: &[u8]) -> Result<()> {
        self.offset += bytes.len() as u64;
        while self.buffer.len() + bytes.len() >= BUFFER_SIZE {
            let (full, rest) = bytes.split_at(BUFFER_SIZE - self.buffer.len());
            self.buffer.extend_from_slice(full);
            self.sink.write(&mut self.buffer)?;
            bytes = rest;
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    /// Writes what is still buffered, and finishes the sink.
    pub(crate) fn finish(mut self) -> Result<Written> {
        self.sink.write(&mut self.buffer)?;
        Ok(Written { size: self.offset, file: self.sink.finish()? })
    }
}

/// All bytes of a table, in the sink.
pub(crate) struct Written {
    pub(crate) size: u64,
    /// To be renamed; `None` for a sink of the caller's.
    pub(crate) file: Option<FinishedFile>,
}
