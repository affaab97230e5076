//! The settings of column families: from the options given, the MANIFEST and OPTIONS.
//!
//! | | first | then | then |
//! |---|---|---|---|
//! | comparator | MANIFEST | tables, where there is no MANIFEST | OPTIONS |
//! | merge operator | given | OPTIONS | tables |
//! | prefix extractor | given | OPTIONS | each table's own |
//! | time to live | given | OPTIONS | |

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use sstkit_table::raw::Engine;
use sstkit_table::{BlockCache, Comparator, KeyForm};

use super::database_options::{DEFAULT_MAX_LOG_MEMORY, DatabaseOptions};
use super::folders;
use crate::caveat::{Caveat, CaveatKind};
use crate::column_family_data::{DEFAULT_NUM_LEVELS, FamilySettings};
use crate::directory;
use crate::error::{Error, Result};
use crate::file_system;
use crate::files::table_paths;
use crate::merge_operators::Description;
use crate::raw::{FileMetaData, FileName, OptionsFile};
use crate::ttl::Ttl;

/// The maximum size of an OPTIONS file. They have some kilobytes for each column family.
pub(crate) const MAX_OPTIONS_SIZE: u64 = 64 << 20;

/// What is known besides the MANIFEST.
pub(crate) struct Settings<'a> {
    pub(crate) options: &'a DatabaseOptions,
    pub(crate) file: OptionsFile,
    cache: BlockCache,
    /// Directories that were found beside that of the database, with tables that it does not have.
    pub(super) found_folders: Vec<PathBuf>,
}

impl<'a> Settings<'a> {
    /// Reads the newest OPTIONS file of a directory, if any. An invalid one is ignored.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be read from disk: it may name a directory of logs or a merge operator.
    pub(crate) fn read(
        options: &'a DatabaseOptions,
        files: &[(FileName, PathBuf)],
        caveats: &mut Vec<Caveat>,
    ) -> Result<Self> {
        let mut paths: Vec<_> = files
            .iter()
            .filter_map(|(name, path)| match name {
                FileName::Options(number) => Some((*number, path)),
                _ => None,
            })
            .collect();
        paths.sort();
        let mut file = None;
        for (_, path) in paths.into_iter().rev() {
            let contents = match file_system::read(path, MAX_OPTIONS_SIZE) {
                Ok(contents) => contents,
                // A running engine replaces it with a newer one, and keeps the previous one.
                Err(error) if error.kind() == ErrorKind::NotFound && !path.is_symlink() => continue,
                Err(error) => return Err(Error::from(error).in_file(path)),
            };
            let parsed = match contents {
                Some(contents) => OptionsFile::parse(&String::from_utf8_lossy(&contents)),
                None => Err(Error::corrupt(format!("larger than {MAX_OPTIONS_SIZE} bytes"))),
            };
            match parsed {
                Ok(parsed) => file = Some(parsed),
                Err(error) => {
                    let message = format!("{}; ignored", error.in_file(path));
                    caveats.push(Caveat::new(CaveatKind::LeftOut, message).about(path));
                }
            }
            break;
        }
        Ok(Self::with_file(options, file.unwrap_or_default()))
    }

    /// With an OPTIONS file that has been read.
    pub(crate) fn with_file(options: &'a DatabaseOptions, file: OptionsFile) -> Self {
        let cache = options.block_cache.clone();
        let cache = cache.unwrap_or_else(|| BlockCache::new(options.block_cache_size));
        Self { options, file, cache, found_folders: Vec::new() }
    }

    /// The settings of a column family whose comparator has this name.
    pub(crate) fn family(&self, name: &str, comparator: Option<&str>) -> FamilySettings {
        let (options, family) = (self.options, self.file.column_family(name));
        let table = self.file.table(name);
        let (comparator, unknown_order) = self.order(comparator.or(family.comparator()));
        let given = options.family_merge_operators.get(name);
        let extractor =
            family.prefix_extractor().and_then(|text| options.registry.extractor(text).ok());
        FamilySettings {
            comparator,
            given_order: options.comparators.last().filter(|_| unknown_order.is_some()).cloned(),
            unknown_order,
            max_unordered_memory: options.max_log_memory.unwrap_or(DEFAULT_MAX_LOG_MEMORY),
            merge_operators: options.merge_operators.clone(),
            given_merge_operator: given.or(options.default_merge_operator.as_ref()).cloned(),
            merge_operator: family.get("merge_operator").and_then(Description::of),
            ttl: options.ttl.map_or_else(|| Ttl::of(&family), |on| on.then(Ttl::default)),
            prefix_extractor: options.prefix_extractor.clone().or(extractor),
            filter_policy: table.filter_policy().map(str::to_owned),
            whole_key_filtering: table.whole_key_filtering().unwrap_or(true),
            use_filters: options.use_filters,
            optimize_filters_for_hits: family.optimize_filters_for_hits().unwrap_or(false),
            num_levels: family.num_levels().unwrap_or(DEFAULT_NUM_LEVELS),
            key_form: KeyForm::Internal,
            registry: options.registry.clone(),
            block_cache: self.cache.clone(),
            cache_index_and_filter_blocks: options.cache_index_and_filter_blocks,
            verify_checksums: options.verify_checksums,
            bytes_read: options.bytes_read.clone(),
            max_block_size: options.max_block_size,
        }
    }

