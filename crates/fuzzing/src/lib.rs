//! What must hold for any bytes: the bodies of the fuzz targets.
//!
//! Each target takes bytes and panics if a promise is broken. `fuzz/` runs them with cargo-fuzz for
//! as long as one likes; the tests of this crate run the same bodies on stable Rust, over the same
//! seeds and a bounded number of mutations of them.
//!
//! | target | what | besides: no panic, no unbounded allocation, an end |
//! |---|---|---|
//! | [`footer`], [`properties`], [`metaindex`], [`wide_columns`], [`blob_index`] | one decoder | what was read can be written, and is then the same |
//! | [`block`], [`index`], [`filter_partitions`] | blocks of entries | no more entries than bytes; no block is named twice |
//! | [`leveldb_filter_block`], [`rocksdb_filter_block`], [`legacy_bloom`], [`fast_local_bloom`], [`ribbon`] | filters | all ways to probe give one answer |
//! | [`snappy`], [`zlib`], [`bzip2`], [`lz4`], [`zstd`] | decompression | never more than allowed |
//! | [`log`], [`write_batch`], [`manifest`], [`options_file`], [`blob_file`], [`backup_meta`] | files of a database | what was read once can be looked up |
//! | [`whole_table()`] | all reads of a table | what is sound is the same from both ends, and every key is found |
//! | [`salvage_table`], [`salvage_database`] | what is left of it | the report counts what is saved; what is written is sound |
//! | [`database`] | a whole directory | what is sound is the same from both ends; batches answer as lookups do |
//! | [`model()`] | random settings and entries, written and read | equal to a `BTreeMap`; after damage an error, or the same |

#![forbid(unsafe_code)]

mod concatenate;
mod directory;
mod model;
mod mutation;
mod salvage;
mod sealing;
mod seeds;
mod small_databases;
mod targets;
mod whole_table;

pub use directory::database;
pub use model::model;
pub use mutation::mutate;
pub use salvage::{salvage_database, salvage_table};
pub use sstkit_testkit::Random;
pub use targets::codecs::{bzip2, lz4, snappy, zlib, zstd};
pub use targets::database_parts::{
    backup_meta, blob_file, log, manifest, options_file, write_batch,
};
pub use targets::filters::{
    fast_local_bloom, legacy_bloom, leveldb_filter_block, ribbon, rocksdb_filter_block,
};
pub use targets::table_parts::{block, filter_partitions, footer, index, metaindex, properties};
pub use targets::values::{blob_index, wide_columns};
pub use whole_table::whole_table;

/// One fuzz target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name of the target, and of its binary.
    pub name: &'static str,
    /// Panics if a promise is broken.
    pub run: fn(&[u8]),
    /// Inputs to start from.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

macro_rules! targets {
    ($($run:ident from $seeds:ident,)+) => {
        &[$(Target { name: stringify!($run), run: $run, seeds: seeds::$seeds }),+]
    };
}

/// All targets, the small ones first.
pub const TARGETS: &[Target] = targets! {
    footer from footers,
    block from data_blocks,
    index from indexes,
    filter_partitions from filter_partitions,
    properties from properties,
    metaindex from metaindexes,
    wide_columns from wide_columns,
    blob_index from blob_indexes,
    leveldb_filter_block from filter_blocks,
    rocksdb_filter_block from filter_blocks,
    legacy_bloom from legacy_blooms,
    fast_local_bloom from fast_local_blooms,
    ribbon from ribbons,
    snappy from snappy,
    zlib from zlib,
    bzip2 from bzip2,
    lz4 from lz4,
    zstd from zstd,
    log from logs,
    write_batch from write_batches,
    manifest from manifests,
    options_file from options_files,
    blob_file from blob_files,
    backup_meta from backup_metas,
    database from databases,
    whole_table from tables,
    salvage_table from tables,
    salvage_database from databases,
    model from drawings,
};
