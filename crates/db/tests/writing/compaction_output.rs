//! Compactions whose output is not a file.

use std::path::Path;

use sstkit_db::{
    Compaction, CompactionOptions, CompactionOutput, Database, Error, ErrorKind, Result,
};
use sstkit_table::raw::InternalKey;
use sstkit_table::{RangeTombstone, Table, TableOptions, TableWriter};

type Stored = (Vec<u8>, u64, u8, Vec<u8>);

/// Keeps everything, and fails after a number of entries.
#[derive(Default)]
struct Collected {
    entries: Vec<Stored>,
    tombstones: Vec<RangeTombstone>,
    fails_after: Option<usize>,
}

impl CompactionOutput for Collected {
    fn entry(&mut self, key: &InternalKey<'_>, value: &[u8]) -> Result<()> {
        assert!(self.tombstones.is_empty(), "range tombstones come after the entries");
        if self.fails_after == Some(self.entries.len()) {
            return Err(Error::invalid_input("enough"));
        }
        let &InternalKey { user_key, sequence, kind } = key;
        self.entries.push((user_key.to_vec(), sequence, kind as u8, value.to_vec()));
        Ok(())
    }

    fn range_tombstone(&mut self, tombstone: &RangeTombstone) -> Result<()> {
        self.tombstones.push(tombstone.clone());
        Ok(())
    }
}

fn stored(table: &Table) -> (Vec<Stored>, Vec<RangeTombstone>) {
    let entries = table.entries().map(|entry| {
        let entry = entry.unwrap();
        (entry.user_key, entry.sequence, entry.kind as u8, entry.value.to_vec())
    });
    (entries.collect(), table.range_deletions().to_vec())
}

/// Of all levels of a golden database.
fn compaction(name: &str) -> Compaction {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/databases");
    let database = Database::open(folder.join(name)).unwrap();
    let options = CompactionOptions::new(TableOptions::rocksdb().external_file(false));
    let mut compaction = Compaction::new(&options);
    compaction.add_column_family(&database.default_column_family(), ..).unwrap();
    compaction
}

/// What an output gets is what is in the file, with range tombstones and deletions.
#[test]
fn an_output_gets_what_a_file_would() {
    let folder = tempfile::tempdir().unwrap();
    let mut tombstones = 0;
    for name in ["rocksdb-range-deletes", "rocksdb-single-deletes", "rocksdb-merge-uint64add"] {
        let compaction = compaction(name);
        let path = folder.path().join(name);
        let summary = compaction.run(&path).unwrap();
        let expected = stored(&Table::open(&path).unwrap());

        let mut collected = Collected::default();
        let counts = compaction.run_to(&mut collected).unwrap();
        assert_eq!(counts, summary.counts, "{name}");
        assert!(collected.entries == expected.0, "{name}");
        assert!(collected.tombstones == expected.1, "{name}");
        tombstones += expected.1.len();

        // A table in memory.
        let options = TableOptions::rocksdb().external_file(false);
        let mut writer = TableWriter::to_sink(Vec::new(), &options).unwrap();
        compaction.run_to(&mut writer).unwrap();
        let (_, bytes) = writer.finish_sink().unwrap();
        let table = Table::from_bytes(bytes).unwrap();
        assert!(table.verify().is_sound(), "{name}");
        assert!(stored(&table) == expected, "{name}");
    }
    assert!(tombstones > 0);
}

#[test]
fn the_error_of_the_output_ends_it() {
    let compaction = compaction("rocksdb-range-deletes");
    let mut collected = Collected { fails_after: Some(3), ..Collected::default() };
    let error = compaction.run_to(&mut collected).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert_eq!((collected.entries.len(), collected.tombstones.len()), (3, 0));
}
