//! Blob files that are deleted or damaged: exactly the keys with values in the damaged part lose them.

use std::collections::BTreeSet;
use std::fs;

use sstkit_db::{Database, DatabaseWriter, DatabaseWriterOptions, FileOutcome, FileSource};
use sstkit_table::raw::{BlobIndex, EntryKind, InternalKey};
use sstkit_table::{TableOptions, TableWriter};
use sstkit_testkit::goldens::golden_databases;

use crate::contents::{Damaged, visible};
use crate::small_database::without_manifest;

/// The keys of which a version is in a range of bytes of a blob file, and those of which the newest is.
fn keys_in(
    db: &Database,
    number: u64,
    range: &std::ops::Range<u64>,
) -> (BTreeSet<Vec<u8>>, BTreeSet<Vec<u8>>) {
    let family = db.default_column_family();
    let mut newest: Option<Vec<u8>> = None;
    let (mut any, mut visible) = (BTreeSet::new(), BTreeSet::new());
    for entry in family.entries() {
        let entry = entry.unwrap();
        let is_newest = newest.as_ref() != Some(&entry.key);
        newest = Some(entry.key.clone());
        if entry.kind == EntryKind::BlobIndex
            && let BlobIndex::Stored { file, offset, size, .. } =
                BlobIndex::decode_from(&entry.value).unwrap()
            && file == number
            && offset - 32 - (entry.key.len() as u64) < range.end
            && range.start < offset + size
        {
            if is_newest {
                visible.insert(entry.key.clone());
            }
            any.insert(entry.key);
        }
    }
    (any, visible)
}

#[test]
fn each_blob_file_deleted_or_damaged() {
    let path = golden_databases().into_iter().find(|it| it.ends_with("rocksdb-blobs")).unwrap();
    let original = Database::open(&path).unwrap();
    let shown = visible(&original).remove("default").unwrap();
    let mut lost_keys = 0;
    let live: Vec<u64> = {
        let family = &original.manifest().unwrap().column_families[&0];
        family.live_blob_files().map(|file| file.number).collect()
    };
    for number in live {
        let name = format!("{number:06}.blob");
        let size = fs::metadata(path.join(&name)).unwrap().len();
        for range in [0..size, 0..30, size / 2..size / 2 + 200, size - 32..size, size / 3..size] {
            let what = format!("{name}, {range:?}");
            let damaged = Damaged::copy_of(&path);
            let mut bytes = damaged.bytes(&name);
            match () {
                () if range == (0..size) => damaged.remove(&name),
                () if range.end == size && size - range.start > 32 => {
                    damaged.write(&name, &bytes[..range.start as usize]);
                }
                () => {
                    bytes[range.start as usize..range.end as usize].fill(0xa5);
                    damaged.write(&name, &bytes);
                }
            }
            let (any, lost) = keys_in(&original, number, &range);
            let (report, db) = damaged.salvage(false, &what);
            let expected: Vec<_> =
                shown.iter().filter(|(key, _)| !lost.contains(key)).cloned().collect();
            assert!(visible(&db)["default"] == expected, "{what}: {} lost", lost.len());
            let named: BTreeSet<_> = report.lost_values.iter().map(|it| it.key.clone()).collect();
            assert!(named == any, "{what}: {} named, {} lost", named.len(), any.len());
            assert_eq!(report.lost_value_count as usize, report.lost_values.len());
            assert!(report.lost_values.iter().all(|it| it.blob_file == number), "{what}");
            lost_keys += lost.len();
            let file = report.files.iter().find(|it| it.path.ends_with(&name));
            // No table refers to some of them.
            let Some(file) = file else { continue };
            if range == (0..size) {
                assert_eq!(file.outcome, FileOutcome::Lost, "{what}");
            } else if file.outcome != FileOutcome::Orphaned {
                assert_eq!(file.outcome, FileOutcome::Salvaged, "{what}");
            }
            assert_eq!(report.has_losses(), report.lost_value_count > 0 || range == (0..size));
        }
    }
    assert!(lost_keys > 100, "{lost_keys}");
}

