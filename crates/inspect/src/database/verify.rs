//! A database against itself: each file, and the MANIFEST against the files.
//!
//! | what | compared with |
//! |---|---|
//! | each table | everything that [`Table::verify`](sstkit_table::Table::verify) compares |
//! | the MANIFEST's size, keys, sequence numbers, identifier and checksum of a table | the table (its size when it is opened) |
//! | the files of a level below 0 | each other: no overlap |
//! | the MANIFEST's count and bytes of a blob file | its records, each with its checksum |
//! | the write-ahead logs | themselves: what opening the database had to pass over |
//! | a folder of tables with a `manifest.json` | see `bulk` |

use std::cmp::Ordering;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use sstkit_coding::fixed::{decode_fixed64, get_fixed64};
use sstkit_db::raw::{BlobFile, BlobFileMetaData, FileMetaData};
use sstkit_db::{Caveat, CaveatKind, ColumnFamily, Database, Level, LevelFile};
use sstkit_table::raw::{Engine, InternalKey};
use sstkit_table::{Comparator, Table};

use super::{bulk, open_level_file};
use crate::error::Result;
use crate::table_file::TableFile;
use crate::unique_id::UniqueId;
use crate::verify::{Problem, VerifyReport};

/// RocksDB's own function for checksums of whole files: CRC-32C, the largest byte first.
const CRC32C_OF_FILE: &str = "FileChecksumCrc32c";

/// Reads a whole database and compares everything with everything else. `each` is called with the
/// report of a file as soon as it is done: tables, blob files, and the directory as the last.
///
/// `opening` is why a damaged one had to be opened from its [table files
/// alone](Database::open_tables); it is the first of the directory's problems.
pub fn verify_database(
    name: impl Into<String>,
    database: &Database,
    opening: Option<&sstkit_db::Error>,
    mut each: impl FnMut(VerifyReport),
) {
    let mut directory = VerifyReport::sound(name);
    if let Some(error) = opening {
        directory.add(Problem::from(error));
    }
    // A torn end is what a crash leaves behind, and an order that is not known is no damage.
    let is_problem =
        |it: &&Caveat| !matches!(it.kind(), CaveatKind::TornTail | CaveatKind::UnknownOrder);
    for caveat in database.caveats().iter().filter(is_problem) {
        directory.add(Problem::of_file(caveat.message()));
    }
    if let Some(manifest) = database.bulk_manifest() {
        bulk::check_folder(database, manifest, &mut directory);
    }
    for family in database.column_families() {
        let order = family.comparator().ok();
        directory.order_checked |= order.is_some();
        for level in family.levels() {
            if let (Some(order), true) = (order, level.number > 0) {
                check_overlap(&family, &level, order, &mut directory);
            }
            level.files.iter().for_each(|file| each(table(file, order, database)));
        }
        let state = database.manifest().and_then(|it| it.column_families.get(&family.id()));
        for blob_file in state.into_iter().flat_map(|state| state.blob_files.values()) {
            let path = database.path().join(format!("{:06}.blob", blob_file.number));
            each(blobs(&path, blob_file, family.id()));
        }
    }
    each(directory);
}

/// The ranges of neighbours, which may at most share a user key.
fn check_overlap(
    family: &ColumnFamily,
    level: &Level,
    order: &Comparator,
    report: &mut VerifyReport,
) {
    for (before, after) in level.files.iter().zip(level.files.iter().skip(1)) {
        let (last, first) = (&before.metadata().largest, &after.metadata().smallest);
        if compare(order, last, first) != Ordering::Less {
            report.add(Problem::of_file(format!(
                "tables {} and {} overlap in level {} of column family {:?}",
                before.number(),
                after.number(),
                level.number,
                family.name()
            )));
        }
    }
}

/// How two internal keys stand to each other; those that are too short, by their bytes.
fn compare(order: &Comparator, a: &[u8], b: &[u8]) -> Ordering {
    const TAIL: usize = InternalKey::TAIL_LENGTH;
    match (a.split_last_chunk::<TAIL>(), b.split_last_chunk::<TAIL>()) {
        (Some((user_a, tail_a)), Some((user_b, tail_b))) => order
            .compare(user_a, user_b)
            .then_with(|| decode_fixed64(*tail_b).cmp(&decode_fixed64(*tail_a))),
        _ => a.cmp(b),
    }
}

fn table(file: &LevelFile, order: Option<&Comparator>, database: &Database) -> VerifyReport {
    let name = file.path().display().to_string();
    let opened = match open_level_file(file) {
        Ok(opened) => opened,
        Err(error) => {
            let mut report = VerifyReport::sound(name);
            report.add(Problem::of_file(error.to_string()));
            return report;
        }
    };
    let mut report = VerifyReport::of_table(name, &opened);
    if let Some(manifest) = database.bulk_manifest() {
        bulk::check_table(manifest, file, &opened, order, &mut report);
        return report;
    }
    let meta = file.metadata();
    let mut check = Check { file, meta, opened: &opened, report: &mut report };
    check.unique_id();
    check.file_checksum();
    if let Some(order) = order {
        check.keys(order);
    }
    if database.engine() == Engine::RocksDb {
        check.sequences();
    }
    report
}

