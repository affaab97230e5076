//! Every property that counts or measures something is compared with the contents.

use std::fs;
use std::path::Path;

use sstkit_table::Table;
use sstkit_table::raw::{Block, BlockDecoder, property_names as names};

/// Properties, each with a table that has it.
const COMPARED: &[(&str, &str)] = &[
    (names::NUM_ENTRIES, "types-all.sst"),
    (names::NUM_RANGE_DELETIONS, "types-all.sst"),
    (names::DELETED_KEYS, "types-all.sst"),
    (names::MERGE_OPERANDS, "types-all.sst"),
    (names::RAW_KEY_SIZE, "types-all.sst"),
    (names::RAW_VALUE_SIZE, "types-all.sst"),
    (names::NUM_DATA_BLOCKS, "types-all.sst"),
    (names::DATA_SIZE, "types-all.sst"),
    (names::DATA_SIZE, "rocksdb6-fv5-full10-none.sst"),
    (names::INDEX_SIZE, "types-all.sst"),
    (names::INDEX_SIZE, "index-hash.sst"),
    (names::INDEX_SIZE, "index-twolevel.sst"),
    (names::INDEX_SIZE, "rocksdb6-fv5-full10-none.sst"),
    (names::INDEX_PARTITIONS, "index-twolevel.sst"),
    (names::TOP_LEVEL_INDEX_SIZE, "index-twolevel.sst"),
    (names::FILTER_SIZE, "fv7-bloom10.sst"),
    (names::FILTER_SIZE, "partitioned-decoupled-ribbon-fv7.sst"),
    (names::FILTER_SIZE, "rocksdb6-fv2-blockbased10-zstd.sst"),
    (names::NUM_FILTER_ENTRIES, "fv7-bloom10.sst"),
    (names::NUM_FILTER_ENTRIES, "prefix-fixed8-nowhole.sst"),
    (names::NUM_FILTER_ENTRIES, "partitioned-decoupled-ribbon-fv7.sst"),
    (names::TAIL_START_OFFSET, "types-all.sst"),
    (names::KEY_LARGEST_SEQNO, "types-all.sst"),
    (names::KEY_SMALLEST_SEQNO, "types-all.sst"),
];

/// The table with the lowest bit of a property's number turned, and the right checksum.
fn with_other_number(mut bytes: Vec<u8>, name: &str) -> Vec<u8> {
    let table = Table::from_bytes(bytes.clone()).unwrap();
    let handle = table.metaindex().properties().unwrap();
    let decoder = BlockDecoder::new(table.footer(), table.engine(), &Default::default());
    let range = handle.stored_range(table.footer().offset).unwrap();
    let (contents, trailer) = bytes[range].split_last_chunk_mut::<5>().unwrap();
    assert_eq!(trailer[0], 0, "not compressed");
    let block = Block::parse(&*contents).unwrap();
    let mut entries = block.entries();
    while entries.advance().unwrap() && entries.key() != name.as_bytes() {}
    assert_eq!(entries.key(), name.as_bytes());
    let at = entries.value_range().start;
    contents[at] ^= 1;
    let checksum = decoder.checksum(contents, trailer[0], handle.offset);
    trailer[1..].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

#[test]
fn properties_that_differ_from_the_contents_are_reported() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/tables");
    for &(name, file) in COMPARED {
        let sound = fs::read(folder.join(file)).unwrap();
        let found = Table::from_bytes(sound.clone()).unwrap().verify();
        assert!(found.is_sound(), "{file}: {found}");
        let found = Table::from_bytes(with_other_number(sound, name)).unwrap().verify();
        let problems: Vec<String> = found.problems().iter().map(ToString::to_string).collect();
        assert_eq!(problems.len(), 1, "{file} {name}: {problems:?}");
        assert!(problems[0].contains(&format!("{name} is wrong")), "{problems:?}");
    }
}