/// Two blob files have each other's name. Both are whole, but no reference leads to a record of its key:
/// their values are lost, and the result is sound.
#[test]
fn blob_files_with_the_names_of_others() {
    let path = golden_databases().into_iter().find(|it| it.ends_with("rocksdb-blobs")).unwrap();
    let original = Database::open(&path).unwrap();
    let shown = visible(&original).remove("default").unwrap();
    let family = &original.manifest().unwrap().column_families[&0];
    let numbers: Vec<u64> = family.live_blob_files().map(|file| file.number).take(2).collect();
    let names = [0, 1].map(|at| format!("{:06}.blob", numbers[at]));
    let damaged = Damaged::copy_of(&path);
    let [one, other] = [0, 1].map(|at| damaged.bytes(&names[at]));
    damaged.write(&names[0], &other);
    damaged.write(&names[1], &one);
    let (report, db) = damaged.salvage(false, "swapped");
    let (mut any, mut lost) = (BTreeSet::new(), BTreeSet::new());
    for &number in &numbers {
        let of_file = keys_in(&original, number, &(0..u64::MAX));
        any.extend(of_file.0);
        lost.extend(of_file.1);
    }
    assert!(lost.len() > 10, "{lost:?}");
    let expected: Vec<_> = shown.into_iter().filter(|(key, _)| !lost.contains(key)).collect();
    assert!(visible(&db)["default"] == expected);
    let named: BTreeSet<_> = report.lost_values.iter().map(|it| it.key.clone()).collect();
    assert_eq!(named, any);
    for name in &names {
        let file = report.files.iter().find(|it| it.path.ends_with(name)).unwrap();
        assert_eq!(file.outcome, FileOutcome::Salvaged, "{file:?}");
        assert!(file.notes.iter().any(|it| it.contains("not the file")), "{file:?}");
    }
}

/// A table of blobs of the golden database, with these sequence numbers.
fn add_table(writer: &mut DatabaseWriter, level: u32, entries: &[(Vec<u8>, u64, Vec<u8>)]) {
    let path = writer.new_table_path();
    let options = writer.table_options(0, &TableOptions::rocksdb()).unwrap();
    let mut table = TableWriter::create(&path, &options).unwrap();
    for (key, sequence, value) in entries {
        let kind = EntryKind::BlobIndex;
        table.add(&InternalKey { user_key: key, sequence: *sequence, kind }, value).unwrap();
    }
    table.finish().unwrap();
    writer.add_table(0, level, &FileSource::Written(path), None).unwrap();
}

/// A table and the one that was made from it refer to the same blobs. RocksDB would count those as garbage
/// twice, and refuse a blob file with more garbage than blobs.
#[test]
fn blobs_have_one_reference() {
    let golden = golden_databases().into_iter().find(|it| it.ends_with("rocksdb-blobs")).unwrap();
    let original = Database::open(&golden).unwrap();
    let family = &original.manifest().unwrap().column_families[&0];
    let number = family.live_blob_files().next().unwrap().number;
    let mut blobs: Vec<(Vec<u8>, u64, Vec<u8>)> = Vec::new();
    for entry in original.default_column_family().entries() {
        let entry = entry.unwrap();
        if entry.kind == EntryKind::BlobIndex
            && blobs.last().is_none_or(|it| it.0 != entry.key)
            && matches!(
                BlobIndex::decode_from(&entry.value).unwrap(),
                BlobIndex::Stored { file, .. } if file == number
            )
        {
            blobs.push((entry.key, 100 + entry.sequence, entry.value.to_vec()));
        }
    }
    assert!(blobs.len() > 10);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let options = DatabaseWriterOptions::rocksdb().first_file_number(1000);
    let mut writer = DatabaseWriter::create(&path, options).unwrap();
    let blob_file = FileSource::Copy(golden.join(format!("{number:06}.blob")));
    writer.add_blob_file(0, number, &blob_file, None).unwrap();
    // The table with the smaller number was compacted to the other one, without some of its keys.
    let compacted: Vec<_> =
        blobs.iter().skip(5).map(|(key, _, value)| (key.clone(), 0, value.clone())).collect();
    add_table(&mut writer, 0, &blobs);
    add_table(&mut writer, 6, &compacted);
    writer.finish().unwrap();

    // As a folder of tables both are kept.
    let (_, db, _) = without_manifest(&path).save(false, "no MANIFEST");
    let entries: Vec<_> = db.default_column_family().entries().map(|it| it.unwrap()).collect();
    assert_eq!(entries.len(), blobs.len());
    let file = db.manifest().unwrap().column_families[&0].live_blob_files().next().unwrap().clone();
    assert_eq!(file.garbage_count, file.blob_count - blobs.len() as u64);
    let lengths = entries.iter().map(|entry| match BlobIndex::decode_from(&entry.value).unwrap() {
        BlobIndex::Stored { size, .. } => 32 + entry.key.len() as u64 + size,
        other => panic!("{other:?}"),
    });
    assert_eq!(file.garbage_bytes, file.blob_bytes - lengths.sum::<u64>());
}
