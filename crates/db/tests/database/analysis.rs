//! Analyses of random databases against a model of what was written, and of the engines' own files.

use std::collections::BTreeMap;

use proptest::prelude::*;
use sstkit_db::{
    Analysis, AnalysisOptions, Contents, Database, DatabaseOptions, EntryCounts, EntryUse, GroupBy,
    PrefixTree, analyze_table,
};
use sstkit_table::raw::EntryKind;
use sstkit_table::{Table, TableOptions, TableWriter};

use crate::maker::{Batch, Maker};
use crate::model::{Op, key, layout, make, op};

/// An entry, and what it is good for.
#[derive(Clone, Debug)]
struct Expected {
    key: Vec<u8>,
    sequence: u64,
    kind: EntryKind,
    value: Vec<u8>,
    level: Option<u32>,
    entry_use: EntryUse,
}

/// The point entries of a history in the order of a scan, each with its use.
fn expected(ops: &[Op], cuts: [usize; 4]) -> Vec<Expected> {
    let level = |at: usize| match cuts.iter().position(|&cut| at < cut.min(ops.len())) {
        Some(0) => Some(2),
        Some(1) => Some(1),
        Some(_) => Some(0),
        None => None,
    };
    let mut ranges = Vec::new();
    let mut points = Vec::new();
    for (at, op) in ops.iter().enumerate() {
        let sequence = at as u64 + 1;
        let (n, kind) = match *op {
            Op::Put(n) => (n, EntryKind::Value),
            Op::Delete(n) => (n, EntryKind::Deletion),
            Op::Merge(n) => (n, EntryKind::Merge),
            Op::DeleteRange(a, b) => {
                ranges.push((key(a), key(b), sequence));
                continue;
            }
        };
        let value = match kind {
            EntryKind::Deletion => Vec::new(),
            _ => sequence.to_string().into_bytes(),
        };
        let (level, entry_use) = (level(at), EntryUse::Visible);
        points.push(Expected { key: key(n), sequence, kind, value, level, entry_use });
    }
    points.sort_by(|a, b| a.key.cmp(&b.key).then(b.sequence.cmp(&a.sequence)));
    for versions in points.chunk_by_mut(|a, b| a.key == b.key) {
        let mut is_decided = false;
        for entry in versions {
            let is_over = |(start, end, sequence): &(Vec<u8>, Vec<u8>, u64)| {
                *start <= entry.key && entry.key < *end && *sequence > entry.sequence
            };
            let is_covered = ranges.iter().any(is_over);
            entry.entry_use = match entry.kind {
                EntryKind::Deletion => EntryUse::Tombstone,
                _ if is_decided => EntryUse::OlderVersion,
                _ if is_covered => EntryUse::Covered,
                _ => EntryUse::Visible,
            };
            is_decided |= is_covered || entry.kind != EntryKind::Merge;
        }
    }
    points
}

/// What is counted of some entries.
fn count<'e>(entries: impl Iterator<Item = &'e Expected>) -> BTreeMap<String, u64> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for entry in entries {
        let mut add = |what: String, more: usize| *counts.entry(what).or_default() += more as u64;
        add(format!("{:?}", entry.kind), 1);
        add(format!("{:?}", entry.entry_use), 1);
        let bytes = entry.key.len() + entry.value.len();
        add(format!("{:?} bytes", entry.entry_use), bytes);
        add("key bytes".into(), entry.key.len());
        add("value bytes".into(), entry.value.len());
    }
    counts.retain(|_, count| *count > 0);
    counts
}

fn counted<'c>(counts: impl Iterator<Item = &'c EntryCounts>) -> BTreeMap<String, u64> {
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for counts in counts {
        let mut add = |what: String, more: u64| *sums.entry(what).or_default() += more;
        for &kind in EntryKind::ALL {
            add(format!("{kind:?}"), counts.of_kind(kind));
        }
        for &entry_use in EntryUse::ALL {
            let space = counts.used_for(entry_use);
            add(format!("{entry_use:?}"), space.entries);
            add(format!("{entry_use:?} bytes"), space.bytes);
            assert_eq!(space.blob_bytes, 0);
        }
        add("key bytes".into(), counts.key_bytes);
        add("value bytes".into(), counts.value_bytes);
    }
    sums.retain(|_, count| *count > 0);
    sums
}

