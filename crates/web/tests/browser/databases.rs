//! Databases to look at: a large one, and one with names that try to be markup.

use std::path::Path;

use sstkit_db::{ColumnFamilyDescriptor, DatabaseWriter, DatabaseWriterOptions, FileSource};
use sstkit_table::raw::{Codec, EntryKind, IndexKind, InternalKey};
use sstkit_table::{TableOptions, TableWriter};

/// Hostile names of keys and column families: markup, escapes, and characters that turn
/// text around.
pub(crate) const HOSTILE: [&str; 5] = [
    "<script>document.title='owned'</script>",
    "\"><img src=x onerror=\"document.title='owned'\">",
    "\u{202e}gnp.exe",
    "\u{1b}[31mred\u{7}",
    "';--&lt;b&gt;\u{0}",
];

/// The levels of the large database: number, tables, and keys of a table.
const LEVELS: [(u32, u64, u64); 4] =
    [(0, 5, 6_000), (1, 12, 12_000), (2, 140, 1_200), (3, 2_000, 220)];
/// Numbers of customers, each with at most one order.
const CUSTOMERS: u64 = 4_000_000;

/// Numbers that look random and are always the same.
struct Dice(u64);

impl Dice {
    /// A number below `limit`.
    fn roll(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// A database with two thousand tables in four levels.
pub(crate) fn large(path: &Path) {
    let tables = TableOptions::rocksdb().external_file(false);
    let tables = tables.filter("bloomfilter:10".parse().unwrap());
    let mut writer = DatabaseWriter::create(path, DatabaseWriterOptions::rocksdb()).unwrap();
    let options = writer.table_options(0, &tables).unwrap();
    let mut dice = Dice(7);
    let mut sequence = 0;
    // As an engine writes them: deeper levels, and older tables of level 0, have older entries.
    for (level, count, keys) in LEVELS.into_iter().rev() {
        let mut start = 0;
        for table in 0..count {
            // Level 0 has parts of the keys; the tables of other levels are side by side.
            let mean = CUSTOMERS / count;
            let (first, span) = match level {
                0 => (dice.roll(CUSTOMERS / 3), CUSTOMERS / 2),
                _ => {
                    (start, (mean / 2 + dice.roll(mean)).min((CUSTOMERS - start) / (count - table)))
                }
            };
            start = first + span;
            let keys = (keys / 3 + dice.roll(keys)).min(span / 3);
            let path = writer.new_table_path();
            let mut out = TableWriter::create(&path, &options).unwrap();
            let deleted = 3 + dice.roll(30);
            for at in 0..keys {
                let customer = first + at * span / keys;
                let key = format!("customer/{customer:08}/order");
                sequence += 1;
                let is_deleted = level < 3 && dice.roll(deleted) == 0;
                let kind = if is_deleted { EntryKind::Deletion } else { EntryKind::Value };
                let value = format!("{{\"customer\":{customer},\"amount\":{}}}", dice.roll(1_000));
                let value = if is_deleted { &[] } else { value.as_bytes() };
                out.add(&InternalKey { user_key: key.as_bytes(), sequence, kind }, value).unwrap();
            }
            out.finish().unwrap();
            writer.add_table(0, level, &FileSource::Written(path), None).unwrap();
        }
    }
    writer.set_last_sequence(sequence);
    writer.finish().unwrap();
}

/// A database whose column families, keys and values are [`HOSTILE`].
pub(crate) fn hostile(path: &Path) {
    let mut writer = DatabaseWriter::create(path, DatabaseWriterOptions::rocksdb()).unwrap();
    for name in HOSTILE {
        let id = writer.column_family(ColumnFamilyDescriptor::new(name)).unwrap();
        let options = writer.table_options(id, &TableOptions::rocksdb()).unwrap();
        add_hostile_table(&mut writer, id, &options);
    }
    let options = writer.table_options(0, &TableOptions::rocksdb()).unwrap();
    add_hostile_table(&mut writer, 0, &options);
    writer.finish().unwrap();
}

/// A database with a table in each of two column families: the default one and this one.
pub(crate) fn with_family(path: &Path, name: &str) {
    let mut writer = DatabaseWriter::create(path, DatabaseWriterOptions::rocksdb()).unwrap();
    let id = writer.column_family(ColumnFamilyDescriptor::new(name)).unwrap();
    for family in [0, id] {
        let options = writer.table_options(family, &TableOptions::rocksdb()).unwrap();
        add_hostile_table(&mut writer, family, &options);
    }
    writer.finish().unwrap();
}

/// A database without tables and writes.
pub(crate) fn empty(path: &Path) {
    DatabaseWriter::create(path, DatabaseWriterOptions::rocksdb()).unwrap().finish().unwrap();
}

/// A table with a filter of thousands of partitions.
pub(crate) fn many_partitions(path: &Path) {
    let options = TableOptions::rocksdb().filter("bloomfilter:10".parse().unwrap());
    let options = options.partition_filters(true).decouple_partitioned_filters(true);
    let options = options.index_kind(IndexKind::TwoLevel).metadata_block_size(64);
    let mut table = TableWriter::create(path, &options).unwrap();
    for key in 0..120_000 {
        table.put(format!("{key:08}").as_bytes(), b"").unwrap();
    }
    table.finish().unwrap();
}

/// A table of one block that is longer than what a report has of it.
pub(crate) fn long_block(path: &Path) {
    let options = TableOptions::rocksdb().compression(Codec::None).block_size(1 << 20);
    let mut table = TableWriter::create(path, &options).unwrap();
    for key in 0..1_000 {
        table.put(format!("{key:08}").as_bytes(), &[7; 50]).unwrap();
    }
    table.finish().unwrap();
}

fn add_hostile_table(writer: &mut DatabaseWriter, family: u32, options: &TableOptions) {
    let path = writer.new_table_path();
    let mut table = TableWriter::create(&path, options).unwrap();
    let mut keys = HOSTILE.map(str::as_bytes);
    keys.sort_unstable();
    for key in keys {
        table.put(key, key).unwrap();
    }
    table.finish().unwrap();
    writer.add_table(family, 6, &FileSource::Written(path), None).unwrap();
}
