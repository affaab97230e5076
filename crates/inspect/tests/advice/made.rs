//! Databases with known filters.

use std::path::Path;

use sstkit_db::{
    ColumnFamilyDescriptor, Database, DatabaseOptions, DatabaseWriter, DatabaseWriterOptions,
    FileSource,
};
use sstkit_table::raw::{Engine, EntryKind, FormatVersion, InternalKey};
use sstkit_table::{TableOptions, TableWriter};
use sstkit_testkit::random::mix;

/// A level: its number, sorted runs (1, except in level 0), files of each and keys of each file.
#[derive(Clone, Copy)]
pub(crate) struct MadeLevel {
    pub(crate) level: u32,
    pub(crate) runs: u64,
    pub(crate) files: u64,
    pub(crate) keys: u64,
    pub(crate) policy: &'static str,
}

/// A database.
#[derive(Clone)]
pub(crate) struct Made {
    pub(crate) name: &'static str,
    pub(crate) engine: Engine,
    pub(crate) families: Vec<Vec<MadeLevel>>,
    pub(crate) format_version: FormatVersion,
    pub(crate) prefix: Option<&'static str>,
    pub(crate) whole_keys: bool,
    pub(crate) partitioned: bool,
    /// Filter partitions end where those of the index do.
    pub(crate) coupled: bool,
    pub(crate) block_size: usize,
    /// Every second key is in all runs that have as many keys.
    pub(crate) rewritten: bool,
    /// The keys of level 0 are in an eighth of the key space.
    pub(crate) narrow: bool,
}

pub(crate) fn level(
    level: u32,
    runs: u64,
    files: u64,
    keys: u64,
    policy: &'static str,
) -> MadeLevel {
    MadeLevel { level, runs, files, keys, policy }
}

impl Made {
    pub(crate) fn new(name: &'static str, levels: &[MadeLevel]) -> Self {
        Self {
            name,
            engine: Engine::RocksDb,
            families: vec![levels.to_vec()],
            format_version: FormatVersion::V5,
            prefix: None,
            whole_keys: true,
            partitioned: false,
            coupled: false,
            block_size: 4096,
            rewritten: false,
            narrow: false,
        }
    }

    fn options(&self, policy: &str) -> TableOptions {
        let policy = policy.parse().unwrap();
        if self.engine == Engine::LevelDb {
            return TableOptions::leveldb().filter(policy).block_size(self.block_size);
        }
        let mut options = TableOptions::rocksdb()
            .filter(policy)
            .format_version(self.format_version)
            .block_size(self.block_size)
            .whole_key_filtering(self.whole_keys);
        if let Some(prefix) = self.prefix {
            options = options.prefix_extractor(prefix.parse().unwrap());
        }
        match self.partitioned {
            true => options
                .index_kind(sstkit_table::raw::IndexKind::TwoLevel)
                .partition_filters(true)
                .decouple_partitioned_filters(!self.coupled),
            false => options,
        }
    }

    /// Writes it.
    pub(crate) fn write(&self, path: &Path) {
        let options = match self.engine {
            Engine::RocksDb => DatabaseWriterOptions::rocksdb(),
            Engine::LevelDb => DatabaseWriterOptions::leveldb(),
        };
        let mut writer = DatabaseWriter::create(path, options).unwrap();
        for (number, levels) in self.families.iter().enumerate() {
            let name = if number == 0 { "default".into() } else { format!("family-{number}") };
            let mut descriptor = ColumnFamilyDescriptor::new(&name);
            if let Some(prefix) = self.prefix {
                let extractor: sstkit_filter::PrefixExtractor = prefix.parse().unwrap();
                descriptor = descriptor.option("prefix_extractor", &extractor.name());
            }
            let id = match self.engine {
                Engine::RocksDb => writer.column_family(descriptor).unwrap(),
                Engine::LevelDb => 0,
            };
            let mut sequence = 1000;
            // From the oldest, which has the smallest sequence numbers.
            for level in levels.iter().rev() {
                for run in 0..level.runs {
                    sequence += 1;
                    self.write_run(&mut writer, id, level, run, sequence);
                }
            }
            writer.set_last_sequence(sequence);
        }
        writer.finish().unwrap();
    }

    fn key(&self, level: u32, run: u64, number: u64) -> Vec<u8> {
        let is_shared = self.rewritten && number.is_multiple_of(2);
        let mut key = if is_shared { key(9, 0, number) } else { key(level, run, number) };
        if self.narrow && level == 0 {
            key[0] = b'b';
        }
        key
    }

    fn write_run(
        &self,
        writer: &mut DatabaseWriter,
        family: u32,
        level: &MadeLevel,
        run: u64,
        sequence: u64,
    ) {
        let count = level.files * level.keys;
        let mut keys: Vec<Vec<u8>> =
            (0..count).map(|number| self.key(level.level, run, number)).collect();
        keys.sort();
        for part in keys.chunks(level.keys as usize) {
            let target = writer.new_table_path();
            let options = writer.table_options(family, &self.options(level.policy)).unwrap();
            let mut table = TableWriter::create(&target, &options).unwrap();
            for user_key in part {
                let key = InternalKey { user_key, sequence, kind: EntryKind::Value };
                table.add(&key, &[7; 40]).unwrap();
            }
            table.finish().unwrap();
            let source = FileSource::Written(target);
            writer.add_table(family, level.level, &source, None).unwrap();
        }
    }
}

/// A key like a random one: four letters, a number, and where it is.
fn key(level: u32, run: u64, number: u64) -> Vec<u8> {
    let mixed = mix((number << 16) | (u64::from(level) << 8) | run);
    let letters: String =
        (0..4).map(|i| char::from(b'a' + ((mixed >> (8 * i)) & 7) as u8)).collect();
    format!("{letters}{mixed:016x}").into_bytes()
}

/// Opens a database, or a directory of tables.
pub(crate) fn open(path: &Path) -> Database {
    let options = DatabaseOptions::default();
    let folder = Database::open_folder_with(path, &options).unwrap();
    folder.unwrap_or_else(|| Database::open_with(path, &options).unwrap())
}
