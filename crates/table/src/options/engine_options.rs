//! The same settings as options of RocksDB, in the form of its OPTIONS files, and back.

use std::str::FromStr;

use sstkit_coding::checksum::ChecksumType;
use sstkit_filter::{BuildContext, FilterPolicy};

use super::TableOptions;
use crate::raw::{Codec, Engine, FormatVersion, IndexKind};

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
            of_tables.push(("index_type", self.index.kind.name().into()));
            of_tables.push(("metadata_block_size", self.index.metadata_block_size.to_string()));
            of_tables.push(("partition_filters", self.filter.partitioned.to_string()));
            let data_index = match self.blocks.hash_index {
                true => BINARY_AND_HASH,
                false => BINARY_SEARCH,
            };
            of_tables.push(("data_block_index_type", data_index.into()));
        }
        (of_family, of_tables)
    }

    /// The settings with an option of a column family, or of its block-based tables, in the form of
    /// RocksDB's OPTIONS files. Options without a setting here, and values that cannot be written, have
    /// no effect.
    ///
    /// An older [version that must read the table](Self::readable_by) takes precedence over its format
    /// version and checksum.
    ///
    /// ```
    /// use sstkit_table::TableOptions;
    ///
    /// let options = TableOptions::rocksdb()
    ///     .rocksdb_option("compression", "kZSTD")
    ///     .rocksdb_option("filter_policy", "ribbonfilter:10:0");
    /// let (of_family, _) = options.rocksdb_options();
    /// assert!(of_family.contains(&("compression", "kZSTD".into())));
    /// ```
    #[must_use]
    pub fn rocksdb_option(mut self, name: &str, value: &str) -> Self {
        match name {
            "compression" => {
                let mut codecs = Codec::ALL.iter().copied();
                let written = |it: Codec| !matches!(it, Codec::Xpress | Codec::ZstdNotFinal);
                let codec = codecs.find(|&it| compression(it) == value && written(it));
                set(&mut self.compression.codec, codec);
            }
            "prefix_extractor" => {
                // Others are the user's, who has to pass them.
                if let Ok(extractor) = value.parse() {
                    self.filter.prefix_extractor = Some(extractor);
                }
            }
            "block_size" => set(&mut self.blocks.size, positive(value)),
            "block_restart_interval" => set(&mut self.blocks.restart_interval, positive(value)),
            "whole_key_filtering" => set(&mut self.filter.whole_key_filtering, parsed(value)),
            "filter_policy" => set(&mut self.filter.policy, buildable(value)),
            "format_version" => {
                let version = parsed(value).and_then(FormatVersion::from_number);
                set(&mut self.format.version, version.map(|it| it.max(FormatVersion::V2)));
            }
            "checksum" => set(&mut self.format.checksum, ChecksumType::from_name(value)),
            "index_type" => set(&mut self.index.kind, IndexKind::from_name(value)),
            "metadata_block_size" => set(&mut self.index.metadata_block_size, positive(value)),
            "partition_filters" => set(&mut self.filter.partitioned, parsed(value)),
            "data_block_index_type" => {
                let kinds = [(BINARY_AND_HASH, true), (BINARY_SEARCH, false)];
                let kind = kinds.into_iter().find(|(name, _)| *name == value);
                set(&mut self.blocks.hash_index, kind.map(|(_, hash_index)| hash_index));
            }
            _ => {}
        }
        self
    }

    /// The settings without those that RocksDB ignores because of others.
    #[must_use]
    pub fn without_ignored_options(mut self) -> Self {
        if self.index.kind == IndexKind::HashSearch && self.filter.prefix_extractor.is_none() {
            self.index.kind = IndexKind::BinarySearch;
        }
        if self.index.kind != IndexKind::TwoLevel {
            self.filter.partitioned = false;
        }
        self
    }
}

const BINARY_SEARCH: &str = "kDataBlockBinarySearch";
const BINARY_AND_HASH: &str = "kDataBlockBinaryAndHash";

fn set<T>(setting: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *setting = value;
    }
}

fn parsed<T: FromStr>(value: &str) -> Option<T> {
    value.parse().ok()
}

fn positive(value: &str) -> Option<usize> {
    parsed(value).filter(|&number| number > 0)
}

/// A policy that builds filters, or none. Older versions of RocksDB wrote the name of a policy
/// without its bits per key. Since 7.0 a block-based filter is not built, but a full one.
fn buildable(value: &str) -> Option<FilterPolicy> {
    let policy = match parsed(value)? {
        FilterPolicy::BlockBasedBloom(bits) => FilterPolicy::Bloom(bits),
        policy => policy,
    };
    let is_built = policy.builder(&BuildContext::default()).is_ok();
    (is_built || matches!(policy, FilterPolicy::None)).then_some(policy)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read_back(options: &TableOptions) -> TableOptions {
        let (of_family, of_tables) = options.rocksdb_options();
        let all = of_family.into_iter().chain(of_tables);
        all.fold(TableOptions::rocksdb(), |options, (name, value)| {
            options.rocksdb_option(name, &value)
        })
    }

    #[test]
    fn options_and_back() {
        let default = TableOptions::rocksdb;
        for options in [
            default(),
            default().compression(Codec::Zstd).filter("ribbonfilter:9.9:2".parse().unwrap()),
            default().compression(Codec::None).prefix_extractor("fixed:8".parse().unwrap()),
            default().index_kind(IndexKind::TwoLevel).partition_filters(true).block_size(777),
            default().checksum(ChecksumType::Crc32c).format_version(FormatVersion::V4),
            default().data_block_hash_index(true).block_restart_interval(3),
            default().filter("bloomfilter:6.5".parse().unwrap()).whole_key_filtering(false),
        ] {
            assert_eq!(read_back(&options).rocksdb_options(), options.rocksdb_options());
        }
    }

    #[test]
    fn values_that_cannot_be_written_have_no_effect() {
        let mut options = TableOptions::rocksdb().filter("bloomfilter:7".parse().unwrap());
        let before = options.rocksdb_options();
        for (name, value) in [
            ("compression", "kXpressCompression"),
            ("compression", "kDisableCompressionOption"),
            ("filter_policy", "rocksdb.BuiltinBloomFilter"),
            ("filter_policy", "mine:10"),
            ("block_size", "0"),
            ("block_size", "-1"),
            ("format_version", "99"),
            ("prefix_extractor", "nullptr"),
            ("write_buffer_size", "1"),
        ] {
            options = options.rocksdb_option(name, value);
            assert_eq!(options.rocksdb_options(), before, "{name}={value}");
        }
        let options = options
            .rocksdb_option("index_type", "kHashSearch")
            .rocksdb_option("partition_filters", "true")
            .rocksdb_option("format_version", "0")
            .without_ignored_options();
        options.check().unwrap();
        assert_eq!(options.format.version, FormatVersion::V2);
    }

    #[test]
    fn a_version_that_must_read_the_table_takes_precedence() {
        let version = "6.5".parse().unwrap();
        let options = TableOptions::rocksdb()
            .rocksdb_option("format_version", "7")
            .rocksdb_option("checksum", "kXXH3");
        options.readable_by(version).check().unwrap();
        let old = TableOptions::rocksdb().rocksdb_option("format_version", "3");
        assert_eq!(old.readable_by(version).format.version, FormatVersion::V3);
    }
}