/// Key of the first entry, next visible key, tombstones, other entries.
type Skipped = (Vec<u8>, Option<Vec<u8>>, u64, u64);

fn skipped(entries: &[Expected]) -> Vec<Skipped> {
    let mut all: Vec<Skipped> = Vec::new();
    let mut is_open = false;
    for (at, entry) in entries.iter().enumerate() {
        let is_visible = entry.entry_use == EntryUse::Visible;
        // The operands and the value of one key are one visible key.
        let continues = at > 0
            && entries[at - 1].key == entry.key
            && entries[..at]
                .iter()
                .any(|it| it.key == entry.key && it.entry_use == EntryUse::Visible);
        if is_visible {
            if let (true, Some(last)) = (is_open && !continues, all.last_mut()) {
                last.1 = Some(entry.key.clone());
            }
            is_open = is_open && continues;
            continue;
        }
        if !is_open {
            all.push((entry.key.clone(), None, 0, 0));
            is_open = true;
        }
        let last = all.last_mut().unwrap();
        let is_tombstone = entry.entry_use == EntryUse::Tombstone;
        if is_tombstone { last.2 += 1 } else { last.3 += 1 }
    }
    all.sort_by(|a, b| (b.2 + b.3, b.2).cmp(&(a.2 + a.3, a.2)).then_with(|| a.0.cmp(&b.0)));
    all
}

fn check(analysis: &Analysis, entries: &[Expected], top: usize) {
    assert!(analysis.problems.is_empty(), "{:?}", analysis.problems);
    assert_eq!(counted(analysis.files.iter().map(|file| &file.counts)), count(entries.iter()));
    for level in [None, Some(0), Some(1), Some(2)] {
        let files = analysis.files.iter().filter(|file| file.level == level);
        let wanted = entries.iter().filter(|entry| entry.level == level);
        assert_eq!(counted(files.map(|file| &file.counts)), count(wanted), "level {level:?}");
    }
    let tombstones = entries.iter().filter(|it| it.entry_use == EntryUse::Tombstone);
    let oldest = analysis.files.iter().filter_map(|file| file.counts.oldest_tombstone).min();
    assert_eq!(oldest, tombstones.map(|it| it.sequence).min());

    let contents = analysis.contents.as_ref().unwrap();
    let keys: Vec<&[Expected]> = entries.chunk_by(|a, b| a.key == b.key).collect();
    assert_eq!(contents.keys, keys.len() as u64);
    let is_visible =
        |key: &&&[Expected]| key.iter().any(|entry| entry.entry_use == EntryUse::Visible);
    assert_eq!(contents.visible_keys, keys.iter().filter(is_visible).count() as u64);
    check_sizes(contents, entries);

    let mut values: Vec<_> = entries
        .iter()
        .filter(|entry| entry.kind != EntryKind::Deletion)
        .map(|entry| (entry.value.len() as u64, entry.key.clone(), entry.sequence))
        .collect();
    values.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)).then(b.2.cmp(&a.2)));
    values.truncate(top);
    let found = contents.largest_values.iter().map(|it| (it.size, it.key.clone(), it.sequence));
    assert_eq!(found.collect::<Vec<_>>(), values);

    let mut versions: Vec<_> = keys
        .iter()
        .filter(|key| key.len() > 1)
        .map(|key| (key.len() as u64, key[0].key.clone()))
        .collect();
    versions.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    versions.truncate(top);
    let found = contents.most_versions.iter().map(|it| (it.versions, it.key.clone()));
    assert_eq!(found.collect::<Vec<_>>(), versions);

    let mut wanted = skipped(entries);
    wanted.truncate(top);
    let ranges = contents.skipped_ranges.iter();
    let found = ranges.map(|it| (it.from.clone(), it.to.clone(), it.tombstones, it.hidden));
    assert_eq!(found.collect::<Vec<_>>(), wanted);
}

