//! The sources of tables: anything that can be read at an offset.
//!
//! ```text
//! File                     pread; no shared cursor, any number of threads      copies
//! Bytes, &'static [u8]     memory, a memory map (see below)                    does not copy
//! Vec<u8>, Arc<[u8]>       memory                                              copies
//! your own                 an object store, an archive, a network …
//! ```
//!
//! # Memory maps
//!
//! If another process truncates or changes a mapped file, the behaviour is undefined in Rust, so
//! creating a map is the explicit, unsafe choice of the caller. With the `memmap2` crate:
//!
//! ```text
//! let map = unsafe { memmap2::Mmap::map(&file)? };
//! let table = Table::from_bytes(Bytes::from_owner(map))?;
//! ```

use std::fs::File;
use std::io;
use std::ops::{Deref, Range};
use std::sync::Arc;

use bytes::Bytes;

use crate::reader::open::source_identity::SourceIdentity;
use crate::reader::remote::PreferredRead;

/// Bytes that many threads can read at any offset.
///
/// ```
/// use std::io;
/// use bytes::Bytes;
/// use sstkit_table::Source;
///
/// /// A table inside a larger file.
/// struct Part<S> {
///     whole: S,
///     start: u64,
///     size: u64,
/// }
///
/// impl<S: Source> Source for Part<S> {
///     fn size(&self) -> io::Result<u64> {
///         Ok(self.size)
///     }
///
///     fn read_at(&self, offset: u64, length: usize) -> io::Result<Bytes> {
///         self.whole.read_at(self.start + offset, length)
///     }
/// }
///
/// let part = Part { whole: b"..the table..".as_slice(), start: 2, size: 9 };
/// assert_eq!(part.read_at(4, 5)?, "table");
/// # Ok::<(), io::Error>(())
/// ```
pub trait Source: Send + Sync {
    /// The size in bytes. Called once, when a table is opened.
    fn size(&self) -> io::Result<u64>;

    /// The `length` bytes at `offset`. A table reports fewer bytes as an error, never as data. A
    /// block cache may keep them for a long time: a slice of a large buffer keeps all of it.
    fn read_at(&self, offset: u64, length: usize) -> io::Result<Bytes>;

    /// Fills `buffer` with the bytes at `offset`, for callers that have a buffer. The default
    /// implementation copies the result of [`read_at`](Self::read_at).
    fn read_into(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let bytes = self.read_at(offset, buffer.len())?;
        if bytes.len() != buffer.len() {
            let (found, length) = (bytes.len(), buffer.len());
            return Err(io::Error::other(format!("read {found} bytes instead of {length}")));
        }
        buffer.copy_from_slice(&bytes);
        Ok(())
    }

