//! How a finished file appears: complete and durable under its name, or not at all.
//!
//! ```text
//! create   .users.sst.x3Kd9A.tmp      in the folder of the result, so that a rename suffices
//! write    OutputFile                 a thread writes; the disk gets it in steps of 16 MiB
//! finish   FinishedFile               synced, still under the temporary name
//! commit   OutputPath                 rename to users.sst, sync the folder
//! drop     at any point before        the temporary file is removed
//! ```
//!
//! A process that is killed leaves its temporary file behind. Its name starts with a dot and ends in
//! `.tmp`, so that nothing takes it for a table.
//!
//! [`TableWriter::create`](crate::TableWriter::create) does all of this for one table. Programs that write
//! several files which must appear together, or a file of their own beside the tables, do it in steps:
//!
//! ```
//! use sstkit_table::output::OutputPath;
//! use sstkit_table::{Table, TableOptions, TableWriter};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = |name: &str| folder.path().join(name);
//! let mut finished = Vec::new();
//! for name in ["users.sst", "posts.sst"] {
//!     let path = OutputPath::new(&path(name), true)?; // replaces a file of this name
//!     let mut writer = TableWriter::to_output_file(path.create()?, &TableOptions::rocksdb())?;
//!     writer.put(b"alice", b"1")?;
//!     let (_summary, file) = writer.finish_output_file()?;
//!     finished.push((path, file));
//! }
//! // An error before this line leaves nothing behind.
//! for (path, file) in finished {
//!     path.commit(file)?;
//! }
//! assert!(Table::open(path("posts.sst"))?.get(b"alice")?.is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A whole folder of files is an [`OutputFolder`].

mod background_writer;
mod file_range;
mod incremental_sync_file;
mod output_folder;
mod output_path;

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use tempfile::{Builder, TempPath};

use self::incremental_sync_file::IncrementalSyncFile;

pub(crate) use self::file_range::FileRange;

pub use self::background_writer::BackgroundWriter;
pub use self::output_folder::OutputFolder;
pub use self::output_path::{OutputPath, parent, sync_renamed_in};

/// A file that is being written under a temporary name.
#[derive(Debug)]
pub struct OutputFile {
    contents: BackgroundWriter<Contents>,
    is_checksummed: bool,
    path: TempPath,
}

impl OutputFile {
    /// Creates a file in `folder`; its temporary name starts with a dot and `name`.
    pub fn create_in(folder: &Path, name: &str) -> io::Result<Self> {
        Self::new(folder, name, None)
    }

    /// The same file, with a CRC-32C of everything that is written.
    pub fn create_checksummed_in(folder: &Path, name: &str) -> io::Result<Self> {
        Self::new(folder, name, Some(0))
    }

    fn new(folder: &Path, name: &str, crc32c: Option<u32>) -> io::Result<Self> {
        let prefix = format!(".{name}.");
        let (file, path) = temporary(&prefix, 0o666).tempfile_in(folder)?.into_parts();
        let is_checksummed = crc32c.is_some();
        let contents = Contents { file: IncrementalSyncFile::new(file), crc32c };
        Ok(Self { contents: BackgroundWriter::new(contents), is_checksummed, path })
    }

    /// Writes what is in the buffer, and leaves an empty one. An error may be that of an earlier
    /// write.
    pub fn write(&mut self, buffer: &mut Vec<u8>) -> io::Result<()> {
        self.contents.write(buffer)
    }

    /// Writes a part of another file. It is left out of the CRC-32C: see
    /// [`set_checksum`](Self::set_checksum).
    pub(crate) fn copy(&mut self, part: FileRange) -> io::Result<()> {
        self.contents.step(move |contents| contents.file.copy(&part))
    }

    /// Sets the CRC-32C of everything up to here, if one is computed.
    pub(crate) fn set_checksum(&mut self, so_far: u32) -> io::Result<()> {
        self.contents.step(move |contents| {
            contents.crc32c = contents.crc32c.map(|_| so_far);
            Ok(())
        })
    }

    /// The folder of the file.
    pub(crate) fn folder(&self) -> Option<&Path> {
        self.path.parent()
    }

    /// Whether a CRC-32C of the contents is computed.
    pub(crate) fn is_checksummed(&self) -> bool {
        self.is_checksummed
    }

    /// Makes the contents durable.
    pub fn finish(mut self) -> io::Result<FinishedFile> {
        let contents = self.contents.finish()?;
        contents.file.sync()?;
        Ok(FinishedFile { crc32c: contents.crc32c, path: self.path })
    }
}

/// A file that is complete and synced, still under its temporary name.
#[derive(Debug)]
pub struct FinishedFile {
    path: TempPath,
    crc32c: Option<u32>,
}

impl FinishedFile {
    /// The temporary name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The CRC-32C of the contents, if it was computed.
    pub fn crc32c(&self) -> Option<u32> {
        self.crc32c
    }

    /// Renames the file, as [`OutputPath::commit`] does, but leaves syncing the folder to the caller.
    pub fn rename(self, to: &OutputPath) -> io::Result<()> {
        to.check()?;
        let renamed = match to.replaces() {
            true => self.path.persist(to.path()),
            false => self.path.persist_noclobber(to.path()),
        };
        renamed.map_err(|error| error.error)
    }
}

/// Temporary names. Unlike temporary files in general these become results, so their permissions are
/// those of any new file: all that the process' mask allows.
fn temporary(prefix: &str, mode: u32) -> Builder<'_, 'static> {
    let mut builder = Builder::new();
    builder.prefix(prefix).suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        builder.permissions(fs::Permissions::from_mode(mode));
    }
    #[cfg(not(unix))]
    let _ = mode;
    builder
}

/// What is written to a file.
#[derive(Debug)]
struct Contents {
    file: IncrementalSyncFile,
    crc32c: Option<u32>,
}

impl Write for Contents {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        if let Some(crc32c) = &mut self.crc32c {
            *crc32c = crc32c::crc32c_append(*crc32c, &bytes[..written]);
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
