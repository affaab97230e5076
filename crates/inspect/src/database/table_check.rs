//! A table against what the MANIFEST says about it.

use std::io::Read;
use std::path::Path;

use sstkit_coding::fixed::get_fixed64;
use sstkit_db::LevelFile;
use sstkit_db::raw::FileMetaData;
use sstkit_table::raw::{InternalKey, regular_file};
use sstkit_table::{Comparator, EntryCursor, KeyExcerpt, Table};

use super::blob_references::BlobReferences;
use crate::table_file::TableFile;
use crate::unique_id::UniqueId;
use crate::verify::{Problem, VerifyReport};

/// RocksDB's own function for checksums of whole files: CRC-32C, the largest byte first.
const CRC32C_OF_FILE: &str = "FileChecksumCrc32c";

/// What the MANIFEST says about a table, against the table.
pub(super) struct Check<'c> {
    pub(super) file: &'c LevelFile,
    pub(super) meta: &'c FileMetaData,
    pub(super) opened: &'c TableFile,
    pub(super) report: &'c mut VerifyReport,
}

impl Check<'_> {
    fn problem(&mut self, message: String) {
        self.report.add(Problem::of_file(format!("{}: {message}", self.file.path().display())));
    }

    fn table(&self) -> &Table {
        self.opened.table()
    }

    pub(super) fn unique_id(&mut self) {
        let stored = self.meta.unique_id.map(|bytes| {
            let mut words = bytes.as_slice();
            [(); 2].map(|()| get_fixed64(&mut words).unwrap_or(0))
        });
        let own = UniqueId::of(self.table().properties()).map(UniqueId::internal);
        if let (Some(stored), Some(own)) = (stored, own)
            && stored != [0; 2]
            && stored != own
        {
            self.problem("the unique id does not match the MANIFEST".into());
        }
    }

    /// Checksums of user-made functions cannot be computed here.
    pub(super) fn file_checksum(&mut self) {
        let Some((function, expected)) = &self.meta.file_checksum else { return };
        if function != CRC32C_OF_FILE {
            return;
        }
        let found = crc32c_of(self.file.path());
        match found {
            Ok(found) if found.to_be_bytes() == expected[..] => {}
            Ok(_) => self.problem("the checksum of the file does not match the MANIFEST".into()),
            Err(error) => {
                let path = self.file.path().display();
                let message = format!("{path}: the file cannot be read: {error}");
                self.report.add(Problem::unreadable(message));
            }
        }
    }

    /// No key may lie outside of what the MANIFEST says: lookups would not come here.
    pub(super) fn keys(&mut self, order: &Comparator) {
        let bounds = (self.meta.smallest.clone(), self.meta.largest.clone());
        let outside = keys_outside(self.opened, order, &bounds);
        match outside {
            Ok(None) => {}
            Ok(Some(key)) => self.problem(format!(
                "the key {} is outside the key range in the MANIFEST",
                KeyExcerpt(&key)
            )),
            // Damage to the table is in the report already.
            Err(_) => {}
        }
    }

    /// Goes through all entries: their sequence numbers are within the range of the MANIFEST, and
    /// their references lead to values.
    pub(super) fn entries(&mut self, blobs: &mut Option<BlobReferences<'_>>) {
        let range = self.meta.smallest_sequence.zip(self.meta.largest_sequence);
        let outside = sequence_outside(self.opened.table(), range, |entry| {
            let Some(blobs) = blobs else { return };
            for mut problem in blobs.check(entry.user_key(), entry.kind(), entry.value()) {
                problem.message = format!("{}: {}", self.file.path().display(), problem.message);
                self.report.add(problem);
            }
        });
        if let (Some(sequence), Some((smallest, largest))) = (outside, range) {
            self.problem(format!(
                "the sequence number {sequence} is outside the range in the MANIFEST ({smallest} \
                 to {largest})"
            ));
        }
    }
}

/// The first or last key of a table (or the start or end of a range deletion), if it is outside of
/// the bounds, which are internal keys.
fn keys_outside(
    file: &TableFile,
    order: &Comparator,
    bounds: &(Vec<u8>, Vec<u8>),
) -> sstkit_table::Result<Option<Vec<u8>>> {
    let user_key = |bound: &[u8]| {
        let tail = bound.len().saturating_sub(InternalKey::TAIL_LENGTH);
        file.bare(&bound[..tail]).to_vec()
    };
    let (smallest, largest) = (user_key(&bounds.0), user_key(&bounds.1));
    let is_outside = |key: &[u8]| {
        order.compare_without_timestamp(key, &smallest).is_lt()
            || order.compare_without_timestamp(key, &largest).is_gt()
    };
    Ok(keys_at_ends(file)?.into_iter().find(|key| is_outside(key)))
}

