//! The identity of a source.

/// The identity of a [`Source`](crate::Source) in a cache that several tables share: two sources
/// with the same identity have the same bytes, so that one finds the blocks of the other.
///
/// A [`File`](std::fs::File) is identified by device, inode, size and modification time, if the
/// system provides them. An object in an object store can be identified by its address and version:
///
/// ```
/// use sstkit_table::SourceIdentity;
///
/// let identity = SourceIdentity::new("https://example.org/000011.sst, version 7");
/// assert_ne!(identity, SourceIdentity::new("https://example.org/000011.sst, version 8"));
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SourceIdentity {
    kind: Kind,
    bytes: Vec<u8>,
}

sstkit_coding::debug_struct!(SourceIdentity { kind, bytes: bytes });

/// Identities of different kinds are never the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    #[cfg(unix)]
    File,
    Given,
}

impl SourceIdentity {
    /// An identity made of these bytes, in any format.
    pub fn new(bytes: impl AsRef<[u8]>) -> Self {
        Self { kind: Kind::Given, bytes: bytes.as_ref().to_vec() }
    }

    /// The identity of a file: its location, size and modification time. The time of the last
    /// status change is not part of it: that changes when a checkpoint links the file, or when one
    /// of its names is removed. Readers add the last bytes of the file, to recognize a file that
    /// was replaced and has the same modification time.
    #[cfg(unix)]
    pub(crate) fn of_file(metadata: &std::fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        let bytes = [
            metadata.dev(),
            metadata.ino(),
            metadata.size(),
            metadata.mtime() as u64,
            metadata.mtime_nsec() as u64,
        ];
        Self { kind: Kind::File, bytes: bytes.iter().flat_map(|it| it.to_le_bytes()).collect() }
    }
}
