//! What tells one source from all others.

/// What tells a [`Source`](crate::Source) from all others, for a cache that several tables share: two
/// sources with the same identity have the same bytes, so that one finds the blocks of the other.
///
/// That of a [`File`](std::fs::File) is its device, inode, size and time of the last write, where the system has them.
/// Of something in an object store it may be its address and version:
///
/// ```
/// use sstkit_table::SourceIdentity;
///
/// let identity = SourceIdentity::new("https://example.org/000011.sst, version 7");
/// assert_ne!(identity, SourceIdentity::new("https://example.org/000011.sst, version 8"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SourceIdentity {
    kind: Kind,
    bytes: Vec<u8>,
}

/// Identities of different kinds are never the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    #[cfg(unix)]
    File,
    Given,
}

impl SourceIdentity {
    /// An identity of these bytes, of whatever form.
    pub fn new(bytes: impl AsRef<[u8]>) -> Self {
        Self { kind: Kind::Given, bytes: bytes.as_ref().to_vec() }
    }

    /// Of a file: where it lies, and when and to which size it was last written. The time of the last
    /// change of its status is no part of it: that changes when a checkpoint links the file, or when
    /// one of its names is removed. Readers add the last bytes of the file, so that one that was
    /// replaced and given the same time is another.
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
