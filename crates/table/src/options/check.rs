//! Which settings contradict each other. Numbers out of range are refused by the group they are in.

use sstkit_coding::checksum::ChecksumType;
use sstkit_filter::{Destination, FilterPolicy};

use super::defaults::{DEFAULT_BLOCK_SIZE_DEVIATION, DEFAULT_MAX_COMPRESSED_BYTES_PER_KB};
use super::{Identity, IndexShortening, TableOptions};
use crate::compatibility::TableFeature;
use crate::error::{Error, Result};
use crate::raw::{Codec, Engine, FormatVersion, IndexKind};

impl TableOptions {
    /// Refuses settings that contradict each other, naming both.
    pub(crate) fn check(&self) -> Result<()> {
        self.blocks.check()?;
        self.index.check()?;
        self.compression.check()?;
        self.format.check()?;
        self.properties.check(self.is_of_rocksdb6())?;
        self.check_hashing()?;
        match self.engine {
            Engine::RocksDb => self.check_rocksdb()?,
            Engine::LevelDb => self.check_leveldb()?,
        }
        self.check_readers()
    }

    /// Whether the version of RocksDB that must read the table can.
    fn check_readers(&self) -> Result<()> {
        let Some(version) = self.readable_by else { return Ok(()) };
        let unread = |(_, feature): &(String, TableFeature)| !feature.is_read_by(version);
        let Some((setting, feature)) = self.features().into_iter().find(unread) else {
            return Ok(());
        };
        let readers = match (feature.since(), feature.dropped_in()) {
            (None, _) => "no RocksDB reads it".into(),
            (_, Some(dropped)) if version >= dropped => {
                format!("RocksDB before {dropped} reads it")
            }
            (Some(since), _) => format!("RocksDB {since} and later reads it"),
        };
        let wanted = format!("readable_by = RocksDB {version}");
        Err(contradiction(&format!("{setting} ({readers})"), &wanted))
    }

    /// If different bytes can be the same key, their hashes differ, and a key that exists would not
    /// be found.
    fn check_hashing(&self) -> Result<()> {
        if self.comparator.equal_means_same_bytes() {
            return Ok(());
        }
        let comparator =
            format!("comparator = {}, whose equal_means_same_bytes is false", self.comparator);
        let Self { blocks, index, filter, .. } = self;
        for (set, name) in [
            (!filter.is_off(), &*format!("filter = {}", filter.policy.name())),
            (blocks.hash_index, "data_block_hash_index"),
            (index.kind == IndexKind::HashSearch, &*format!("index_kind = {}", index.kind)),
        ] {
            if set {
                return Err(contradiction(name, &comparator));
            }
        }
        Ok(())
    }

    fn check_rocksdb(&self) -> Result<()> {
        let Self { format, blocks, index, filter, compression, .. } = self;
        let (version, codec) = (format.version, compression.codec);
        refuse(matches!(codec, Codec::Xpress | Codec::ZstdNotFinal), || {
            format!("compression = {codec} cannot be written")
        })?;
        let is_leveldb_filter = matches!(filter.policy, FilterPolicy::LevelDb { .. });
        let block_based = filter.is_block_based();
        let filter_name = &*format!("filter = {}", filter.policy);
        let hash_search = index.kind == IndexKind::HashSearch;
        let index_kind = &*format!("index_kind = {}", index.kind);
        for (wrong, one, other) in [
            (blocks.bare_keys, "bare_keys", "a RocksDB table"),
            (
                blocks.align && codec != Codec::None,
                "block_align",
                &*format!("compression = {codec}"),
            ),
            (
                blocks.align && !blocks.size.is_power_of_two(),
                "block_align",
                &*format!("block_size = {}, not a power of two", blocks.size),
            ),
            (
                blocks.embedded_blobs.is_some() && version < FormatVersion::V7,
                "embedded_blobs",
                &*format!("format_version = {version}, below 7"),
            ),
            (hash_search && filter.prefix_extractor.is_none(), index_kind, "no prefix_extractor"),
            (
                hash_search && index.restart_interval != 1,
                index_kind,
                &*format!("index_block_restart_interval = {}", index.restart_interval),
            ),
            (
                filter.partitioned && index.kind != IndexKind::TwoLevel,
                "partition_filters",
                index_kind,
            ),
            (is_leveldb_filter, filter_name, "a RocksDB table"),
            (
                block_based && version > FormatVersion::V5,
                filter_name,
                &*format!("format_version = {version}, above 5"),
            ),
            (block_based && filter.partitioned, filter_name, "partition_filters"),
            (
                block_based && blocks.super_block_alignment_size != 0,
                filter_name,
                "super_block_alignment_size",
            ),
            (
                version == FormatVersion::V0 && format.checksum != ChecksumType::Crc32c,
                "format_version = 0",
                &*format!("checksum = {}", format.checksum),
            ),
        ] {
            if wrong {
                return Err(contradiction(one, other));
            }
        }
        Ok(())
    }

