//! Writers, and what they should have written.

use std::error::Error;
use std::fmt;
use std::ops::ControlFlow;
use std::path::Path;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use sstkit_db::{
    BulkBuilder, BulkOptions, Compaction, CompactionOptions, Database, DatabaseWriter,
    DatabaseWriterOptions, FileSource, Refilter,
};
use sstkit_table::output::{self, OutputFolder};
use sstkit_table::raw::TableView;
use sstkit_table::{Table, TableOptions, TableReadOptions, TableWriter, rewrite_tail};

use crate::Random;

/// About how large the tables of a folder are.
const FILE_SIZE: u64 = 50_000;

/// So little memory that entries are sorted on disk.
const MEMORY: usize = 300_000;

/// Which writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `TableWriter`.
    Table,
    /// `TableWriter` in LevelDB's format.
    LevelDbTable,
    /// `rewrite_tail`.
    CarryOver,
    /// `BulkBuilder`, one file.
    BulkFile,
    /// `BulkBuilder`, a folder.
    BulkFolder,
    /// `Compaction`, one file.
    CompactionFile,
    /// `Compaction`, a folder.
    CompactionFolder,
    /// `BulkBuilder`, a RocksDB database.
    BulkDatabase,
    /// `Compaction`, a LevelDB database.
    CompactionDatabase,
    /// `DatabaseWriter`, with tables that are linked and copied.
    CopiedDatabase,
    /// `Refilter`, one file.
    RefilteredFile,
    /// `Refilter`, a folder.
    RefilteredFolder,
    /// `Refilter`, a RocksDB database.
    RefilteredDatabase,
}

impl Kind {
    /// All of them, with their names.
    pub const ALL: [(Self, &'static str); 13] = [
        (Self::Table, "table"),
        (Self::LevelDbTable, "leveldb-table"),
        (Self::CarryOver, "carry-over"),
        (Self::BulkFile, "bulk-file"),
        (Self::BulkFolder, "bulk-folder"),
        (Self::CompactionFile, "compaction-file"),
        (Self::CompactionFolder, "compaction-folder"),
        (Self::BulkDatabase, "bulk-database"),
        (Self::CompactionDatabase, "compaction-database"),
        (Self::CopiedDatabase, "copied-database"),
        (Self::RefilteredFile, "refiltered-file"),
        (Self::RefilteredFolder, "refiltered-folder"),
        (Self::RefilteredDatabase, "refiltered-database"),
    ];

    /// Whether the result is a folder of tables.
    pub fn is_folder(self) -> bool {
        matches!(self, Self::BulkFolder | Self::CompactionFolder | Self::RefilteredFolder)
    }

    /// Whether the result is a database.
    pub fn is_database(self) -> bool {
        matches!(
            self,
            Self::BulkDatabase
                | Self::CompactionDatabase
                | Self::CopiedDatabase
                | Self::RefilteredDatabase
        )
    }

    /// Whether the result is only written where nothing is.
    pub fn is_only_new(self) -> bool {
        self.is_database() || self == Self::RefilteredFolder
    }
}

/// Where a writer stops, to be killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// Nowhere.
    Never,
    /// After this number of entries.
    Entry(u32),
    /// At this report of its progress, counted from 1.
    Report(u64),
}

impl Pause {
    fn at_entry(self, entries: usize, say: &dyn Fn(&str)) {
        if self == Self::Entry(entries as u32) {
            pause(say);
        }
    }
}

/// Says so, and waits for the end.
fn pause(say: &dyn Fn(&str)) {
    say("paused");
    loop {
        thread::park();
    }
}

/// A piece of work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// Which writer.
    pub kind: Kind,
    /// Other entries for another seed.
    pub seed: u64,
    /// How many.
    pub count: u32,
    /// On how many threads.
    pub threads: usize,
    /// Whether what is there may be replaced.
    pub replace: bool,
    /// Where it stops.
    pub pause: Pause,
}

impl Work {
    /// The entries that should be in the result, in order.
    pub fn entries(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut random = Random::new(self.seed);
        (0..self.count)
            .map(|i| {
                let length = 20 + random.index(60);
                let value = (0..length).map(|_| random.next_u64() as u8 & 0x3f).collect();
                (format!("key{:08}", u64::from(i) * 3 + self.seed % 3).into_bytes(), value)
            })
            .collect()
    }

