//! What carving must not take for a block of the table.

use sstkit_coding::checksum::ChecksumType;
use sstkit_table::raw::{BlockHandle, BlockKind, EntryKind, FormatVersion, InternalKey};
use sstkit_table::{SalvageOptions, Table, TableOptions, TableSalvage, TableWriter, Uncertainty};
use sstkit_testkit::random::Random;

use crate::whole::{Whole, salvage};

fn options(version: FormatVersion, checksum: ChecksumType) -> TableOptions {
    TableOptions::rocksdb()
        .format_version(version)
        .checksum(checksum)
        .compression(sstkit_table::raw::Codec::None)
        .block_size(512)
}

fn table(options: &TableOptions, entries: impl IntoIterator<Item = (String, Vec<u8>)>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = TableWriter::to_sink(&mut bytes, options).unwrap();
    for (key, value) in entries {
        writer.put(key.as_bytes(), &value).unwrap();
    }
    writer.finish().unwrap();
    bytes
}

fn small(prefix: &str, count: u32) -> impl Iterator<Item = (String, Vec<u8>)> {
    let prefix = prefix.to_owned();
    (0..count).map(move |i| (format!("{prefix}{i:06}"), format!("value {i} of {prefix}").into()))
}

/// The entries of an intact table inside a value are not those of the table, damaged or not.
#[test]
fn a_table_inside_of_a_value() {
    for version in [FormatVersion::V5, FormatVersion::V6] {
        let options = options(version, ChecksumType::Crc32c);
        let inner = table(&options, small("inner", 500));
        let outer = small("a", 300).chain([("b".to_owned(), inner)]).chain(small("c", 300));
        let whole = Whole::new(&table(&options, outer));
        let place = whole.data.iter().position(|(_, it)| it.iter().any(|it| it.0 == b"b")).unwrap();
        let handle = whole.data[place].0;
        let tail = whole.data.last().unwrap().0.end().unwrap() as usize;
        let mut bytes = whole.bytes.clone();
        // No index, no footer: all of it is carved.
        bytes[tail..].fill(0);
        let (points, _, _) = salvage(&bytes);
        assert!(points == whole.entries(|_| true), "{version}: {} entries", points.len());
        // Nothing around the inner blocks says that they are in a value now, but their keys do.
        bytes[handle.offset as usize + 3] ^= 0x55;
        let (points, _, report) = salvage(&bytes);
        assert!(points == whole.entries(|it| it != handle), "{version}: {} entries", points.len());
        assert!(report.losses.iter().any(|it| it.offset == handle.offset), "{:?}", report.losses);
    }
}

/// Bytes that were taken out of a file, or put in, shift the rest of it: that is still found.
#[test]
fn shifted_blocks() {
    let options = options(FormatVersion::V5, ChecksumType::Crc32c);
    let whole = Whole::new(&table(&options, small("k", 700)));
    let cut = whole.bytes.len() / 3;
    let mut shorter = whole.bytes.clone();
    shorter.drain(cut..cut + 7);
    let (points, _, report) = salvage(&shorter);
    let is_cut = |it: BlockHandle| {
        let (start, end) = (it.offset as usize, (it.offset + it.size) as usize + 5);
        start < cut + 7 && cut < end
    };
    assert!(points == whole.entries(|it| !is_cut(it)), "{} entries", points.len());
    assert!(!report.losses.is_empty());
    let longer = [&[0; 100], &whole.bytes[..]].concat();
    let (points, ..) = salvage(&longer);
    assert!(points == whole.entries(|_| true), "{} entries", points.len());
}

/// A file that was overwritten by a shorter one, and not cut.
#[test]
fn a_stale_tail() {
    for version in [FormatVersion::V5, FormatVersion::V6] {
        let options = options(version, ChecksumType::Xxh3);
        let whole = Whole::new(&table(&options, small("new", 200)));
        let stale = table(&options, small("old", 2000));
        let mut bytes = stale;
        bytes[..whole.bytes.len()].copy_from_slice(&whole.bytes);
        // With a footer at the end, it would be the old table with a damaged beginning.
        bytes.truncate(bytes.len() - 60);
        let (points, _, report) = salvage(&bytes);
        assert!(points == whole.entries(|_| true), "{version}: {} entries", points.len());
        assert!(!report.sound);
        let lost: u64 = report.losses.iter().map(|it| it.length).sum();
        assert!(lost > 0, "{:?}", report.losses);
    }
}

