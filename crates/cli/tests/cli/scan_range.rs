//! `scan --internal` with ranges, prefixes, directions and sequence numbers, against a model: the same
//! selection from everything that is stored.

use serde_json::Value;

use crate::run::{databases, run, tables};

/// All entries, and the range deletions behind them.
fn stored(path: &str, options: &[&str]) -> Option<(Vec<Value>, Vec<Value>)> {
    let scan = ["scan", path, "--internal", "--format", "json", "--encoding", "hex"];
    let ran = run([&scan[..], options].concat());
    if ran.status == 2 && ran.stderr.contains("comparator") {
        return None;
    }
    assert_eq!(ran.status, 0, "{path} {options:?}: {}", ran.stderr);
    let mut points = ran.json();
    let ranges = points.iter().position(|it| it["type"] == "range_delete").unwrap_or(points.len());
    let ranges = points.split_off(ranges);
    Some((points, ranges))
}

fn text<'r>(record: &'r Value, field: &str) -> &'r str {
    record[field].as_str().expect("text")
}

/// The keys in the order of the table, each once.
fn keys(points: &[Value]) -> Vec<&str> {
    let mut keys: Vec<&str> = points.iter().map(|point| text(point, "key")).collect();
    keys.dedup();
    keys
}

fn is_bytewise(keys: &[&str]) -> bool {
    keys.windows(2).all(|pair| pair[0] < pair[1])
}

fn check(path: &str) -> usize {
    let Some((points, ranges)) = stored(path, &[]) else { return 0 };
    let keys = keys(&points);
    if keys.len() < 6 {
        return 0;
    }
    let rank = |key: &str| keys.iter().position(|it| *it == key).expect("a key");
    let select = |points: &[Value], selected: &dyn Fn(&Value) -> bool| -> Vec<Value> {
        points.iter().filter(|point| selected(point)).cloned().collect()
    };
    let (from, to) = (keys.len() / 3, 2 * keys.len() / 3);
    let (from_key, to_key) = (keys[from], keys[to]);
    let mut sequences: Vec<u64> = points.iter().filter_map(|it| it["seq"].as_u64()).collect();
    sequences.sort_unstable();
    let at = sequences[sequences.len() / 2];
    let prefix = &from_key[..from_key.len().min(10) / 2 * 2];
    let within = |point: &Value| (from..to).contains(&rank(text(point, "key")));
    let range = ["--from", from_key, "--to", to_key];
    // Without an order, a range is refused.
    let Some((found, found_ranges)) = stored(path, &range) else { return 0 };
    assert_eq!(found, select(&points, &within), "{path}");
    if is_bytewise(&keys) {
        let overlaps = |it: &Value| text(it, "key") < to_key && text(it, "value") > from_key;
        assert_eq!(found_ranges, select(&ranges, &overlaps), "{path}");
    }
    let (found, _) = stored(path, &["--prefix", prefix]).expect("a scan");
    assert_eq!(found, select(&points, &|it| text(it, "key").starts_with(prefix)), "{path}");
    let at_text = at.to_string();
    let (found, found_ranges) = stored(path, &["--at", &at_text]).expect("a scan");
    let is_seen = |it: &Value| it["seq"].as_u64() <= Some(at);
    assert_eq!(found, select(&points, &is_seen), "{path}");
    assert_eq!(found_ranges, select(&ranges, &is_seen), "{path}");
    // Backward is forward, reversed; with everything together.
    let all = [&range[..], &["--at", &at_text]].concat();
    let (mut forward, mut forward_ranges) = stored(path, &all).expect("a scan");
    assert_eq!(forward, select(&points, &|it| within(it) && is_seen(it)), "{path}");
    let (backward, backward_ranges) =
        stored(path, &[&all[..], &["--reverse"]].concat()).expect("a scan");
    forward.reverse();
    forward_ranges.reverse();
    assert_eq!((backward, backward_ranges), (forward.clone(), forward_ranges), "{path}");
    // The number, and the first ones.
    let count = |options: &[&str]| {
        run([&["scan", path, "--internal", "--encoding", "hex", "--count"][..], options].concat())
    };
    let expected = select(&points, &within).len() + stored(path, &range).expect("a scan").1.len();
    assert_eq!(count(&range).stdout.trim(), expected.to_string(), "{path}");
    let limited = stored(path, &[&all[..], &["--reverse", "--limit", "2"]].concat());
    let two = forward.len().min(2);
    assert_eq!(limited.expect("a scan").0[..two], forward[..two], "{path}");
    1
}

