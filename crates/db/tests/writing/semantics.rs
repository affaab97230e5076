//! Compactions of random tables mean what the tables meant.

use std::path::Path;

use sstkit_db::{Compaction, CompactionOptions, CompactionSummary, SequenceNumbers};
use sstkit_table::raw::EntryKind;
use sstkit_table::{Table, TableOptions};
use sstkit_testkit::Random;

use crate::model::{Pile, Point, Range, append};

/// Sequence numbers below this one belong to data below the tables.
const FLOOR: u64 = 1000;
const TABLES: usize = 4;

/// Random entries in tables. Where sequence numbers are 0, the tables say what is newer.
fn random_pile(random: &mut Random, external: bool, merges: bool) -> Pile {
    let mut pile = Pile::default();
    let mut sequence = FLOOR;
    for rank in 0..TABLES {
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..random.below(60) {
            sequence += 1;
            let age = (if external { 0 } else { sequence }, rank);
            let key = format!("key{:02}", random.below(40)).into_bytes();
            if external && !seen.insert(key.clone()) {
                continue;
            }
            let value = format!("v{sequence}").into_bytes();
            let (kind, value) = match random.below(4) {
                0 => (EntryKind::Deletion, Vec::new()),
                1 if merges => (EntryKind::Merge, value),
                _ => (EntryKind::Value, value),
            };
            pile.points.push(Point { key, age, kind: kind as u8, value });
        }
        for _ in 0..random.below(4) {
            sequence += 1;
            let (from, length) = (random.below(40), 1 + random.below(12));
            let start = format!("key{from:02}").into_bytes();
            let end = format!("key{:02}", from + length).into_bytes();
            pile.ranges.push(Range {
                start,
                end,
                age: (if external { 0 } else { sequence }, rank),
            });
        }
    }
    pile
}

/// Keys that are set once at most before each single deletion; every second one is set below.
fn add_single_deletions(pile: &mut Pile, random: &mut Random) {
    let mut sequence = FLOOR + 100_000;
    for i in 0..20 {
        let key = format!("single{i:02}").into_bytes();
        let mut is_set = i % 2 == 0;
        for _ in 0..random.below(6) {
            sequence += 1;
            let kind = if is_set { EntryKind::SingleDeletion } else { EntryKind::Value };
            let value = if is_set { Vec::new() } else { sequence.to_string().into_bytes() };
            is_set = !is_set;
            let age = (sequence, random.below(TABLES as u64) as usize);
            pile.points.push(Point { key: key.clone(), age, kind: kind as u8, value });
        }
    }
}

/// The data below the tables: every key has a value there.
fn below() -> Pile {
    let point = |i: u64| Point {
        key: format!("key{i:02}").into_bytes(),
        age: (i, 0),
        kind: EntryKind::Value as u8,
        value: format!("below{i}").into_bytes(),
    };
    let single = |i: u64| Point { key: format!("single{i:02}").into_bytes(), ..point(i) };
    let points = (0..45).map(point).chain((0..20).step_by(2).map(single));
    Pile { points: points.collect(), ranges: Vec::new() }
}

fn options() -> CompactionOptions {
    CompactionOptions::new(TableOptions::rocksdb().block_size(256))
}

fn compact(pile: &Pile, options: &CompactionOptions, out: &Path) -> (CompactionSummary, Pile) {
    let mut compaction = Compaction::new(options);
    for rank in 0..TABLES {
        compaction.add_table(&pile.table(rank)).unwrap();
    }
    let summary = compaction.run(out).unwrap();
    summary.manifest.verify(out).unwrap();
    let mut result = Pile::default();
    for file in &summary.manifest.files {
        let table = Table::open(out.join(&file.name)).unwrap();
        table.verify().into_result().unwrap();
        result = result.with(&Pile::of_table(&table, 0));
    }
    let counts = summary.counts;
    let dropped = counts.shadowed + counts.tombstones + counts.covered + counts.merged;
    assert_eq!(counts.entries_in, pile.points.len() as u64);
    assert_eq!(counts.entries_out, result.points.len() as u64);
    assert_eq!(counts.entries_in, counts.entries_out + dropped);
    (summary, result)
}

