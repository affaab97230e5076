//! The sizes of reads that suit a source.

use crate::reader::view::TAIL_LENGTH;

/// The sizes of reads that suit a remote [`Source`](crate::Source): large enough that the transfer of a read
/// takes about as long as the wait for it.
///
/// ```
/// use sstkit_table::PreferredRead;
///
/// let far_away = PreferredRead::default().tail(2 << 20).read_ahead(8 << 20);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PreferredRead {
    /// The size of the first read of a table, of the end of the file.
    pub tail: u64,
    /// The largest read of a scan. Several are in memory at a time.
    pub read_ahead: u64,
}

/// For latencies of about 20 ms and transfers of about 100 MB/s.
impl Default for PreferredRead {
    fn default() -> Self {
        Self { tail: 512 << 10, read_ahead: 4 << 20 }
    }
}

impl PreferredRead {
    /// The length of the first read: at least that of the footer.
    pub(crate) fn tail_length(&self) -> u64 {
        self.tail.max(TAIL_LENGTH)
    }

    /// The size of the first read of a table in bytes; default 512 KiB.
    #[must_use]
    pub fn tail(mut self, bytes: u64) -> Self {
        self.tail = bytes;
        self
    }

    /// The size of the largest read of a scan in bytes; default 4 MiB.
    #[must_use]
    pub fn read_ahead(mut self, bytes: u64) -> Self {
        self.read_ahead = bytes;
        self
    }
}
