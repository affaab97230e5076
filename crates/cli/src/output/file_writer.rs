//! A file that is written as a stream.

use std::io::{self, Write};

use sstkit_table::output::{FinishedFile, OutputFile};

/// Bytes are handed to the file in parts of this size.
const BUFFER: usize = 1 << 20;

/// Writes to a file that appears when it is complete.
pub(crate) struct FileWriter {
    file: OutputFile,
    buffer: Vec<u8>,
}

impl FileWriter {
    pub(crate) fn new(file: OutputFile) -> Self {
        Self { file, buffer: Vec::new() }
    }

    pub(crate) fn finish(mut self) -> io::Result<FinishedFile> {
        self.flush()?;
        self.file.finish()
    }
}

impl Write for FileWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= BUFFER {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.write(&mut self.buffer)
    }
}
