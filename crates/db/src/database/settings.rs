//! The settings of column families: from the options given, the MANIFEST and OPTIONS.
//!
//! | | first | then | then |
//! |---|---|---|---|
//! | comparator | MANIFEST | tables, where there is no MANIFEST | OPTIONS |
//! | merge operator | given | OPTIONS | tables |
//! | prefix extractor | given | OPTIONS | each table's own |

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use sstkit_table::{BlockCache, Comparator};

use super::database_options::{DEFAULT_MAX_LOG_MEMORY, DatabaseOptions};
use crate::caveat::{Caveat, CaveatKind};
use crate::column_family_data::{DEFAULT_NUM_LEVELS, FamilySettings};
use crate::directory;
use crate::error::{Error, Result};
use crate::merge_operators::Description;
use crate::raw::{FileName, OptionsFile};
use crate::regular_file;
use crate::unknown_order;

/// The maximum size of an OPTIONS file. They have some kilobytes for each column family.
const MAX_OPTIONS_SIZE: u64 = 64 << 20;

/// What is known besides the MANIFEST.
pub(super) struct Settings<'a> {
    pub(super) options: &'a DatabaseOptions,
    pub(super) file: OptionsFile,
    cache: BlockCache,
}

impl<'a> Settings<'a> {
    /// Reads the newest OPTIONS file of a directory, if any. An invalid one is ignored.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be read from disk: it may name a directory of logs or a merge operator.
    pub(super) fn read(
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
            let contents = match regular_file::read(path, MAX_OPTIONS_SIZE) {
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
        let cache = options.block_cache.clone();
        let cache = cache.unwrap_or_else(|| BlockCache::new(options.block_cache_size));
        Ok(Self { options, file: file.unwrap_or_default(), cache })
    }

    /// The settings of a column family whose comparator has this name.
    pub(super) fn family(&self, name: &str, comparator: Option<&str>) -> FamilySettings {
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
            prefix_extractor: options.prefix_extractor.clone().or(extractor),
            filter_policy: table.filter_policy().map(str::to_owned),
            whole_key_filtering: table.whole_key_filtering().unwrap_or(true),
            use_filters: options.use_filters,
            optimize_filters_for_hits: family.optimize_filters_for_hits().unwrap_or(false),
            num_levels: family.num_levels().unwrap_or(DEFAULT_NUM_LEVELS),
            registry: options.registry.clone(),
            block_cache: self.cache.clone(),
            cache_index_and_filter_blocks: options.cache_index_and_filter_blocks,
            verify_checksums: options.verify_checksums,
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
                (unknown_order::in_place_of(name, &assumed), Some(name.to_owned()))
            }
        }
    }

    /// The directories in which a table may be: the recorded one, the database directory, and the
    /// others. (OPTIONS do not list them.)
    pub(super) fn table_folders(&self, path: &Path, path_id: u32) -> Vec<PathBuf> {
        let given = &self.options.table_folders;
        let meant = given.get(path_id as usize).or(given.last()).cloned();
        let mut folders: Vec<PathBuf> = meant.into_iter().chain([path.to_owned()]).collect();
        for folder in given {
            if !folders.contains(folder) {
                folders.push(folder.clone());
            }
        }
        folders
    }

    /// The directory of the logs: the one given, or the one in OPTIONS.
    fn log_folder(&self, path: &Path) -> Option<PathBuf> {
        let configured = self.file.database().wal_dir().map(|folder| path.join(folder));
        self.options.log_folder.clone().or(configured).filter(|folder| folder != path)
    }

    /// The logs of the database, by number: in their directory, if it exists, and in the database
    /// directory, for databases that were moved.
    pub(super) fn logs(
        &self,
        path: &Path,
        caveats: &mut Vec<Caveat>,
    ) -> Result<Vec<(u64, PathBuf)>> {
        let mut logs = Vec::new();
        let mut missing = None;
        if let Some(folder) = self.log_folder(path) {
            match fs::metadata(&folder) {
                Ok(_) => logs = logs_in(&folder)?,
                // The directory was moved or copied, perhaps with its logs.
                Err(error)
                    if error.kind() == ErrorKind::NotFound && self.options.log_folder.is_none() =>
                {
                    missing = Some(folder);
                }
                Err(error) => return Err(Error::from(error).in_file(folder)),
            }
        }
        logs.append(&mut logs_in(path)?);
        if let (true, Some(folder)) = (logs.is_empty(), missing) {
            caveats.push(missing_log_folder(&folder));
        }
        logs.sort();
        // A log is in one directory only; of two with the same number, the first one counts.
        logs.dedup_by_key(|(number, _)| *number);
        Ok(logs)
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

fn missing_log_folder(folder: &Path) -> Caveat {
    let message = format!(
        "the log directory {} named in OPTIONS does not exist; writes that are only in logs are \
         missing",
        folder.display()
    );
    Caveat::new(CaveatKind::LeftOut, message).about(folder)
}
