//! A large database in three levels.

use std::path::Path;

use sstkit_db::{DatabaseWriter, DatabaseWriterOptions, FileSource};
use sstkit_table::raw::{Codec, EntryKind, InternalKey};
use sstkit_table::{TableOptions, TableWriter};
use sstkit_testkit::random::mix;

type Failure = Box<dyn std::error::Error>;

/// The tables of RocksDB have 64 MiB by default.
const FILE_SIZE: u64 = 64 << 20;
const VALUE_SIZE: u64 = 1000;
const KEY_SIZE: u64 = 16;
/// Shares of the data in hundredths, from the first level on.
const LEVELS: [(u32, u64); 3] = [(1, 1), (2, 9), (3, 90)];

/// Writes about this many bytes.
pub(super) fn make(path: &Path, bytes: u64) -> Result<(), Failure> {
    let mut writer = DatabaseWriter::create(path, DatabaseWriterOptions::rocksdb())?;
    let entries = bytes / (KEY_SIZE + VALUE_SIZE);
    let options =
        TableOptions::rocksdb().compression(Codec::None).filter("bloomfilter:10".parse()?);
    let mut value = vec![0; VALUE_SIZE as usize];
    for (level, share) in LEVELS {
        let count = (entries * share / 100).max(1);
        // All levels have the same key range.
        let stride = 100 / share;
        let in_file = FILE_SIZE / (KEY_SIZE + VALUE_SIZE);
        for first in (0..count).step_by(in_file as usize) {
            let target = writer.new_table_path();
            let mut table = TableWriter::create(&target, &writer.table_options(0, &options)?)?;
            for number in first..(first + in_file).min(count) {
                // Ascending, and other keys in each level.
                let key = (((number * stride) << 8) | u64::from(level)).to_be_bytes();
                let user_key = [key, mix(number).to_be_bytes()].concat();
                value[..8].copy_from_slice(&mix(number).to_be_bytes());
                let sequence = u64::from(4 - level);
                let key = InternalKey { user_key: &user_key, sequence, kind: EntryKind::Value };
                table.add(&key, &value)?;
            }
            table.finish()?;
            writer.add_table(0, level, &FileSource::Written(target), None)?;
        }
    }
    writer.finish()?;
    Ok(())
}