fn check_sizes(contents: &Contents, entries: &[Expected]) {
    for (histogram, sizes) in [
        (&contents.key_sizes, entries.iter().map(|it| it.key.len() as u64).collect::<Vec<_>>()),
        (
            &contents.value_sizes,
            entries
                .iter()
                .filter(|it| it.kind != EntryKind::Deletion)
                .map(|it| it.value.len() as u64)
                .collect(),
        ),
    ] {
        assert_eq!(histogram.count(), sizes.len() as u64);
        assert_eq!(histogram.smallest(), sizes.iter().copied().min());
        assert_eq!(histogram.largest(), sizes.iter().copied().max());
        for bucket in histogram.buckets() {
            let range = bucket.from..=bucket.to;
            let count = sizes.iter().filter(|size| range.contains(size)).count();
            assert_eq!(bucket.count, count as u64, "{bucket:?}");
        }
    }
}

/// Prefix, entries, tombstones, bytes of keys and values, groups below; the first line is about all.
type Group = (Vec<u8>, u64, u64, u64, u64);

fn groups(tree: &PrefixTree) -> Vec<Group> {
    let total = (Vec::new(), tree.total);
    let nodes = tree.nodes.iter().map(|node| (node.prefix.clone(), node.totals));
    std::iter::once(total)
        .chain(nodes)
        .map(|(prefix, it)| (prefix, it.entries, it.tombstones, it.bytes(), it.children))
        .collect()
}

/// The same of a list of entries. `ends` says where the components of a key end.
fn expected_groups<'e>(
    entries: impl Iterator<Item = (&'e [u8], bool, u64)>,
    ends: impl Fn(&[u8]) -> Vec<usize>,
) -> Vec<Group> {
    let mut groups: BTreeMap<Vec<u8>, (u64, u64, u64)> = BTreeMap::new();
    let mut total = (Vec::new(), 0, 0, 0, 0);
    let mut parents: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
    for (key, is_tombstone, bytes) in entries {
        total.1 += 1;
        total.2 += u64::from(is_tombstone);
        total.3 += bytes;
        let mut parent = Vec::new();
        for end in ends(key) {
            let group = groups.entry(key[..end].to_vec()).or_default();
            group.0 += 1;
            group.1 += u64::from(is_tombstone);
            group.2 += bytes;
            parents.insert(key[..end].to_vec(), parent);
            parent = key[..end].to_vec();
        }
    }
    let children = |of: &[u8]| parents.values().filter(|parent| *parent == of).count() as u64;
    total.4 = children(b"");
    let of_groups = groups.iter().map(|(prefix, &(entries, tombstones, bytes))| {
        (prefix.clone(), entries, tombstones, bytes, children(prefix))
    });
    std::iter::once(total).chain(of_groups).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn an_analysis_counts_what_was_written(
        ops in prop::collection::vec(op(), 1..40),
        layout in layout(),
        top in 0usize..6,
        threads in 1usize..4,
        part_size in 1u64..300,
    ) {
        let db = make(&ops, &layout);
        let options = AnalysisOptions::default()
            .top(top)
            .threads(threads)
            .part_size(part_size)
            .group_by(GroupBy::Length(2));
        let entries = expected(&ops, layout.cuts);
        let family = Database::open(db.path()).unwrap().default_column_family();
        let analysis = family.analyze(&options).unwrap();
        check(&analysis, &entries, top);
        let listed = entries.iter().map(|it| {
            let bytes = (it.key.len() + it.value.len()) as u64;
            (&it.key[..], it.kind == EntryKind::Deletion, bytes)
        });
        let tree = analysis.prefixes.unwrap();
        prop_assert!(tree.is_exact);
        prop_assert_eq!(groups(&tree), expected_groups(listed, |_| vec![2]));

        // A range of it.
        let in_range = family.analyze(&options.clone().range(key(3)..key(8))).unwrap();
        let is_in = |it: &&Expected| it.key >= key(3) && it.key < key(8);
        let wanted: Vec<Expected> = entries.iter().filter(is_in).cloned().collect();
        check(&in_range, &wanted, top);
        let with_prefix = family.analyze(&options.prefix("k1")).unwrap();
        let is_in = |it: &&Expected| it.key.starts_with(b"k1");
        let wanted: Vec<Expected> = entries.iter().filter(is_in).cloned().collect();
        check(&with_prefix, &wanted, top);
    }
}

