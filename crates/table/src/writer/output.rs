//! Where blocks go: a sink, the offset in it, and what makes their checksums.

use std::io::{self, Write};

use sstkit_coding::checksum::{ChecksumType, context_modifier};

use crate::error::Result;
use crate::raw::{BlockHandle, Trailer};

/// The sink gets blocks in pieces of this size, which stay in the cache until they are there.
const BUFFER_SIZE: usize = 256 << 10;

/// The end of the way: something that takes bytes, and at last keeps them.
pub(crate) trait Sink: Send {
    /// Takes what is in the buffer, and leaves an empty one.
    fn write(&mut self, buffer: &mut Vec<u8>) -> io::Result<()>;

    /// Makes what was written last.
    fn commit(self: Box<Self>) -> io::Result<()>;
}

/// A sink of the caller's, which has nothing to do at the end but to be flushed.
pub(crate) struct Plain<W>(pub(crate) W);

impl<W: Write + Send> Sink for Plain<W> {
    fn write(&mut self, buffer: &mut Vec<u8>) -> io::Result<()> {
        self.0.write_all(buffer)?;
        buffer.clear();
        Ok(())
    }

    fn commit(mut self: Box<Self>) -> io::Result<()> {
        self.0.flush()
    }
}

/// A file in the making.
pub(crate) struct Output<'s> {
    sink: Box<dyn Sink + 's>,
    buffer: Vec<u8>,
    offset: u64,
    checksum: ChecksumType,
    base_context_checksum: u32,
}

impl<'s> Output<'s> {
    pub(crate) fn new(
        sink: Box<dyn Sink + 's>,
        checksum: ChecksumType,
        base_context_checksum: u32,
    ) -> Self {
        Self { sink, buffer: Vec::new(), offset: 0, checksum, base_context_checksum }
    }

    /// Bytes written so far.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Writes a block and its trailer.
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

    /// Hands over what is left, and makes it last.
    pub(crate) fn commit(mut self) -> Result<()> {
        self.sink.write(&mut self.buffer)?;
        self.sink.commit()?;
        Ok(())
    }
}