#[test]
fn of_every_table_and_database() {
    let checked: usize = tables().iter().chain(&databases()).map(|path| check(path)).sum();
    assert!(checked > 60, "{checked}");
}

/// The visible state at a sequence number is the newest version up to it.
#[test]
fn the_state_at_a_sequence_number() {
    let mut checked = 0;
    for path in databases() {
        let Some((points, ranges)) = stored(&path, &[]) else { continue };
        let simple = |it: &Value| ["put", "delete", "single_delete"].contains(&text(it, "type"));
        if !ranges.is_empty() || points.is_empty() || !points.iter().all(simple) {
            continue;
        }
        if points.iter().any(|it| !it["timestamp"].is_null()) {
            continue;
        }
        let mut sequences: Vec<u64> = points.iter().filter_map(|it| it["seq"].as_u64()).collect();
        sequences.sort_unstable();
        for at in [0, sequences[sequences.len() / 3], sequences[sequences.len() - 1]] {
            let mut expected: Vec<(String, String)> = Vec::new();
            let mut last = None;
            for point in points.iter().filter(|it| it["seq"].as_u64() <= Some(at)) {
                let key = text(point, "key");
                if last.replace(key) != Some(key) && text(point, "type") == "put" {
                    expected.push((key.to_owned(), text(point, "value").to_owned()));
                }
            }
            let at = at.to_string();
            let scan = ["scan", &path, "--json", "--hex", "--ttl=off", "--at", &at];
            let found = run(scan).json();
            let found: Vec<(String, String)> = found
                .iter()
                .map(|it| (text(it, "key").to_owned(), text(it, "value").to_owned()))
                .collect();
            assert!(found == expected, "{path} at {at}");
            checked += usize::from(!expected.is_empty());
            if let Some((key, value)) = expected.first() {
                let got = run(["get", &path, "--hex", "--ttl=off", "--at", &at, key]);
                assert_eq!(got.stdout.trim_end(), value, "{path}");
            }
        }
    }
    assert!(checked > 10, "{checked}");
}

#[test]
fn the_state_at_a_timestamp() {
    let folder = tempfile::tempdir().expect("a folder");
    let table = folder.path().join("t.sst").display().to_string();
    let lines: String = [("a", 5, "new"), ("a", 3, "old"), ("b", 4, "only")]
        .map(|(key, time, value)| {
            format!(
                "{{\"key\":\"{key}\",\"timestamp\":\"\\\\x0{time}{}\",\"value\":\"{value}\"}}\n",
                "\\\\x00".repeat(7)
            )
        })
        .concat();
    let comparator = "leveldb.BytewiseComparator.u64ts";
    let built = crate::run::run_with(
        lines.as_bytes(),
        &["build", "-", "-o", &table, "--comparator", comparator],
    );
    assert_eq!(built.status, 0, "{}", built.stderr);
    let values = |options: &[&str]| {
        let ran = run([&["scan", &table, "--json"][..], options].concat());
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        ran.json().iter().map(|it| text(it, "value").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(values(&[]), ["new", "only"]);
    assert_eq!(values(&["--timestamp", "4"]), ["old", "only"]);
    assert_eq!(values(&["--timestamp", "3"]), ["old"]);
    assert_eq!(values(&["--timestamp", "0300000000000000", "--hex"]), ["6f6c64"]);
    assert_eq!(values(&["--timestamp", "4", "--internal"]), ["old", "only"]);
    assert_eq!(run(["get", &table, "a", "--timestamp", "4"]).stdout, "old\n");
    for (path, timestamp, message) in [
        (table.as_str(), "\\x01", "has 1 bytes, but timestamps have 8"),
        ("tables/one-entry.sst", "3", "the keys have no timestamps"),
    ] {
        let refused = run(["scan", path, "--timestamp", timestamp]);
        assert!(refused.status == 2 && refused.stderr.contains(message), "{}", refused.stderr);
    }
}
