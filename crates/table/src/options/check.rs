//! Which settings cannot be together.

use sstkit_coding::checksum::ChecksumType;
use sstkit_filter::{BuildContext, Destination, FilterPolicy};

use super::defaults::{DEFAULT_BLOCK_SIZE_DEVIATION, DEFAULT_MAX_COMPRESSED_BYTES_PER_KB};
use super::{Identity, IndexShortening, TableOptions};
use crate::compatibility::TableFeature;
use crate::error::{Error, Result};
use crate::raw::{Codec, Engine, FormatVersion, IndexKind, property_names};

/// RocksDB counts offsets in blocks with 32 bits.
const MAX_BLOCK_SIZE: usize = u32::MAX as usize;
/// RocksDB refuses more padding than a quarter.
const MIN_OVERHEAD_RATIO: u64 = 4;

impl TableOptions {
    /// Refuses settings that contradict each other, naming both.
    pub(crate) fn check(&self) -> Result<()> {
        self.check_numbers()?;
        self.check_properties()?;
        self.check_hashing()?;
        match self.engine {
            Engine::RocksDb => self.check_rocksdb()?,
            Engine::LevelDb => self.check_leveldb()?,
        }
        self.check_readers()
    }

    /// Whether the version of RocksDB that is to read the table can.
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
        Err(Error::invalid_input(contradiction(&format!("{setting} ({readers})"), &wanted)))
    }

    fn check_numbers(&self) -> Result<()> {
        refuse(self.block_size == 0 || self.block_size > MAX_BLOCK_SIZE, || {
            format!("block_size = {} is not between 1 and 4 GiB", self.block_size)
        })?;
        refuse(self.block_size_deviation > 100, || {
            format!("block_size_deviation = {} is more than 100 percent", self.block_size_deviation)
        })?;
        for (name, value) in [
            ("block_restart_interval", self.block_restart_interval),
            ("index_block_restart_interval", self.index_block_restart_interval),
            ("metadata_block_size", self.metadata_block_size),
            ("threads", self.threads),
        ] {
            refuse(value == 0, || format!("{name} = 0"))?;
        }
        let ratio = self.data_block_hash_table_util_ratio;
        refuse(!(ratio > 0.0 && ratio.is_finite()), || {
            format!("data_block_hash_table_util_ratio = {ratio} is not above 0")
        })?;
        refuse(self.base_context_checksum == Some(0), || {
            "base_context_checksum = 0 is reserved for files without context checksums".into()
        })?;
        let size = self.super_block_alignment_size;
        refuse(size != 0 && (!size.is_power_of_two() || size > MAX_BLOCK_SIZE as u64), || {
            format!("super_block_alignment_size = {size} is not a power of two below 4 GiB")
        })?;
        let ratio = self.super_block_alignment_space_overhead_ratio;
        refuse(ratio != 0 && ratio < MIN_OVERHEAD_RATIO, || {
            format!("super_block_alignment_space_overhead_ratio = {ratio} must be 0, or 4 or more")
        })
    }

    fn check_properties(&self) -> Result<()> {
        for (name, _) in &self.user_properties {
            refuse(property_names::encoding(name).is_some(), || {
                format!("user_property \"{}\" is a name reserved by RocksDB", name.escape_ascii())
            })?;
        }
        let session = &self.identity.session_id;
        refuse(!session.is_empty() && session.len() != 20, || {
            format!("session_id = {session:?} does not have 20 digits")
        })
    }

    /// Where other bytes may be the same key, a hash of them finds nothing: a key that is there
    /// would be reported as missing.
    fn check_hashing(&self) -> Result<()> {
        if self.comparator.equal_means_same_bytes() {
            return Ok(());
        }
        let comparator =
            format!("comparator = {}, whose equal_means_same_bytes is false", self.comparator);
        let filter = format!("filter = {}", self.filter.name());
        let index = format!("index_kind = {}", self.index_kind);
        for (name, set) in [
            (filter.as_str(), !matches!(self.filter, FilterPolicy::None | FilterPolicy::ReadOnly)),
            ("data_block_hash_index", self.data_block_hash_index),
            (index.as_str(), self.index_kind == IndexKind::HashSearch),
        ] {
            refuse(set, || contradiction(name, &comparator))?;
        }
        Ok(())
    }

    fn check_rocksdb(&self) -> Result<()> {
        let version = self.format_version;
        refuse(version < FormatVersion::V2, || {
            format!("format_version = {version} cannot be written (only 2 to 7)")
        })?;
        refuse(self.bare_keys, || contradiction("bare_keys", "a RocksDB table"))?;
        refuse(matches!(self.compression, Codec::Xpress | Codec::ZstdNotFinal), || {
            format!("compression = {} cannot be written", self.compression)
        })?;
        refuse(self.block_align && self.compression != Codec::None, || {
            contradiction("block_align", &format!("compression = {}", self.compression))
        })?;
        refuse(self.block_align && !self.block_size.is_power_of_two(), || {
            let block_size = format!("block_size = {}, not a power of two", self.block_size);
            contradiction("block_align", &block_size)
        })?;
        refuse(self.embedded_blobs.is_some() && version < FormatVersion::V7, || {
            contradiction("embedded_blobs", &format!("format_version = {version}, below 7"))
        })?;
        let index = format!("index_kind = {}", self.index_kind);
        if self.index_kind == IndexKind::HashSearch {
            refuse(self.prefix_extractor.is_none(), || {
                contradiction(&index, "no prefix_extractor")
            })?;
            refuse(self.index_block_restart_interval != 1, || {
                let interval = self.index_block_restart_interval;
                contradiction(&index, &format!("index_block_restart_interval = {interval}"))
            })?;
        }
        refuse(self.partition_filters && self.index_kind != IndexKind::TwoLevel, || {
            contradiction("partition_filters", &index)
        })?;
        let has_builder = self.filter.builder(&BuildContext::default()).is_some();
        refuse(!has_builder && self.filter.block_builder().is_some(), || {
            contradiction(&format!("filter = {}", self.filter.name()), "a RocksDB table")
        })
    }

    fn check_leveldb(&self) -> Result<()> {
        let other = |setting: &str| contradiction(setting, "a LevelDB table");
        refuse(self.format_version != FormatVersion::V0, || {
            other(&format!("format_version = {}", self.format_version))
        })?;
        refuse(self.checksum != ChecksumType::Crc32c, || {
            other(&format!("checksum = {}", self.checksum))
        })?;
        refuse(!matches!(self.compression, Codec::None | Codec::Snappy | Codec::Zstd), || {
            other(&format!("compression = {}", self.compression))
        })?;
        let block_filter = self.filter.block_builder().is_some()
            || matches!(self.filter, FilterPolicy::None | FilterPolicy::ReadOnly);
        refuse(!block_filter, || other(&format!("filter = {}", self.filter.name())))?;
        let kb = self.max_compressed_bytes_per_kb;
        for (name, set) in [
            ("use_delta_encoding = false", !self.use_delta_encoding),
            ("data_block_hash_index", self.data_block_hash_index),
            ("separate_key_value_in_data_block", self.separate_key_value_in_data_block),
            ("block_align", self.block_align),
            ("block_size_deviation", self.block_size_deviation != DEFAULT_BLOCK_SIZE_DEVIATION),
            ("super_block_alignment_size", self.super_block_alignment_size != 0),
            ("embedded_blobs", self.embedded_blobs.is_some()),
            ("index_kind", self.index_kind != IndexKind::BinarySearch),
            ("index_shortening", self.index_shortening != IndexShortening::SeparatorsAndSuccessor),
            ("index_block_restart_interval", self.index_block_restart_interval != 1),
            ("uniform_cv_threshold", self.uniform_cv_threshold.is_some()),
            ("enable_index_compression = false", !self.enable_index_compression),
            ("partition_filters", self.partition_filters),
            ("optimize_filters_for_memory", self.optimize_filters_for_memory.is_some()),
            ("destination", self.destination != Destination::Unknown),
            ("prefix_extractor", self.prefix_extractor.is_some()),
            ("whole_key_filtering = false", !self.whole_key_filtering),
            ("max_compressed_bytes_per_kb", kb != DEFAULT_MAX_COMPRESSED_BYTES_PER_KB),
            ("max_dict_bytes", self.max_dict_bytes > 0),
            ("merge_operator", self.merge_operator.is_some()),
            ("column_family", self.column_family.is_some()),
            ("user_property", !self.user_properties.is_empty()),
            ("property_collector", !self.property_collectors.is_empty()),
            ("identity", self.identity != Identity::default()),
            ("context_seed", self.context_seed != 0),
            ("base_context_checksum", self.base_context_checksum.is_some()),
            ("comparator with timestamps", self.comparator.timestamp_size() > 0),
        ] {
            refuse(set, || other(name))?;
        }
        Ok(())
    }
}

fn refuse(wrong: bool, what: impl FnOnce() -> String) -> Result<()> {
    if wrong { Err(Error::invalid_input(what())) } else { Ok(()) }
}

fn contradiction(one: &str, other: &str) -> String {
    format!("{one} contradicts {other}")
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
            (TableOptions::rocksdb().format_version(FormatVersion::V1), "format_version = 1"),
            (TableOptions::rocksdb().base_context_checksum(0), "base_context_checksum"),
            (TableOptions::rocksdb().super_block_alignment_size(3), "super_block_alignment_size"),
            (TableOptions::rocksdb().user_property("rocksdb.num.entries", "1"), "num.entries"),
        ] {
            assert!(message(&options).contains(name));
        }
    }
}
