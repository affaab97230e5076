//! RocksDB itself, with the advised filters and with the advised options: its tickers count the wasted
//! reads that were predicted.

use std::path::Path;

use serde_json::{Value, json};
use sstkit_db::Refilter;
use sstkit_inspect::{Advice, AdviceOptions};
use sstkit_testkit::engines::{call, keys};
use sstkit_testkit::random::mix;

use crate::made::open;

const PROBES: u64 = 40_000;

fn key(number: u64) -> Vec<u8> {
    format!("key{:016x}", mix(number)).into_bytes()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Puts of some keys as one step.
fn puts(numbers: std::ops::Range<u64>) -> Value {
    let changes: Vec<Value> =
        numbers.map(|number| json!(["default", hex(&key(number)), hex(&[7; 30])])).collect();
    json!(["write", changes])
}

/// Most keys in the last level, others in two files of level 0.
fn steps() -> Vec<Value> {
    let flush = || json!(["flush", "default"]);
    vec![
        puts(0..20_000),
        flush(),
        // A compaction would move the file to the last level as it is.
        json!(["rewrite", "default"]),
        puts(20_000..24_000),
        flush(),
        puts(24_000..26_000),
        flush(),
    ]
}

/// Keys, of which `found` in a hundred are found, and others like them.
fn probes(found: u64) -> Value {
    let number = |probe: u64| match probe % 100 < found {
        true => mix(probe) % 26_000,
        false => (1 << 40) | probe,
    };
    let probed: Vec<Vec<u8>> = (0..PROBES).map(|probe| key(number(probe))).collect();
    json!(["probe", "default", keys(&probed)])
}

/// Blocks that a lookup reads needlessly: filters let it pass.
fn false_positives(probe: &Value) -> f64 {
    let ticker = |name: &str| probe["tickers"][name].as_u64().unwrap_or(0);
    let found = ticker("rocksdb.bloom.filter.full.true.positive");
    (ticker("rocksdb.bloom.filter.full.positive") - found) as f64 / PROBES as f64
}

fn settings() -> Value {
    json!({ "bits_per_key": 4.0, "format_version": 5, "disable_auto_compactions": true })
}

fn make(path: &Path, copy: &Path, settings: &Value, steps: &[Value]) -> Value {
    let request = json!({ "path": path, "copy": copy, "settings": settings, "steps": steps });
    call("rocksdb_live_database", &request)
}

fn assert_close(counted: f64, expected: f64, what: &str) {
    assert!(
        (counted / expected - 1.0).abs() < 0.1,
        "{what}: RocksDB counts {counted}, not {expected}"
    );
}

#[test]
fn rocksdb_counts_what_is_predicted() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let looks = [probes(0), probes(50)];
    let made = make(&path("made"), &path("copy"), &settings(), &[&steps()[..], &looks].concat());
    let cases = [(None, 0.0), (Some(16_000), 0.0), (Some(14_000), 0.5), (Some(3000), 0.99999)];
    for (budget, hit_rate) in cases {
        let what = format!("budget {budget:?}, hit rate {hit_rate}");
        let probes = || probes((hit_rate * 100.0) as u64);
        // Tickers count filters only: without one in the last level, its reads are missing.
        let is_counted = hit_rate < 0.9;
        let mut options = AdviceOptions::default().hit_rate(hit_rate);
        if let Some(bytes) = budget {
            options = options.budget(bytes);
        }
        let advice = Advice::of(&open(&path("copy")), "db", &options).unwrap();
        if is_counted {
            let look = if hit_rate == 0.0 { 0 } else { 1 };
            let counted = false_positives(&made["looks"][look]);
            assert_close(counted, advice.now.wasted_reads, &format!("now, {what}"));
        }

        // Its filters, written by refilter.
        let target = path(&format!("refiltered-{budget:?}"));
        let mut refilter = Refilter::new();
        let mut unfiltered = 0.0;
        for level in &advice.plan.levels {
            let policy = level.policy.as_ref().unwrap().parse().unwrap();
            refilter = refilter.column_family_filter(&level.column_family, level.level, policy);
            if level.policy.as_deref() == Some("none") {
                unfiltered += level.wasted_reads.unwrap();
            }
        }
        refilter.database(&open(&path("copy")), &target).unwrap();
        let request = json!({ "path": target, "steps": [probes()], "quiet": true });
        let answer = call("rocksdb_continue_database", &request);
        let counted = false_positives(&answer["looks"][1]);
        if is_counted {
            let expected = advice.plan.wasted_reads.unwrap() - unfiltered;
            assert_close(counted, expected, &format!("{what}, refiltered"));
        }

        // Its options, with which RocksDB does the same again.
        let family = &advice.plan.column_families[0];
        // The only one that cannot be changed while the database is open.
        let mut settings = settings();
        let changeable = family.options.replace("optimize_filters_for_hits=true;", "");
        if changeable != family.options {
            settings["optimize_filters_for_hits"] = json!(true);
        }
        let steps: Vec<Value> = [json!(["set_options", "default", changeable])]
            .into_iter()
            .chain(steps())
            .chain([probes()])
            .collect();
        let (new, copy) = (path(&format!("new-{budget:?}")), path(&format!("new-{budget:?}-copy")));
        let answer = make(&new, &copy, &settings, &steps);
        let counted = false_positives(&answer["looks"][0]);
        let again = Advice::of(&open(&copy), "db", &options).unwrap();
        assert_eq!(again.levels.len(), advice.levels.len(), "{what}: another form");
        if is_counted {
            assert_close(counted, family.wasted_reads.unwrap(), &format!("{what}, options"));
            assert_close(again.now.wasted_reads, family.wasted_reads.unwrap(), &what);
        } else {
            // optimize_filters_for_hits: the last level has no filter.
            assert!(family.options.contains("optimize_filters_for_hits=true"), "{family:?}");
            assert_eq!(again.levels.last().unwrap().filter_bytes, 0, "{what}");
        }
        let bytes = family.filter_bytes.unwrap();
        assert!(again.now.filter_bytes.abs_diff(bytes) * 20 < bytes, "{what}: {again:?}");
    }
}
