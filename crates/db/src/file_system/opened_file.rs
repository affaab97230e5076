//! An open file: read from any offset, or from the beginning to the end.

use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;

use bytes::Bytes;
use sstkit_table::Source;

/// A file that is open for reading.
///
/// One of this machine is read as it is. Of another one, a window is read at a time and kept, so that a small file is
/// read by one request, however often it is read.
pub struct OpenedFile {
    source: Arc<dyn Source>,
    /// Where the next bytes are read, unless it is a file of this machine.
    position: u64,
    /// The bytes that were read last, and their offset.
    window: (u64, Bytes),
}

sstkit_coding::debug_opaque!(OpenedFile);

impl OpenedFile {
    pub(super) fn new(source: Arc<dyn Source>) -> Self {
        Self { source, position: 0, window: (0, Bytes::new()) }
    }

    /// The size in bytes, now.
    pub fn size(&self) -> io::Result<u64> {
        self.source.size()
    }

    /// The file as a source of a table or blob file.
    pub fn into_source(self) -> Arc<dyn Source> {
        self.source
    }

    /// The bytes of the window from the current position on, after reading another one if there are none. Empty at
    /// the end of the file.
    fn available(&mut self) -> io::Result<Bytes> {
        let (start, bytes) = &self.window;
        let at = self.position.checked_sub(*start).and_then(|at| usize::try_from(at).ok());
        if let Some(at) = at.filter(|&at| at < bytes.len()) {
            return Ok(bytes.slice(at..));
        }
        let preferred = self.source.preferred_read().unwrap_or_default();
        let left = self.size()?.saturating_sub(self.position);
        let length = usize::try_from(left.min(preferred.read_ahead)).map_err(io::Error::other)?;
        if length == 0 {
            return Ok(Bytes::new());
        }
        let bytes = self.source.read_at(self.position, length)?;
        if bytes.len() != length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.window = (self.position, bytes.clone());
        Ok(bytes)
    }
}

impl Read for OpenedFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(mut file) = self.source.as_file() {
            return file.read(buffer);
        }
        let bytes = self.available()?;
        let length = bytes.len().min(buffer.len());
        buffer[..length].copy_from_slice(&bytes[..length]);
        self.position += length as u64;
        Ok(length)
    }
}

impl Seek for OpenedFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        if let Some(mut file) = self.source.as_file() {
            return file.seek(to);
        }
        let position = match to {
            SeekFrom::Start(offset) => Some(offset),
            SeekFrom::End(offset) => self.size()?.checked_add_signed(offset),
            SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
        };
        self.position = position.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use sstkit_table::PreferredRead;

    use super::*;

    /// Counts how often it is read.
    struct Remote(&'static [u8], AtomicUsize);

    impl Source for Remote {
        fn size(&self) -> io::Result<u64> {
            Ok(self.0.len() as u64)
        }

        fn read_at(&self, offset: u64, length: usize) -> io::Result<Bytes> {
            self.1.fetch_add(1, Ordering::Relaxed);
            self.0.read_at(offset, length)
        }

        fn preferred_read(&self) -> Option<PreferredRead> {
            Some(PreferredRead::default().read_ahead(10))
        }
    }

    #[test]
    fn windows_are_read_once() {
        let source = Arc::new(Remote(b"0123456789abcdef", AtomicUsize::new(0)));
        let reads = || source.1.load(Ordering::Relaxed);
        let mut file = OpenedFile::new(source.clone());
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert_eq!((&text[..], reads()), ("0123456789abcdef", 2));
        let mut three = [0; 3];
        file.seek(SeekFrom::End(-3)).unwrap();
        file.read_exact(&mut three).unwrap();
        assert_eq!((three, reads()), (*b"def", 2));
        file.rewind().unwrap();
        file.read_exact(&mut three).unwrap();
        assert_eq!((three, reads()), (*b"012", 3));
        assert_eq!(file.seek(SeekFrom::Current(-1)).unwrap(), 2);
        file.seek(SeekFrom::End(-17)).unwrap_err();
        assert_eq!(file.seek(SeekFrom::Start(u64::MAX)).unwrap(), u64::MAX);
        assert_eq!(file.read(&mut three).unwrap(), 0);
    }
}
