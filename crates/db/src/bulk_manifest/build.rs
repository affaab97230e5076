//! The manifest of new tables.

use std::path::Path;

use sstkit_filter::FilterPolicy;
use sstkit_table::raw::{Engine, property_names};
use sstkit_table::{Comparator, Table, TableReadOptions};

use super::{BulkManifest, CHECKSUM_FUNCTION, ManifestFile, ManifestOptions, VERSION};
use crate::error::Result;
use crate::output::SetOptions;

impl BulkManifest {
    /// A manifest of files in order; checks the order.
    pub(crate) fn new(files: Vec<ManifestFile>, comparator: &Comparator) -> Result<Self> {
        let sum = |of: fn(&ManifestFile) -> u64| files.iter().map(of).sum();
        let manifest = Self {
            version: VERSION,
            tool: concat!("sstkit ", env!("CARGO_PKG_VERSION")).into(),
            comparator: comparator.name().into_owned(),
            non_overlapping: true,
            checksum_function: CHECKSUM_FUNCTION.into(),
            entries: sum(|file| file.entries),
            range_deletions: sum(|file| file.range_deletions),
            bytes: sum(|file| file.bytes),
            plan: None,
            part: None,
            attempt: None,
            options: ManifestOptions::new(),
            files,
        };
        manifest.check_order(comparator)?;
        Ok(manifest)
    }

    /// Adds the settings of the tables, and properties of the one in this file.
    pub(crate) fn describe(&mut self, file: &Path, options: &SetOptions) -> Result<()> {
        let SetOptions { table: settings, comparator, .. } = options;
        let mut describe = |name: &str, value: String| self.options.insert(name.into(), value);
        let engine = match settings.engine() {
            Engine::RocksDb => "rocksdb",
            Engine::LevelDb => "leveldb",
        };
        describe("engine", engine.into());
        for (name, value) in settings.settings() {
            describe(name, value);
        }
        let options = TableReadOptions::default().comparator(comparator.clone()).no_block_cache();
        let table = Table::open_with(file, &options)?;
        for name in [
            property_names::FILTER_POLICY,
            property_names::COMPRESSION,
            property_names::COMPRESSION_OPTIONS,
            property_names::PREFIX_EXTRACTOR_NAME,
            property_names::MERGE_OPERATOR,
            property_names::COLUMN_FAMILY_NAME,
        ] {
            if let Some(value) = table.properties().get(name) {
                describe(name, value.escape_ascii().to_string());
            }
        }
        Ok(())
    }

    /// Replaces what is said about the filter.
    pub(crate) fn describe_filter(&mut self, policy: &FilterPolicy) {
        self.options.insert("filter_policy".into(), policy.to_string());
        match policy.name() {
            "" => self.options.remove(property_names::FILTER_POLICY),
            name => self.options.insert(property_names::FILTER_POLICY.into(), name.into()),
        };
    }
}