    fn check_leveldb(&self) -> Result<()> {
        let Self { format, blocks, index, filter, compression, properties, .. } = self;
        let codec = compression.codec;
        let has_codec = matches!(codec, Codec::None | Codec::Snappy | Codec::Zstd);
        let has_filter = filter.is_off() || filter.policy.block_builder().is_ok();
        let shortening = IndexShortening::SeparatorsAndSuccessor;
        let kb = compression.max_compressed_bytes_per_kb;
        for (wrong, name) in [
            (format.version != FormatVersion::V0, &*format!("format_version = {}", format.version)),
            (format.checksum != ChecksumType::Crc32c, &*format!("checksum = {}", format.checksum)),
            (!has_codec, &*format!("compression = {codec}")),
            (!has_filter, &*format!("filter = {}", filter.policy.name())),
            (!blocks.use_delta_encoding, "use_delta_encoding = false"),
            (blocks.hash_index, "data_block_hash_index"),
            (blocks.separate_key_value, "separate_key_value_in_data_block"),
            (blocks.align, "block_align"),
            (blocks.size_deviation != DEFAULT_BLOCK_SIZE_DEVIATION, "block_size_deviation"),
            (blocks.super_block_alignment_size != 0, "super_block_alignment_size"),
            (blocks.embedded_blobs.is_some(), "embedded_blobs"),
            (index.kind != IndexKind::BinarySearch, "index_kind"),
            (index.shortening != shortening, "index_shortening"),
            (index.restart_interval != 1, "index_block_restart_interval"),
            (index.uniform_cv_threshold.is_some(), "uniform_cv_threshold"),
            (!index.compression, "enable_index_compression = false"),
            (filter.partitioned, "partition_filters"),
            (filter.optimize_for_memory.is_some(), "optimize_filters_for_memory"),
            (filter.destination != Destination::Unknown, "destination"),
            (filter.prefix_extractor.is_some(), "prefix_extractor"),
            (!filter.whole_key_filtering, "whole_key_filtering = false"),
            (kb != DEFAULT_MAX_COMPRESSED_BYTES_PER_KB, "max_compressed_bytes_per_kb"),
            (compression.max_dict_bytes > 0, "max_dict_bytes"),
            (properties.merge_operator.is_some(), "merge_operator"),
            (properties.column_family.is_some(), "column_family"),
            (!properties.user_properties.is_empty(), "user_property"),
            (!properties.collectors.is_empty(), "property_collector"),
            (properties.identity != Identity::default(), "identity"),
            (format.context_seed != 0, "context_seed"),
            (format.base_context_checksum.is_some(), "base_context_checksum"),
            (self.comparator.timestamp_size() > 0, "comparator with timestamps"),
        ] {
            if wrong {
                return Err(contradiction(name, "a LevelDB table"));
            }
        }
        Ok(())
    }
}

pub(super) fn refuse(wrong: bool, what: impl FnOnce() -> String) -> Result<()> {
    if wrong { Err(Error::invalid_input(what())) } else { Ok(()) }
}

