//! The steps of a point lookup, case by case: `testdata/explain`.
//!
//! | command | meaning |
//! |---|---|
//! | `table` | writes and opens a table of these entries |
//! | `database` | writes and opens a database of this log and these levels |
//! | `explain KEY` | prints the steps of a lookup, in a database at `sequence=N` |
//!
//! Arguments of `table` and `database`: `filter=POLICY`, `prefix=LENGTH` (a prefix extractor, and a
//! filter of prefixes alone), `partitioned` (filter and index), `hash_index` (of data blocks),
//! `first_keys` (in the index), `leveldb`, `interval=ENTRIES` (between restart points), `merge` (with an
//! operator that joins operands), `filters=off` (readers do not use them).
//!
//! A data block has one or two entries. Separators are shown as they are in the index.

use std::sync::Arc;

use sstkit_db::{ColumnFamily, Database, DatabaseOptions};
use sstkit_filter::PrefixExtractor;
use sstkit_inspect::{
    BlockSearch, BlockVisit, Encoding, Explanation, FilterAnswer, FoundEntry, InspectedTable,
    LookupStep, TableStep,
};
use sstkit_table::raw::IndexKind;
use sstkit_table::{TableOptions, TableReadOptions};
use sstkit_testkit::datadriven::{self, Case, unescape};
use sstkit_testkit::goldens::Concatenate;
use sstkit_testkit::{database_notation, notation};
use tempfile::TempDir;

/// What is looked into. The database is in the directory.
enum Subject {
    Table(InspectedTable),
    Database(ColumnFamily, #[expect(dead_code, reason = "deleted when dropped")] TempDir),
}

impl Subject {
    fn table(case: &Case) -> Self {
        let mut options = TableReadOptions::default().use_filters(!is_off(case));
        if case.has("merge") {
            options = options.merge_operator(Arc::new(Concatenate));
        }
        let bytes = notation::table_bytes(case.input(), &table_options(case));
        Self::Table(InspectedTable::from_bytes(bytes, &options).unwrap())
    }

    fn database(case: &Case) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("db");
        database_notation::write_database(&path, case.input(), &table_options(case));
        let mut options = DatabaseOptions::default().use_filters(!is_off(case));
        if case.has("merge") {
            options = options.default_merge_operator(Arc::new(Concatenate));
        }
        let database = Database::open_with(&path, &options).unwrap();
        Self::Database(database.default_column_family(), folder)
    }

    fn explain(&self, case: &Case) -> String {
        let [key] = case.words()[..] else { panic!("explain needs a key") };
        let key = unescape(key);
        let explanation = match self {
            Self::Table(file) => Explanation::in_table(file, &key, Encoding::Escape).unwrap(),
            Self::Database(family, _) => {
                let family = case.parsed("sequence").map_or(family.clone(), |it| family.at(it));
                Explanation::in_database(&family.explain(&key).unwrap(), Encoding::Escape)
            }
        };
        print(&explanation)
    }
}

fn is_off(case: &Case) -> bool {
    case.value("filters").is_some_and(|it| it == "off")
}

fn table_options(case: &Case) -> TableOptions {
    let mut options = match case.has("leveldb") {
        true => TableOptions::leveldb(),
        false => TableOptions::rocksdb().data_block_hash_index(case.has("hash_index")),
    };
    options = options.block_size(30);
    if let Some(policy) = case.parsed("filter") {
        options = options.filter(policy);
    }
    if let Some(length) = case.parsed("prefix") {
        let extractor = PrefixExtractor::Fixed(length);
        options = options.prefix_extractor(extractor).whole_key_filtering(false);
    }
    if case.has("partitioned") {
        options = options.index_kind(IndexKind::TwoLevel).metadata_block_size(1);
        options = options.partition_filters(true);
    }
    if case.has("first_keys") {
        options = options.index_kind(IndexKind::BinarySearchWithFirstKey);
    }
    match case.parsed("interval") {
        Some(entries) => options.block_size(4096).block_restart_interval(entries),
        None => options,
    }
}

fn print(explanation: &Explanation) -> String {
    let mut lines: Vec<String> = explanation.steps.iter().flat_map(step).collect();
    let answer = match (&explanation.value, &explanation.merge, &explanation.problem) {
        (_, Some(operands), _) => format!("operands [{}]", operands.join(", ")),
        (Some(value), ..) => format!("found {value}"),
        (_, _, Some(problem)) => format!("{}: {problem}", explanation.answer),
        _ => explanation.answer.to_owned(),
    };
    lines.push(format!("answer: {answer}"));
    lines.join("\n")
}

