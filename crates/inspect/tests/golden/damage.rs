//! Whatever the bytes, a description is made or an error comes: nothing else.

use std::fs;
use std::io;

use sstkit_inspect::{
    Encoding, Explanation, FilterReport, InspectedTable, InternalScan, JsonRecord, TableInfo,
    VerifyReport, blocks, raw_dump,
};
use sstkit_table::TableReadOptions;

use crate::files::tables_folder;

/// Describes a table in all ways. The results do not matter.
fn describe(bytes: &[u8], options: &TableReadOptions) {
    let Ok(file) = InspectedTable::from_bytes(bytes.to_vec(), options) else { return };
    let escape = Encoding::Escape;
    drop(raw_dump(&file, &mut io::sink()));
    drop(TableInfo::of("table", &file, escape));
    drop(blocks(&file, Some(escape)).map(Iterator::count));
    drop(FilterReport::of("table", &file, 10));
    drop(Explanation::in_table(&file, b"key", escape));
    let describe = |record: sstkit_table::Result<sstkit_table::Record>| {
        drop(record.map(|record| JsonRecord::of_visible(&record, escape)));
    };
    file.table().iter().records().for_each(describe);
    file.table().iter().records().rev().for_each(describe);
    InternalScan::new(&file, escape).for_each(drop);
    VerifyReport::of_table("table", &file);
}

#[test]
fn no_flipped_bit_does_harm() {
    // Without checksums damage gets further.
    let options = TableReadOptions::default();
    for (name, step) in [
        ("one-entry.sst", 1),
        ("types-ranges-only.sst", 1),
        ("seed-like.sst", 3),
        ("types-all-fv2.sst", 97),
        ("rocksdb6-fv2-blockbased10-zstd.sst", 997),
        ("partitioned-coupled-ribbon-fv5-prefix.sst", 9973),
        ("embedded-blobs.sst", 997),
        ("leveldb-table-bloom10-c1.ldb", 9973),
    ] {
        let sound = fs::read(tables_folder().join(name)).unwrap();
        for bit in (0..sound.len() * 8).step_by(step) {
            let mut bytes = sound.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            for verify in [true, false] {
                describe(&bytes, &options.clone().verify_checksums(verify));
            }
        }
    }
}

#[test]
fn no_truncation_does_harm() {
    let sound = fs::read(tables_folder().join("one-entry.sst")).unwrap();
    for length in 0..sound.len() {
        describe(&sound[..length], &TableReadOptions::default());
    }
}