    /// Does it. Says "started", "finishing" before the result gets its name, "paused" if it
    /// pauses, and "done".
    pub fn run(&self, out: &Path, say: &'static (dyn Fn(&str) + Sync)) -> Result<(), Failure> {
        say("started");
        match self.kind {
            Kind::Table | Kind::LevelDbTable => self.write_table(out, say)?,
            Kind::CarryOver => {
                let bytes = table(&self.entries(), &self.table_options());
                let options = TableOptions::rocksdb().filter("ribbonfilter:10".parse()?);
                say("finishing");
                rewrite_tail(&TableView::open(&bytes)?, out, &options)?;
            }
            Kind::BulkFile | Kind::BulkFolder | Kind::BulkDatabase => self.build(out, say)?,
            Kind::CompactionFile | Kind::CompactionFolder | Kind::CompactionDatabase => {
                self.compact(out, say)?;
            }
            Kind::CopiedDatabase => self.copy_tables(out, say)?,
            Kind::RefilteredFile | Kind::RefilteredFolder | Kind::RefilteredDatabase => {
                self.refilter(out, say)?;
            }
        }
        say("done");
        Ok(())
    }

    fn table_options(&self) -> TableOptions {
        let options = match self.kind {
            Kind::LevelDbTable | Kind::CompactionDatabase => TableOptions::leveldb(),
            _ => TableOptions::rocksdb().threads(self.threads),
        };
        options.block_size(1000)
    }

    fn max_file_size(&self) -> Option<u64> {
        (self.kind.is_folder() || self.kind.is_database()).then_some(FILE_SIZE)
    }

    fn write_table(&self, out: &Path, say: &dyn Fn(&str)) -> Result<(), Failure> {
        let mut writer = TableWriter::create(out, &self.table_options())?;
        for (number, (key, value)) in self.entries().iter().enumerate() {
            self.pause.at_entry(number, say);
            writer.put(key, value)?;
        }
        say("finishing");
        writer.finish()?;
        Ok(())
    }

    fn build(&self, out: &Path, say: &'static (dyn Fn(&str) + Sync)) -> Result<(), Failure> {
        let options = BulkOptions::new(self.table_options())
            .max_file_size(self.max_file_size())
            .memory(MEMORY)
            .threads(self.threads)
            .replace(self.replace)
            .progress(self.reporter(say));
        let mut writer = match self.kind {
            Kind::BulkDatabase => {
                Some(DatabaseWriter::create(out, DatabaseWriterOptions::rocksdb())?)
            }
            _ => None,
        };
        let mut builder = match &writer {
            Some(writer) => BulkBuilder::for_database(writer, 0, &options)?,
            None => BulkBuilder::create(out, &options)?,
        };
        for (number, (key, value)) in self.entries().iter().rev().enumerate() {
            self.pause.at_entry(number, say);
            builder.put(key, value)?;
        }
        say("finishing");
        match writer.take() {
            Some(mut writer) => {
                builder.finish_into(&mut writer, 0, 6)?;
                writer.finish()?;
            }
            None => drop(builder.finish()?),
        }
        Ok(())
    }

    /// Takes over tables, every other one as a copy.
    fn copy_tables(&self, out: &Path, say: &dyn Fn(&str)) -> Result<(), Failure> {
        // Hidden, as it is left behind if the process is killed.
        let source = OutputFolder::create_in(output::parent(out), "source")?;
        let mut paths = Vec::new();
        for (number, part) in self.entries().chunks(1 + self.count as usize / 4).enumerate() {
            let path = source.path().join(format!("{number}.sst"));
            std::fs::write(&path, table(part, &self.table_options()))?;
            paths.push(path);
        }
        say("finishing");
        let mut writer = DatabaseWriter::create(out, DatabaseWriterOptions::rocksdb())?;
        for (number, path) in paths.into_iter().enumerate() {
            let source = match number % 2 {
                0 => FileSource::Link(path),
                _ => FileSource::Copy(path),
            };
            writer.add_table(0, 6, &source, None)?;
        }
        writer.finish()?;
        Ok(())
    }

