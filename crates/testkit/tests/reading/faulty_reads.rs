//! A fault in each read of a table, of each kind, once and for all.

use std::sync::Arc;

use bytes::Bytes;
use sstkit_coding::checksum::ChecksumType;
use sstkit_table::raw::Footer;
use sstkit_table::{BlockCache, ErrorKind, Table, TableReadOptions};
use sstkit_testkit::cases;
use sstkit_testkit::faults::{Fault, FaultySource};
use sstkit_testkit::goldens::{Golden, golden_tables, options};

use crate::known_contents::Known;

const FAULTS: [Fault; 6] =
    [Fault::Error, Fault::Short, Fault::Long, Fault::Zeros, Fault::Flip, Fault::Garbage];

/// Reads that are tried of each table, besides those of opening it.
const READS: u64 = 3;

/// One that keeps what it has read, one that reads everything again and again, one that keeps
/// little and drops it again.
fn ways_of_reading() -> [TableReadOptions; 3] {
    let tiny = BlockCache::with_high_priority_share(20_000, 0.5);
    [
        options(),
        options().no_block_cache(),
        options().block_cache(&tiny).cache_index_and_filter_blocks(true),
    ]
}

/// A table that is opened and read repeatedly.
struct Subject {
    name: String,
    bytes: Bytes,
    known: Known,
    has_checksums: bool,
}

impl Subject {
    fn new(golden: &Golden) -> Self {
        Self {
            name: golden.path.file_name().unwrap().to_string_lossy().into_owned(),
            bytes: Bytes::copy_from_slice(&golden.bytes),
            known: Known::of(golden),
            has_checksums: has_checksums(&Footer::read(&golden.bytes).unwrap()),
        }
    }

    /// How many reads opening takes, and how many there are in all.
    fn count(&self, options: &TableReadOptions) -> (u64, u64) {
        let source = Arc::new(FaultySource::new(self.bytes.clone()));
        let table = Table::from_source(Arc::clone(&source), options).unwrap();
        let opening = source.reads();
        let outcome = self.known.ask(&table, &self.name);
        assert!(outcome.errors.is_empty(), "{}: {:?}", self.name, outcome.errors);
        (opening, source.reads())
    }

    /// One fault. Whether it was met.
    fn meet(&self, options: &TableReadOptions, fault: &Fault, at: u64, for_ever: bool) -> bool {
        let until = if for_ever { u64::MAX } else { at + 1 };
        let what = format!("{}, {fault:?} in read {at}..{until}", self.name);
        let source = Arc::new(FaultySource::new(self.bytes.clone()));
        source.plan(fault.clone(), at..until);
        let mut met = false;
        let table = match Table::from_source(Arc::clone(&source), options) {
            Ok(table) => table,
            Err(error) => {
                assert!(source.faults() > 0, "{what}: {error}");
                assert!(!fault.is_told() || error.kind() == ErrorKind::Io, "{what}: {error}");
                met = true;
                source.heal();
                Table::from_source(Arc::clone(&source), options).expect("it was opened before")
            }
        };
        // Lies are found out by checksums. In footers before version 6, which have none, a lie may
        // also be that there are none.
        if fault.is_told() || self.has_checksums && has_checksums(table.footer()) {
            let outcome = self.known.ask(&table, &what);
            for error in &outcome.errors {
                assert!(source.faults() > 0, "{what}: {error}, and nothing was wrong");
                assert!(!fault.is_told() || error.kind() == ErrorKind::Io, "{what}: {error}");
            }
        } else {
            // Anything may come out, but it comes out.
            let _ = table.iter().take(10_000).count();
            let _ = table.get(b"key");
            let _ = table.verify();
        }
        met |= source.faults() > 0;
        source.heal();
        if self.has_checksums || fault.is_told() {
            self.still_works(&table, for_ever, &what);
        }
        met
    }

    /// What has failed is read again.
    fn still_works(&self, table: &Table, for_ever: bool, what: &str) {
        // A lie about the footer stays: the table was opened with it.
        if table.footer() != &Footer::read(&self.bytes).unwrap() {
            return;
        }
        let outcome = self.known.ask(table, &format!("{what}, healed"));
        assert!(outcome.errors.is_empty(), "{what}, healed: {:?} ({for_ever})", outcome.errors);
    }
}

fn has_checksums(footer: &Footer) -> bool {
    footer.checksum != ChecksumType::None
}

#[test]
fn every_read_fails_in_turn() {
    let mut tried = 0;
    let tables = golden_tables();
    for (number, golden) in tables.iter().enumerate() {
        let subject = Subject::new(golden);
        // Each table in one way; over all tables, each way many times.
        let ways = ways_of_reading();
        let ways = ways.iter().cycle().skip(number).take(cases().min(ways.len()));
        for options in ways {
            let (opening, all) = subject.count(options);
            let some = READS * cases() as u64;
            let others = all - opening;
            let step = others.div_ceil(some).max(1);
            let reads: Vec<u64> =
                (0..opening).chain((opening..all).step_by(step as usize)).collect();
            for at in reads {
                for (number, fault) in FAULTS.iter().enumerate() {
                    // Once, or permanently; in a longer run, both.
                    let first = (at + number as u64).is_multiple_of(2);
                    for for_ever in [first, !first].into_iter().take(cases()) {
                        let met = subject.meet(options, fault, at, for_ever);
                        let asked = subject.has_checksums || fault.is_told();
                        assert!(met || !asked, "{}: there is no read {at}", subject.name);
                        tried += 1;
                    }
                }
            }
        }
    }
    println!("{tried} faults in reads of {} tables", tables.len());
    assert!(tried > 3000);
}

/// Small tables, all reads, one after the other.
#[test]
fn every_read_of_small_tables_fails_in_turn() {
    let mut tables = golden_tables();
    tables.sort_by_key(|golden| golden.bytes.len());
    tables.truncate(8);
    let mut tried = 0;
    for (number, golden) in tables.iter().enumerate() {
        let subject = Subject::new(golden);
        let ways = ways_of_reading();
        for options in ways.iter().cycle().skip(number).take(cases().min(ways.len())) {
            for at in 0..subject.count(options).1 {
                for fault in &FAULTS {
                    subject.meet(options, fault, at, false);
                    subject.meet(options, fault, at, true);
                    tried += 2;
                }
            }
        }
    }
    println!("{tried} faults in all reads of {} small tables", tables.len());
    assert!(tried > 3000);
}
