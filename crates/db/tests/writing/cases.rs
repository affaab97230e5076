//! The rules of compaction, case by case: `testdata/compaction`.
//!
//! | command | meaning |
//! |---|---|
//! | `table NAME` | defines a table by its entries |
//! | `compact tables=(NAME, …)` | merges tables, the oldest first, and prints the result |
//!
//! Arguments of `compact`: `bottommost`, `keep_versions`, `zero` (sequence numbers), `merge` (with an
//! operator that joins operands by commas), `max_file_size=BYTES`, `from=KEY`, `to=KEY`, `prefix=KEY`,
//! `split_at=(KEY, …)`. Of both: `comparator=NAME`.

use std::collections::HashMap;
use std::ops::Bound;

use sstkit_db::{Compaction, CompactionCounts, CompactionOptions, SequenceNumbers};
use sstkit_table::{Comparator, Table, TableOptions, TableReadOptions};
use sstkit_testkit::datadriven::{self, Case};
use sstkit_testkit::{notation, orders};

use crate::model::append;

fn comparator(case: &Case) -> Comparator {
    match case.value("comparator") {
        None => Comparator::Bytewise,
        Some("reverse") => Comparator::ReverseBytewise,
        Some("timestamps") => Comparator::BytewiseWithTimestamp,
        Some("ignore_case") => orders::ignore_case(),
        Some(other) => panic!("unknown comparator {other}"),
    }
}

fn compact(case: &Case, tables: &HashMap<String, Table>) -> String {
    let mut options = CompactionOptions::new(TableOptions::rocksdb().block_size(100))
        .bottommost(case.has("bottommost"))
        .keep_versions(case.has("keep_versions"))
        .max_file_size(case.parsed("max_file_size"));
    if case.has("zero") {
        options = options.sequence_numbers(SequenceNumbers::Zero);
    }
    let bound = |name| case.value(name).map(str::as_bytes);
    options = options.range((
        bound("from").map_or(Bound::Unbounded, Bound::Included),
        bound("to").map_or(Bound::Unbounded, Bound::Excluded),
    ));
    if let Some(prefix) = bound("prefix") {
        options = options.prefix(prefix);
    }
    if let Some(keys) = case.values("split_at") {
        options = options.split_at(keys.iter().map(|key| key.as_bytes().to_vec()).collect());
    }
    if case.has("merge") {
        options = options.merge_operator(append());
    }
    let comparator = comparator(case);
    let mut compaction = Compaction::new(&options.comparator(comparator.clone()));
    for name in case.values("tables").expect("tables=(...)") {
        compaction.add_table(&tables[name]).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let summary = match compaction.run(&out) {
        Ok(summary) => summary,
        Err(error) => return format!("error: {error}"),
    };
    let mut output = String::new();
    for file in &summary.manifest.files {
        let path = match out.is_dir() {
            true => {
                output.push_str(&format!("{}:\n", file.name));
                out.join(&file.name)
            }
            false => out.clone(),
        };
        let options = TableReadOptions::default().comparator(comparator.clone());
        let table = Table::open_with(path, &options).unwrap();
        table.verify().into_result().unwrap();
        output.push_str(&notation::print_table(&table));
    }
    output + &counts(&summary.counts)
}

/// The counts that are not 0.
fn counts(counts: &CompactionCounts) -> String {
    let named = [
        ("shadowed", counts.shadowed),
        ("tombstones", counts.tombstones),
        ("covered", counts.covered),
        ("merged", counts.merged),
    ];
    let dropped = named.iter().filter(|(_, count)| *count > 0);
    let dropped: String = dropped.map(|(name, count)| format!(", {count} {name}")).collect();
    format!("{} in, {} out{dropped}\n", counts.entries_in, counts.entries_out)
}

#[test]
fn cases() {
    datadriven::run("testdata/compaction", || {
        let mut tables = HashMap::new();
        move |case| match case.command() {
            "table" => {
                let comparator = comparator(case);
                let options = TableOptions::rocksdb().comparator(comparator.clone());
                let bytes = notation::table_bytes(case.input(), &options);
                let read = TableReadOptions::default().comparator(comparator);
                let [name] = case.words()[..] else { panic!("a table needs a name") };
                tables.insert(name.to_owned(), Table::from_source(bytes, &read).unwrap());
                String::new()
            }
            "compact" => compact(case, &tables),
            other => panic!("unknown command {other}"),
        }
    });
}
