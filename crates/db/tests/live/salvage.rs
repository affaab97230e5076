//! Databases of the real engines, damaged and salvaged: the engine opens the result as its own, reads it
//! equal to what it showed before outside of the damage, writes to it, and opens it again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use sstkit_db::{
    Database, DatabaseSalvage, DatabaseSalvageOptions, DatabaseSalvageReport, DatabaseUncertainty,
    FileKind, FileOutcome,
};
use sstkit_testkit::engines::{call, call_each, read_entries};
use sstkit_testkit::faults::{DatabaseDamage, FileDamage};
use sstkit_testkit::random::{Random, seeds};

use crate::life;

type Pairs = BTreeMap<Vec<u8>, Vec<u8>>;

/// Keys from one to another, both inclusive; `None` for no bound.
type Interval = (Option<Vec<u8>>, Option<Vec<u8>>);

/// The keys of a column family that may differ.
#[derive(Default)]
struct Uncertain {
    ranges: Vec<Interval>,
    keys: BTreeSet<Vec<u8>>,
}

/// What is said of logs whose writes may be lost.
const OF_LOGS: [&str; 5] = [
    "are in no log",
    "are in no table and no log",
    "there is no write-ahead log",
    "the log is empty",
    "bytes of zeros",
];

impl Uncertain {
    /// What the report says about a column family.
    fn of(report: &DatabaseSalvageReport, family: &str, logged: &Self) -> Self {
        let mut uncertain = Self::default();
        for file in report.files.iter().filter(|file| file.has_losses()) {
            if file.kind == FileKind::Log {
                uncertain.keys.extend(logged.keys.iter().cloned());
                uncertain.ranges.extend(logged.ranges.iter().cloned());
            }
            if file.column_family.as_deref() != Some(family) {
                continue;
            }
            let losses = file.table.iter().flat_map(|table| &table.losses);
            let losses = losses.filter(|loss| loss.has_entries());
            uncertain.ranges.extend(losses.map(|it| (it.after.clone(), it.before.clone())));
            if file.kind == FileKind::Table && file.outcome == FileOutcome::Lost {
                uncertain.ranges.push(file.bounds.clone().unzip());
            }
        }
        let lost = report.lost_values.iter().filter(|it| it.column_family == family);
        uncertain.keys.extend(lost.map(|it| it.key.clone()));
        for said in &report.uncertain {
            match said {
                DatabaseUncertainty::Assumed { bounds: None, what, .. }
                    if OF_LOGS.iter().any(|it| what.contains(it)) =>
                {
                    uncertain.keys.extend(logged.keys.iter().cloned());
                    uncertain.ranges.extend(logged.ranges.iter().cloned());
                }
                DatabaseUncertainty::MaybeObsolete { bounds: (first, last), .. }
                | DatabaseUncertainty::Assumed { bounds: Some((first, last)), .. } => {
                    uncertain.ranges.push((Some(first.clone()), Some(last.clone())));
                }
                DatabaseUncertainty::Deletions { column_family, after, before, .. }
                    if column_family.as_deref() == Some(family) =>
                {
                    uncertain.ranges.push((after.clone(), before.clone()));
                }
                DatabaseUncertainty::RangeTombstones { column_family, start, end, .. }
                    if column_family == family =>
                {
                    uncertain.ranges.push((Some(start.clone()), Some(end.clone())));
                }
                // Range tombstones, or the end of a table.
                DatabaseUncertainty::Table { .. } => uncertain.ranges.push((None, None)),
                _ => {}
            }
        }
        uncertain
    }

    fn contains(&self, key: &[u8]) -> bool {
        let is_in = |(after, before): &Interval| {
            after.as_ref().is_none_or(|it| it.as_slice() <= key)
                && before.as_ref().is_none_or(|it| key <= it.as_slice())
        };
        self.keys.contains(key) || self.ranges.iter().any(is_in)
    }
}

fn pairs(view: &Value) -> Pairs {
    read_entries(view, "entries").into_iter().collect()
}

/// Everything outside of the damage is as before. Returns how many keys are.
fn compare(found: &Pairs, before: &Pairs, uncertain: &Uncertain, what: &str) -> usize {
    let mut same = 0;
    for key in found.keys().chain(before.keys()) {
        match found.get(key) == before.get(key) {
            true => same += 1,
            false => assert!(
                uncertain.contains(key),
                "{what}: key \"{}\": {:?} instead of {:?}",
                key.escape_ascii(),
                found.get(key).map(|it| it.escape_ascii().to_string()),
                before.get(key).map(|it| it.escape_ascii().to_string()),
            ),
        }
    }
    same / 2
}

/// The keys that logs change, by column family.
fn logged(db: &Database) -> BTreeMap<String, Uncertain> {
    let families = db.column_families().map(|family| {
        let entries = family.entries().map(|entry| entry.unwrap());
        let keys = entries.filter(|entry| entry.file.is_none()).map(|entry| entry.key).collect();
        let ranges = family.range_deletions().unwrap();
        let ranges = ranges.into_iter().filter(|found| found.file.is_none());
        let ranges = ranges.map(|found| (Some(found.tombstone.start), Some(found.tombstone.end)));
        (family.name().to_owned(), Uncertain { ranges: ranges.collect(), keys })
    });
    families.collect()
}

