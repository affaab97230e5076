//! The hashes of a large filter under construction, in a file beside the table.
//!
//! ```text
//! fixed64 hash[n]     in the order of the keys
//! ```
//!
//! The file is created with the first hashes. It has no name, so it disappears with the process,
//! however that ends.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;

use sstkit_filter::{HashStorage, StorageError};

/// Hashes that are encoded and read at once.
const PIECE: usize = 8 << 10;

pub(crate) struct HashFile {
    folder: PathBuf,
    file: Option<File>,
}

impl HashFile {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder, file: None }
    }

    fn file(&mut self) -> io::Result<&mut File> {
        match &mut self.file {
            Some(file) => Ok(file),
            none => Ok(none.insert(tempfile::tempfile_in(&self.folder)?)),
        }
    }
}

impl HashStorage for HashFile {
    fn append(&mut self, hashes: &[u64]) -> Result<(), StorageError> {
        let file = self.file()?;
        file.seek(SeekFrom::End(0))?;
        let mut bytes = Vec::with_capacity(PIECE * size_of::<u64>());
        for piece in hashes.chunks(PIECE) {
            bytes.clear();
            bytes.extend(piece.iter().flat_map(|hash| hash.to_le_bytes()));
            file.write_all(&bytes)?;
        }
        Ok(())
    }

    fn read(&self, start: u64, hashes: &mut [u64]) -> Result<(), StorageError> {
        let Some(mut file) = self.file.as_ref() else { return Err("nothing is stored".into()) };
        file.seek(SeekFrom::Start(start * size_of::<u64>() as u64))?;
        let mut bytes = vec![0; PIECE * size_of::<u64>()];
        for piece in hashes.chunks_mut(PIECE) {
            let bytes = &mut bytes[..size_of_val(piece)];
            file.read_exact(bytes)?;
            for (hash, bytes) in piece.iter_mut().zip(bytes.as_chunks().0) {
                *hash = u64::from_le_bytes(*bytes);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_read_from_anywhere() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = HashFile::new(folder.path().to_path_buf());
        assert!(file.read(0, &mut [0]).is_err());
        let hashes: Vec<u64> = (0..3 * PIECE as u64 + 5).map(|i| !i << 7).collect();
        let (first, second) = hashes.split_at(PIECE + 1);
        file.append(first).unwrap();
        let mut read = [0];
        file.read(7, &mut read).unwrap();
        assert_eq!(read, [hashes[7]]);
        file.append(second).unwrap();
        for start in [0, 1, PIECE, hashes.len() - 1] {
            let mut read = vec![0; hashes.len() - start];
            file.read(start as u64, &mut read).unwrap();
            assert!(read == hashes[start..]);
        }
        assert!(file.read(1, &mut vec![0; hashes.len()]).is_err(), "beyond the end");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "without a name");
    }
}
