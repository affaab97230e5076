//! The table of README: how many times as fast as RocksDB.

use std::fmt::Write as _;

use super::comparisons::{Comparisons, Interface};

/// What a line shows: its label, and the names of the work.
const LINES: [(&str, &[&str]); 11] = [
    ("write, no compression", &["write/none/1 thread"]),
    ("write, lz4, 2 threads", &["write/lz4/2 threads"]),
    ("scan, blocks cached", &["scan/none/in cache/1 thread"]),
    ("reverse scan, blocks cached", &["reverse scan/none/in cache/1 thread"]),
    ("scan, cache of a tenth", &["scan/none/cache of a tenth/1 thread"]),
    ("seek and 50 steps, blocks cached", &["seek and next 50/none/in cache/1 thread"]),
    ("get, key found, blocks cached", &["get present/none/in cache/1 thread"]),
    ("get, key not found, blocks cached", &["get absent/none/in cache/1 thread"]),
    ("batched get of 32 keys, blocks cached", &["get batch of 32/none/in cache/1 thread"]),
    (
        "Bloom filter of 100,000 keys: build, probe",
        &["bloom build/100000 keys", "bloom query/100000 keys"],
    ),
    (
        "Ribbon filter of 100,000 keys: build, probe",
        &["ribbon build/100000 keys", "ribbon query/100000 keys"],
    ),
];

pub(super) fn table(comparisons: &Comparisons) -> String {
    let mut text = String::from(
        "| | `Table` to `SstFileReader` | `Database` to a RocksDB database |\n|---|--:|--:|\n",
    );
    for (label, work) in LINES {
        let cell = |interface| {
            let ratios = work.iter().filter_map(|work| comparisons.ratio(work, interface));
            ratios.map(|ratio| ratio.speedup().to_string()).collect::<Vec<_>>().join(", ")
        };
        let (table, database) = (cell(Interface::Table), cell(Interface::Database));
        if !table.is_empty() || !database.is_empty() {
            let _ = writeln!(text, "| {label} | {table} | {database} |");
        }
    }
    text
}