fn step(step: &LookupStep) -> Vec<String> {
    match step {
        LookupStep::Memtable { range_deletion, range_deletion_covers, entries: found } => {
            let entries = format!("memtable: {}", entries(found));
            let tombstone = tombstone(*range_deletion, *range_deletion_covers);
            std::iter::once(entries).chain(tombstone).collect()
        }
        LookupStep::OutOfRange { level, files } => {
            vec![format!("level {level} files {files:?}: out of range")]
        }
        LookupStep::Skipped { level, files } => {
            vec![format!("level {level} files {files:?}: skipped")]
        }
        LookupStep::Table(step) => table(step),
        LookupStep::Blob { file, offset, length } => {
            vec![format!("blob file {file}: {length} bytes at {offset}")]
        }
        other => panic!("{other:?}"),
    }
}

fn table(step: &TableStep) -> Vec<String> {
    let name = match (step.level, step.file) {
        (Some(level), Some(file)) => format!("level {level} file {file}"),
        _ => "table".to_owned(),
    };
    let mut lines = vec![format!("{name}: {}", step.answer)];
    lines.extend(tombstone(step.range_deletion, step.range_deletion_covers));
    lines.extend(step.filter.iter().map(|it| format!("  {}", filter(it))));
    lines.extend(step.blocks.iter().flat_map(block));
    lines
}

fn tombstone(sequence: Option<u64>, covers: Option<bool>) -> Option<String> {
    let verb = if covers == Some(true) { "covers" } else { "does not cover" };
    sequence.map(|sequence| format!("  range tombstone #{sequence} {verb} the key"))
}

fn filter(filter: &FilterAnswer) -> String {
    let probe = match (filter.question, &filter.prefix, filter.reason) {
        (_, Some(prefix), _) => format!(", prefix {prefix}"),
        (_, _, Some(reason)) => format!(", not probed: {reason}"),
        (Some(question), ..) => format!(", {question}"),
        _ => String::new(),
    };
    let partition = filter.partition.as_ref();
    let partition = partition.map(|it| format!(", partition up to {}", it.separator));
    let answer = if filter.may_contain { "may contain" } else { "no" };
    let failed = filter.probes.iter().filter(|it| it.expected != it.found).count();
    let probes = match filter.probes.len() {
        0 => String::new(),
        count => format!(" ({} of {count} probes match)", count - failed),
    };
    format!("{} filter{probe}{}: {answer}{probes}", filter.layout, partition.unwrap_or_default())
}

fn block(block: &BlockVisit) -> Vec<String> {
    let partition = block.index_partition.as_ref();
    let partition = partition.map(|it| format!(", in the partition up to {}", it.separator));
    let first = block.first_key.as_ref().map(|key| format!(", first key {key}"));
    let separator = &block.separator;
    let extra = partition.unwrap_or_default() + &first.unwrap_or_default();
    let mut lines = vec![format!("  index entry {separator}{extra}")];
    lines.extend(block.filter.iter().map(|it| format!("    {}", filter(it))));
    let search = block.search.as_ref().map_or("    not read".to_owned(), search);
    lines.push(search);
    lines
}

fn search(search: &BlockSearch) -> String {
    let interval = match search.interval {
        Some(interval) => format!("interval {interval} of {}", search.intervals),
        None => "no interval".to_owned(),
    };
    format!("    {}, {interval}: {}", search.by, entries(&search.entries))
}

fn entries(entries: &[FoundEntry]) -> String {
    let entry = |it: &FoundEntry| {
        let covered = if it.covered { " (covered)" } else { "" };
        format!("{}#{}{covered}", it.kind, it.seq)
    };
    match entries.is_empty() {
        true => "no entry".to_owned(),
        false => entries.iter().map(entry).collect::<Vec<_>>().join(", "),
    }
}

#[test]
fn cases() {
    datadriven::run("testdata/explain", || {
        let mut subject = None;
        move |case| match case.command() {
            "table" => {
                subject = Some(Subject::table(case));
                String::new()
            }
            "database" => {
                subject = Some(Subject::database(case));
                String::new()
            }
            "explain" => subject.as_ref().expect("a table or a database").explain(case),
            other => panic!("unknown command {other}"),
        }
    });
}