/// Several places damaged at once, found without an index: everything between them is saved.
#[test]
fn damage_in_many_places() {
    let mut random = Random::new(3);
    for &checksum in ChecksumType::ALL {
        for version in [FormatVersion::V2, FormatVersion::V5, FormatVersion::V7] {
            let whole = Whole::new(&table(&options(version, checksum), small("key", 2000)));
            let mut bytes = whole.bytes.clone();
            let tail = whole.data.last().unwrap().0.end().unwrap() as usize;
            bytes.truncate(tail);
            let mut damaged = Vec::new();
            for (nth, (handle, _)) in whole.data.iter().enumerate().skip(2) {
                if nth % 5 == 0 {
                    let range = handle.offset as usize..handle.end().unwrap() as usize;
                    match checksum {
                        ChecksumType::None => bytes[range].fill(0),
                        _ => {
                            let noise = random.bytes(range.len() as u64);
                            bytes[range].copy_from_slice(&noise);
                        }
                    }
                    damaged.push(*handle);
                }
            }
            let (points, _, report) = salvage(&bytes);
            let expected = whole.entries(|it| !damaged.contains(&it));
            let what = format!("{checksum}, version {version}");
            assert!(points == expected, "{what}: {} of {}", points.len(), expected.len());
            assert!(
                damaged.iter().all(|it| report.losses.iter().any(|loss| loss.offset == it.offset)),
                "{what}"
            );
            let is_assumed = |it: &Uncertainty| matches!(it, Uncertainty::AssumedOrder(_));
            assert!(report.uncertain.iter().any(is_assumed), "{what}: {:?}", report.uncertain);
        }
    }
}

/// Noise, zeros and files of other kinds have no entries.
#[test]
fn nothing_is_invented() {
    let mut random = Random::new(11);
    let noise = random.bytes(200_000);
    let text = "00 the quick brown fox jumps over the lazy dog\n".repeat(4000).into_bytes();
    for bytes in [noise, text, vec![0; 100_000], Vec::new(), b"MANIFEST-000001\n".to_vec()] {
        let (points, ranges, report) = salvage(&bytes);
        assert!(points.is_empty() && ranges.is_empty() && !report.sound, "{report:?}");
        assert_eq!(report.bytes_lost(), bytes.len() as u64);
    }
}

/// The new table has the same entries, and is sound.
#[test]
fn what_is_written_is_sound() {
    for golden in sstkit_testkit::goldens::golden_tables() {
        let whole = Whole::new(&golden.bytes);
        let name = golden.path.display();
        let mut bytes = whole.bytes.clone();
        bytes.truncate(whole.footer);
        let found = TableSalvage::from_source(bytes, &SalvageOptions::default()).unwrap();
        let mut written = Vec::new();
        let mut writer = TableWriter::to_sink(&mut written, &found.table_options()).unwrap();
        found.write_to(&mut writer).unwrap_or_else(|error| panic!("{name}: {error}"));
        writer.finish().unwrap();
        let table = Table::from_bytes(written.clone()).unwrap();
        assert!(table.verify().is_sound(), "{name}: {:?}", table.verify().problems());
        let again = Whole::new(&written);
        assert!(again.entries(|_| true) == whole.entries(|_| true), "{name}");
        let sorted = |mut ranges: Vec<_>| {
            ranges.sort_by(|a: &crate::whole::Entry, b| (&a.0, b.1, &a.3).cmp(&(&b.0, a.1, &b.3)));
            ranges
        };
        assert!(sorted(again.ranges) == sorted(whole.ranges), "{name}");
    }
}

/// Sequence numbers that only the MANIFEST knows are stored in the new table.
#[test]
fn the_sequence_number_of_an_ingested_table() {
    let bytes = table(&options(FormatVersion::V5, ChecksumType::Xxh3), small("key", 100));
    let mut salvage_options = SalvageOptions::default();
    salvage_options.global_sequence_number = Some(77);
    let found = TableSalvage::from_source(bytes, &salvage_options).unwrap();
    let mut count = 0;
    found
        .for_each(|key, _| {
            let InternalKey { sequence, kind, .. } = *key;
            assert_eq!((sequence, kind), (77, EntryKind::Value));
            count += 1;
            Ok(())
        })
        .unwrap();
    assert_eq!(count, 100);
}

