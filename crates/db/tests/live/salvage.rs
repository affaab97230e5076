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
use sstkit_testkit::engines::{call, read_entries};
use sstkit_testkit::faults::DatabaseDamage;
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
        for what in &report.uncertain {
            match what {
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

#[test]
fn rocksdb_continues_with_a_salvaged_database() {
    let mut compared = 0;
    for seed in seeds(2) {
        let mut random = Random::new(seed);
        let mut settings = life::rocksdb_settings(&mut random);
        if seed % 2 == 0 {
            settings["min_blob_size"] = json!(100);
        }
        let count = 500 + random.below(1500);
        let steps = life::rocksdb_steps(&mut random, count);
        let folder = tempfile::tempdir().unwrap();
        let [path, source] = crate::folders(folder.path());
        let arguments =
            json!({ "path": path, "copy": source, "settings": settings, "steps": steps });
        let answer = call("rocksdb_live_database", &arguments);
        let looks = answer["looks"].as_array().unwrap();
        let views = &looks[looks.len() - 1]["views"];
        let logged = logged(&Database::open(&source).unwrap());
        for damage in DatabaseDamage::ALL {
            let what = format!("SSTKIT_SEED={seed}, {}: {settings}", damage.name());
            let [damaged, saved] =
                ["damaged", "saved"].map(|it| folder.path().join(format!("{it}-{damage:?}")));
            copy(&source, &damaged);
            if !damage.apply(&damaged, &mut random) {
                continue;
            }
            let report = salvage(&damaged, &saved, &what);
            let mut steps = Vec::new();
            for (name, view) in views.as_object().unwrap() {
                for (key, value) in changes(&pairs(view)) {
                    steps.push(json!(["put", name, life::hex(key), life::hex(value)]));
                }
                steps.push(json!(["flush", name]));
                steps.push(json!(["compact", name]));
            }
            let arguments = json!({ "path": saved, "steps": steps });
            let answer = call("rocksdb_continue_database", &arguments);
            let looks = answer["looks"].as_array().unwrap();
            for (name, view) in views.as_object().unwrap() {
                let before = pairs(view);
                let uncertain = Uncertain::of(&report, name, &logged[name]);
                let found = |look: usize| pairs(&looks[look]["views"][name]);
                compared += compare(&found(0), &before, &uncertain, &format!("{what}: {name}"));
                let mut expected = found(0);
                expected.extend(changes(&before));
                assert!(found(1) == expected, "{what}: {name}, written to");
                assert!(found(2) == expected, "{what}: {name}, opened again");
            }
        }
    }
    assert!(compared > 1000, "{compared}");
}

#[test]
fn leveldb_continues_with_a_salvaged_database() {
    let mut compared = 0;
    for seed in seeds(2) {
        let mut random = Random::new(seed);
        let steps = life::leveldb_steps(&mut random, 4000);
        let settings = json!({ "bits_per_key": 10, "compression": "snappy" });
        let buffers = json!({ "write_buffer_size": 64 << 10, "max_file_size": 32 << 10 });
        let folder = tempfile::tempdir().unwrap();
        let [path, source] = crate::folders(folder.path());
        let arguments = json!({ "path": path, "copy": source, "settings": settings,
                                "steps": steps, "buffers": buffers });
        let before = pairs(&call("leveldb_live_database", &arguments));
        let logged = logged(&Database::open(&source).unwrap());
        for damage in DatabaseDamage::ALL {
            let what = format!("SSTKIT_SEED={seed}, {}", damage.name());
            let [damaged, saved] =
                ["damaged", "saved"].map(|it| folder.path().join(format!("{it}-{damage:?}")));
            copy(&source, &damaged);
            if !damage.apply(&damaged, &mut random) {
                continue;
            }
            let report = salvage(&damaged, &saved, &what);
            let put = |(key, value)| json!(["put", life::hex(key), life::hex(value)]);
            let steps: Vec<Value> =
                changes(&before).into_iter().map(put).chain([json!(["compact"])]).collect();
            let arguments =
                json!({ "path": saved, "steps": steps, "settings": settings, "buffers": buffers });
            let answer = call("leveldb_continue_database", &arguments);
            let found = |look: usize| pairs(&answer["looks"][look]);
            let uncertain = Uncertain::of(&report, "default", &logged["default"]);
            compared += compare(&found(0), &before, &uncertain, &what);
            let mut expected = found(0);
            expected.extend(changes(&before));
            assert!(found(1) == expected, "{what}: written to");
            assert!(found(2) == expected, "{what}: opened again");
        }
    }
    assert!(compared > 1000, "{compared}");
}