/// The first and last key of a table, and the starts and ends of its range deletions, without
/// timestamps.
pub(super) fn keys_at_ends(file: &TableFile) -> sstkit_table::Result<Vec<Vec<u8>>> {
    let mut cursor = file.table().entry_cursor();
    let mut ends = Vec::new();
    if cursor.seek_to_first()? {
        ends.push(file.bare(cursor.user_key()).to_vec());
    }
    if cursor.seek_to_last()? {
        ends.push(file.bare(cursor.user_key()).to_vec());
    }
    for range in file.table().range_deletions() {
        ends.extend([range.start.clone(), range.end.clone()]);
    }
    Ok(ends)
}

/// Shows all entries of a table to `each`, and returns the first sequence number that is outside of
/// a range. Damage to the table is in its report already.
fn sequence_outside(
    table: &Table,
    range: Option<(u64, u64)>,
    mut each: impl FnMut(&EntryCursor),
) -> Option<u64> {
    let is_outside = |sequence: &u64| {
        range.is_some_and(|(smallest, largest)| !(smallest..=largest).contains(sequence))
    };
    let mut outside = None;
    let mut cursor = table.entry_cursor();
    let mut moved = cursor.seek_to_first();
    while let Ok(true) = moved {
        outside = outside.or(Some(cursor.sequence()).filter(is_outside));
        each(&cursor);
        moved = cursor.next();
    }
    let ranges = table.range_deletions().iter().map(|range| range.sequence);
    outside.or_else(|| ranges.into_iter().find(is_outside))
}

pub(super) fn crc32c_of(path: &Path) -> std::io::Result<u32> {
    let mut file = regular_file::open(path)?;
    let mut buffer = vec![0; 1 << 18];
    let mut crc = 0;
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(crc),
            Ok(length) => crc = crc32c::crc32c_append(crc, &buffer[..length]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::path::PathBuf;

    use sstkit_table::TableReadOptions;
    use sstkit_table::raw::EntryKind;

    use super::*;

    fn table(name: &str) -> TableFile {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/tables");
        let path: PathBuf = folder.join(name);
        TableFile::open(path, &TableReadOptions::default()).unwrap()
    }

    fn internal(user_key: &[u8], sequence: u64) -> Vec<u8> {
        let mut key = Vec::new();
        InternalKey { user_key, sequence, kind: EntryKind::Value }.encode_to(&mut key);
        key
    }

    #[test]
    fn keys_outside_of_the_bounds_are_found() {
        let file = table("types-all.sst");
        let first = file.table().entries().next().unwrap().unwrap().user_key;
        let last = file.table().entries().next_back().unwrap().unwrap().user_key;
        let outside = |smallest: &[u8], largest: &[u8]| {
            let bounds = (internal(smallest, 0), internal(largest, 0));
            keys_outside(&file, &Comparator::Bytewise, &bounds).unwrap()
        };
        assert_eq!(outside(&first, &last), None);
        assert_eq!(outside(b"key00001695", &last), Some(first.clone()));
        assert_eq!(outside(&first, b"key00005186"), Some(last));

        let file = table("types-ranges-only.sst");
        let bounds = (internal(b"a", 0), internal(b"b", 0));
        assert!(keys_outside(&file, &Comparator::Bytewise, &bounds).unwrap().is_some());
    }

    #[test]
    fn sequence_numbers_outside_of_the_bounds_are_found() {
        for name in ["types-all.sst", "types-ranges-only.sst"] {
            let file = table(name);
            let outside = |range| sequence_outside(file.table(), Some(range), |_| {});
            assert_eq!(outside((0, 0)), None, "{name}");
            assert_eq!(outside((1, 9)), Some(0), "{name}");
        }
    }

    #[test]
    fn the_checksum_of_a_file() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"123456789").unwrap();
        assert_eq!(crc32c_of(file.path()).unwrap(), 0xe306_9283);
    }
}
