//! A part of another file, copied by the system.
//!
//! ```text
//! source   | 1 MiB | 1 MiB | 1 MiB | rest |      copy_file_range: the bytes do not pass through
//!              |       |       |      |         this process; file systems that can share blocks
//! target   | 1 MiB | 1 MiB | 1 MiB | rest |      on disk (Btrfs, XFS) share the aligned ones
//! ```

use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;

use crate::reader::open::source::Source;

/// Bytes that are copied at once where the system does not copy.
const PIECE: usize = 256 << 10;

/// A part of a file.
#[derive(Clone, Debug)]
pub(crate) struct FileRange {
    pub(crate) file: Arc<File>,
    pub(crate) start: u64,
    pub(crate) length: usize,
}

impl FileRange {
    /// Writes the part to `target`, at its cursor.
    pub(super) fn copy_to(&self, target: &File) -> io::Result<()> {
        let copied = by_system(self, target)?;
        self.copy_rest(copied, target)
    }

    /// Copies what is left after `copied` bytes, through a buffer.
    fn copy_rest(&self, mut copied: usize, mut target: &File) -> io::Result<()> {
        let mut buffer = Vec::new();
        while copied < self.length {
            buffer.resize(PIECE.min(self.length - copied), 0);
            self.file.read_into(self.start + copied as u64, &mut buffer)?;
            target.write_all(&buffer)?;
            copied += buffer.len();
        }
        Ok(())
    }
}

/// Copies as much as the system can, and returns how much that is.
#[cfg(target_os = "linux")]
fn by_system(part: &FileRange, target: &File) -> io::Result<usize> {
    use rustix::io::Errno;
    let mut copied = 0;
    while copied < part.length {
        let mut offset = part.start + copied as u64;
        let rest = part.length - copied;
        match rustix::fs::copy_file_range(&*part.file, Some(&mut offset), target, None, rest) {
            // The file has become shorter: reading says so.
            Ok(0) => break,
            Ok(more) => copied += more,
            Err(Errno::INTR) => {}
            // Not between these file systems, or not by this kernel.
            Err(Errno::XDEV | Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP | Errno::PERM) => {
                break;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(copied)
}

#[cfg(not(target_os = "linux"))]
fn by_system(_: &FileRange, _: &File) -> io::Result<usize> {
    Ok(0)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek};

    use super::*;

    fn source(length: usize) -> (Arc<File>, Vec<u8>) {
        let bytes: Vec<u8> = (0..length).map(|i| (i % 251) as u8).collect();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes).unwrap();
        (Arc::new(file), bytes)
    }

    fn contents(mut file: &File) -> Vec<u8> {
        let mut bytes = Vec::new();
        file.rewind().unwrap();
        file.read_to_end(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn parts_are_copied_by_the_system_and_without_it() {
        let (file, bytes) = source(3 * PIECE + 1234);
        for range in [0..bytes.len(), 4096..PIECE + 4096, 777..2 * PIECE + 778, 5..5] {
            let (start, length) = (range.start as u64, range.len());
            let part = FileRange { file: Arc::clone(&file), start, length };
            let mut target = tempfile::tempfile().unwrap();
            target.write_all(b"before").unwrap();
            part.copy_to(&target).unwrap();
            part.copy_rest(0, &target).unwrap();
            let expected = [b"before", &bytes[range.clone()], &bytes[range]].concat();
            assert!(contents(&target) == expected);
        }
    }

    #[test]
    fn a_file_that_has_become_shorter_is_an_error() {
        let (file, bytes) = source(1000);
        let part = FileRange { file, start: 10, length: bytes.len() };
        let error = part.copy_to(&tempfile::tempfile().unwrap()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }
}
