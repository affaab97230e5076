//! [`IngestionPlan`] against what RocksDB does: the level of each table, its sequence number, or the
//! refusal.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sstkit_db::{
    ColumnFamilyDescriptor, Database, DatabaseWriter, DatabaseWriterOptions, FileSource,
    IngestionOptions, IngestionPlan, PlannedTable,
};
use sstkit_table::raw::{EntryKind, FormatVersion, InternalKey};
use sstkit_table::{Comparator, RocksDbVersion, Table, TableOptions, TableWriter};
use sstkit_testkit::engines::call;
use sstkit_testkit::random::{Random, seeds};

/// The version of the engine.
const VERSION: RocksDbVersion = RocksDbVersion::new(9, 8);
/// Keys are numbers below this.
const KEYS: u64 = 1000;

fn key(number: u64) -> Vec<u8> {
    format!("key{number:04}").into_bytes()
}

fn options() -> TableOptions {
    TableOptions::rocksdb().format_version(FormatVersion::V5).block_size(256)
}

/// Numbers in a range, some of them.
fn some(random: &mut Random, from: u64, to: u64) -> Vec<u64> {
    let step = 1 + random.below(20);
    let mut numbers: Vec<u64> = (from..to).filter(|_| random.below(step) == 0).collect();
    if numbers.is_empty() {
        numbers.push(from);
    }
    numbers
}

/// Ranges that do not overlap, with gaps between them.
fn ranges(random: &mut Random, count: u64) -> Vec<(u64, u64)> {
    let mut cuts: Vec<u64> = (0..2 * count).map(|_| random.below(KEYS)).collect();
    cuts.sort_unstable();
    cuts.dedup();
    cuts.chunks_exact(2).map(|pair| (pair[0], pair[1])).filter(|(from, to)| from < to).collect()
}

/// The settings of a case, for the engine and for OPTIONS.
struct Settings {
    style: &'static str,
    dynamic: bool,
    num_levels: u32,
}

impl Settings {
    fn random(random: &mut Random) -> Self {
        let style = *random.pick(&["level", "level", "level", "universal", "fifo"]);
        let num_levels = if style == "fifo" { 1 } else { *random.pick(&[7, 7, 4]) };
        Self { style, dynamic: style == "level" && random.below(2) == 0, num_levels }
    }

    fn json(&self) -> Value {
        json!({
            "compaction_style": self.style,
            "level_compaction_dynamic_level_bytes": self.dynamic,
            "disable_auto_compactions": true,
            "num_levels": self.num_levels,
        })
    }

    fn descriptor(&self) -> ColumnFamilyDescriptor {
        let style = match self.style {
            "level" => "kCompactionStyleLevel",
            "universal" => "kCompactionStyleUniversal",
            _ => "kCompactionStyleFIFO",
        };
        ColumnFamilyDescriptor::new("default")
            .option("compaction_style", style)
            .option("level_compaction_dynamic_level_bytes", &self.dynamic.to_string())
            .option("num_levels", &self.num_levels.to_string())
    }
}

/// A database with files in some levels.
fn make_database(path: &Path, random: &mut Random, settings: &Settings) {
    let writer_options = DatabaseWriterOptions::rocksdb().rocksdb_version(VERSION);
    let mut writer = DatabaseWriter::create(path, writer_options).unwrap();
    writer.column_family(settings.descriptor()).unwrap();
    let mut sequence = 0;
    // With dynamic levels, the engine closes gaps between levels when it opens the database.
    let lowest = settings.num_levels - 1;
    let used = random.below(u64::from(lowest) + 1) as u32;
    for level in (1..=lowest).rev() {
        let is_used = match settings.dynamic {
            true => level + used > lowest,
            false => random.below(3) > 0,
        };
        let count = 1 + random.below(4);
        for (from, to) in ranges(random, count).into_iter().filter(|_| is_used) {
            sequence += 1;
            add_table(&mut writer, level, random, (from, to), sequence);
        }
    }
    for _ in 0..random.below(4) {
        sequence += 1;
        let from = random.below(KEYS);
        let to = from + 1 + random.below(200);
        add_table(&mut writer, 0, random, (from, to), sequence);
    }
    writer.set_last_sequence(sequence + random.below(5));
    writer.finish().unwrap();
}

fn add_table(
    writer: &mut DatabaseWriter,
    level: u32,
    random: &mut Random,
    (from, to): (u64, u64),
    sequence: u64,
) {
    let path = writer.new_table_path();
    let options = writer.table_options(0, &options()).unwrap();
    let mut table = TableWriter::create(&path, &options).unwrap();
    for number in some(random, from, to) {
        let user_key = &key(number);
        let entry = InternalKey { user_key, sequence, kind: EntryKind::Value };
        table.add(&entry, b"old").unwrap();
    }
    if random.below(4) == 0 && to - from > 2 {
        let start = InternalKey {
            user_key: &key(from + random.below(to - from)),
            sequence,
            kind: EntryKind::RangeDeletion,
        };
        table.add(&start, &key(to)).unwrap();
    }
    table.finish().unwrap();
    writer.add_table(0, level, &FileSource::Written(path), None).unwrap();
}

/// A table to ingest.
fn make_table(path: &Path, random: &mut Random, from: u64, to: u64) {
    let mut table = TableWriter::create(path, &options()).unwrap();
    let has_points = random.below(8) > 0;
    if has_points {
        for number in some(random, from, to) {
            table.put(&key(number), b"new").unwrap();
        }
    }
    if !has_points || random.below(5) == 0 {
        table.delete_range(&key(from), &key(to)).unwrap();
    }
    table.finish().unwrap();
}

