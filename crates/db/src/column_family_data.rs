//! The data of one column family, as of opening the database.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use sstkit_coding::striped::StripedCounters;
use sstkit_filter::{PrefixExtractor, Registry};
use sstkit_table::raw::{BlobIndex, property_names};
use sstkit_table::visibility::UserKeys;
use sstkit_table::{
    BlockCache, Comparator, KeyForm, MergeOperator, Table, TableReadOptions, Value,
};

use crate::error::{Error, ErrorKind, Result};
use crate::file_system;
use crate::files::{Files, OpenBlobFile};
use crate::memtable::Memtable;
use crate::merge_operators::{Description, MergeOperators};
use crate::raw::{BlobFileMetaData, FileName};
use crate::ttl::Ttl;
use crate::version::{TableFile, Version};

/// The default column family of RocksDB, and the only one of LevelDB.
pub(crate) const DEFAULT_NUM_LEVELS: u32 = 7;

pub struct ColumnFamilyData {
    pub(crate) id: u32,
    pub(crate) name: String,
    pub(crate) settings: FamilySettings,
    pub(crate) keys: UserKeys,
    pub(crate) memtable: Arc<Memtable>,
    pub(crate) version: Version,
    pub(crate) blobs: BlobFiles,
    pub(crate) files: Arc<Files>,
    pub(crate) lookups: StripedCounters<1>,
    pub(crate) merging: OnceLock<Merging>,
    /// The same entries in a known order, if the comparator is unknown. Built on first use.
    pub(crate) ordered: OnceLock<Arc<ColumnFamilyData>>,
    /// Tables and logs that could not be read completely, if no MANIFEST tells what they contain.
    pub(crate) left_out: Vec<LeftOut>,
}

sstkit_coding::debug_opaque!(ColumnFamilyData);

/// A table that is not read, or a log that is not read completely, and why.
#[derive(Clone, Debug)]
pub(crate) struct LeftOut {
    kind: ErrorKind,
    reason: String,
}

impl LeftOut {
    /// The reason.
    pub(crate) fn new(error: &Error) -> Self {
        Self { kind: error.kind(), reason: error.to_string() }
    }
}

#[derive(Clone)]
pub(crate) struct BlobFiles {
    /// The directories to search.
    pub(crate) folders: Vec<PathBuf>,
    /// The paths of files that are elsewhere, by number.
    pub(crate) placed: Option<Arc<BTreeMap<u64, PathBuf>>>,
    /// Live ones, by number; `None` without a MANIFEST.
    pub(crate) live: Option<BTreeMap<u64, BlobFileMetaData>>,
}

impl BlobFiles {
    /// Where a blob file may be: at least one place.
    pub(crate) fn paths(&self, number: u64) -> Vec<PathBuf> {
        if let Some(path) = self.placed.as_ref().and_then(|placed| placed.get(&number)) {
            return vec![path.clone()];
        }
        let name = FileName::Blob(number).to_string();
        self.folders.iter().map(|folder| folder.join(&name)).collect()
    }

    /// Where a blob file is, or should be.
    pub(crate) fn path(&self, number: u64) -> PathBuf {
        let paths = self.paths(number);
        let found = paths.iter().find(|path| file_system::exists(path)).or(paths.first());
        found.cloned().unwrap_or_default()
    }
}

/// How merge operands are combined.
pub(crate) struct Merging {
    pub(crate) operator: Option<Arc<dyn MergeOperator>>,
    /// The name in the database, if any.
    pub(crate) name: Option<String>,
}

/// The settings of a column family, from the options given and from OPTIONS.
#[derive(Clone)]
pub(crate) struct FamilySettings {
    pub(crate) comparator: Comparator,
    /// The name of the comparator, if it is unknown. `comparator` is then a substitute.
    pub(crate) unknown_order: Option<String>,
    /// The comparator that was given for it.
    pub(crate) given_order: Option<Comparator>,
    /// The memory limit for sorting keys if the comparator is unknown.
    pub(crate) max_unordered_memory: u64,
    pub(crate) merge_operators: MergeOperators,
    /// The operator given by the caller, which takes precedence over the files.
    pub(crate) given_merge_operator: Option<Arc<dyn MergeOperator>>,
    /// The operator in OPTIONS.
    pub(crate) merge_operator: Option<Description>,
    /// Values end with the time of their write.
    pub(crate) ttl: Option<Ttl>,
    pub(crate) prefix_extractor: Option<PrefixExtractor>,
    pub(crate) filter_policy: Option<String>,
    pub(crate) whole_key_filtering: bool,
    pub(crate) use_filters: bool,
    /// The last level has no filters, and none is probed there.
    pub(crate) optimize_filters_for_hits: bool,
    pub(crate) num_levels: u32,
    /// Whether keys have a kind and a sequence number: always in a database.
    pub(crate) key_form: KeyForm,
    pub(crate) registry: Registry,
    pub(crate) block_cache: BlockCache,
    pub(crate) cache_index_and_filter_blocks: bool,
    pub(crate) verify_checksums: bool,
    /// Counts what is read from tables.
    pub(crate) bytes_read: Option<Arc<AtomicU64>>,
    pub(crate) max_block_size: usize,
}

impl ColumnFamilyData {
    /// Fails if the order of the keys is not known for certain.
    pub(crate) fn require_order(&self) -> Result<()> {
        match &self.settings.unknown_order {
            None => Ok(()),
            Some(name) => Err(Error::unsupported(format!(
                "column family {:?} uses the unknown comparator {name:?}",
                self.name
            ))
            .in_file(self.files.directory().path())),
        }
    }

