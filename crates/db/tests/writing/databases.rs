//! The golden databases, compacted: the new tables show what the engine showed.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sstkit_db::{
    ColumnFamily, Compaction, CompactionOptions, CompactionSummary, Database, SequenceNumbers,
    merge_operator,
};
use sstkit_table::raw::{Engine, EntryKind};
use sstkit_table::{MergeOperator, Table, TableOptions, TableReadOptions};

/// Endings of the lists, in the order of the column families.
const LISTS: [&str; 3] = ["", ".1", ".2"];
const FAMILIES: [&str; 3] = ["default", "meta", "événements"];

fn databases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/databases");
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut databases: Vec<_> = entries.filter(|path| path.is_dir()).collect();
    databases.sort();
    assert!(databases.len() > 10);
    databases
}

type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

/// What the engine's iterator showed.
fn listed(path: &Path, ending: &str) -> Option<Pairs> {
    let list = PathBuf::from(format!("{}{ending}.ndjson.zst", path.display()));
    let text = zstd::decode_all(fs::File::open(list).ok()?).unwrap();
    let pair = |line: &str| {
        let object: serde_json::Value = serde_json::from_str(line).unwrap();
        (bytes(&object["key"]), bytes(&object["value"]))
    };
    Some(std::str::from_utf8(&text).unwrap().lines().map(pair).collect())
}

fn bytes(digits: &serde_json::Value) -> Vec<u8> {
    let digits = digits.as_str().unwrap().as_bytes().chunks(2);
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.map(byte).collect()
}

/// What the new tables show, one after the other.
fn shown(folder: &Path, summary: &CompactionSummary, operator: Option<&str>) -> Pairs {
    summary.manifest.verify(folder).unwrap();
    let mut options = TableReadOptions::default();
    if let Some(operator) = operator.and_then(operator_of) {
        options = options.merge_operator(operator);
    }
    let mut pairs = Vec::new();
    for file in &summary.manifest.files {
        let table = Table::open_with(folder.join(&file.name), &options).unwrap();
        table.verify().into_result().unwrap();
        for entry in table.entries() {
            assert_ne!(entry.unwrap().kind, EntryKind::BlobIndex, "is resolved");
        }
        for entry in &table {
            let (key, value) = entry.unwrap();
            pairs.push((key, value.to_vec()));
        }
    }
    pairs
}

/// Compares long lists and shows the first difference only.
fn compare(found: &Pairs, expected: &Pairs, name: &str) {
    for (at, pair) in found.iter().zip(expected).enumerate() {
        assert_eq!(pair.0, pair.1, "{name}, entry {at}");
    }
    assert_eq!(found.len(), expected.len(), "{name}");
}

fn operator_of(database: &str) -> Option<Arc<dyn MergeOperator>> {
    let name = database.split_once("merge-")?.1;
    merge_operator(name)
}

fn compact(family: &ColumnFamily, options: &CompactionOptions, out: &Path) -> CompactionSummary {
    let mut compaction = Compaction::new(options);
    compaction.add_column_family(family, ..).unwrap();
    compaction.run(out).unwrap()
}

#[test]
fn each_database_shows_what_its_engine_showed() {
    let folder = tempfile::tempdir().unwrap();
    let mut parts = 0;
    for path in databases() {
        let name = path.file_name().unwrap().to_str().unwrap();
        let database = Database::open(&path).unwrap();
        for (ending, family) in LISTS.into_iter().zip(FAMILIES) {
            let Some(expected) = listed(&path, ending) else { continue };
            let family = database.column_family(family).unwrap();
            let table = match name.starts_with("leveldb") {
                true => TableOptions::leveldb(),
                false => TableOptions::rocksdb().filter("bloomfilter:10".parse().unwrap()),
            };
            let options = CompactionOptions::new(table).max_file_size(Some(20_000)).threads(3);
            let bottom = options.clone().bottommost(true);
            let external = bottom.clone().sequence_numbers(SequenceNumbers::Zero);
            for (mode, options) in [("keep", options), ("bottom", bottom), ("external", external)] {
                let out = folder.path().join(format!("{name}{ending}-{mode}"));
                let summary = compact(&family, &options, &out);
                compare(&shown(&out, &summary, Some(name)), &expected, &format!("{out:?}"));
                parts = parts.max(summary.parts);
                let counts = summary.counts;
                let dropped = counts.shadowed + counts.tombstones + counts.covered + counts.merged;
                assert_eq!(counts.entries_in, counts.entries_out + dropped, "{name} {mode}");
                if mode != "keep" && !name.contains("timestamps") {
                    assert_eq!(counts.entries_out, expected.len() as u64, "one entry of a key");
                    assert_eq!(summary.manifest.range_deletions, 0);
                }
            }
        }
    }
    assert_eq!(parts, 3, "large ones were cut into parts");
}