fn salvage(path: &Path, target: &Path, what: &str) -> DatabaseSalvageReport {
    let options = DatabaseSalvageOptions::default();
    let salvage =
        DatabaseSalvage::open(path, &options).unwrap_or_else(|error| panic!("{what}: {error}"));
    salvage.write_database(target).unwrap_or_else(|error| panic!("{what}: {error}"));
    let db = Database::open(target).unwrap_or_else(|error| panic!("{what}: {error}"));
    db.verify(|file| assert!(file.is_sound(), "{what}: {file:?}"));
    salvage.report().clone()
}

fn copy(source: &Path, target: &Path) {
    fs::create_dir(target).unwrap();
    for entry in fs::read_dir(source).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), target.join(entry.file_name())).unwrap();
    }
}

/// New values for some keys, which the engine writes and flushes.
fn changes(before: &Pairs) -> Pairs {
    let known = before.keys().step_by(7).cloned();
    let new = (0..20).map(|number| format!("new{number:04}").into_bytes());
    known.chain(new).map(|key| (key.clone(), [b"after ", &key[..]].concat())).collect()
}

type Apply = dyn Fn(&Path, &mut Random) -> bool;

/// A way to damage a database.
struct Damage {
    name: String,
    /// Damages the database in a folder. Returns false if there is nothing to damage.
    apply: Box<Apply>,
}

/// Each kind of damage.
fn kinds_of_damage(_: &Path) -> Vec<Damage> {
    let of = |damage: DatabaseDamage| Damage {
        name: damage.name().to_owned(),
        apply: Box::new(move |folder, random| damage.apply(folder, random)),
    };
    DatabaseDamage::ALL.into_iter().map(of).collect()
}

/// Each way of damage to each file, except that the newest of several logs is not deleted: nothing says that
/// it existed, not even to the engine.
fn damage_to_each_file(source: &Path) -> Vec<Damage> {
    let mut damages = FileDamage::of_each_file(source);
    let logs = || damages.iter().map(FileDamage::file_name).filter(|name| name.ends_with(".log"));
    let newest = logs().max().map(|name| format!("{name} deleted"));
    if logs().min() != logs().max() {
        damages.retain(|damage| Some(damage.to_string()) != newest);
    }
    let of = |damage: FileDamage| Damage {
        name: damage.to_string(),
        apply: Box::new(move |folder, random| damage.apply(folder, random)),
    };
    damages.into_iter().map(of).collect()
}

/// A damaged database that was salvaged.
struct Salvaged {
    what: String,
    report: DatabaseSalvageReport,
}

/// Damages copies of a database in each way and salvages them. Calls `request` with the path of each
/// result, for the engine that continues with it.
fn salvage_each(
    source: &Path,
    folder: &Path,
    (seed, damages): (u64, &[Damage]),
    settings: &Value,
    mut request: impl FnMut(&Path, &DatabaseSalvageReport) -> Value,
) -> (Vec<Salvaged>, Vec<Value>) {
    let mut random = Random::new(!seed);
    let (mut salvaged, mut requests) = (Vec::new(), Vec::new());
    for (nth, damage) in damages.iter().enumerate() {
        let what = format!("SSTKIT_SEED={seed}, {}: {settings}", damage.name);
        let [damaged, saved] = ["damaged", "saved"].map(|it| folder.join(format!("{it}-{nth}")));
        copy(source, &damaged);
        if !(damage.apply)(&damaged, &mut random) {
            continue;
        }
        let report = salvage(&damaged, &saved, &what);
        requests.push(request(&saved, &report));
        salvaged.push(Salvaged { what, report });
    }
    (salvaged, requests)
}

/// What the engine saw at first, after it wrote to it, and after it opened it again, and what it
/// should have seen. Returns how many keys are as before.
fn compare_looks(looks: [Pairs; 3], before: &Pairs, uncertain: &Uncertain, what: &str) -> usize {
    let same = compare(&looks[0], before, uncertain, what);
    let mut expected = looks[0].clone();
    expected.extend(changes(before));
    for (look, how) in looks[1..].iter().zip(["written to", "opened again"]) {
        compare(look, &expected, &Uncertain::default(), &format!("{what}, {how}"));
    }
    same
}

/// Whether a column family is saved under its name. Without a MANIFEST the names of those that are only in
/// logs are not known, which the report says.
fn is_named(report: &DatabaseSalvageReport, name: &str) -> bool {
    let is_saved = report.column_families.iter().any(|family| family.name == name);
    let is_said = report.uncertain.iter().any(|it| it.to_string().contains("the name of column"));
    assert!(is_saved || is_said, "{name}: {:#?}", report.uncertain);
    is_saved
}