    /// The comparator with this name. If it is unknown: the one given last, or bytewise order, and
    /// the unknown name.
    fn order(&self, name: Option<&str>) -> (Comparator, Option<String>) {
        let given = &self.options.comparators;
        let Some(name) = name else {
            return (given.last().cloned().unwrap_or_default(), None);
        };
        let found = given.iter().rfind(|comparator| comparator.name() == name);
        match found.cloned().or_else(|| name.parse().ok()) {
            Some(comparator) => (comparator, None),
            None => {
                let assumed = given.last().cloned().unwrap_or_default();
                (Comparator::named(name, &assumed), Some(name.to_owned()))
            }
        }
    }

    /// The directories in which a table may be: the recorded one, the database directory, and the
    /// others. (OPTIONS do not list them.)
    pub(crate) fn table_folders(&self, path: &Path, path_id: u32) -> Vec<PathBuf> {
        let given = &self.options.table_folders;
        let meant = given.get(path_id as usize).or(given.last()).cloned();
        let mut folders: Vec<PathBuf> = meant.into_iter().chain([path.to_owned()]).collect();
        for folder in given.iter().chain(&self.found_folders) {
            if !folders.contains(folder) {
                folders.push(folder.clone());
            }
        }
        folders
    }

    /// The paths at which a table may be.
    pub(crate) fn table_paths(
        &self,
        path: &Path,
        table: &FileMetaData,
        engine: Engine,
    ) -> Vec<PathBuf> {
        let placed = self.options.placed_files.as_ref();
        match placed.and_then(|placed| placed.get(&table.number)) {
            Some(path) => vec![path.clone()],
            None => table_paths(&self.table_folders(path, table.path_id), table.number, engine),
        }
    }

    /// The logs of the database that are needed, by their numbers: in their folder, and in that of the
    /// database, for directories that were moved. If there are none, they may be in a folder that is
    /// not where OPTIONS says.
    pub(crate) fn logs(
        &self,
        path: &Path,
        is_needed: impl Fn(u64) -> bool,
        caveats: &mut Vec<Caveat>,
    ) -> Result<Vec<(u64, PathBuf)>> {
        let needed = |folder: &Path| -> Result<Vec<(u64, PathBuf)>> {
            let logs = logs_in(folder)?.into_iter();
            Ok(logs.filter(|(number, _)| is_needed(*number)).collect())
        };
        let mut logs = needed(path)?;
        if let Some(given) = &self.options.log_folder {
            logs.append(&mut needed(given)?);
            if logs.is_empty() {
                caveats.push(missing_logs(given, "has no logs that are needed"));
            }
        } else if let Some(configured) = self.wal_dir() {
            let folder = folders::named(path, configured);
            let is_own = folders::is_same(path, &folder);
            if file_system::is_folder(&folder) && !is_own {
                logs.append(&mut needed(&folder)?);
            }
            if logs.is_empty() && !is_own {
                let written_by = self.file.rocksdb_version();
                match folders::find_logs(path, Path::new(configured), &is_needed) {
                    Some(found) => {
                        logs = needed(&found)?;
                        caveats.push(found_logs(&folder, &found));
                    }
                    None if file_system::is_folder(&folder) => {
                        caveats.push(missing_logs(&folder, "has no logs that are needed"));
                    }
                    None if folders::may_be_own(path, &folder, written_by) => {}
                    None => caveats.push(missing_logs(&folder, "does not exist")),
                }
            }
        }
        // A log is in one folder only; of two with the same number, that beside the MANIFEST is meant
        // least.
        logs.sort_by_key(|(number, log)| (*number, log.parent() == Some(path)));
        logs.dedup_by_key(|(number, _)| *number);
        Ok(logs)
    }
}

impl Settings<'_> {
    /// The log directory that OPTIONS names, unless the files of the database are known to be
    /// elsewhere.
    fn wal_dir(&self) -> Option<&str> {
        self.file.database().wal_dir().filter(|_| self.options.placed_files.is_none())
    }
}

fn logs_in(folder: &Path) -> Result<Vec<(u64, PathBuf)>> {
    let files = directory::list(folder)?.into_iter();
    let logs = files.filter_map(|(name, path)| match name {
        FileName::Log(number) => Some((number, path)),
        _ => None,
    });
    Ok(logs.collect())
}

fn missing_logs(folder: &Path, what: &str) -> Caveat {
    let message = format!(
        "the log directory {} {what}: writes that are only in logs are missing (use --wal-dir to \
         name their directory)",
        folder.display()
    );
    Caveat::new(CaveatKind::LeftOut, message).about(folder)
}

fn found_logs(named: &Path, found: &Path) -> Caveat {
    let message = format!(
        "OPTIONS names the log directory {}; reading the logs in {} instead (use --wal-dir to choose \
         another)",
        named.display(),
        found.display()
    );
    Caveat::new(CaveatKind::Assumed, message).about(found)
}
