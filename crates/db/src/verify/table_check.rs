//! A table against what the MANIFEST says about it.

use std::path::Path;

use sstkit_coding::fixed::get_fixed64;
use sstkit_table::visibility::UserKeys;
use sstkit_table::{KeyExcerpt, RangeTombstone, Table, UniqueId, Verification};

use super::report::{FileVerification, VerifyProblem, VerifyStatus};
use crate::raw::FileMetaData;
use crate::version::TableFile;

/// RocksDB's own function for checksums of whole files: CRC-32C, most significant byte first.
const CRC32C_OF_FILE: &str = "FileChecksumCrc32c";

/// Whether the MANIFEST has a checksum of the file that can be verified: those of user-defined
/// functions cannot.
pub(super) fn has_file_checksum(meta: &FileMetaData) -> bool {
    meta.file_checksum.as_ref().is_some_and(|(function, _)| function == CRC32C_OF_FILE)
}

pub(super) fn check_unique_id(
    meta: &FileMetaData,
    table: &Table,
    path: &Path,
    report: &mut FileVerification,
) {
    let stored = meta.unique_id.map(|bytes| {
        let mut words = bytes.as_slice();
        [(); 2].map(|()| get_fixed64(&mut words).unwrap_or(0))
    });
    let own = UniqueId::of(table.properties()).map(UniqueId::internal);
    if let (Some(stored), Some(own)) = (stored, own)
        && stored != [0; 2]
        && stored != own
    {
        report.damaged(path, "the unique id does not match the MANIFEST");
    }
}

pub(super) fn check_file_checksum(
    meta: &FileMetaData,
    found: &Verification,
    path: &Path,
    report: &mut FileVerification,
) {
    let (Some((_, expected)), Some(checksum)) = (&meta.file_checksum, found.file_checksum()) else {
        return;
    };
    match checksum {
        Ok(crc) if crc.to_be_bytes() == expected[..] => {}
        Ok(_) => report.damaged(path, "the checksum of the file does not match the MANIFEST"),
        Err(error) => report.add(unreadable(path, error)),
    }
}

/// The problem of a file whose checksum could not be computed.
pub(super) fn unreadable(path: &Path, error: &sstkit_table::Error) -> VerifyProblem {
    let message = format!("{}: the file cannot be read: {error}", path.display());
    VerifyProblem::new(VerifyStatus::Unreadable, message)
}

/// No key may be outside of the range in the MANIFEST: lookups would not find it. A range tombstone may
/// reach beyond it, where it has no effect: RocksDB writes one that spans several files to each of them
/// as a whole.
pub(super) fn check_keys(
    file: &TableFile,
    keys: &UserKeys,
    table: &Table,
    found: &Verification,
    path: &Path,
    report: &mut FileVerification,
) {
    if let Some(key) = key_outside(file.smallest(), file.largest(), keys, table, found) {
        let key = KeyExcerpt(&key);
        report
            .damaged(path, format_args!("the key {key} is outside the key range in the MANIFEST"));
    }
}

fn key_outside(
    smallest: &[u8],
    largest: &[u8],
    keys: &UserKeys,
    table: &Table,
    found: &Verification,
) -> Option<Vec<u8>> {
    let is_before = |key: &[u8]| keys.compare(key, smallest).is_lt();
    let is_behind = |key: &[u8]| keys.compare(key, largest).is_gt();
    let points = keys_of_points(found).into_iter().find(|key| is_before(key) || is_behind(key));
    let apart =
        |it: &&RangeTombstone| keys.compare(&it.end, smallest).is_le() || is_behind(&it.start);
    let tombstone = || table.range_deletions().iter().find(apart).map(|it| &it.start[..]);
    points.or_else(tombstone).map(<[u8]>::to_vec)
}

/// The first and last key of the points of a table, without timestamps.
fn keys_of_points(found: &Verification) -> Vec<&[u8]> {
    match (found.spans().first(), found.spans().last()) {
        (Some(first), Some(last)) => vec![&first.first[..], &last.last],
        _ => Vec::new(),
    }
}