/// Lets RocksDB make a database in this number of steps, and continue with what is salvaged of it after
/// each damage. Returns how many keys are as before.
fn rocksdb_case(seed: u64, steps: (u64, u64), damages: fn(&Path) -> Vec<Damage>) -> usize {
    let mut random = Random::new(seed);
    let mut settings = life::rocksdb_settings(&mut random);
    if seed.is_multiple_of(2) {
        settings["min_blob_size"] = json!(100);
    }
    let count = steps.0 + random.below(steps.1);
    let steps = life::rocksdb_steps(&mut random, count);
    let folder = tempfile::tempdir().unwrap();
    let [path, source] = crate::folders(folder.path());
    let arguments = json!({ "path": path, "copy": source, "settings": settings, "steps": steps });
    let answer = call("rocksdb_live_database", &arguments);
    let looks = answer["looks"].as_array().unwrap();
    let views: BTreeMap<String, Pairs> = looks[looks.len() - 1]["views"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, view)| (name.clone(), pairs(view)))
        .collect();
    let logged = logged(&Database::open(&source).unwrap());
    let damages = (seed, &damages(&source)[..]);
    let (salvaged, requests) =
        salvage_each(&source, folder.path(), damages, &settings, |saved, report| {
            let mut steps = Vec::new();
            for (name, before) in views.iter().filter(|(name, _)| is_named(report, name)) {
                for (key, value) in changes(before) {
                    steps.push(json!(["put", name, life::hex(key), life::hex(value)]));
                }
                steps.extend([json!(["flush", name]), json!(["compact", name])]);
            }
            json!({ "path": saved, "steps": steps })
        });
    let mut compared = 0;
    let answers = call_each("rocksdb_continue_database", &requests);
    for (Salvaged { what, report }, answer) in salvaged.iter().zip(answers) {
        let answer = answer.unwrap_or_else(|error| panic!("{what}: {error}"));
        for (name, before) in views.iter().filter(|(name, _)| is_named(report, name)) {
            let what = format!("{what}: {name}");
            let uncertain = Uncertain::of(report, name, &logged[name]);
            let found = [0, 1, 2].map(|look| pairs(&answer["looks"][look]["views"][name]));
            compared += compare_looks(found, before, &uncertain, &what);
        }
    }
    compared
}

/// The same for LevelDB.
fn leveldb_case(seed: u64, steps: u64, damages: fn(&Path) -> Vec<Damage>) -> usize {
    let mut random = Random::new(seed);
    let steps = life::leveldb_steps(&mut random, steps);
    let settings = json!({ "bits_per_key": 10, "compression": "snappy" });
    let buffers = json!({ "write_buffer_size": 64 << 10, "max_file_size": 32 << 10 });
    let folder = tempfile::tempdir().unwrap();
    let [path, source] = crate::folders(folder.path());
    let arguments = json!({ "path": path, "copy": source, "settings": settings,
                            "steps": steps, "buffers": buffers });
    let before = pairs(&call("leveldb_live_database", &arguments));
    let logged = logged(&Database::open(&source).unwrap());
    let put = |(key, value)| json!(["put", life::hex(key), life::hex(value)]);
    let steps: Vec<Value> =
        changes(&before).into_iter().map(put).chain([json!(["compact"])]).collect();
    let damages = (seed, &damages(&source)[..]);
    let (salvaged, requests) = salvage_each(
        &source,
        folder.path(),
        damages,
        &settings,
        |saved, _| json!({ "path": saved, "steps": steps, "settings": settings, "buffers": buffers }),
    );
    let mut compared = 0;
    let answers = call_each("leveldb_continue_database", &requests);
    for (Salvaged { what, report }, answer) in salvaged.iter().zip(answers) {
        let answer = answer.unwrap_or_else(|error| panic!("{what}: {error}"));
        let uncertain = Uncertain::of(report, "default", &logged["default"]);
        let found = [0, 1, 2].map(|look| pairs(&answer["looks"][look]));
        compared += compare_looks(found, &before, &uncertain, what);
    }
    compared
}

#[test]
fn rocksdb_continues_with_a_salvaged_database() {
    let compared: usize =
        seeds(6).map(|seed| rocksdb_case(seed, (500, 1500), kinds_of_damage)).sum();
    assert!(compared > 1000, "{compared}");
}

#[test]
fn leveldb_continues_with_a_salvaged_database() {
    let compared: usize = seeds(6).map(|seed| leveldb_case(seed, 4000, kinds_of_damage)).sum();
    assert!(compared > 1000, "{compared}");
}

#[test]
fn rocksdb_continues_without_any_of_the_files() {
    let compared: usize =
        seeds(1).map(|seed| rocksdb_case(seed, (200, 400), damage_to_each_file)).sum();
    assert!(compared > 1000, "{compared}");
}

#[test]
fn leveldb_continues_without_any_of_the_files() {
    let compared: usize = seeds(1).map(|seed| leveldb_case(seed, 2000, damage_to_each_file)).sum();
    assert!(compared > 1000, "{compared}");
}
