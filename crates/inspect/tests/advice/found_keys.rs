//! Lookups of keys that are found: expected wasted reads, and those of all keys of golden databases, each
//! looked up in sorted lists of the keys of all files.

use std::collections::BTreeSet;

use sstkit_db::{ColumnFamily, LevelFile};
use sstkit_inspect::{FilterLevels, PlannedKeys};

use crate::made::open;

fn keys(file: &LevelFile) -> BTreeSet<Vec<u8>> {
    let table = file.open().unwrap();
    let mut entries = table.entry_cursor();
    let mut keys = BTreeSet::new();
    let mut more = entries.seek_to_first().unwrap();
    while more {
        keys.insert(entries.user_key().to_vec());
        more = entries.next().unwrap();
    }
    keys
}

/// Keys, and the probes of newer files in whose range they are, each times the rate of its filter.
fn wasted_reads(family: &ColumnFamily, rates: &[f64]) -> (usize, f64) {
    let files: Vec<LevelFile> = family.levels().into_iter().flat_map(|level| level.files).collect();
    let keys_of: Vec<BTreeSet<Vec<u8>>> = files.iter().map(keys).collect();
    let (mut count, mut wasted) = (0, 0.0);
    for (number, file) in files.iter().enumerate() {
        count += keys_of[number].len();
        for key in &keys_of[number] {
            for newer in (0..number).filter(|&newer| files[newer].run() < file.run()) {
                let range = (keys_of[newer].first().unwrap(), keys_of[newer].last().unwrap());
                if keys_of[newer].contains(key) {
                    break;
                }
                if range.0 <= key && key <= range.1 {
                    wasted += rates[newer];
                }
            }
        }
    }
    (count, wasted)
}

#[test]
fn a_sample_of_the_keys_tells_the_wasted_reads_of_all() {
    let databases = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/databases");
    for (name, expected) in [("rocksdb-column-families", 0.0043), ("rocksdb-leveled-bloom", 0.0084)]
    {
        let database = open(&std::path::Path::new(databases).join(name));
        let filters = FilterLevels::of(&database, &PlannedKeys::default()).unwrap();
        let filters = filters.with_found_keys(&database).unwrap();
        let (mut count, mut wasted, mut first) = (0, 0.0, 0);
        for family in database.column_families() {
            let files = family.levels().iter().map(|level| level.files.len()).sum::<usize>();
            let own = &filters.files[first..first + files];
            first += files;
            let rates: Vec<f64> =
                own.iter().map(|file| file.report.expected_fpr.unwrap_or(1.0)).collect();
            let of_family = wasted_reads(&family, &rates);
            (count, wasted) = (count + of_family.0, wasted + of_family.1);
        }
        let all = wasted / count as f64;
        let sampled = filters.plan(&[], 1.0).wasted_reads_before;
        assert!((sampled / all - 1.0).abs() < 0.05, "{name}: {sampled}, of all keys {all}");
        // Computed once from the output of `sst scan --internal`.
        assert!((all / expected - 1.0).abs() < 0.02, "{name}: {all}, not {expected}");
    }
}