/// What the MANIFEST says about a table, against the table.
struct Check<'c> {
    file: &'c LevelFile,
    meta: &'c FileMetaData,
    opened: &'c TableFile,
    report: &'c mut VerifyReport,
}

impl Check<'_> {
    fn problem(&mut self, message: String) {
        self.report.add(Problem::of_file(format!("{}: {message}", self.file.path().display())));
    }

    fn table(&self) -> &Table {
        self.opened.table()
    }

    fn unique_id(&mut self) {
        let stored = self.meta.unique_id.map(|bytes| {
            let mut words = bytes.as_slice();
            [(); 2].map(|()| get_fixed64(&mut words).unwrap_or(0))
        });
        let own = UniqueId::of(self.table().properties()).map(UniqueId::internal);
        if let (Some(stored), Some(own)) = (stored, own)
            && stored != [0; 2]
            && stored != own
        {
            self.problem("it is another table than the MANIFEST knows".into());
        }
    }

    /// Checksums of user-made functions cannot be computed here.
    fn file_checksum(&mut self) {
        let Some((function, expected)) = &self.meta.file_checksum else { return };
        if function != CRC32C_OF_FILE {
            return;
        }
        let found = crc32c_of(self.file.path());
        match found {
            Ok(found) if found.to_be_bytes() == expected[..] => {}
            Ok(_) => self.problem("the checksum of the file is another than the MANIFEST's".into()),
            Err(error) => self.problem(format!("the file cannot be read: {error}")),
        }
    }

    /// No key may lie outside of what the MANIFEST says: lookups would not come here.
    fn keys(&mut self, order: &Comparator) {
        let bounds = (self.meta.smallest.clone(), self.meta.largest.clone());
        let outside = keys_outside(self.opened, order, &bounds);
        match outside {
            Ok(None) => {}
            Ok(Some(key)) => self.problem(format!(
                "the key \"{}\" is outside of the range of the MANIFEST",
                key.escape_ascii()
            )),
            // Damage to the table is in the report already.
            Err(_) => {}
        }
    }

    fn sequences(&mut self) {
        let (Some(smallest), Some(largest)) =
            (self.meta.smallest_sequence, self.meta.largest_sequence)
        else {
            return;
        };
        let outside = sequence_outside(self.table(), smallest, largest);
        if let Ok(Some(sequence)) = outside {
            self.problem(format!(
                "the sequence number {sequence} is outside of {smallest} to {largest}, the range \
                 of the MANIFEST"
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

fn sequence_outside(
    table: &Table,
    smallest: u64,
    largest: u64,
) -> sstkit_table::Result<Option<u64>> {
    let is_outside = |sequence: &u64| !(smallest..=largest).contains(sequence);
    let mut cursor = table.entry_cursor();
    let mut more = cursor.seek_to_first()?;
    while more {
        if is_outside(&cursor.sequence()) {
            return Ok(Some(cursor.sequence()));
        }
        more = cursor.next()?;
    }
    Ok(table.range_deletions().iter().map(|range| range.sequence).find(is_outside))
}

pub(super) fn crc32c_of(path: &Path) -> std::io::Result<u32> {
    let mut file = File::open(path)?;
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

/// Reads all values of a blob file.
fn blobs(path: &Path, meta: &BlobFileMetaData, column_family: u32) -> VerifyReport {
    let mut report = VerifyReport::sound(path.display().to_string());
    let mut read = || -> Result<()> {
        let file = File::open(path).map_err(|error| sstkit_db::Error::from(error).in_file(path))?;
        let blob_file = BlobFile::open(file, column_family).map_err(|error| error.in_file(path))?;
        for record in blob_file.records() {
            record.map_err(|error| error.in_file(path))?;
            report.entries += 1;
        }
        Ok(())
    };
    if let Err(error) = read() {
        report.add(Problem::of_file(error.to_string()));
    } else if report.entries != meta.blob_count {
        let (expected, found) = (meta.blob_count, report.entries);
        report.add(Problem::of_file(format!(
            "{}: the MANIFEST says {expected} values, the file has {found}",
            path.display()
        )));
    }
    report
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
    fn internal_keys_are_in_order() {
        let order = Comparator::Bytewise;
        for (a, b, expected) in [
            (internal(b"a", 1), internal(b"b", 9), Ordering::Less),
            (internal(b"a", 9), internal(b"a", 1), Ordering::Less),
            (internal(b"a", 1), internal(b"a", 1), Ordering::Equal),
            (internal(b"ab", 1), internal(b"a", 1), Ordering::Greater),
            (b"x".to_vec(), b"y".to_vec(), Ordering::Less),
        ] {
            assert_eq!(compare(&order, &a, &b), expected);
        }
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
            assert_eq!(sequence_outside(file.table(), 0, 0).unwrap(), None, "{name}");
            assert_eq!(sequence_outside(file.table(), 1, 9).unwrap(), Some(0), "{name}");
        }
    }

    #[test]
    fn the_checksum_of_a_file() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"123456789").unwrap();
        assert_eq!(crc32c_of(file.path()).unwrap(), 0xe306_9283);
    }
}
