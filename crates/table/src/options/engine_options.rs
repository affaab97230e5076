//! The same settings as options of RocksDB, in the form of its OPTIONS files.

use sstkit_filter::FilterPolicy;

use super::TableOptions;
use crate::raw::{Codec, Engine, IndexKind};

/// Names of options and their values.
type Options = Vec<(&'static str, String)>;

impl TableOptions {
    /// The options of a column family, and those of its block-based tables, with which RocksDB writes
    /// tables like these. Settings that a LevelDB table has in common with them are among them.
    ///
    /// ```
    /// use sstkit_table::TableOptions;
    ///
    /// let options = TableOptions::rocksdb().filter("bloomfilter:10".parse()?);
    /// let (of_family, of_tables) = options.rocksdb_options();
    /// assert!(of_family.contains(&("compression", "kLZ4Compression".into())));
    /// assert!(of_tables.contains(&("filter_policy", "bloomfilter:10:false".into())));
    /// # Ok::<(), sstkit_filter::Error>(())
    /// ```
    pub fn rocksdb_options(&self) -> (Options, Options) {
        let mut of_family = vec![("compression", compression(self.compression.codec).into())];
        if let Some(extractor) = &self.filter.prefix_extractor {
            of_family.push(("prefix_extractor", extractor.name().into_owned()));
        }
        if let Some(operator) = &self.properties.merge_operator {
            of_family.push(("merge_operator", operator.clone()));
        }
        let mut of_tables = vec![
            ("block_size", self.blocks.size.to_string()),
            ("block_restart_interval", self.blocks.restart_interval.to_string()),
            ("whole_key_filtering", self.filter.whole_key_filtering.to_string()),
        ];
        of_tables
            .extend(filter_policy(&self.filter.policy).map(|policy| ("filter_policy", policy)));
        if self.engine == Engine::RocksDb {
            of_tables.push(("format_version", self.format.version.number().to_string()));
            of_tables.push(("checksum", self.format.checksum.to_string()));
            of_tables.push(("index_type", index_type(self.index.kind).into()));
            of_tables.push(("metadata_block_size", self.index.metadata_block_size.to_string()));
            of_tables.push(("partition_filters", self.filter.partitioned.to_string()));
            let data_index = match self.blocks.hash_index {
                true => "kDataBlockBinaryAndHash",
                false => "kDataBlockBinarySearch",
            };
            of_tables.push(("data_block_index_type", data_index.into()));
        }
        (of_family, of_tables)
    }
}

fn compression(codec: Codec) -> &'static str {
    match codec {
        Codec::None => "kNoCompression",
        Codec::Snappy => "kSnappyCompression",
        Codec::Zlib => "kZlibCompression",
        Codec::Bzip2 => "kBZip2Compression",
        Codec::Lz4 => "kLZ4Compression",
        Codec::Lz4hc => "kLZ4HCCompression",
        Codec::Xpress => "kXpressCompression",
        Codec::Zstd => "kZSTD",
        Codec::ZstdNotFinal => "kZSTDNotFinalCompression",
    }
}

fn index_type(kind: IndexKind) -> &'static str {
    match kind {
        IndexKind::BinarySearch => "kBinarySearch",
        IndexKind::HashSearch => "kHashSearch",
        IndexKind::TwoLevel => "kTwoLevelIndexSearch",
        IndexKind::BinarySearchWithFirstKey => "kBinarySearchWithFirstKey",
    }
}

/// `None` if RocksDB has no such policy.
fn filter_policy(policy: &FilterPolicy) -> Option<String> {
    match policy {
        FilterPolicy::None => Some("nullptr".into()),
        FilterPolicy::ReadOnly | FilterPolicy::User(_) => None,
        // The flag once chose filters for each block.
        FilterPolicy::Bloom(bits) => Some(format!("bloomfilter:{bits}:false")),
        FilterPolicy::LevelDb { bits_per_key } => Some(format!("bloomfilter:{bits_per_key}:false")),
        policy => Some(policy.to_string()),
    }
}
