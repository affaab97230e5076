//! The number of files that a lookup reads needlessly, compared with a count over all keys.

use std::fs;
use std::ops::Range;

use sstkit_coding::varint::{put_length_prefixed_slice, put_varint32, put_varint64};
use sstkit_db::{ColumnFamily, Database};
use sstkit_inspect::{DatabaseInfo, Encoding, FilterReport, FilterTotal, filter_reports};
use sstkit_table::raw::{Codec, EntryKind, InternalKey};
use sstkit_table::{Comparator, TableOptions, TableWriter};

use crate::files::databases;

/// A table: its level, numbers of keys, and filter.
type Planned = (u32, Range<u64>, Option<&'static str>);

/// Writes a database of these tables; `padding` is the length of values.
fn database(tables: &[Planned], comparator: &Comparator, padding: usize) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut edit = Vec::new();
    put_varint32(&mut edit, 1);
    put_length_prefixed_slice(&mut edit, comparator.name().as_bytes());
    for field in [2, 1, 3, 1000, 4, 1000] {
        put_varint64(&mut edit, field);
    }
    for (number, (level, keys, filter)) in (10..).zip(tables) {
        let mut options = TableOptions::rocksdb()
            .comparator(comparator.clone())
            .compression(Codec::None)
            .external_file(false);
        if let Some(filter) = filter {
            options = options.filter(filter.parse().unwrap());
        }
        let path = folder.path().join(format!("{number:06}.sst"));
        let mut writer = TableWriter::create(&path, &options).unwrap();
        let mut keys: Vec<_> = keys.clone().map(|key| format!("key{key:08}")).collect();
        keys.sort_by(|a, b| comparator.compare(a.as_bytes(), b.as_bytes()));
        let internal = |key: &str| {
            let mut bytes = Vec::new();
            let kind = EntryKind::Value;
            InternalKey { user_key: key.as_bytes(), sequence: number, kind }.encode_to(&mut bytes);
            bytes
        };
        for key in &keys {
            let (user_key, kind) = (key.as_bytes(), EntryKind::Value);
            let value: String = key.chars().rev().cycle().take(padding).collect();
            let key = InternalKey { user_key, sequence: number, kind };
            writer.add(&key, value.as_bytes()).unwrap();
        }
        writer.finish().unwrap();
        put_varint32(&mut edit, 7);
        for field in [u64::from(*level), number, fs::metadata(&path).unwrap().len()] {
            put_varint64(&mut edit, field);
        }
        put_length_prefixed_slice(&mut edit, &internal(&keys[0]));
        put_length_prefixed_slice(&mut edit, &internal(keys.last().unwrap()));
    }
    let record = [&[1], &edit[..]].concat();
    let crc = crc32c::crc32c(&record).rotate_right(15).wrapping_add(0xa282_ead8);
    let length = u16::try_from(edit.len()).unwrap().to_le_bytes();
    let manifest = [&crc.to_le_bytes()[..], &length, &record].concat();
    fs::write(folder.path().join("MANIFEST-000005"), manifest).unwrap();
    fs::write(folder.path().join("CURRENT"), "MANIFEST-000005\n").unwrap();
    fs::write(folder.path().join("IDENTITY"), "made by a test").unwrap();
    folder
}

/// The mean over all entries of the files that a lookup beside each would read needlessly.
fn counted(family: &ColumnFamily, rate: impl Fn(&FilterReport) -> Option<f64>) -> f64 {
    let reports: Vec<_> = filter_reports(family, 2000).map(Result::unwrap).collect();
    let files: Vec<_> = family.levels().into_iter().flat_map(|level| level.files).collect();
    let order = family.comparator().unwrap();
    let size = order.timestamp_size();
    let (mut lookups, mut read) = (0, 0.0);
    for file in &files {
        for entry in file.open().unwrap().entries() {
            let key = entry.unwrap().user_key;
            let key = &key[..key.len() - size];
            lookups += 1;
            let mut last_run = None;
            for (file, report) in files.iter().zip(&reports) {
                let is_in = order.compare_without_timestamp(file.smallest(), key).is_le()
                    && order.compare_without_timestamp(key, file.largest()).is_le();
                if is_in && last_run.replace(file.run()) != Some(file.run()) {
                    read += rate(report).unwrap_or(1.0);
                }
            }
        }
    }
    read / f64::from(lookups)
}