    /// Fails if tables or parts of logs were left out: a key that is not found may be in one of
    /// them.
    pub(crate) fn require_all_tables(&self) -> Result<()> {
        let Some(LeftOut { kind, reason }) = self.left_out.first() else { return Ok(()) };
        let count = self.left_out.len();
        Err(Error::new(
            *kind,
            format!(
                "not found, but {count} tables or logs of column family {:?} could not be read, \
                 and may contain it: {reason}",
                self.name
            ),
        )
        .in_file(self.files.directory().path()))
    }

    /// The merge operator: the one given, or the one in OPTIONS; without OPTIONS, the first one
    /// that a table names.
    pub(crate) fn merging(&self) -> &Merging {
        self.merging.get_or_init(|| {
            let settings = &self.settings;
            let description = settings.merge_operator.clone().or_else(|| {
                self.version.files().find_map(|file| {
                    let table = self.table(file).ok()?;
                    let name = table.properties().get(property_names::MERGE_OPERATOR)?;
                    Description::parse(&String::from_utf8_lossy(name))
                })
            });
            let named = description.as_ref().and_then(|it| settings.merge_operators.find(it));
            Merging {
                operator: settings.given_merge_operator.clone().or(named),
                name: description.map(|description| description.id),
            }
        })
    }

    /// An open table of this column family.
    pub(crate) fn table(&self, file: &TableFile) -> Result<Table> {
        self.with_table(file, |table| Ok(table.clone()))
    }

    /// Uses a table of this column family, without incrementing a reference count.
    #[inline]
    pub(crate) fn with_table<T>(
        &self,
        file: &TableFile,
        then: impl FnOnce(&Table) -> Result<T>,
    ) -> Result<T> {
        self.files.with_table(file, || self.table_options(file), then)
    }

    /// Opens the same table once more.
    pub(crate) fn open_table(&self, file: &TableFile) -> Result<Table> {
        self.files.open_table(file, &self.table_options(file))
    }

    fn table_options(&self, file: &TableFile) -> TableReadOptions {
        let settings = &self.settings;
        // A lookup that reaches the last level is expected to find the key there.
        let is_for_hits = settings.optimize_filters_for_hits && self.version.is_oldest(file);
        let order = match &settings.unknown_order {
            None => TableReadOptions::default().comparator(settings.comparator.clone()),
            Some(name) => TableReadOptions::default().unknown_order(name),
        };
        let mut options = order
            .registry(settings.registry.clone())
            .key_form(settings.key_form)
            .block_cache(&settings.block_cache)
            .cache_index_and_filter_blocks(settings.cache_index_and_filter_blocks)
            .verify_checksums(settings.verify_checksums)
            .max_block_size(settings.max_block_size)
            .whole_key_filtering(settings.whole_key_filtering)
            .use_filters(settings.use_filters && !is_for_hits)
            .level(file.level, settings.num_levels)
            .tickers(&file.tickers);
        if let Some(counter) = &settings.bytes_read {
            options = options.count_bytes_read(counter);
        }
        if let Some(extractor) = &settings.prefix_extractor {
            options = options.prefix_extractor(extractor.clone());
        }
        if let Some(sequence) = file.meta.largest_sequence {
            options = options.global_sequence_number(sequence);
        }
        options
    }

    /// The size of the timestamp that keys of this column family have and keys of `table` lack.
    #[inline]
    pub(crate) fn missing_timestamp(&self, table: &Table) -> usize {
        match self.keys.timestamp_size() {
            0 => 0,
            _ if table.properties().has_persisted_timestamps() => 0,
            size => size,
        }
    }

    /// The value that a blob index in an entry of `user_key` (as stored) refers to, in a blob file.
    /// `file` is the table of the entry.
    pub(crate) fn stored_blob(
        &self,
        index: &BlobIndex<'_>,
        user_key: &[u8],
        file: Option<&TableFile>,
    ) -> Result<Value> {
        match (*index, file) {
            (BlobIndex::Stored { file: number @ 1.., .. }, file) => {
                self.blob_file(number, file)?.get(user_key, index)
            }
            (_, Some(file)) => Ok(self.table(file)?.embedded_blob(index)?),
            (_, None) => Err(Error::corrupt(
                "a log entry refers to an embedded blob, which only tables have",
            )),
        }
    }

    /// The blob file that an entry of `file` refers to. Tables refer to live blob files only;
    /// entries of a log may refer to one that the MANIFEST does not list yet.
    pub(crate) fn blob_file(
        &self,
        number: u64,
        file: Option<&TableFile>,
    ) -> Result<Arc<OpenBlobFile>> {
        let live = &self.blobs.live;
        let is_listed = live.as_ref().is_none_or(|live| live.contains_key(&number));
        if let (false, Some(file)) = (is_listed, file) {
            return Err(Error::corrupt(format!(
                "table {} refers to blob file {number}, which column family {:?} does not have",
                file.meta.number, self.name
            ))
            .in_file(self.files.directory().path()));
        }
        self.files.blob_file(number, self.id, is_listed, || self.blobs.paths(number))
    }

    /// What the MANIFEST says about a live blob file, if it lists it.
    pub(crate) fn listed_blob_file(&self, number: u64) -> Option<&BlobFileMetaData> {
        self.blobs.live.as_ref()?.get(&number)
    }
}
