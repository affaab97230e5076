//! Which versions of RocksDB must read the table.

use sstkit_coding::checksum::ChecksumType;

use super::TableOptions;
use crate::compatibility::{RocksDbVersion, TableFeature};
use crate::raw::{Codec, Engine, FormatVersion};

impl TableOptions {
    /// The oldest version of RocksDB that must read the table. Default: 10.4, which the default
    /// format version needs.
    ///
    /// Picks the newest format version and the default checksum that this version reads, unless they
    /// are set. Creating a writer fails if another setting contradicts it, and adding an entry fails
    /// if the version does not know its kind. A filter is no contradiction: a version that does not
    /// know its kind reads the table without it. For versions before 7.0 the table has the
    /// properties that RocksDB 6.20 wrote.
    ///
    /// ```
    /// use sstkit_table::{TableOptions, TableWriter};
    ///
    /// let options = TableOptions::rocksdb().readable_by("rocksdb-9.8".parse()?);
    /// let mut writer = TableWriter::to_sink(Vec::new(), &options)?;
    /// # writer.put(b"alice", b"1")?;
    /// # Ok::<(), sstkit_table::Error>(())
    /// ```
    #[must_use]
    pub fn readable_by(mut self, version: RocksDbVersion) -> Self {
        self.readable_by = Some(version);
        if self.engine == Engine::LevelDb {
            return self;
        }
        if !self.format.version_is_given {
            let reads =
                |format: &FormatVersion| TableFeature::FormatVersion(*format).is_read_by(version);
            let newest = FormatVersion::ALL.iter().copied().rev().find(reads);
            // If there is none, the check says so.
            self.format.version = newest.unwrap_or(FormatVersion::V0).min(self.format.version);
        }
        let checksum = TableFeature::Checksum(self.format.checksum);
        if !self.format.checksum_is_given && !checksum.is_read_by(version) {
            self.format.checksum = ChecksumType::Crc32c;
        }
        self
    }

    /// Features that not every version of RocksDB reads, with the names of the settings.
    pub(super) fn features(&self) -> Vec<(String, TableFeature)> {
        let mut features = vec![
            (
                format!("format_version = {}", self.format.version),
                TableFeature::FormatVersion(self.format.version),
            ),
            (
                format!("checksum = {}", self.format.checksum),
                TableFeature::Checksum(self.format.checksum),
            ),
            (format!("index_kind = {}", self.index.kind), TableFeature::Index(self.index.kind)),
        ];
        let codec = match (self.engine, self.compression.codec) {
            (Engine::LevelDb, Codec::Zstd) => TableFeature::LevelDbZstd,
            (_, codec) => TableFeature::Codec(codec),
        };
        features.push((format!("compression = {}", self.compression.codec), codec));
        let timestamps = self.comparator.timestamp_size() > 0;
        for (name, feature, set) in [
            ("data_block_hash_index", TableFeature::DataBlockHashIndex, self.blocks.hash_index),
            (
                "separate_key_value_in_data_block",
                TableFeature::SeparatedKeyValues,
                self.blocks.separate_key_value,
            ),
            (
                "uniform_cv_threshold",
                TableFeature::UniformIndexBlocks,
                self.index.uniform_cv_threshold.is_some(),
            ),
            ("embedded_blobs", TableFeature::EmbeddedBlobs, self.blocks.embedded_blobs.is_some()),
            ("comparator with timestamps", TableFeature::Timestamps, timestamps),
        ] {
            if set {
                features.push((name.into(), feature));
            }
        }
        features
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::IndexKind;

    fn readable_by(major: u32, minor: u32) -> TableOptions {
        TableOptions::rocksdb().readable_by(RocksDbVersion::new(major, minor))
    }

    #[test]
    fn the_newest_format_that_the_version_reads() {
        for (version, format, checksum) in [
            ((2, 8), FormatVersion::V0, ChecksumType::Crc32c),
            ((3, 9), FormatVersion::V1, ChecksumType::Crc32c),
            ((3, 10), FormatVersion::V2, ChecksumType::Crc32c),
            ((5, 15), FormatVersion::V3, ChecksumType::Crc32c),
            ((6, 5), FormatVersion::V4, ChecksumType::Crc32c),
            ((6, 26), FormatVersion::V5, ChecksumType::Crc32c),
            ((6, 27), FormatVersion::V5, ChecksumType::Xxh3),
            ((9, 8), FormatVersion::V6, ChecksumType::Xxh3),
            ((10, 4), FormatVersion::V7, ChecksumType::Xxh3),
            ((99, 0), FormatVersion::V7, ChecksumType::Xxh3),
        ] {
            let options = readable_by(version.0, version.1);
            assert_eq!((options.format.version, options.format.checksum), (format, checksum));
            options.check().unwrap();
        }
    }

    #[test]
    fn what_is_given_and_contradicts_the_version_is_named() {
        let message = |options: TableOptions| options.check().unwrap_err().to_string();
        let version = RocksDbVersion::new(9, 8);
        let seven = TableOptions::rocksdb().format_version(FormatVersion::V7);
        for (options, setting, since) in [
            (readable_by(9, 8).format_version(FormatVersion::V7), "format_version = 7", "10.4"),
            (seven.readable_by(version), "format_version = 7", "10.4"),
            (readable_by(6, 5).checksum(ChecksumType::Xxh3), "checksum = kXXH3", "6.27"),
            (readable_by(4, 0).compression(Codec::Zstd), "compression", "4.12"),
            (readable_by(4, 0).index_kind(IndexKind::TwoLevel), "index_kind", "5.2"),
            (readable_by(10, 4).separate_key_value_in_data_block(true), "separate_key", "11.0"),
            (readable_by(1, 4), "format_version = 0", "1.5"),
        ] {
            let message = message(options);
            assert!(message.contains(setting), "{message}");
            assert!(message.contains("readable_by") && message.contains(since), "{message}");
        }
        let leveldb = || TableOptions::leveldb();
        leveldb().readable_by(version).check().unwrap();
        let too_new = message(leveldb().readable_by(RocksDbVersion::new(11, 0)));
        assert!(too_new.contains("before 11.0"), "{too_new}");
        let zstd = message(leveldb().compression(Codec::Zstd).readable_by(version));
        assert!(zstd.contains("compression"), "{zstd}");
    }
}
