//! Blob files that are deleted or damaged: exactly the keys with values in the damaged part lose them.

use std::collections::BTreeSet;
use std::fs;

use sstkit_db::{Database, FileOutcome};
use sstkit_table::raw::{BlobIndex, EntryKind};
use sstkit_testkit::goldens::golden_databases;

use crate::contents::{Damaged, visible};

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