/// Keys like paths, in one table.
fn nested_keys() -> Vec<Vec<u8>> {
    let mut keys = vec![b"/".to_vec(), b"alone".to_vec(), b"users/".to_vec()];
    for user in 0..40u32 {
        for item in 0..user % 7 {
            keys.push(format!("users/{user:03}/items/{item}").into_bytes());
            keys.push(format!("users/{user:03}/name{item}").into_bytes());
        }
        keys.push(format!("zips//{user}").into_bytes());
    }
    keys.sort();
    keys
}

/// The groups are the same however the table is split into parts, and whatever the delimiter.
#[test]
fn prefixes_are_a_tree() {
    let keys = nested_keys();
    let options = TableOptions::rocksdb().block_size(100);
    let mut bytes = Vec::new();
    let mut writer = TableWriter::to_sink(&mut bytes, &options).unwrap();
    keys.iter().for_each(|key| writer.put(key, b"value").unwrap());
    writer.finish().unwrap();
    let table = Table::from_bytes(bytes).unwrap();
    for (delimiter, depth) in [("/", 1), ("/", 2), ("/", 9), ("//", 2), ("items/", 1), ("#", 3)] {
        let delimiter = delimiter.as_bytes();
        let group_by = GroupBy::Delimiter { delimiter: delimiter.to_vec(), depth };
        let ends = |key: &[u8]| {
            let (mut ends, mut from) = (Vec::new(), 0);
            while from + delimiter.len() <= key.len() {
                let is_end = key[from..].starts_with(delimiter);
                from += if is_end { delimiter.len() } else { 1 };
                if is_end && ends.len() < depth {
                    ends.push(from);
                }
            }
            ends
        };
        let listed = keys.iter().map(|key| (&key[..], false, key.len() as u64 + 5));
        let wanted = expected_groups(listed, ends);
        for (part_size, threads) in [(1, 1), (1, 3), (500, 2), (1 << 30, 1)] {
            let options = AnalysisOptions::default().part_size(part_size).threads(threads);
            let analysis = analyze_table(&table, &options.group_by(group_by.clone())).unwrap();
            assert_eq!(groups(&analysis.prefixes.unwrap()), wanted, "{delimiter:?} {depth}");
        }
    }
}

/// Groups beyond the limit are not listed, and all numbers stay right.
#[test]
fn many_prefixes_are_limited() {
    let mut bytes = Vec::new();
    let mut writer = TableWriter::to_sink(&mut bytes, &TableOptions::rocksdb()).unwrap();
    let count = 100_000u32;
    for number in 0..count {
        // Each hundredth group is larger.
        let value = if number % 100 == 0 { &b"large value"[..] } else { b"" };
        writer.put(&number.to_be_bytes(), value).unwrap();
    }
    writer.finish().unwrap();
    let table = Table::from_bytes(bytes).unwrap();
    for part_size in [10_000, 1 << 30] {
        let options = AnalysisOptions::default().part_size(part_size).group_by(GroupBy::Length(4));
        let tree = analyze_table(&table, &options).unwrap().prefixes.unwrap();
        assert_eq!((tree.total.entries, tree.total.children), (count.into(), count.into()));
        assert!(tree.is_exact && tree.nodes.len() < 40_000, "{}", tree.nodes.len());
        let large = tree.nodes.iter().filter(|node| node.totals.bytes() == 15);
        assert!(
            large
                .map(|node| node.prefix.clone())
                .eq((0..count).step_by(100).map(|it| it.to_be_bytes().to_vec()))
        );
    }
}

