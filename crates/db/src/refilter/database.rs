//! Other filters for all tables of a database.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sstkit_filter::FilterPolicy;
use sstkit_table::output::{OutputFile, OutputPath};
use sstkit_table::raw::Engine;
use sstkit_table::{Table, TableOptions};

use super::new_table::{NewTable, memory};
use super::workers::{self, MemoryLimit};
use super::{Refilter, RefilterSummary, RefilteredFile};
use crate::column_family_data::ColumnFamilyData;
use crate::database::Database;
use crate::database_writer::{
    CRC32C, ColumnFamilyDescriptor, DatabaseWriter, DatabaseWriterOptions, FileSource,
};
use crate::error::{Error, Result};
use crate::output::Reporter;
use crate::raw::{FileMetaData, FileName};
use crate::version::TableFile;

/// A table of the source.
struct Job {
    family: Arc<ColumnFamilyData>,
    file: Arc<TableFile>,
    /// In the new database.
    column_family: u32,
    /// `None` if it is taken over.
    policy: Option<FilterPolicy>,
    /// Its path in the new database, if it is rewritten.
    target: PathBuf,
    /// The size of partitions in OPTIONS, which a table does not tell.
    metadata_block_size: Option<String>,
}

/// A table of the new database.
struct Done {
    file: RefilteredFile,
    source: FileSource,
    metadata: FileMetaData,
}

pub(super) fn refilter(
    options: &Refilter,
    database: &Database,
    target: &Path,
) -> Result<RefilterSummary> {
    let Some(manifest) = database.manifest() else {
        let what =
            "without a MANIFEST it is not known which tables are live: use sst salvage first";
        return Err(Error::invalid_input(what).in_file(database.path()));
    };
    let mut writer = DatabaseWriter::create(target, DatabaseWriterOptions::like(database))?;
    let mut summary = RefilterSummary::default();
    // First, as a running engine deletes logs sooner than tables.
    for log in database.logs() {
        let name = log.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if let FileName::Log(number) = FileName::parse(name) {
            writer.add_log(number, &FileSource::Copy(log.clone()))?;
            summary.logs += 1;
        }
    }
    let mut jobs = Vec::new();
    for family in database.column_families() {
        let descriptor = ColumnFamilyDescriptor::like(database, &family);
        let id = writer.column_family(options.describe(&family, descriptor))?;
        let data = family.family();
        data.require_order()?;
        if let Some(state) = manifest.column_family(family.name()) {
            writer.set_log_number(id, state.log_number)?;
            summary.blob_files += take_over_blobs(data, &mut writer, id)?;
        }
        let metadata_block_size = metadata_block_size(database, family.name());
        // Tables of level 0 are added oldest first.
        for run in data.version.runs.iter().rev() {
            jobs.extend(run.files.iter().map(|file| Job {
                family: Arc::clone(data),
                file: Arc::clone(file),
                column_family: id,
                policy: options.policy(family.name(), file.level).cloned(),
                target: PathBuf::new(),
                metadata_block_size: metadata_block_size.clone(),
            }));
        }
    }
    writer.set_last_sequence(manifest.last_sequence);

    for job in &mut jobs {
        if job.policy.is_some() {
            job.target = writer.table_path_with_number(job.file.meta.number)?;
        }
    }
    let bytes = jobs.iter().filter(|job| job.policy.is_some()).map(|job| job.file.meta.size).sum();
    let reporter = options.reporter(bytes);
    let limit = MemoryLimit::new(options.memory);
    let mut order: Vec<usize> = (0..jobs.len()).collect();
    // The largest first, so that all threads end at about the same time.
    order.sort_by_key(|&number| std::cmp::Reverse(jobs[number].file.meta.size));
    let done = workers::run(&order, options.threads, |number, has_failed| {
        let pass =
            Pass { options, writer: &writer, limit: &limit, reporter: &reporter, has_failed };
        pass.run(&jobs[number]).map_err(|error| error.in_file(target))
    })?;
    for (job, Done { mut file, source, metadata }) in jobs.iter().zip(done) {
        let number =
            writer.add_table(job.column_family, job.file.level, &source, Some(metadata))?;
        file.name = writer.table_name(number);
        summary.files.push(file);
    }
    writer.finish()?;
    Ok(summary)
}