/// What a view leaves out may lie on either side of where parts meet.
#[test]
fn parts_of_an_earlier_state_are_the_whole_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut cut = 0;
    for path in databases() {
        let name = path.file_name().unwrap().to_str().unwrap();
        let database = Database::open(&path).unwrap();
        let family = database.column_family("default").unwrap();
        for share in [3, 2] {
            let family = family.at(family.sequence() / share);
            let options = CompactionOptions::new(TableOptions::rocksdb()).keep_versions(true);
            let options = options.max_file_size(Some(20_000));
            let [one, many] = [1, 3].map(|threads| {
                let out = folder.path().join(format!("{name}-{share}-{threads}"));
                let mut compaction = Compaction::new(&options.clone().threads(threads));
                compaction.add_column_family(&family, ..).unwrap();
                let summary = compaction.run(&out).ok()?;
                cut += summary.parts - 1;
                let names = summary.manifest.files.iter().map(|file| out.join(&file.name));
                let tables = names.map(|name| Table::open(name).unwrap());
                let entries = tables.flat_map(|table| table.entries().collect::<Vec<_>>());
                Some(entries.map(|entry| entry.unwrap()).collect::<Vec<_>>())
            });
            assert_eq!(one, many, "{name}");
        }
    }
    assert!(cut > 2, "{cut}");
}

/// Upper levels merged alone, laid over the lower ones, show the same.
#[test]
fn some_levels_of_a_database() {
    let folder = tempfile::tempdir().unwrap();
    let mut seen = 0;
    for path in databases() {
        let name = path.file_name().unwrap().to_str().unwrap();
        let database = Database::open(&path).unwrap();
        if database.engine() == Engine::LevelDb || name.contains("timestamps") {
            continue;
        }
        let family = database.column_family("default").unwrap();
        let Some(lowest) = family.levels().iter().map(|level| level.number).max() else { continue };
        let expected = listed(&path, "").unwrap();
        let options = CompactionOptions::new(TableOptions::rocksdb());
        let merge = |levels: &[std::ops::RangeInclusive<u32>], out: &str, last: bool| {
            let out = folder.path().join(format!("{name}-{out}"));
            let options = options.clone().bottommost(last);
            let mut compaction = Compaction::new(&options);
            for levels in levels {
                compaction.add_column_family(&family, levels.clone()).unwrap();
            }
            compaction.run(&out).unwrap();
            out
        };
        let (upper, lower) = match lowest {
            0 => (merge(&[0..=0], "upper", false), None),
            _ => {
                let upper = merge(&[0..=lowest - 1], "upper", false);
                (upper, Some(merge(&[lowest..=lowest], "lower", false)))
            }
        };
        let mut last = options.clone().bottommost(true);
        if let Some(operator) = operator_of(name) {
            last = last.merge_operator(operator);
        }
        let mut both = Compaction::new(&last);
        for path in lower.iter().chain([&upper]) {
            both.add_table(&Table::open(path).unwrap()).unwrap();
        }
        let out = folder.path().join(format!("{name}-both"));
        both.run(&out).unwrap();
        let found: Pairs = Table::open(&out)
            .unwrap()
            .iter()
            .map(|entry| entry.map(|(key, value)| (key, value.to_vec())).unwrap())
            .collect();
        compare(&found, &expected, name);
        seen += usize::from(lower.is_some());
    }
    assert!(seen > 3, "several levels in {seen} databases");
}
