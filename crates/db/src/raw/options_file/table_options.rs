//! How RocksDB writes the tables of a column family, by its OPTIONS.

use sstkit_table::TableOptions;

use super::{BLOCK_BASED_TABLE, COLUMN_FAMILY, OptionValue, OptionsFile, OptionsSection};

/// RocksDB's default.
const DEFAULT_NUM_LEVELS: u32 = 7;
/// The value of `bottommost_compression` if the last level has no codec of its own.
const SAME_AS_OTHERS: &str = "kDisableCompressionOption";

impl OptionsFile {
    /// `base` with what the file says about the tables of a level of a column family: compression,
    /// filter policy, block size and others. Values that are not known have no effect.
    ///
    /// ```
    /// use sstkit_db::raw::OptionsFile;
    /// use sstkit_table::TableOptions;
    ///
    /// let file = OptionsFile::parse(r#"
    ///     [DBOptions]
    ///     [CFOptions "default"]
    ///       compression=kLZ4Compression
    ///       bottommost_compression=kZSTD
    ///     [TableOptions/BlockBasedTable "default"]
    ///       filter_policy=ribbonfilter:10:0
    /// "#)?;
    /// let options = file.table_options("default", 6, TableOptions::rocksdb());
    /// let (of_family, _) = options.rocksdb_options();
    /// assert!(of_family.contains(&("compression", "kZSTD".into())));
    /// # Ok::<(), sstkit_db::Error>(())
    /// ```
    pub fn table_options(
        &self,
        column_family: &str,
        level: u32,
        base: TableOptions,
    ) -> TableOptions {
        let mut options = base;
        for kind in [COLUMN_FAMILY, BLOCK_BASED_TABLE] {
            let section = self.section(kind, Some(column_family));
            for (name, value) in section.into_iter().flat_map(OptionsSection::stored) {
                options = options.rocksdb_option(name, value);
            }
        }
        if let Some(codec) = self.compression_of_level(column_family, level) {
            options = options.rocksdb_option("compression", &codec);
        }
        options.without_ignored_options()
    }

    /// The codec that is set for a level, if it is not that of all levels.
    fn compression_of_level(&self, column_family: &str, level: u32) -> Option<String> {
        let family = self.column_family(column_family);
        let text = |value: &OptionValue| value.as_text().map(str::to_owned);
        let last = family.num_levels().unwrap_or(DEFAULT_NUM_LEVELS).saturating_sub(1);
        let bottommost = family.get("bottommost_compression").and_then(text);
        if let Some(codec) = bottommost.filter(|it| level >= last && it != SAME_AS_OTHERS) {
            return Some(codec);
        }
        let per_level = family.get("compression_per_level")?.items();
        per_level.get(level as usize).or(per_level.last()).and_then(text)
    }
}
