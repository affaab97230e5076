//! `sst compact --as database`: merges column families into a new database.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow, bail};
use sstkit_db::{ColumnFamilyDescriptor, Compaction, CompactionOptions, Database, DatabaseWriter};
use sstkit_table::Comparator;
use sstkit_table::raw::Engine;

use super::super::database_output::{DEFAULT_COLUMN_FAMILY, DatabasePlan, FamilyReport, only_one};
use super::{Args, Input, Source, Written};
use crate::args::{Profile, SetIfGiven as _};
use crate::output::stop_or_show;
use crate::{database, interrupt};

impl Args {
    /// Merges everything into a new database.
    pub(super) fn write_database(&self) -> Result<Written> {
        let sources = self.paths.iter().map(|path| self.open(path)).collect::<Result<Vec<_>>>()?;
        let databases: Vec<&Database> = sources.iter().filter_map(Source::database).collect();
        if self.keep_levels && !matches!(sources[..], [Source::Database(_)]) {
            bail!("--keep-levels needs one PATH, a database");
        }
        let like = databases.iter().copied().find(|it| it.engine() == Engine::RocksDb);
        let plan = self.database_output.plan(&self.write, like)?;
        let names = self.column_families(&sources, &databases)?;
        if self.write.profile == Profile::Leveldb {
            only_one(&names)?;
        }
        let mut writer = plan.writer(self.output.path())?;
        let mut written = Written::default();
        let mut reports = Vec::new();
        for name in &names {
            let mut family = Family { args: self, plan: &plan, name, writer: &mut writer };
            reports.push(match self.keep_levels {
                true => family.rewrite_levels(databases[0], &mut written)?,
                false => family.merge(&sources, &mut written)?,
            });
        }
        for database in databases {
            writer.set_last_sequence(database.last_sequence());
        }
        interrupt::check()?;
        writer.finish()?;
        written.column_families = Some(reports);
        Ok(written)
    }

    /// The names of the column families to write.
    fn column_families(&self, sources: &[Source], databases: &[&Database]) -> Result<Vec<String>> {
        if let Some(name) = self.database.given_name() {
            let mut found = databases.iter().map(|it| database::column_family(it, name));
            if databases.len() == sources.len() && !found.any(|it| it.is_ok()) {
                database::column_family(databases[0], name)?;
            }
            return Ok(vec![name.to_owned()]);
        }
        let mut names = Vec::new();
        // Tables have no column family of their own.
        if databases.len() < sources.len() {
            names.push(DEFAULT_COLUMN_FAMILY.to_owned());
        }
        for family in databases.iter().flat_map(|database| database.column_families()) {
            if !names.iter().any(|name| name == family.name()) {
                names.push(family.name().to_owned());
            }
        }
        Ok(names)
    }
}

impl Source {
    fn database(&self) -> Option<&Database> {
        match self {
            Self::Database(database) => Some(database),
            Self::Table(_) => None,
        }
    }

    /// The input for a column family; tables are of `of_tables`.
    fn input(&self, column_family: &str, of_tables: &str) -> Option<Input> {
        match self {
            Self::Table(table) => (column_family == of_tables).then(|| Input::Table(table.clone())),
            Self::Database(database) => {
                let mut families = database.column_families();
                families.find(|it| it.name() == column_family).map(Input::ColumnFamily)
            }
        }
    }
}

/// A column family of the new database.
struct Family<'a> {
    args: &'a Args,
    plan: &'a DatabasePlan<'a>,
    name: &'a str,
    writer: &'a mut DatabaseWriter,
}