fn contradiction(one: &str, other: &str) -> Error {
    Error::invalid_input(format!("{one} contradicts {other}"))
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;
    use std::sync::Arc;

    use sstkit_filter::UsableSize;

    use super::*;
    use crate::comparator::{Comparator, KeyOrder};

    /// Letters without regard to case.
    #[derive(Debug)]
    struct IgnoreCase;

    impl KeyOrder for IgnoreCase {
        fn name(&self) -> &str {
            "test.IgnoreCase"
        }

        fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
            a.to_ascii_lowercase().cmp(&b.to_ascii_lowercase())
        }

        fn equal_means_same_bytes(&self) -> bool {
            false
        }
    }

    fn message(options: &TableOptions) -> String {
        options.check().unwrap_err().to_string()
    }

    #[test]
    fn the_defaults_are_sound() {
        TableOptions::rocksdb().check().unwrap();
        TableOptions::leveldb().check().unwrap();
    }

    #[test]
    fn contradictions_name_both_settings() {
        let rocksdb = TableOptions::rocksdb;
        for (options, one, other) in [
            (rocksdb().block_align(true), "block_align", "compression = LZ4"),
            (
                rocksdb().block_align(true).compression(Codec::None).block_size(5000),
                "block_align",
                "block_size = 5000",
            ),
            (rocksdb().index_kind(IndexKind::HashSearch), "kHashSearch", "prefix_extractor"),
            (rocksdb().partition_filters(true), "partition_filters", "kBinarySearch"),
            (
                rocksdb().embedded_blobs(100).format_version(FormatVersion::V6),
                "embedded_blobs",
                "format_version = 6",
            ),
            (
                rocksdb().filter("leveldb.BuiltinBloomFilter2:10".parse().unwrap()),
                "leveldb.BuiltinBloomFilter2",
                "RocksDB",
            ),
            (
                rocksdb().filter("bloomfilter:10:true".parse().unwrap()),
                "bloomfilter:10:true",
                "format_version = 7",
            ),
            (
                rocksdb().format_version(FormatVersion::V0).checksum(ChecksumType::Xxh3),
                "format_version = 0",
                "checksum = kXXH3",
            ),
            (
                TableOptions::leveldb().filter("bloomfilter:10".parse().unwrap()),
                "bloomfilter",
                "LevelDB",
            ),
            (TableOptions::leveldb().compression(Codec::Lz4), "LZ4", "LevelDB"),
            (TableOptions::leveldb().max_dict_bytes(1), "max_dict_bytes", "LevelDB"),
        ] {
            let message = message(&options);
            assert!(message.contains(one) && message.contains(other), "{message}");
        }
    }

    #[test]
    fn keys_of_several_spellings_are_not_hashed() {
        let order = || Comparator::User(Arc::new(IgnoreCase));
        let rocksdb = || TableOptions::rocksdb().comparator(order());
        let leveldb = || TableOptions::leveldb().comparator(order());
        rocksdb().check().unwrap();
        leveldb().check().unwrap();
        for (options, setting) in [
            (rocksdb().filter("bloomfilter:10".parse().unwrap()), "filter = bloomfilter"),
            (rocksdb().filter("ribbonfilter:10".parse().unwrap()), "filter = ribbonfilter"),
            (
                leveldb().filter("leveldb.BuiltinBloomFilter2:10".parse().unwrap()),
                "filter = leveldb.BuiltinBloomFilter2",
            ),
            (rocksdb().data_block_hash_index(true), "data_block_hash_index"),
            (rocksdb().index_kind(IndexKind::HashSearch), "index_kind = kHashSearch"),
        ] {
            let message = message(&options);
            let both = message.contains(setting) && message.contains("test.IgnoreCase");
            assert!(both && message.contains("equal_means_same_bytes"), "{message}");
        }
    }

    #[test]
    fn leveldb_refuses_what_it_has_no_place_for() {
        let leveldb = TableOptions::leveldb;
        let allocator = UsableSize::Custom(|size| size);
        let identity = Identity { file_number: 2, ..Identity::default() };
        for (options, setting) in [
            (leveldb().block_size_deviation(0), "block_size_deviation"),
            (leveldb().enable_index_compression(false), "enable_index_compression"),
            (leveldb().max_compressed_bytes_per_kb(1000), "max_compressed_bytes_per_kb"),
            (leveldb().optimize_filters_for_memory(allocator), "optimize_filters_for_memory"),
            (leveldb().destination(Destination::Flush), "destination"),
            (leveldb().property_collector("test.Collector"), "property_collector"),
            (leveldb().identity(identity), "identity"),
            (leveldb().context_seed(1), "context_seed"),
            (leveldb().base_context_checksum(1), "base_context_checksum"),
        ] {
            let message = message(&options);
            assert!(message.contains(setting) && message.contains("LevelDB"), "{message}");
        }
        leveldb().threads(4).external_file(false).check().unwrap();
    }

    #[test]
    fn numbers_out_of_range_are_named() {
        for (options, name) in [
            (TableOptions::rocksdb().block_size(0), "block_size"),
            (TableOptions::rocksdb().block_restart_interval(0), "block_restart_interval"),
            (TableOptions::rocksdb().threads(0), "threads"),
            (TableOptions::rocksdb().data_block_hash_table_util_ratio(f64::NAN), "util_ratio"),
            (TableOptions::rocksdb().base_context_checksum(0), "base_context_checksum"),
            (TableOptions::rocksdb().super_block_alignment_size(3), "super_block_alignment_size"),
            (TableOptions::rocksdb().user_property("rocksdb.num.entries", "1"), "num.entries"),
        ] {
            assert!(message(&options).contains(name));
        }
    }
}