/// Files made to cost as much as possible: the work stays linear in their size. Were it quadratic, this
/// would not end.
#[test]
fn hostile_files_end() {
    let mut random = Random::new(17);
    let options = options(FormatVersion::V5, ChecksumType::Crc32c);
    // Blocks of one entry each, with a byte of noise after each.
    let whole = Whole::new(&table(&options.clone().block_size(1), small("key", 3000)));
    let scattered = whole.data.iter().flat_map(|(handle, _)| {
        let block = &whole.bytes[handle.offset as usize..handle.end().unwrap() as usize];
        block.iter().copied().chain([0x55]).collect::<Vec<_>>()
    });
    // Entries that never end, snappy and LZ4 that always go on, and no checksum that fits.
    let cycled = |pattern: &[u8]| pattern.iter().copied().cycle().take(2 << 20).collect::<Vec<_>>();
    let literals = [0xff, 0xff, 0x7f, 0xfc, 0xf0, 0xff, 0x00, 0x00];
    for (what, bytes) in [
        ("scattered", scattered.collect()),
        ("entries", cycled(b"\0\x0c\0key\x01\0\0\0\0\0\0\0\0")),
        ("restarts", cycled(&[0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0])),
        ("literals", cycled(&literals)),
        ("matches", cycled(&[0xff, 0xff, 0x03, 0x1f, 0x61, 0x01, 0x00, 0xff])),
        ("deflate", cycled(&[0x80, 0x80, 0x04, 0x05, 0xe0, 0x01, 0x00, 0x00])),
        ("frames", cycled(&[0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x00, 0x02, 0x00, 0x00])),
        ("bzip2", cycled(b"BZh9\x31\x41\x59\x26\x53\x59")),
        ("noise", random.bytes(1 << 20)),
    ] {
        let (points, _, report) = salvage(&bytes);
        assert!(!report.sound, "{what}");
        // A file that is made of blocks of this table has entries of it.
        let is_known = |it: &crate::whole::Entry| what == "scattered" || it.3.is_empty();
        assert!(points.iter().all(is_known), "{what}: {} entries", points.len());
    }
}

/// Range deletion blocks with valid checksums that no engine writes: everything else is saved, and the
/// loss is reported.
#[test]
fn range_deletions_that_make_no_sense() {
    let options = options(FormatVersion::V5, ChecksumType::Crc32c);
    let mut bytes = Vec::new();
    let mut writer = TableWriter::to_sink(&mut bytes, &options).unwrap();
    for number in 0..200 {
        writer.put(format!("key{number:06}").as_bytes(), b"value").unwrap();
    }
    writer.delete_range(b"key000100", b"key000150").unwrap();
    writer.finish().unwrap();
    let whole = Whole::new(&bytes);
    let table = Table::from_bytes(bytes.clone()).unwrap();
    let handle = table.view().metaindex().range_deletions().unwrap();
    let block = handle.offset as usize..(handle.offset + handle.size) as usize;
    let begin = block.start + 3;
    let kind = begin + b"key000100".len();
    for (place, byte, reason) in [
        (kind, 1, "no range deletion"),
        (begin + 3, b'9', "ends before it begins"),
        (block.start + 1, 250, ""),
    ] {
        let mut damaged = bytes.clone();
        damaged[place] = byte;
        let sealed = ChecksumType::Crc32c.compute(&damaged[block.clone()], 0);
        damaged[block.end + 1..block.end + 5].copy_from_slice(&sealed.to_le_bytes());
        let (points, ranges, report) = salvage(&damaged);
        assert!(points == whole.entries(|_| true) && ranges.is_empty(), "{reason}");
        assert_eq!((report.entries, report.range_tombstones), (200, 0), "{reason}");
        assert_eq!(report.entries_lost(), Some(1), "{reason}");
        let loss = report.losses.iter().find(|it| it.offset == handle.offset).unwrap();
        assert_eq!(loss.kind, Some(BlockKind::RangeDeletion), "{reason}");
        assert!(loss.reason.contains(reason), "{loss:?}");
        assert!(report.uncertain.contains(&Uncertainty::RangeTombstones), "{:?}", report.uncertain);
    }
}
