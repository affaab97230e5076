//! Tests of [`sstkit_table::Table`] over the golden tables: files that LevelDB and RocksDB wrote.

#[cfg(feature = "async")]
mod async_table;
mod bounded_time;
mod cached_scans;
mod cases;
mod combining;
mod counting_source;
mod damage;
mod explain;
mod fast_path;
mod filters;
mod golden;
mod handmade;
mod large_blocks;
mod orders;
mod ranges;
mod read_options;
mod remote;
mod reopened;
mod secondary_cache;
mod sources;
mod table_maker;
mod threads;
mod verify_properties;
mod verify_threads;
mod visibility;
mod whole_file;
