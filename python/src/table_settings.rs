//! How tables are written, from keyword arguments with the names of the command's options.

use std::io;
use std::thread::available_parallelism;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use sstkit_filter::{BitsPerKey, Destination, FilterPolicy, UsableSize};
use sstkit_inspect::setting_names::{self as names, Compression};
use sstkit_table::raw::{Engine, IndexKind};
use sstkit_table::{Comparator, RocksDbVersion, TableOptions, TableWriter};

use crate::errors::{Failure, Outcome};
use crate::settings::{Settings, one_of};

/// The oldest RocksDB that reads the tables, unless another one is given: format version 5.
const READABLE_BY: RocksDbVersion = RocksDbVersion::new(8, 0);

/// Bits per key of the filter, unless another one is given.
const BITS_PER_KEY: u16 = 10;

/// How tables are written.
#[derive(Clone, Debug)]
pub(crate) struct TableSettings {
    pub(crate) table: TableOptions,
    pub(crate) engine: Engine,
    pub(crate) comparator: Comparator,
    pub(crate) compression_level: Option<i32>,
    pub(crate) threads: usize,
}

impl TableSettings {
    /// Takes all arguments; none may be left.
    pub(crate) fn new(given: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let mut settings = Settings::new(given);
        let it = Self::take(&mut settings)?;
        settings.finish()?;
        it.check()?;
        Ok(it)
    }

    fn take(from: &mut Settings<'_>) -> PyResult<Self> {
        let engines = [("rocksdb", Engine::RocksDb), ("leveldb", Engine::LevelDb)];
        let engine = from.parse("engine", |text| one_of("engine", text, &engines))?;
        let engine = engine.unwrap_or(Engine::RocksDb);
        let threads = from.take::<usize>("threads")?.filter(|&threads| threads > 0);
        let threads = threads.unwrap_or_else(|| available_parallelism().map_or(1, usize::from));
        let comparator = from.parse("comparator", names::comparator)?;
        let comparator = comparator.unwrap_or(Comparator::Bytewise);
        let compression = from.parse("compression", str::parse::<Compression>)?;
        let mut table = match engine {
            Engine::RocksDb => {
                rocksdb(from)?.filter(FilterPolicy::Bloom(BitsPerKey::new(BITS_PER_KEY.into())))
            }
            Engine::LevelDb => {
                TableOptions::leveldb().filter(FilterPolicy::LevelDb { bits_per_key: BITS_PER_KEY })
            }
        };
        table = table.threads(threads).comparator(comparator.clone());
        if let Some(policy) = from.parse("filter", names::filter)? {
            table = table.filter(match engine {
                Engine::RocksDb => policy,
                Engine::LevelDb => names::leveldb_filter(&policy).ok_or_else(|| {
                    Failure::invalid(format!("LevelDB tables do not support {policy}"))
                })?,
            });
        }
        if let Some(compression) = compression {
            table = table.compression(compression.codec);
        }
        let compression_level = compression.and_then(|compression| compression.level);
        if let Some(level) = compression_level {
            table = table.compression_level(level);
        }
        if let Some(bytes) = from.take("block_size")? {
            table = table.block_size(bytes);
        }
        if let Some(entries) = from.take("restart_interval")? {
            table = table.block_restart_interval(entries);
        }
        Ok(Self { table, engine, comparator, compression_level, threads })
    }

    /// Reports contradictions before anything is written.
    fn check(&self) -> Outcome<()> {
        TableWriter::to_sink(io::sink(), &self.table)?;
        Ok(())
    }
}

/// What only RocksDB has.
fn rocksdb(from: &mut Settings<'_>) -> PyResult<TableOptions> {
    let mut table = TableOptions::rocksdb();
    let format_version = from.parse("format_version", names::format_version)?;
    let readable_by = from.parse("readable_by", str::parse::<RocksDbVersion>)?;
    if let Some(version) = readable_by.or(format_version.is_none().then_some(READABLE_BY)) {
        table = table.readable_by(version);
    }
    if let Some(version) = format_version {
        table = table.format_version(version);
    }
    if let Some(checksum) = from.parse("checksum", names::checksum)? {
        table = table.checksum(checksum);
    }
    let partitioned = from.take("partition_filters")?.unwrap_or(false);
    let index = from.parse("index", names::index)?;
    if let Some(index) = index.or(partitioned.then_some(IndexKind::TwoLevel)) {
        table = table.index_kind(index);
    }
    table = table.partition_filters(partitioned);
    if let Some(extractor) = from.parse("prefix_extractor", names::prefix_extractor)? {
        table = table.prefix_extractor(extractor);
    }
    if let Some(on) = from.take("whole_key_filtering")? {
        table = table.whole_key_filtering(on);
    }
    if from.take("optimize_filters_for_memory")?.unwrap_or(false) {
        table = table.optimize_filters_for_memory(UsableSize::Jemalloc);
    }
    if let Some(on) = from.take("data_block_hash_index")? {
        table = table.data_block_hash_index(on);
    }
    if let Some(bytes) = from.take("metadata_block_size")? {
        table = table.metadata_block_size(bytes);
    }
    if let Some(bytes) = from.take("max_dict_bytes")? {
        table = table.max_dict_bytes(bytes);
    }
    if let Some(bytes) = from.take("zstd_max_train_bytes")? {
        table = table.zstd_max_train_bytes(bytes);
    }
    if let Some(bytes) = from.take("max_dict_buffer_bytes")? {
        table = table.max_dict_buffer_bytes(bytes);
    }
    if let Some(level) = from.take("level")? {
        table = table.destination(Destination::Level(level));
    }
    Ok(table)
}