/// The engines' own databases: all entries are counted, what is visible is what a scan shows, and
/// neither the number of threads nor the parts matter.
#[test]
fn golden_databases() {
    let folder = sstkit_testkit::root().join("testdata/databases");
    let mut families = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if !path.is_dir() {
            continue;
        }
        let database = Database::open(&path).unwrap();
        for family in database.column_families() {
            let name = format!("{} {}", path.display(), family.name());
            let options = AnalysisOptions::default().part_size(5000).group_by(GroupBy::Length(6));
            let one = family.analyze(&options.clone().threads(1)).unwrap();
            assert!(one.problems.is_empty(), "{name}: {:?}", one.problems);
            let many = family.analyze(&options.threads(5)).unwrap();
            assert_eq!(format!("{one:?}"), format!("{many:?}"), "{name}");
            let contents = one.contents.unwrap();
            assert_eq!(contents.visible_keys, family.records().count() as u64, "{name}");
            let entries: u64 = one.files.iter().map(|file| file.counts.entries()).sum();
            assert_eq!(entries, family.entries().count() as u64, "{name}");
            let ranges = family.range_deletions().unwrap().len();
            assert_eq!(one.range_tombstone_count, ranges as u64, "{name}");
            for file in &one.files {
                let Some(expected) = file.properties.entries else { continue };
                let points = expected - file.properties.range_tombstones.unwrap_or(0);
                assert_eq!(file.counts.entries(), points, "{name}");
            }
            families += 1;
        }
    }
    assert!(families > 20, "{families}");
}

/// Without a known order nothing is merged, and everything is still counted.
#[test]
fn an_unknown_order_is_counted_by_file() {
    let mut db = Maker::new();
    db.comparator(b"an unknown order");
    db.table(1, 10, &[(b"b", 5, EntryKind::Value, b"1")]);
    db.table(2, 11, &[(b"a", 2, EntryKind::Value, b"333"), (b"b", 1, EntryKind::Deletion, b"")]);
    db.log(900, &[Batch::new().write(0, EntryKind::Value as u8, &[b"b", b"4444"]).at(6)]);
    db.finish();
    let family = Database::open_with(db.path(), &DatabaseOptions::default())
        .unwrap()
        .default_column_family();
    let analysis = family.analyze(&AnalysisOptions::default()).unwrap();
    assert!(analysis.problems.is_empty(), "{:?}", analysis.problems);
    let contents = analysis.contents.unwrap();
    assert!(!contents.is_ordered);
    let entries: Vec<u64> = analysis.files.iter().map(|file| file.counts.entries()).collect();
    assert_eq!(entries, [1, 1, 2]);
    assert_eq!(contents.value_sizes.count(), 3);
    assert!(family.analyze(&AnalysisOptions::default().range(&b"a"[..]..)).is_err());
}

/// An estimate reads no data block, and says how large a range is.
#[test]
fn an_estimate_knows_sizes() {
    let mut db = Maker::new();
    db.table_options(TableOptions::rocksdb().block_size(500));
    let keys: Vec<Vec<u8>> = (0..2000u32).map(|i| format!("key{i:05}").into_bytes()).collect();
    let value = [b'v'; 50];
    let items: Vec<_> =
        keys.iter().map(|key| (&key[..], 7, EntryKind::Value, &value[..])).collect();
    db.table(1, 10, &items);
    db.finish();
    let family = Database::open(db.path()).unwrap().default_column_family();
    let options = AnalysisOptions::default().estimate(true).group_by(GroupBy::Length(4));
    let whole = family.analyze(&options).unwrap();
    let exact = family.analyze(&AnalysisOptions::default()).unwrap();
    assert!(whole.contents.is_none() && exact.contents.is_some());
    let file = &whole.files[1];
    assert_eq!(file.properties.entries, Some(2000));
    assert_eq!(file.properties.user_key_bytes(), Some(exact.files[1].counts.key_bytes));
    assert_eq!(file.properties.value_bytes, Some(exact.files[1].counts.value_bytes));
    assert_eq!(file.data_bytes, exact.files[1].data_bytes);
    assert_eq!(file.data_bytes_in_range, file.data_bytes);
    let part = family.analyze(&options.range(&b"key00500"[..]..&b"key01000"[..])).unwrap();
    let share = part.files[1].data_bytes_in_range as f64 / file.data_bytes as f64;
    assert!((share - 0.25).abs() < 0.02, "{share}");
    let tree = whole.prefixes.unwrap();
    assert_eq!(tree.nodes.len(), 1);
    assert_eq!(tree.nodes[0].prefix, b"key0");
    assert!(tree.nodes[0].totals.entries.abs_diff(2000) < 300);
}