fn total(family: &ColumnFamily) -> FilterTotal {
    FilterTotal::of(&filter_reports(family, 2000).map(Result::unwrap).collect::<Vec<_>>())
}

fn assert_close(found: f64, expected: f64, name: &str) {
    assert!((found / expected - 1.0).abs() < 0.02, "{name}: {found}, not {expected}");
}

#[test]
fn narrow_runs_count_only_for_the_keys_in_their_range() {
    let bloom = Some("bloomfilter:10");
    let weak = Some("bloomfilter:4");
    let bottom = [(6, 0..4000, bloom), (6, 4000..7000, weak), (6, 7000..20_000, bloom)];
    let narrow =
        [(0, 100..400, weak), (0, 3900..4100, None), (0, 15_000..16_000, None), (0, 0..30, bloom)];
    let with_wide = [(0, 5..6, None), (1, 2000..3000, weak), (0, 10..19_990, weak)];
    for (name, upper) in [("none", &[][..]), ("narrow", &narrow), ("wide", &with_wide)] {
        let tables = [upper, &bottom].concat();
        for comparator in [Comparator::Bytewise, Comparator::ReverseBytewise] {
            // Small tables, all keys of which are read, and larger ones, of which the index is.
            for padding in [2, 200] {
                let folder = database(&tables, &comparator, padding);
                let database = Database::open(folder.path()).unwrap();
                let family = database.default_column_family();
                let name = format!("{name} {comparator} {padding}");
                assert_eq!(
                    family.levels().iter().map(|it| it.files.len()).sum::<usize>(),
                    tables.len()
                );
                let sizes = family.levels().into_iter().flat_map(|level| level.files);
                let largest = sizes.map(|file| file.metadata().size).max();
                assert_eq!(largest > Some(2 << 20), padding == 200, "{largest:?}");
                let found = total(&family);
                let expected = counted(&family, |report| report.expected_fpr);
                assert_close(found.expected_files_per_lookup, expected, &name);
                let measured = counted(&family, |report| report.measured_fpr);
                assert_close(found.measured_files_per_lookup.unwrap(), measured, &name);
                let info = DatabaseInfo::of("db", &database, Encoding::Escape);
                assert_eq!(info.filter.expected_files_per_lookup, found.expected_files_per_lookup);
            }
        }
    }
}

/// A small file without a filter adds its share of the keys, and not one file for every lookup.
#[test]
fn one_narrow_file_contributes_only_its_share() {
    let bottom = (6, 0..10_000, Some("bloomfilter:10"));
    let alone = database(std::slice::from_ref(&bottom), &Comparator::Bytewise, 20);
    let both = database(&[(0, 5000..5100, None), bottom], &Comparator::Bytewise, 20);
    let [alone, both] = [alone, both].map(|folder| {
        let database = Database::open(folder.path()).unwrap();
        total(&database.default_column_family()).expected_files_per_lookup
    });
    let share = 200.0 / 10_100.0;
    assert!((both - alone - share).abs() < share / 20.0, "{both} {alone}");
}

#[test]
fn databases_of_the_engines_are_counted_like_that() {
    for path in databases() {
        let database = Database::open(&path).unwrap();
        for family in database.column_families() {
            let found = total(&family);
            if family.comparator().is_err() || found.files == 0 {
                continue;
            }
            let expected = counted(&family, |report| report.expected_fpr);
            assert_close(found.expected_files_per_lookup, expected, &path.display().to_string());
        }
    }
}