    /// Gives the tables of a source other filters.
    fn refilter(&self, out: &Path, say: &'static (dyn Fn(&str) + Sync)) -> Result<(), Failure> {
        let refilter = Refilter::new()
            .filter("ribbonfilter:10".parse()?)
            .threads(self.threads)
            .replace(self.replace)
            .progress(self.reporter(say));
        // Hidden, as it is left behind if the process is killed.
        let folder = OutputFolder::create_in(output::parent(out), "source")?;
        let source = folder.path().join("source");
        let other = Self { pause: Pause::Never, replace: false, ..self.clone() };
        match self.kind {
            Kind::RefilteredFile => {
                std::fs::write(&source, table(&self.entries(), &self.table_options()))?;
                say("finishing");
                refilter.table(&Table::open(&source)?, out)?;
            }
            Kind::RefilteredFolder => {
                Self { kind: Kind::BulkFolder, ..other }.build(&source, &|_| {})?;
                say("finishing");
                refilter.folder(&source, out, &TableReadOptions::default())?;
            }
            _ => {
                Self { kind: Kind::CopiedDatabase, ..other }.copy_tables(&source, &|_| {})?;
                say("finishing");
                refilter.database(&Database::open(&source)?, out)?;
            }
        }
        Ok(())
    }

    /// Merges two tables: one of all entries, but every other one with an old value, and one of
    /// those.
    fn compact(&self, out: &Path, say: &'static (dyn Fn(&str) + Sync)) -> Result<(), Failure> {
        let options = CompactionOptions::new(self.table_options())
            .max_file_size(self.max_file_size())
            .threads(self.threads)
            .replace(self.replace)
            .progress(self.reporter(say));
        let newer: Vec<_> = self.entries().into_iter().step_by(2).collect();
        let mut older = self.entries();
        older.iter_mut().step_by(2).for_each(|(_, value)| *value = b"old".to_vec());
        let mut compaction = Compaction::new(&options);
        for entries in [older, newer] {
            let bytes = table(&entries, &TableOptions::rocksdb());
            compaction.add_table(&Table::from_bytes(bytes)?)?;
        }
        say("finishing");
        if self.kind == Kind::CompactionDatabase {
            let mut writer = DatabaseWriter::create(out, DatabaseWriterOptions::leveldb())?;
            compaction.run_into(&mut writer, 0, 6)?;
            writer.finish()?;
        } else {
            compaction.run(out)?;
        }
        Ok(())
    }

    fn reporter(
        &self,
        say: &'static (dyn Fn(&str) + Sync),
    ) -> impl Fn(&sstkit_db::Progress) -> ControlFlow<()> + Send + Sync + 'static {
        let (at, reports) = (self.pause, AtomicU64::new(0));
        move |_| {
            let report = reports.fetch_add(1, Ordering::Relaxed) + 1;
            if at == Pause::Report(report) {
                pause(say);
            }
            ControlFlow::Continue(())
        }
    }
}

/// Any error.
pub type Failure = Box<dyn Error>;

fn table(entries: &[(Vec<u8>, Vec<u8>)], options: &TableOptions) -> Vec<u8> {
    let mut bytes = Vec::new();
    let written = TableWriter::to_sink(&mut bytes, options).and_then(|mut writer| {
        entries.iter().try_for_each(|(key, value)| writer.put(key, value))?;
        writer.finish()
    });
    written.expect("memory takes everything");
    bytes
}

/// `kind,seed,count,threads,replace,pause`, for the command line.
impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, seed, count, threads, replace, pause } = self;
        let name = Kind::ALL.iter().find(|(it, _)| it == kind).map_or("", |(_, name)| name);
        let pause = match pause {
            Pause::Never => "never".into(),
            Pause::Entry(number) => format!("entry{number}"),
            Pause::Report(number) => format!("report{number}"),
        };
        write!(f, "{name},{seed},{count},{threads},{replace},{pause}")
    }
}

impl FromStr for Work {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self, Failure> {
        let parts: Vec<&str> = text.split(',').collect();
        let [kind, seed, count, threads, replace, pause] = parts[..] else {
            return Err("kind,seed,count,threads,replace,pause are wanted".into());
        };
        let kind = Kind::ALL.iter().find(|(_, name)| *name == kind);
        let pause = match (pause.strip_prefix("entry"), pause.strip_prefix("report")) {
            (Some(number), _) => Pause::Entry(number.parse()?),
            (_, Some(number)) => Pause::Report(number.parse()?),
            _ => Pause::Never,
        };
        Ok(Self {
            kind: kind.ok_or("no such writer")?.0,
            seed: seed.parse()?,
            count: count.parse()?,
            threads: threads.parse()?,
            replace: replace.parse()?,
            pause,
        })
    }
}