impl Family<'_> {
    /// Merges all inputs into one level.
    fn merge(&mut self, sources: &[Source], written: &mut Written) -> Result<FamilyReport> {
        let of_tables = self.args.database.name();
        let inputs: Vec<Input> =
            sources.iter().filter_map(|source| source.input(self.name, of_tables)).collect();
        let comparator = self.comparator(&inputs)?;
        let descriptor = match (sources, &inputs[..]) {
            ([Source::Database(database)], [Input::ColumnFamily(family)]) => {
                ColumnFamilyDescriptor::like(database, family)
            }
            _ => ColumnFamilyDescriptor::new(self.name).comparator(comparator.clone()),
        };
        let level = self.plan.level(self.name);
        let id = self.add(descriptor, comparator, level)?;
        let options = self.options(level, matches!(sources, [Source::Database(_)]))?;
        let compaction = self.args.compaction(inputs, &options)?;
        // The progress bar goes with the compaction.
        drop(options);
        let summary = compaction.run_into(self.writer, id, level)?;
        written.add(&summary);
        let mut report = FamilyReport::new(self.name);
        report.add(level, &summary.manifest.files);
        report.blob_files = summary.blob_files;
        Ok(report)
    }

    /// Rewrites each level on its own.
    fn rewrite_levels(&mut self, source: &Database, written: &mut Written) -> Result<FamilyReport> {
        let family = database::column_family(source, self.name)?;
        let descriptor = ColumnFamilyDescriptor::like(source, &family);
        let level = self.plan.level(self.name);
        let id = self.add(descriptor, family.comparator()?.clone(), level)?;
        // Contradictions between options are found before any level is written.
        let top = self.options(0, true)?;
        let numbers = family.levels().into_iter().map(|level| level.number);
        let of_levels: BTreeMap<u32, CompactionOptions> =
            numbers.map(|level| Ok((level, self.options(level, true)?))).collect::<Result<_>>()?;
        let options = |level: u32| {
            let options = of_levels.get(&level).unwrap_or(&top).clone();
            options.progress(stop_or_show())
        };
        let mut report = FamilyReport::new(self.name);
        let summary = Compaction::rewrite_levels(&family, self.writer, id, options)?;
        for level in &summary.levels {
            written.add(&level.summary);
            report.add(level.level, &level.summary.manifest.files);
        }
        report.blob_files = summary.blob_files;
        Ok(report)
    }

    /// Adds the column family to the writer. What LevelDB gets is its default one.
    fn add(
        &mut self,
        descriptor: ColumnFamilyDescriptor,
        comparator: Comparator,
        level: u32,
    ) -> Result<u32> {
        let descriptor = match self.args.write.profile {
            Profile::Leveldb => {
                ColumnFamilyDescriptor::new(DEFAULT_COLUMN_FAMILY).comparator(comparator)
            }
            Profile::Rocksdb => {
                let operator = self.args.merge_operator.as_deref();
                let operator = operator.filter(|_| !self.plan.has_merge_operator(self.name));
                let descriptor = self.plan.describe(descriptor, level)?;
                descriptor.set_if_given(operator, |it, name| it.option("merge_operator", name))
            }
        };
        Ok(self.writer.column_family(descriptor)?)
    }

    fn options(&self, level: u32, is_one_database: bool) -> Result<CompactionOptions> {
        let table = self.plan.table_options(self.name, level)?;
        let for_hits = self.plan.optimizes_filters_for_hits(self.name);
        let options = self.args.compaction_options(table)?.optimize_filters_for_hits(for_hits);
        Ok(if is_one_database { with_blob_files(options, self.args) } else { options })
    }

    /// The comparator of the inputs, which the compaction requires to be the same.
    fn comparator(&self, inputs: &[Input]) -> Result<Comparator> {
        if let Some(comparator) = &self.args.write.comparator {
            return Ok(comparator.clone());
        }
        match inputs.first() {
            Some(Input::Table(table)) => Ok(table.comparator()?.clone()),
            Some(Input::ColumnFamily(family)) => Ok(family.comparator()?.clone()),
            None => Err(anyhow!("no input has the column family {:?}", self.name)),
        }
    }
}

/// Blob files are taken over, unless LevelDB is to read the database.
fn with_blob_files(options: CompactionOptions, args: &Args) -> CompactionOptions {
    options.keep_blob_files(!args.inline_blobs && args.write.profile == Profile::Rocksdb)
}
