//! Tables that share a cache, read by many threads.

use std::sync::Arc;
use std::thread;

use bytes::Bytes;
use sstkit_coding::checksum::ChecksumType;
use sstkit_table::explain::LookupAnswer;
use sstkit_table::raw::Footer;
use sstkit_table::{BlockCache, Error, ErrorKind, Table};
use sstkit_testkit::faults::{Fault, FaultySource};
use sstkit_testkit::goldens::{Model, golden_tables, options};
use sstkit_testkit::{Random, cases};

const THREADS: u64 = 8;

/// The reads of each thread.
const OPERATIONS: usize = 600;

/// A table, and what is in it.
struct Subject {
    name: String,
    table: Table,
    source: Arc<FaultySource>,
    model: Model,
    absent: Vec<Vec<u8>>,
}

/// Tables of all generations, in one cache.
fn subjects(cache: &BlockCache, in_cache: bool) -> Vec<Subject> {
    let options = options().block_cache(cache).cache_index_and_filter_blocks(in_cache);
    let checked = golden_tables().into_iter().filter(|golden| {
        let footer = Footer::read(&golden.bytes).unwrap();
        footer.checksum != ChecksumType::None
    });
    checked
        .step_by(9)
        .map(|golden| {
            let source = Arc::new(FaultySource::new(Bytes::copy_from_slice(&golden.bytes)));
            let model = Model::of(&golden);
            Subject {
                name: golden.path.file_name().unwrap().to_string_lossy().into_owned(),
                table: Table::from_source(Arc::clone(&source), &options).unwrap(),
                source,
                absent: model.absent_keys(),
                model,
            }
        })
        .collect()
}

impl Subject {
    /// A key that is there, or one that is not.
    fn key(&self, random: &mut Random) -> &[u8] {
        match random.index(3) {
            0 => random.pick::<Vec<u8>>(&self.absent),
            _ if self.model.keys.is_empty() => b"key",
            _ => random.pick::<Vec<u8>>(&self.model.keys),
        }
    }

    /// One question, and whether the answer is right.
    fn ask(&self, random: &mut Random) -> Result<(), Error> {
        let (name, model) = (&self.name, &self.model);
        match random.index(100) {
            0 => {
                self.table.verify().into_result()?;
            }
            1..5 => {
                let keys: Vec<&[u8]> = (0..40).map(|_| self.key(random)).collect();
                let values = self.table.get_many(&keys)?;
                for (key, value) in keys.iter().zip(&values) {
                    assert_eq!(value.as_deref(), model.get(key), "{name}");
                }
            }
            5..10 => {
                let from = random.index(model.visible.len().max(1));
                let Some((first, _)) = model.visible.get(from) else { return Ok(()) };
                let expected = model.visible[from..].iter().take(200);
                let found = self.table.range(&first[..]..).take(200);
                for (found, (key, value)) in found.zip(expected) {
                    let found = found?;
                    assert_eq!((&found.0, &found.1[..]), (key, &value[..]), "{name}");
                }
            }
            10..13 => {
                let mut expected = model.visible.iter().rev();
                for found in self.table.iter().rev().take(200) {
                    let (key, value) = found?;
                    let (k, v) = expected.next().expect("no more than there are");
                    assert_eq!((&key, &value[..]), (k, &v[..]), "{name}");
                }
            }
            13..25 => {
                let key = self.key(random);
                let found = match self.table.explain(key)?.answer {
                    LookupAnswer::Value(value) => Some(value),
                    LookupAnswer::Unresolved(why) => panic!("{name}: {why}"),
                    _ => None,
                };
                assert_eq!(found.as_deref(), model.get(key), "{name}: explain");
            }
            _ => {
                let key = self.key(random);
                assert_eq!(self.table.get(key)?.as_deref(), model.get(key), "{name}: get");
            }
        }
        Ok(())
    }
}

/// All threads, each with questions of its own; `fail` sees errors.
fn ask_all(subjects: &[Subject], operations: usize, fail: &(dyn Fn(&Error) + Sync)) {
    thread::scope(|scope| {
        for number in 0..THREADS {
            scope.spawn(move || {
                let mut random = Random::new(number + 1);
                for _ in 0..operations {
                    if let Err(error) = random.pick(subjects).ask(&mut random) {
                        fail(&error);
                    }
                }
            });
        }
    });
}

#[test]
fn tiny_and_large_caches() {
    let caches = [
        (BlockCache::new(0), true),
        (BlockCache::with_high_priority_share(30_000, 0.3), true),
        (BlockCache::new(100_000), false),
        (BlockCache::with_high_priority_share(64 << 20, 0.5), true),
    ];
    for (cache, in_cache) in caches {
        let subjects = subjects(&cache, in_cache);
        let operations = OPERATIONS * cases();
        ask_all(&subjects, operations, &|error| panic!("nothing is wrong: {error}"));
        cache.clear();
        ask_all(&subjects, operations / 10, &|error| panic!("nothing is wrong: {error}"));
    }
}

/// Reads fail and lie now and then, blocks go meanwhile: who waited for a block that another could
/// not load loads it itself, and no thread sees data that does not exist.
#[test]
fn reads_that_fail_under_many_threads() {
    for bytes in [40_000, 8 << 20] {
        let cache = BlockCache::new(bytes);
        let subjects = subjects(&cache, true);
        thread::scope(|scope| {
            let readers = scope.spawn(|| {
                ask_all(&subjects, OPERATIONS * cases(), &|error| {
                    let kind = error.kind();
                    assert!(matches!(kind, ErrorKind::Io | ErrorKind::Corrupt), "{error}");
                });
            });
            let mut random = Random::new(99);
            while !readers.is_finished() {
                let fault = random.pick(&[Fault::Error, Fault::Short, Fault::Garbage]).clone();
                let from = random.index(5) as u64;
                random.pick(&subjects).source.plan(fault, from..from + 3);
                if random.index(100) == 0 {
                    cache.clear();
                }
                thread::yield_now();
            }
            readers.join().expect("no thread has seen anything wrong");
        });
        subjects.iter().for_each(|subject| subject.source.heal());
        ask_all(&subjects, OPERATIONS / 10, &|error| panic!("all is well again: {error}"));
    }
}
