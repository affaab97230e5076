//! Verifying the files of backups against the checksums of their meta files.

use std::collections::HashMap;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use super::BackupFolder;
use crate::file_kind::FileKind;
use crate::file_system;
use crate::raw::BackupMetaFile;
use crate::verify::{FileVerification, VerifyProblem};

/// Bytes that are read at once.
const CHUNK: usize = 1 << 20;

/// The size and CRC-32C of a file, or why it cannot be read.
type Checksum = Result<(u64, u32), VerifyProblem>;

impl BackupFolder {
    /// Compares all files of these backups with their meta files: size and checksum. A file that
    /// several backups share is read once. `each` is called with the report of a backup as soon as it
    /// is verified; its entries are files.
    ///
    /// This does not look into the files: a backup that was made from a damaged database passes. See
    /// [`Database::verify`](crate::Database::verify).
    pub fn verify_files(&self, ids: &[u32], mut each: impl FnMut(FileVerification)) {
        let mut checksums: HashMap<PathBuf, Checksum> = HashMap::new();
        for &id in ids {
            let mut report = FileVerification::new(self.meta_path(id), FileKind::BackupMeta);
            match self.meta(id) {
                Err(error) => report.add(&error),
                Ok(meta) => {
                    for file in &meta.files {
                        report.entries += 1;
                        self.check(file, &mut checksums, &mut report);
                    }
                }
            }
            each(report);
        }
    }

    fn check(
        &self,
        file: &BackupMetaFile,
        checksums: &mut HashMap<PathBuf, Checksum>,
        report: &mut FileVerification,
    ) {
        let path = self.path.join(&file.path);
        if file.excluded {
            report.note(format!("{}: in another backup folder, not verified", path.display()));
            return;
        }
        let found = checksums.entry(path.clone()).or_insert_with(|| checksum_of(&path));
        match found {
            Err(problem) => report.add(problem.clone()),
            Ok((size, crc)) => {
                if file.size.is_some_and(|expected| expected != *size) {
                    let expected = file.size.unwrap_or(0);
                    let what = format!("{size} bytes, but {expected} in the backup's meta file");
                    report.damaged(&path, what);
                } else if file.crc32c.is_some_and(|expected| expected != *crc) {
                    report.damaged(&path, "the checksum does not match the backup's meta file");
                } else if file.crc32c.is_none() {
                    report.note(format!("{}: no checksum recorded", path.display()));
                }
            }
        }
    }
}

fn checksum_of(path: &Path) -> Checksum {
    let read = || -> io::Result<(u64, u32)> {
        let mut file = file_system::open(path)?;
        let mut buffer = vec![0; CHUNK];
        let (mut size, mut crc) = (0, 0);
        loop {
            match file.read(&mut buffer) {
                Ok(0) => return Ok((size, crc)),
                Ok(bytes) => {
                    size += bytes as u64;
                    crc = crc32c::crc32c_append(crc, &buffer[..bytes]);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    };
    read().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => VerifyProblem::damage("file not found").prefixed(path.display()),
        _ => VerifyProblem::from(&crate::error::Error::from(error).in_file(path)),
    })
}
