//! Salvaging any bytes.

use bytes::Bytes;
use sstkit_db::{Database, DatabaseSalvage, DatabaseSalvageOptions};
use sstkit_table::{SalvageOptions, Table, TableReadOptions, TableSalvage, TableWriter};

use crate::directory::{decode, temporary_folder, write};
use crate::sealing::seal_footer;

/// What a block may decompress to here.
const MAX_BLOCK_SIZE: usize = 1 << 20;

/// No bytes make salvaging panic; what is saved is what the report counts, and a table that is written
/// of it is sound.
pub fn salvage_table(data: &[u8]) {
    let sealed = seal_footer(data, data.len() as u64);
    for bytes in [data.to_vec(), sealed] {
        let mut options = SalvageOptions::default();
        options.max_block_size = MAX_BLOCK_SIZE;
        if let Ok(salvage) = TableSalvage::from_source(Bytes::from(bytes), &options) {
            use_salvage(&salvage);
        }
    }
}

fn use_salvage(salvage: &TableSalvage) {
    let mut count = 0;
    let read = salvage.for_each(|_, _| {
        count += 1;
        Ok(())
    });
    read.expect("what was found is read again");
    let report = salvage.report();
    assert_eq!(count, report.entries + report.range_tombstones, "{report:?}");
    if count == 0 {
        return;
    }
    let mut bytes = Vec::new();
    let Ok(mut writer) = TableWriter::to_sink(&mut bytes, &salvage.table_options()) else { return };
    // Entries that no engine writes are refused.
    if salvage.write_to(&mut writer).and_then(|()| writer.finish()).is_err() {
        return;
    }
    let mut options = TableReadOptions::default();
    if let Some(comparator) = salvage.comparator() {
        options = options.comparator(comparator.clone());
    }
    let table = Table::from_source(Bytes::from(bytes), &options).expect("a table");
    let found = table.verify();
    assert!(found.is_sound() || salvage.comparator().is_none(), "{:?}", found.problems());
}

/// No directory makes salvaging panic, and a database that is written of it opens and is sound.
pub fn salvage_database(data: &[u8]) {
    let folder = temporary_folder();
    let (source, target) = (folder.path().join("source"), folder.path().join("target"));
    std::fs::create_dir(&source).expect("a folder");
    write(&source, &decode(data));
    let past_damage = data.first().is_some_and(|byte| byte & 1 == 1);
    let options = DatabaseSalvageOptions::default().past_damage(past_damage);
    let Ok(salvage) = DatabaseSalvage::open(&source, &options) else { return };
    if salvage.write_database(&target).is_ok() {
        let database = Database::open(&target).expect("a database");
        database.verify(|file| assert!(file.is_sound(), "{:?}", file.problems));
    }
}