#[test]
fn laid_over_older_tables_it_means_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let mut dropped = 0;
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let mut pile = random_pile(&mut random, false, true);
        add_single_deletions(&mut pile, &mut random);
        let expected = pile.clone().with(&below()).visible();
        let with_operator = options().merge_operator(append());
        for (name, options) in [("plain", options()), ("merged", with_operator)] {
            for size in [300, 1 << 20] {
                let out = folder.path().join(format!("{seed}-{name}-{size}"));
                let (summary, result) =
                    compact(&pile, &options.clone().max_file_size(Some(size)), &out);
                assert_eq!(result.with(&below()).visible(), expected, "{seed} {name} {size}");
                dropped += summary.counts.covered.min(summary.counts.shadowed);
            }
        }
    }
    assert!(dropped > 0);
}

#[test]
fn at_the_bottom_only_what_is_visible_stays() {
    let folder = tempfile::tempdir().unwrap();
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let mut pile = random_pile(&mut random, false, true);
        add_single_deletions(&mut pile, &mut random);
        let out = folder.path().join(format!("{seed}"));
        let options = options().merge_operator(append()).bottommost(true).max_file_size(Some(500));
        let (_, result) = compact(&pile, &options, &out);
        assert!(result.ranges.is_empty());
        assert!(result.points.iter().all(|point| point.kind == EntryKind::Value as u8));
        let found = result.points.iter().map(|it| (it.key.clone(), it.value.clone())).collect();
        assert_eq!(pile.visible(), found, "{seed}");
        // Each has the sequence number of the newest entry that went into it.
        for point in &result.points {
            let of_key = pile.points.iter().filter(|it| it.key == point.key);
            assert_eq!(of_key.map(|it| it.age.0).max(), Some(point.age.0));
        }
    }
}

#[test]
fn external_tables_are_newer_than_those_added_before() {
    let folder = tempfile::tempdir().unwrap();
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let pile = random_pile(&mut random, true, false);
        // Ingested after all below: newer than anything there.
        let lift = |mut pile: Pile, by: u64| {
            pile.points.iter_mut().for_each(|point| point.age.0 += by);
            pile.ranges.iter_mut().for_each(|range| range.age.0 += by);
            pile
        };
        let expected = lift(pile.clone(), FLOOR).with(&below()).visible();
        for numbers in [SequenceNumbers::Keep, SequenceNumbers::Zero] {
            let out = folder.path().join(format!("{seed}-{numbers:?}"));
            let options = options().sequence_numbers(numbers).max_file_size(Some(400));
            let (_, result) = compact(&pile, &options, &out);
            assert!(result.points.iter().all(|point| point.age.0 == 0));
            assert_eq!(
                lift(result, FLOOR).with(&below()).visible(),
                expected,
                "{seed} {numbers:?}"
            );
        }
    }
}

#[test]
fn numbers_become_zero_and_it_can_be_ingested() {
    let folder = tempfile::tempdir().unwrap();
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let pile = random_pile(&mut random, false, seed % 2 == 0);
        let expected = pile.visible();
        let out = folder.path().join(format!("{seed}"));
        let options = options()
            .merge_operator(append())
            .bottommost(true)
            .sequence_numbers(SequenceNumbers::Zero)
            .max_file_size(Some(400));
        let (_, result) = compact(&pile, &options, &out);
        let found = result.points.iter().map(|it| (it.key.clone(), it.value.clone())).collect();
        assert_eq!(expected, found, "{seed}");
        assert!(result.points.iter().all(|point| point.age.0 == 0));
    }
}

#[test]
fn all_versions_are_kept_on_request() {
    let folder = tempfile::tempdir().unwrap();
    for seed in 0..20 {
        let mut random = Random::new(seed);
        let mut pile = random_pile(&mut random, false, true);
        add_single_deletions(&mut pile, &mut random);
        let out = folder.path().join(format!("{seed}"));
        let options = options().keep_versions(true).max_file_size(Some(400));
        let (_, mut result) = compact(&pile, &options, &out);
        assert_eq!(result.visible(), pile.visible(), "{seed}");
        pile.points.iter_mut().for_each(|point| point.age.1 = 0);
        pile.points.sort();
        result.points.sort();
        assert_eq!(result.points, pile.points, "{seed}");
    }
}