/// What rewriting a table needs besides the table.
struct Pass<'p> {
    options: &'p Refilter,
    writer: &'p DatabaseWriter,
    limit: &'p MemoryLimit,
    reporter: &'p Reporter,
    has_failed: &'p AtomicBool,
}

impl Pass<'_> {
    fn run(&self, job: &Job) -> Result<Done> {
        self.reporter.report()?;
        let table = job.family.open_table(&job.file)?;
        let mut metadata = job.file.meta.clone();
        let (mut file, source) = match &job.policy {
            None => {
                let source = table.path().map(PathBuf::from).unwrap_or_default();
                (RefilteredFile::taken_over(&table), FileSource::Link(source))
            }
            Some(policy) => {
                let new = self.rewrite(job, &table, policy)?;
                let size = new.summary.file_size;
                if table.view().engine() == Engine::RocksDb {
                    metadata.describe_file(&new.summary.properties, size);
                }
                metadata.file_checksum =
                    new.file.crc32c().map(|crc| (CRC32C.into(), crc.to_be_bytes().to_vec()));
                let file = RefilteredFile::new(&table, policy, &new.summary, new.filter_bytes);
                new.file
                    .rename(&OutputPath::unresolved(&job.target, false))
                    .map_err(|error| Error::from(error).in_file(&job.target))?;
                (file, FileSource::Written(job.target.clone()))
            }
        };
        file.column_family = Some(job.family.name.clone());
        file.level = Some(job.file.level);
        Ok(Done { file, source, metadata })
    }

    fn rewrite(&self, job: &Job, table: &Table, policy: &FilterPolicy) -> Result<NewTable> {
        let settings = self.settings(job, table, policy)?;
        // One that RocksDB verifies, as far as it can be computed.
        let is_checksummed =
            job.file.meta.file_checksum.as_ref().is_some_and(|(name, _)| name == CRC32C);
        let folder = self.writer.working_folder();
        let create = match is_checksummed {
            true => OutputFile::create_checksummed_in,
            false => OutputFile::create_in,
        };
        let _in_use = self.limit.take(memory(table, policy));
        let file = create(folder, "table").map_err(|error| Error::from(error).in_file(folder))?;
        NewTable::write(table, file, &settings, &mut |bytes| {
            if self.has_failed.load(Ordering::Relaxed) {
                return Err(workers::stopped());
            }
            self.reporter.add(bytes)
        })
    }

    fn settings(&self, job: &Job, table: &Table, policy: &FilterPolicy) -> Result<TableOptions> {
        let mut settings = self.options.settings(table, policy, Some(job.file.level))?;
        if let Some(size) = &job.metadata_block_size {
            settings = settings.rocksdb_option("metadata_block_size", size);
        }
        if settings.engine() == Engine::LevelDb {
            return Ok(settings);
        }
        self.writer.table_options(job.column_family, &settings)
    }
}

/// The size of the partitions of filters and indexes, as stored in OPTIONS.
fn metadata_block_size(database: &Database, column_family: &str) -> Option<String> {
    let size = database.options_file().table(column_family).get("metadata_block_size")?;
    size.as_text().map(str::to_owned)
}

/// Adds the live blob files, and returns how many there are.
fn take_over_blobs(
    family: &ColumnFamilyData,
    writer: &mut DatabaseWriter,
    column_family: u32,
) -> Result<u64> {
    let live = family.blobs.live.iter().flatten();
    let mut count = 0;
    for (&number, metadata) in live {
        let source = FileSource::Link(family.blobs.path(number));
        writer.add_blob_file(column_family, number, &source, Some(metadata.clone()))?;
        count += 1;
    }
    Ok(count)
}
