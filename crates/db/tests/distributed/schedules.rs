//! A model of a cluster: attempts that are retried, duplicated, late or killed, and drivers that are
//! lost at any step, in thousands of random schedules.
//!
//! Each attempt writes its own name as the value of every key of its part. Whatever happens, an output
//! that has a manifest has every key once, and all keys of a part from one attempt; and it never
//! changes again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use sstkit_db::{
    Commit, CommitOptions, Database, MANIFEST_NAME, PartOptions, PartWriter, Plan, PlanOptions,
};
use sstkit_table::TableOptions;
use sstkit_testkit::random::{Random, seeds};

use super::{tables_in, temporary_folder};

/// Schedules, unless `SSTKIT_CASES` says otherwise.
const SCHEDULES: u64 = 2000;

#[test]
fn no_schedule_gives_overlap_loss_or_duplicates() {
    let seeds: Vec<u64> = seeds(SCHEDULES).collect();
    let next = AtomicUsize::new(0);
    let outcomes = [const { AtomicU64::new(0) }; 3];
    let work = || {
        while let Some(&seed) = seeds.get(next.fetch_add(1, Ordering::Relaxed)) {
            let outcome = std::panic::catch_unwind(|| Cluster::new(seed).run());
            let outcome = outcome.unwrap_or_else(|panic| {
                eprintln!(
                    "schedule {seed} failed: SSTKIT_SEED={seed} SSTKIT_CASES=1 runs it alone"
                );
                std::panic::resume_unwind(panic)
            });
            for (count, happened) in outcomes.iter().zip(outcome) {
                count.fetch_add(u64::from(happened), Ordering::Relaxed);
            }
        }
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    // The schedules have to reach what they are about.
    if seeds.len() as u64 >= SCHEDULES {
        for (what, count) in
            ["a lost driver", "a late attempt", "an early commit"].iter().zip(&outcomes)
        {
            assert!(count.load(Ordering::Relaxed) > 0, "no schedule had {what}");
        }
    }
}

struct Cluster {
    random: Random,
    folder: tempfile::TempDir,
    plan: Plan,
    /// The keys of each part.
    keys: Vec<Vec<Vec<u8>>>,
    /// Parts that a finished attempt has.
    finished: BTreeSet<usize>,
    attempts: u64,
    /// The manifest as it was first seen.
    published: Option<Vec<u8>>,
    lost_driver: bool,
    late_attempt: bool,
    early_commit: bool,
}

impl Cluster {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let folder = temporary_folder();
        let keys: BTreeSet<Vec<u8>> = (0..random.below(30))
            .map(|_| {
                let length = 1 + random.below(3);
                random.bytes(length)
            })
            .collect();
        let splits: BTreeSet<Vec<u8>> = (0..random.below(4)).map(|_| random.bytes(1)).collect();
        // Small enough that a part has several tables.
        let options = PlanOptions::new(TableOptions::rocksdb().block_size(64))
            .max_file_size(100)
            .splits(splits);
        let plan = Plan::create(folder.path(), &options).unwrap();
        let mut of_parts = vec![Vec::new(); plan.parts()];
        for key in keys {
            of_parts[plan.part_of(&key)].push(key);
        }
        Self {
            random,
            folder,
            plan,
            keys: of_parts,
            finished: BTreeSet::new(),
            attempts: 0,
            published: None,
            lost_driver: false,
            late_attempt: false,
            early_commit: false,
        }
    }

    /// Whether a driver was lost, an attempt was late, a commit came too early.
    fn run(mut self) -> [bool; 3] {
        let mut writers: Vec<(PartWriter, usize)> = Vec::new();
        let mut drivers: Vec<Commit> = Vec::new();
        for _ in 0..10 + self.random.below(50) {
            match self.random.below(10) {
                0..=2 => writers.extend(self.start_attempt()),
                3..=5 if !writers.is_empty() => {
                    let at = self.random.index(writers.len());
                    let (writer, part) = writers.swap_remove(at);
                    self.end_attempt(writer, part);
                }
                6 => drivers.extend(self.start_driver()),
                7..=8 if !drivers.is_empty() => self.step(&mut drivers),
                9 if !drivers.is_empty() && self.random.below(3) == 0 => {
                    let at = self.random.index(drivers.len());
                    drivers.swap_remove(at);
                    self.lost_driver = true;
                }
                _ => {}
            }
            self.check();
        }
        self.recover();
        // Those that are still running come too late.
        for (writer, part) in writers {
            self.end_attempt(writer, part);
        }
        while !drivers.is_empty() {
            self.step(&mut drivers);
        }
        self.check();
        assert!(self.published.is_some());
        [self.lost_driver, self.late_attempt, self.early_commit]
    }

    fn output(&self) -> &Path {
        self.folder.path()
    }

    fn start_attempt(&mut self) -> Option<(PartWriter, usize)> {
        let part = self.random.index(self.plan.parts());
        self.attempts += 1;
        // Names in any order, so that a later attempt may be the first by name.
        let name = format!("{}-{}", self.random.below(100), self.attempts);
        let writer = PartWriter::create(&self.plan, part, &name, &PartOptions::default());
        let mut writer = match writer {
            Ok(writer) => writer,
            // The plan was cleaned up.
            Err(error) => {
                assert!(self.published.is_some(), "{error}");
                return None;
            }
        };
        for key in &self.keys[part] {
            writer.put(key, name.as_bytes()).unwrap();
        }
        Some((writer, part))
    }

    /// Finishes an attempt, or loses it with or without a trace.
    fn end_attempt(&mut self, writer: PartWriter, part: usize) {
        self.late_attempt |= self.published.is_some();
        match self.random.below(4) {
            0 => {
                drop(writer);
                // A killed process leaves its folder, under a temporary name.
                let folder = self.output().join("_sstkit").join(self.plan.id());
                let killed = folder.join(format!(".part-{part:06}.attempt-killed.x.tmp"));
                if fs::create_dir(&killed).is_ok() {
                    fs::write(killed.join("000001.sst"), b"half a table").unwrap();
                }
            }
            _ => match writer.finish() {
                Ok(_) => {
                    self.finished.insert(part);
                }
                Err(error) => assert!(self.published.is_some(), "{error}"),
            },
        }
    }

    fn start_driver(&mut self) -> Option<Commit> {
        let keys: usize = self.keys.iter().map(Vec::len).sum();
        let options = CommitOptions::default()
            .checksums(self.random.below(2) == 0)
            .clean(self.random.below(2) == 0)
            .entries(Some(keys as u64));
        match Commit::new(self.output(), options) {
            Ok(commit) => Some(commit),
            Err(error) => panic!("{error}"),
        }
    }

    /// One step of one driver.
    fn step(&mut self, drivers: &mut Vec<Commit>) {
        let at = self.random.index(drivers.len());
        let complete = self.finished.len() == self.plan.parts();
        match drivers[at].step() {
            Ok(true) => {}
            Ok(false) => {
                drivers.swap_remove(at);
            }
            Err(error) => {
                assert!(!complete, "{error}");
                self.early_commit = true;
                drivers.swap_remove(at);
            }
        }
    }

    /// A new driver does what is left: the missing parts, and the commit.
    fn recover(&mut self) {
        if self.published.is_none() {
            for part in 0..self.plan.parts() {
                if !self.finished.contains(&part) {
                    let name = format!("recovery-{part}");
                    let options = PartOptions::default().sorted(false);
                    let writer = PartWriter::create(&self.plan, part, &name, &options);
                    let mut writer = writer.unwrap();
                    for key in self.keys[part].iter().rev() {
                        writer.put(key, name.as_bytes()).unwrap();
                    }
                    writer.finish().unwrap();
                    self.finished.insert(part);
                }
            }
        }
        let commit = self.start_driver().unwrap();
        commit.run().unwrap();
        self.check();
    }

    /// What holds at any time.
    fn check(&mut self) {
        let output = self.folder.path();
        let Ok(manifest) = fs::read(output.join(MANIFEST_NAME)) else {
            assert!(self.published.is_none(), "the manifest has disappeared");
            return;
        };
        if let Some(published) = &self.published {
            assert_eq!(*published, manifest, "the manifest has changed");
            return;
        }
        assert_eq!(self.finished.len(), self.plan.parts(), "published before it was complete");
        let db = Database::open_bulk(output).unwrap();
        let bulk = db.bulk_manifest().unwrap();
        let names: Vec<_> = bulk.files.iter().map(|file| file.name.clone()).collect();
        assert_eq!(tables_in(output), names, "tables that the manifest does not name");
        bulk.verify(output).unwrap();
        let mut found = BTreeMap::<usize, Vec<_>>::new();
        for pair in &db {
            let (key, value) = pair.unwrap();
            found.entry(self.plan.part_of(&key)).or_default().push((key, value.to_vec()));
        }
        for (part, keys) in self.keys.iter().enumerate() {
            let pairs = found.remove(&part).unwrap_or_default();
            assert!(pairs.iter().map(|(key, _)| key).eq(keys), "keys of part {part}");
            let attempts: BTreeSet<_> = pairs.into_iter().map(|(_, attempt)| attempt).collect();
            assert!(attempts.len() <= 1, "part {part} is of several attempts: {attempts:?}");
        }
        self.published = Some(manifest);
    }
}
