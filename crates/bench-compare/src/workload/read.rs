//! Reading a table: scans, seeks and lookups, with a cache that holds everything and with one that
//! holds a tenth, by one thread and by two. All read the same file, which RocksDB has written.

use std::path::Path;

use anyhow::{Result, ensure};

use super::write::threads_name;
use crate::comparison::{Comparison, timed};
use crate::data::{Answer, Entries, Queries};
use crate::reader::{Scan, TableReader, in_threads};
use crate::session::Session;
use crate::settings::{CacheSize, Checksum, Codec, Settings};
use crate::{fileformat, leveldb, ours, rocks};

/// Entries after the one that was sought.
const NEXT: usize = 50;
/// Of lookups in batches.
const BATCHES: [usize; 2] = [32, 100];

/// Of scans whose blocks do not go into the cache.
const NOT_FILLED: &str = ", cache not filled";

pub(super) type Readers = Vec<Box<dyn TableReader + Sync>>;
/// Those that stay in the thread they were made in.
pub(super) type LocalReaders = Vec<Box<dyn TableReader>>;

pub(crate) fn run(session: &mut Session, entries: &Entries) -> Result<()> {
    for codec in Codec::ALL {
        let settings = Settings::new(codec);
        run_file(session, entries, settings, &codec.to_string())?;
    }
    // The other checksum makes a difference where blocks are read rather than found in a cache.
    let settings = Settings { checksum: Checksum::Crc32c, ..Settings::new(Codec::None) };
    if session.plan.wants("scan/none with crc32c/cache of a tenth/1 thread") {
        run_crc32c(session, entries, settings)?;
    }
    Ok(())
}

/// Everything with the file of one codec.
fn run_file(
    session: &mut Session,
    entries: &Entries,
    settings: Settings,
    codec: &str,
) -> Result<()> {
    let wanted =
        |cache: &CacheSize| names(codec, *cache).iter().any(|name| session.plan.wants(name));
    let caches: Vec<CacheSize> = CacheSize::BOTH.into_iter().filter(wanted).collect();
    if caches.is_empty() {
        return Ok(());
    }
    let path = session.path("table.sst");
    eprintln!("writing the table with codec {codec}");
    rocks::write(&path, settings, entries)?;
    for cache in caches {
        let folder = session.subfolder()?;
        let bytes = cache.bytes(entries.raw_bytes());
        let readers = open(&path, settings, bytes, folder.path())?;
        let locals = open_locals(session, settings, bytes, folder.path(), entries)?;
        if cache == CacheSize::All {
            warm_up(&readers, &locals, entries)?;
        }
        for threads in [1, 2] {
            let locals: &LocalReaders = if threads == 1 { &locals } else { &Vec::new() };
            let of = "";
            let work = Work { of, codec, cache, threads, entries, readers: &readers, locals };
            work.run(session)?;
        }
    }
    std::fs::remove_file(&path)?;
    Ok(())
}

fn run_crc32c(session: &mut Session, entries: &Entries, settings: Settings) -> Result<()> {
    let path = session.path("table.sst");
    rocks::write(&path, settings, entries)?;
    let cache = CacheSize::Tenth;
    let folder = session.subfolder()?;
    let readers = open(&path, settings, cache.bytes(entries.raw_bytes()), folder.path())?;
    let (codec, locals) = ("none with crc32c", &Vec::new());
    let work = Work { of: "", codec, cache, threads: 1, entries, readers: &readers, locals };
    work.scans(session)?;
    std::fs::remove_file(&path)?;
    Ok(())
}

fn open(path: &Path, settings: Settings, cache: u64, folder: &Path) -> Result<Readers> {
    let directory = folder.join("db");
    let database = rocks::Database::around(path, &directory, cache)?;
    Ok(vec![
        Box::new(ours::Reader::open(path, cache)?),
        Box::new(rocks::Reader::open(path, settings, cache)?),
        Box::new(ours::Database::open(&directory, cache)?),
        Box::new(database),
    ])
}

/// The others know few codecs and read one way or the other.
fn open_locals(
    session: &mut Session,
    settings: Settings,
    cache: u64,
    folder: &Path,
    entries: &Entries,
) -> Result<LocalReaders> {
    let mut readers = LocalReaders::new();
    if settings.codec != Codec::None {
        return Ok(readers);
    }
    match fileformat::Reader::make(folder, entries) {
        Ok(reader) => readers.push(Box::new(reader)),
        Err(error) => session.note(format!("rocksdb-fileformat, a table of its own: {error:#}")),
    }
    match leveldb::Database::fill(folder, cache, entries) {
        Ok(database) => readers.push(Box::new(database)),
        Err(error) => session.note(format!("rusty-leveldb: {error:#}")),
    }
    Ok(readers)
}

/// One scan each, so that everything is in the caches.
pub(super) fn warm_up(readers: &Readers, locals: &LocalReaders, entries: &Entries) -> Result<()> {
    let expected = entries.scanned(false);
    let locals = locals.iter().map(|reader| &**reader);
    for reader in readers.iter().map(|reader| &**reader as &dyn TableReader).chain(locals) {
        let answer = reader.scan(Scan::forward())?;
        ensure!(answer == expected, "{}: {answer:?} instead of {expected:?}", reader.name());
    }
    Ok(())
}

/// All names of the work with one file and cache.
pub(super) fn names(codec: &str, cache: CacheSize) -> Vec<String> {
    let kinds = ["scan", "reverse scan", "seek and next 50", "get present", "get absent"];
    let kinds = kinds.map(String::from).into_iter();
    let kinds = kinds.chain(BATCHES.map(|batch| format!("get batch of {batch}")));
    let names = kinds.flat_map(|kind| {
        let codecs = [codec.to_string(), format!("{codec}{NOT_FILLED}")];
        codecs.map(|codec| [1, 2].map(|threads| name(&kind, &codec, cache, threads)))
    });
    names.flatten().collect()
}