fn plan(path: &Path, tables: &[PathBuf]) -> IngestionPlan {
    let database = Database::open(path).unwrap();
    let family = database.default_column_family();
    let opened: Vec<_> = tables.iter().map(|path| (path.clone(), Table::open(path))).collect();
    IngestionPlan::new(&database, &family, &opened, &IngestionOptions::default()).unwrap()
}

fn ingest(path: &Path, tables: &[PathBuf], settings: &Value) -> Option<String> {
    let answer = call(
        "rocksdb_ingest_into",
        &json!({ "path": path, "settings": settings, "tables": tables }),
    );
    answer["refused"].as_str().map(str::to_owned)
}

/// Level and sequence number of each table, as the MANIFEST has them. Files from number `first` on are
/// new.
fn placed(path: &Path, plan: &IngestionPlan, first: u64) -> Vec<(u32, u64)> {
    let levels = Database::open(path).unwrap().default_column_family().levels();
    let find = |table: &PlannedTable| {
        let size = std::fs::metadata(&table.path).unwrap().len();
        let files = levels.iter().flat_map(|it| it.files.iter().map(move |file| (it.number, file)));
        let mut files = files.filter(|(_, file)| file.number() >= first);
        let found = files.find(|(_, file)| {
            file.metadata().size == size
                && Some(file.smallest()) == table.smallest.as_deref()
                && Some(file.largest()) == table.largest.as_deref()
                && file.largest_is_exclusive() == table.largest_is_exclusive
        });
        let (level, file) =
            found.unwrap_or_else(|| panic!("{table:?} (from {first} on) is not in {levels:#?}"));
        (level, file.metadata().largest_sequence.unwrap())
    };
    plan.tables.iter().map(find).collect()
}

#[test]
fn levels_and_sequence_numbers() {
    let mut seen = std::collections::BTreeSet::new();
    for seed in seeds(30) {
        let mut random = Random::new(seed);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("database");
        let settings = Settings::random(&mut random);
        make_database(&path, &mut random, &settings);
        let tables: Vec<PathBuf> = (0..1 + random.below(4))
            .map(|number| {
                let table = folder.path().join(format!("new{number}.sst"));
                let from = random.below(KEYS);
                let to = from + 1 + random.below(*random.clone().pick(&[3, 30, 300]));
                make_table(&table, &mut random, from, to);
                table
            })
            .collect();
        let what = format!("SSTKIT_SEED={seed}: {}", settings.json());
        let plan = plan(&path, &tables);
        let first = Database::open(&path).unwrap().manifest().unwrap().next_file_number;
        assert_eq!(plan.version, VERSION, "{what}");
        let refused = ingest(&path, &tables, &settings.json());
        assert_eq!(refused, None, "{what}: {plan:#?}");
        assert!(plan.is_accepted(), "{what}: {plan:#?}");
        let planned: Vec<(u32, u64)> = plan
            .tables
            .iter()
            .map(|table| table.placement.as_ref().map(|it| (it.level, it.sequence)).unwrap())
            .collect();
        assert_eq!(planned, placed(&path, &plan, first), "{what}: {plan:#?}");
        seen.extend(planned.iter().map(|&(level, sequence)| (level, sequence > 0)));
        let database = Database::open(&path).unwrap();
        let last = planned.iter().map(|&(_, sequence)| sequence).max().unwrap();
        assert_eq!(database.last_sequence(), plan.last_sequence.max(last), "{what}");
    }
    // Not all of them are the same.
    assert!(seen.len() > 5, "{seen:?}");
}

/// Each table that the engine refuses, with the beginning of its message.
#[test]
fn refusals() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("database");
    let settings = Settings { style: "level", dynamic: true, num_levels: 7 };
    make_database(&path, &mut Random::new(1), &settings);
    let write = |name: &str, options: TableOptions| {
        let table = folder.path().join(name);
        let mut writer = TableWriter::create(&table, &options).unwrap();
        writer.put(b"key", b"value").unwrap();
        writer.finish().unwrap();
        table
    };
    let sound = write("sound.sst", options());
    let sequenced = folder.path().join("sequenced.sst");
    let mut writer = TableWriter::create(&sequenced, &options().external_file(false)).unwrap();
    let entry = InternalKey { user_key: b"key", sequence: 5, kind: EntryKind::Value };
    writer.add(&entry, b"value").unwrap();
    writer.finish().unwrap();
    let damaged = folder.path().join("damaged.sst");
    std::fs::write(&damaged, b"no table at all").unwrap();
    let cases = [
        ("format version 7", write("new.sst", options().format_version(FormatVersion::V7))),
        ("an internal table", write("internal.sst", options().external_file(false))),
        ("reverse", write("reverse.sst", options().comparator(Comparator::ReverseBytewise))),
        ("another column family", write("meta.sst", options().column_family(7, "meta"))),
        ("sequence numbers", sequenced),
        ("damaged", damaged),
    ];
    for (name, table) in cases {
        for tables in [vec![table.clone()], vec![sound.clone(), table.clone()]] {
            let plan = plan(&path, &tables);
            assert!(!plan.is_accepted(), "{name}");
            assert!(plan.tables.iter().all(|table| table.placement.is_none()), "{name}");
            let refusals = &plan.tables.last().unwrap().refusals;
            let reason = ingest(&path, &tables, &settings.json());
            let reason = reason.unwrap_or_else(|| panic!("{name} was ingested: {refusals:?}"));
            let is_named = refusals.iter().any(|refusal| {
                refusal.engine_message.is_none_or(|message| reason.contains(message))
            });
            assert!(is_named, "{name}: {reason}: {refusals:?}");
        }
    }
    assert_eq!(ingest(&path, std::slice::from_ref(&sound), &settings.json()), None);
}
