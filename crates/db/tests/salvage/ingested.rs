//! Ingested tables, whose sequence numbers are in the MANIFEST.

use std::path::Path;

use sstkit_db::raw::FileMetaData;
use sstkit_db::{Database, DatabaseWriter, DatabaseWriterOptions, FileSource};
use sstkit_table::raw::Codec;
use sstkit_table::{Table, TableOptions, TableWriter};

use crate::contents::{Damaged, contents};

/// A database of one table, which was ingested with a sequence number. Returns the name of the table.
fn ingested(path: &Path, sequence: u64) -> String {
    let mut writer = DatabaseWriter::create(path, DatabaseWriterOptions::rocksdb()).unwrap();
    let table = writer.new_table_path();
    let options = TableOptions::rocksdb().external_file(true).compression(Codec::None);
    let mut out = TableWriter::create(&table, &options.block_size(256)).unwrap();
    for number in 0..500 {
        out.put(format!("key{number:06}").as_bytes(), b"value").unwrap();
    }
    out.finish().unwrap();
    let mut metadata = FileMetaData::of_table(&Table::open(&table).unwrap()).unwrap();
    (metadata.smallest_sequence, metadata.largest_sequence) = (Some(sequence), Some(sequence));
    let name = table.file_name().unwrap().to_str().unwrap().to_owned();
    metadata.number = name[..6].parse().unwrap();
    writer.add_table(0, 0, &FileSource::Written(table), Some(metadata)).unwrap();
    writer.finish().unwrap();
    name
}

/// A table without its tail does not say any more that it was ingested; its entries keep their number.
#[test]
fn a_table_without_properties_keeps_its_sequence_number() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let name = ingested(&path, 77);
    let all = contents(&Database::open(&path).unwrap());
    assert!(all.iter().all(|it| it.3 == 77));
    let damaged = Damaged::copy_of(&path);
    let bytes = damaged.bytes(&name);
    damaged.write(&name, &bytes[..bytes.len() / 2]);
    let (report, db) = damaged.salvage(false, &name);
    let found = contents(&db);
    assert!(found.is_subset(&all), "{:?}", found.first());
    assert!(found.len() > 100 && report.has_losses(), "{}", found.len());
}