pub(super) fn name(kind: &str, codec: &str, cache: CacheSize, threads: usize) -> String {
    format!("{kind}/{codec}/{cache}/{}", threads_name(threads))
}

/// Work on a file or a directory that is open in all readers.
pub(super) struct Work<'a> {
    /// What names begin with.
    pub(super) of: &'a str,
    pub(super) codec: &'a str,
    pub(super) cache: CacheSize,
    pub(super) threads: usize,
    pub(super) entries: &'a Entries,
    pub(super) readers: &'a Readers,
    pub(super) locals: &'a LocalReaders,
}

impl Work<'_> {
    /// Scans, seeks and lookups.
    pub(super) fn run(&self, session: &mut Session) -> Result<()> {
        self.scans(session)?;
        self.seeks(session)?;
        self.gets(session)
    }

    fn name(&self, kind: &str) -> String {
        name(&format!("{}{kind}", self.of), self.codec, self.cache, self.threads)
    }

    fn scans(&self, session: &mut Session) -> Result<()> {
        for backward in [false, true] {
            let kind = if backward { "reverse scan" } else { "scan" };
            self.scan(session, self.name(kind), backward, true)?;
            if self.cache == CacheSize::Tenth {
                let codec = format!("{}{NOT_FILLED}", self.codec);
                let name = name(&format!("{}{kind}", self.of), &codec, self.cache, self.threads);
                self.scan(session, name, backward, false)?;
            }
        }
        Ok(())
    }

    /// Each thread scans all of it.
    fn scan(
        &self,
        session: &mut Session,
        name: String,
        backward: bool,
        fill_cache: bool,
    ) -> Result<()> {
        if !session.plan.wants(&name) {
            return Ok(());
        }
        // Only to say in how many threads: a scan has no keys.
        let parts = &Queries::none(self.threads);
        let expected = Answer::sum(vec![self.entries.scanned(backward); self.threads]);
        let operations = self.entries.len() * self.threads as u64;
        let mut comparison = Comparison::new(name, operations, expected);
        for reader in self.readers.iter().filter(|it| fill_cache || it.can_bypass_cache()) {
            for &read_ahead in self.read_aheads(&**reader) {
                let scan = Scan { backward, read_ahead, fill_cache };
                comparison.subject(scan_name(&**reader, scan), reader.family(), move || {
                    timed(|| in_threads(parts, |_| reader.scan(scan)))
                });
            }
        }
        for reader in self.locals.iter().filter(|reader| reader.can_scan(backward)) {
            let scan = Scan { backward, read_ahead: 0, fill_cache };
            comparison.subject(reader.name(), reader.family(), move || timed(|| reader.scan(scan)));
        }
        session.run(comparison)
    }

    /// Reading ahead is for blocks that have to be read.
    fn read_aheads<'r>(&self, reader: &'r dyn TableReader) -> &'r [u64] {
        match self.cache {
            CacheSize::All => &reader.read_aheads()[..1],
            CacheSize::Tenth => reader.read_aheads(),
        }
    }

    fn seeks(&self, session: &mut Session) -> Result<()> {
        let name = self.name("seek and next 50");
        if !session.plan.wants(&name) {
            return Ok(());
        }
        let queries = Queries::new(self.entries, session.plan.queries.div_ceil(20), true);
        let parts = queries.split(self.threads);
        let expected = Answer::sum(parts.iter().map(|part| part.sought(self.entries, NEXT)));
        let mut comparison = Comparison::new(name, queries.keys.len() as u64, expected);
        for reader in self.readers {
            let parts = &parts;
            comparison.subject(reader.name(), reader.family(), move || {
                timed(|| in_threads(parts, |keys| reader.seek(keys, NEXT)))
            });
        }
        session.run(comparison)
    }

    fn gets(&self, session: &mut Session) -> Result<()> {
        for present in [true, false] {
            let queries = Queries::new(self.entries, session.plan.queries, present);
            let parts = queries.split(self.threads);
            let expected = Answer::sum(parts.iter().map(|part| part.got(self.entries)));
            let name = self.name(if present { "get present" } else { "get absent" });
            let mut comparison = Comparison::new(name, queries.keys.len() as u64, expected);
            for reader in self.readers {
                let parts = &parts;
                comparison.subject(reader.name(), reader.family(), move || {
                    timed(|| in_threads(parts, |keys| reader.get(keys)))
                });
            }
            for reader in self.locals.iter().filter(|reader| reader.can_get()) {
                let keys = &queries.keys;
                comparison
                    .subject(reader.name(), reader.family(), move || timed(|| reader.get(keys)));
            }
            session.run(comparison)?;
            if !present {
                continue;
            }
            for batch in BATCHES {
                let name = self.name(&format!("get batch of {batch}"));
                let mut comparison = Comparison::new(name, queries.keys.len() as u64, expected);
                for reader in self.readers {
                    let parts = &parts;
                    comparison.subject(reader.name(), reader.family(), move || {
                        timed(|| in_threads(parts, |keys| reader.get_many(keys, batch)))
                    });
                }
                session.run(comparison)?;
            }
        }
        Ok(())
    }
}

fn scan_name(reader: &dyn TableReader, scan: Scan) -> String {
    match scan.read_ahead {
        0 => reader.name(),
        bytes => format!("{}, read-ahead {} MiB", reader.name(), bytes >> 20),
    }
}