/// The first and last key of a table, and the starts and ends of its range tombstones, without
/// timestamps.
pub(super) fn keys_at_ends<'t>(table: &'t Table, found: &'t Verification) -> Vec<&'t [u8]> {
    let mut ends = keys_of_points(found);
    for range in table.range_deletions() {
        ends.extend([&range.start[..], &range.end]);
    }
    ends
}

/// All sequence numbers are within the range in the MANIFEST.
pub(super) fn check_sequences(
    meta: &FileMetaData,
    table: &Table,
    found: &Verification,
    path: &Path,
    report: &mut FileVerification,
) {
    let Some(range) = meta.smallest_sequence.zip(meta.largest_sequence) else { return };
    if let Some(sequence) = sequence_outside(range, table, found) {
        let (smallest, largest) = range;
        report.damaged(
            path,
            format_args!(
                "the sequence number {sequence} is outside the range in the MANIFEST ({smallest} to \
                 {largest})"
            ),
        );
    }
}

/// All sequence numbers are visible: readers start from the last one of the database.
pub(super) fn check_visible(
    last: u64,
    table: &Table,
    found: &Verification,
    path: &Path,
    report: &mut FileVerification,
) {
    if let Some(sequence) = sequence_outside((0, last), table, found) {
        report.damaged(
            path,
            format_args!(
                "the sequence number {sequence} is larger than the last one of the database \
                 ({last}): the entry is not visible"
            ),
        );
    }
}

fn sequence_outside(range: (u64, u64), table: &Table, found: &Verification) -> Option<u64> {
    sequences_of(table, found).find(|sequence| !(range.0..=range.1).contains(sequence))
}

/// Sequence numbers of a table, among them the smallest and the largest.
pub(super) fn sequences_of<'t>(
    table: &'t Table,
    found: &'t Verification,
) -> impl Iterator<Item = u64> + 't {
    let spans = found.spans().iter();
    let points = spans.flat_map(|span| [span.smallest_sequence, span.largest_sequence]);
    let tombstones = table.range_deletions().iter().map(|tombstone| tombstone.sequence);
    points.chain(tombstones)
}

#[cfg(test)]
mod tests {
    use sstkit_table::{Comparator, TableOptions, TableWriter};

    use super::*;

    /// A table of these keys and range tombstones, all with sequence number 0.
    fn verified(points: &[&str], tombstones: &[(&str, &str)]) -> (Table, Verification) {
        let mut bytes = Vec::new();
        let mut writer = TableWriter::to_sink(&mut bytes, &TableOptions::rocksdb()).unwrap();
        for key in points {
            writer.put(key.as_bytes(), b"value").unwrap();
        }
        for (start, end) in tombstones {
            writer.delete_range(start.as_bytes(), end.as_bytes()).unwrap();
        }
        writer.finish().unwrap();
        let table = Table::from_bytes(bytes).unwrap();
        let found = table.verify();
        (table, found)
    }

    #[test]
    fn keys_outside_of_the_bounds_are_found() {
        let keys = UserKeys::new(Comparator::Bytewise);
        let (table, found) = verified(&["b", "m", "y"], &[]);
        let outside =
            |smallest: &[u8], largest: &[u8]| key_outside(smallest, largest, &keys, &table, &found);
        assert_eq!(outside(b"b", b"y"), None);
        assert_eq!(outside(b"c", b"y"), Some(b"b".into()));
        assert_eq!(outside(b"b", b"x"), Some(b"y".into()));

        // Range tombstones may reach beyond the bounds, but must overlap them.
        let (table, found) = verified(&[], &[("c", "f"), ("k", "m"), ("p", "t")]);
        let outside =
            |smallest: &[u8], largest: &[u8]| key_outside(smallest, largest, &keys, &table, &found);
        assert_eq!(outside(b"d", b"q"), None);
        assert_eq!(outside(b"f", b"q"), Some(b"c".into()));
        assert_eq!(outside(b"d", b"o"), Some(b"p".into()));
        assert!(outside(b"a", b"b").is_some());
    }

    #[test]
    fn sequence_numbers_outside_of_the_bounds_are_found() {
        for (table, found) in [verified(&["b"], &[]), verified(&[], &[("c", "f")])] {
            assert_eq!(sequence_outside((0, 0), &table, &found), None);
            assert_eq!(sequence_outside((1, 9), &table, &found), Some(0));
        }
    }
}