    /// The bytes of several ranges, which are sorted and do not overlap. For a source where each read costs a
    /// round trip: read them at the same time. The default implementation reads them one by one.
    fn read_many(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Bytes>> {
        let read = |range: &Range<u64>| {
            let length = range.end.saturating_sub(range.start);
            self.read_at(range.start, usize::try_from(length).map_err(io::Error::other)?)
        };
        ranges.iter().map(read).collect()
    }

    /// The sizes of reads that suit a source where each read costs a round trip. Then opening reads a longer
    /// tail, scans read far ahead, on threads of their own, and lookups of several keys read what all of them
    /// need at once, by [`read_many`](Self::read_many). Default: `None`, for files and memory.
    fn preferred_read(&self) -> Option<PreferredRead> {
        None
    }

    /// The identity of this source, so that a table that is opened again finds its blocks in a
    /// shared cache. Default: none. The blocks are then evicted when the table is dropped.
    fn identity(&self) -> Option<SourceIdentity> {
        None
    }

    /// The file whose bytes these are, at the same offsets, so that the system can copy parts of it. By
    /// default there is none.
    fn as_file(&self) -> Option<&File> {
        None
    }

    /// Whether reading is as good as free, so that scans need not read ahead; false by default.
    fn is_in_memory(&self) -> bool {
        false
    }
}

#[cfg(any(unix, windows))]
impl Source for File {
    fn size(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn as_file(&self) -> Option<&File> {
        Some(self)
    }

    #[cfg(unix)]
    fn identity(&self) -> Option<SourceIdentity> {
        let metadata = self.metadata().ok()?;
        metadata.is_file().then(|| SourceIdentity::of_file(&metadata))
    }

    fn read_at(&self, offset: u64, length: usize) -> io::Result<Bytes> {
        let mut buffer = vec![0; length];
        self.read_into(offset, &mut buffer)?;
        Ok(buffer.into())
    }

    fn read_into(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let mut filled = 0;
        while filled < buffer.len() {
            match pread(self, &mut buffer[filled..], offset + filled as u64) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

#[cfg(unix)]
fn pread(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

/// Moves the cursor of the file, which is not used here.
#[cfg(windows)]
fn pread(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}

/// The range of `length` bytes at `offset`, within `size` bytes.
fn range(size: usize, offset: u64, length: usize) -> io::Result<Range<usize>> {
    usize::try_from(offset)
        .ok()
        .and_then(|start| Some(start..start.checked_add(length)?))
        .filter(|range| range.end <= size)
        .ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

/// Memory as a source: what makes the [`Bytes`] of a range of it.
macro_rules! memory {
    ($($(#[$doc:meta])* $type:ty: $part:expr;)+) => {$(
        $(#[$doc])*
        impl Source for $type {
            fn size(&self) -> io::Result<u64> {
                Ok(self.len() as u64)
            }

            fn read_at(&self, offset: u64, length: usize) -> io::Result<Bytes> {
                let part: fn(&Self, Range<usize>) -> Bytes = $part;
                Ok(part(self, range(self.len(), offset, length)?))
            }

            fn is_in_memory(&self) -> bool {
                true
            }
        }
    )+};
}

memory! {
    Bytes: |bytes, range| bytes.slice(range);
    &'static [u8]: |bytes, range| Bytes::from_static(&bytes[range]);
    /// Copies each block; [`Table::from_bytes`](crate::Table::from_bytes) does not.
    Vec<u8>: |bytes, range| Bytes::copy_from_slice(&bytes[range]);
    /// Copies each block; [`Bytes::from_owner`] makes a source of it that does not.
    Arc<[u8]>: |bytes, range| Bytes::copy_from_slice(&bytes[range]);
    Lent<'_>: |bytes, range| Bytes::copy_from_slice(&bytes[range]);
}

/// Borrowed memory. Each block is copied.
pub(crate) struct Lent<'a>(pub(crate) &'a [u8]);

impl Deref for Lent<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0
    }
}

/// Pointers to sources.
macro_rules! pointers {
    ($($pointer:ident)+) => {$(
        impl<S: Source + ?Sized> Source for $pointer<S> {
            fn size(&self) -> io::Result<u64> {
                (**self).size()
            }

            fn read_at(&self, offset: u64, length: usize) -> io::Result<Bytes> {
                (**self).read_at(offset, length)
            }

            fn read_into(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
                (**self).read_into(offset, buffer)
            }

            fn read_many(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Bytes>> {
                (**self).read_many(ranges)
            }

            fn preferred_read(&self) -> Option<PreferredRead> {
                (**self).preferred_read()
            }

            fn identity(&self) -> Option<SourceIdentity> {
                (**self).identity()
            }

            fn as_file(&self) -> Option<&File> {
                (**self).as_file()
            }

            fn is_in_memory(&self) -> bool {
                (**self).is_in_memory()
            }
        }
    )+};
}

pointers! { Box Arc }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_ends_where_it_ends() {
        let sources: [Box<dyn Source>; 4] = [
            Box::new(Bytes::from_static(b"0123456789")),
            Box::new(b"0123456789".as_slice()),
            Box::new(b"0123456789".to_vec()),
            Box::new(Arc::<[u8]>::from(*b"0123456789")),
        ];
        for source in sources {
            assert_eq!(source.size().unwrap(), 10);
            assert_eq!(source.read_at(3, 4).unwrap(), "3456");
            assert_eq!(source.read_at(10, 0).unwrap(), "");
            for (offset, length) in [(8, 3), (11, 0), (u64::MAX, 1), (1, usize::MAX)] {
                let error = source.read_at(offset, length).unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
            }
        }
    }
}
