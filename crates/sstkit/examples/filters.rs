//! Builds every kind of filter from the keys in a file, one a line, and looks keys up.
//!
//! ```text
//! cargo run --release --example filters                      a sample
//! cargo run --release --example filters -- my-keys.txt       your own
//! ```

use std::error::Error;
use std::time::{Duration, Instant};

use sstkit::filter::{BlockBloom, KeyFiltering};
use sstkit::{BuildContext, Filter, FilterPolicy};

/// Queries of absent keys, so that small rates show.
const ABSENT: usize = 1_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let Some(path) = std::env::args_os().nth(1) else { return show("a sample", &sample()) };
    let name = path.display().to_string();
    let text = std::fs::read(path).map_err(|error| format!("{name}: {error}"))?;
    show(&name, &text)
}

/// The items of users, 50 each.
pub(crate) fn sample() -> Vec<u8> {
    let keys = (0..10_000).map(|i| format!("user{:04}/item{:06}\n", i / 50, i % 50));
    keys.collect::<String>().into_bytes()
}

pub(crate) fn show(name: &str, text: &[u8]) -> Result<(), Box<dyn Error>> {
    let mut keys: Vec<&[u8]> =
        text.split(|&byte| byte == b'\n').filter(|key| !key.is_empty()).collect();
    keys.sort_unstable();
    keys.dedup();
    if keys.is_empty() {
        return Err(format!("{name}: has no keys").into());
    }
    let absent = absent_keys(&keys);
    println!("{} keys of {name}\n", keys.len());
    println!(
        "{:<32}{:<18}{:>7}{:>9}{:>9}{:>9}{:>8}{:>8}",
        "policy", "kind", "bytes", "bits/key", "expected", "wrong", "build", "lookup"
    );
    for (policy, format_version) in [
        ("bloomfilter:10", 4),
        ("bloomfilter:10", 7),
        ("bloomfilter:16", 7),
        ("ribbonfilter:10", 7),
        ("ribbonfilter:16", 7),
    ] {
        full_filter(policy, format_version, &keys, &absent)?;
    }
    leveldb_filter(&keys, &absent);
    prefix_filter(&keys)
}

fn full_filter(
    policy: &str,
    format_version: u32,
    keys: &[&[u8]],
    absent: &[Vec<u8>],
) -> Result<(), Box<dyn Error>> {
    let context = BuildContext::default().format_version(format_version);
    let started = Instant::now();
    let mut builder = policy.parse::<FilterPolicy>()?.builder(&context)?;
    keys.iter().for_each(|key| builder.add(key));
    let filter = Filter::from_bytes(builder.finish()?);
    let build = started.elapsed();

    let (found, _) = count(keys, |keys, answers| filter.may_contain_batch(keys, answers));
    let (wrong, lookup) = count(absent, |keys, answers| filter.may_contain_batch(keys, answers));
    print_row(&Row {
        policy,
        kind: filter.kind().name(),
        bytes: filter.bytes().len(),
        expected: filter.expected_fpr(keys.len()).unwrap_or(f64::NAN),
        denied: keys.len() - found,
        wrong,
        keys: keys.len(),
        build,
        lookup,
    });
    Ok(())
}

/// LevelDB's Bloom filter over all keys (in a table it has one for every 2 KiB).
fn leveldb_filter(keys: &[&[u8]], absent: &[Vec<u8>]) {
    let bloom = BlockBloom::LevelDb;
    let started = Instant::now();
    let hashes: Vec<u32> = keys.iter().map(|key| bloom.hash(key)).collect();
    let mut filter = Vec::new();
    bloom.create_filter(&hashes, 10, &mut filter);
    let build = started.elapsed();

    let ask = |key: &[u8]| bloom.may_contain(&filter, bloom.hash(key));
    let (found, _) = count(keys, |keys, answers| {
        keys.iter().zip(answers).for_each(|(key, answer)| *answer = ask(key));
    });
    let (wrong, lookup) = count(absent, |keys, answers| {
        keys.iter().zip(answers).for_each(|(key, answer)| *answer = ask(key));
    });
    print_row(&Row {
        policy: "leveldb.BuiltinBloomFilter2:10",
        kind: "leveldb_bloom",
        bytes: filter.len(),
        expected: bloom.expected_fpr(&filter, keys.len()),
        denied: keys.len() - found,
        wrong,
        keys: keys.len(),
        build,
        lookup,
    });
}

/// A filter of prefixes: is there any key that starts like this?
fn prefix_filter(keys: &[&[u8]]) -> Result<(), Box<dyn Error>> {
    let filtering = KeyFiltering::new(false, Some("fixed:8".parse()?));
    let mut builder = "bloomfilter:10".parse::<FilterPolicy>()?.builder(&BuildContext::default())?;
    keys.iter().for_each(|key| builder.add_filtered(key, &filtering));
    let entries = builder.num_entries();
    let filter = Filter::from_bytes(builder.finish()?);
    println!(
        "\nThe first eight bytes of every key: {entries} prefixes in {} bytes.",
        filter.bytes().len()
    );
    for prefix in keys.first().and_then(|key| key.get(..8)).into_iter().chain([&b"nothing!"[..]]) {
        let answer = if filter.may_contain(prefix) { "maybe" } else { "no" };
        println!("Any key with prefix {:?}? {answer}", prefix.escape_ascii().to_string());
    }
    Ok(())
}

/// How many answers are yes, and how long one takes.
fn count<K>(keys: &[K], ask: impl Fn(&[K], &mut [bool])) -> (usize, Duration) {
    let mut answers = vec![false; keys.len()];
    let started = Instant::now();
    ask(keys, &mut answers);
    let elapsed = started.elapsed();
    (answers.into_iter().filter(|&answer| answer).count(), elapsed / keys.len() as u32)
}

/// Absent keys, similar to the given ones.
fn absent_keys(keys: &[&[u8]]) -> Vec<Vec<u8>> {
    (0..ABSENT)
        .map(|i| [keys[i % keys.len()], format!("?{i}").as_bytes()].concat())
        .filter(|key| keys.binary_search(&key.as_slice()).is_err())
        .collect()
}

struct Row<'a> {
    policy: &'a str,
    kind: &'a str,
    bytes: usize,
    expected: f64,
    denied: usize,
    wrong: usize,
    keys: usize,
    build: Duration,
    lookup: Duration,
}

fn print_row(row: &Row<'_>) {
    println!(
        "{:<32}{:<18}{:>7}{:>9.2}{:>8.3}%{:>8.3}%{:>5} ns{:>5} ns",
        row.policy,
        row.kind,
        row.bytes,
        8.0 * row.bytes as f64 / row.keys as f64,
        100.0 * row.expected,
        100.0 * row.wrong as f64 / ABSENT as f64,
        row.build.as_nanos() / row.keys as u128,
        row.lookup.as_nanos(),
    );
    assert_eq!(row.denied, 0, "a filter never denies a key that was added");
}
