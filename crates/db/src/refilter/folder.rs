//! Other filters for all tables of a directory.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use sstkit_table::output::{OutputFile, OutputFolder, OutputPath};
use sstkit_table::{Table, TableReadOptions};

use super::new_table::{NewTable, memory};
use super::workers::{self, MemoryLimit};
use super::{Refilter, RefilterSummary, RefilteredFile};
use crate::bulk_manifest::{BulkManifest, MANIFEST_NAME, checksum_text};
use crate::directory;
use crate::error::{Error, Result};
use crate::folder_tables;

pub(super) fn refilter(
    options: &Refilter,
    source: &Path,
    target: &Path,
    reading: &TableReadOptions,
) -> Result<RefilterSummary> {
    let Some(policy) = &options.filter else {
        return Err(Error::invalid_input("no filter policy is set"));
    };
    let in_target = |error: io::Error| Error::from(error).in_file(target);
    if fs::symlink_metadata(target).is_ok() {
        let what = "already exists; tables are only written to a new directory";
        return Err(Error::invalid_input(what).in_file(target));
    }
    if target.file_name().is_none() {
        return Err(Error::invalid_input("the path has no file name").in_file(target));
    }
    let manifest_path = source.join(MANIFEST_NAME);
    let manifest = match manifest_path.is_file() {
        true => Some(BulkManifest::read(&manifest_path)?),
        false => None,
    };
    let paths = tables(source, manifest.as_ref())?;
    let folder = OutputFolder::create_beside(target).map_err(in_target)?;

    let size = |path: &PathBuf| fs::metadata(path).map_or(0, |file| file.len());
    let sizes: Vec<u64> = paths.iter().map(size).collect();
    let reporter = options.reporter(sizes.iter().sum());
    let limit = MemoryLimit::new(options.memory);
    let mut order: Vec<usize> = (0..paths.len()).collect();
    order.sort_by_key(|&number| std::cmp::Reverse(sizes[number]));
    let done = workers::run(&order, options.threads, |number, has_failed| {
        reporter.report()?;
        let table = Table::open_with(&paths[number], &reading.clone().no_block_cache())?;
        let settings = options.settings(&table, policy, None)?;
        let _in_use = limit.take(memory(&table, policy));
        let create = match manifest.is_some() {
            true => OutputFile::create_checksummed_in,
            false => OutputFile::create_in,
        };
        let file = create(folder.path(), "table").map_err(in_target)?;
        let new = NewTable::write(&table, file, &settings, &mut |bytes| {
            if has_failed.load(Ordering::Relaxed) {
                return Err(workers::stopped());
            }
            reporter.add(bytes)
        })
        .map_err(|error| error.in_file(target))?;
        let NewTable { file, summary, filter_bytes } = new;
        let mut result = RefilteredFile::new(&table, policy, &summary, filter_bytes);
        let name = paths[number].file_name().unwrap_or_default();
        result.name = name.to_string_lossy().into_owned();
        let crc32c = file.crc32c();
        let path = OutputPath::unresolved(&folder.path().join(name), false);
        file.rename(&path).map_err(in_target)?;
        Ok((result, crc32c.unwrap_or(0)))
    })?;

    if let Some(mut manifest) = manifest {
        for (file, (result, crc32c)) in manifest.files.iter_mut().zip(&done) {
            (file.bytes, file.checksum) = (result.bytes_after, checksum_text(*crc32c));
        }
        manifest.bytes = manifest.files.iter().map(|file| file.bytes).sum();
        manifest.describe_filter(policy);
        let path = folder.path().join(MANIFEST_NAME);
        let write = || {
            fs::write(&path, manifest.to_json())?;
            File::open(&path)?.sync_all()
        };
        write().map_err(in_target)?;
    }
    folder.commit(target).map_err(in_target)?;
    let files = done.into_iter().map(|(file, _)| file).collect();
    Ok(RefilterSummary { files, ..RefilterSummary::default() })
}

/// The tables of a directory, by number; those of a manifest in its order.
fn tables(folder: &Path, manifest: Option<&BulkManifest>) -> Result<Vec<PathBuf>> {
    if let Some(manifest) = manifest {
        return manifest.files.iter().map(|file| file.path(folder)).collect();
    }
    let mut tables = folder_tables::tables(&directory::list(folder)?);
    if tables.is_empty() {
        return Err(Error::invalid_input("the directory has no tables").in_file(folder));
    }
    tables.sort();
    Ok(tables.into_iter().map(|(_, path)| path).collect())
}
