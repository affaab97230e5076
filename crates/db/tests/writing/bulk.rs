//! Bulk building: any order, any budget, all kinds.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sstkit_db::{
    BulkBuilder, BulkManifest, BulkOptions, BulkSummary, Duplicates, ErrorKind, MANIFEST_NAME,
    Phase,
};
use sstkit_table::raw::{EntryKind, decode_wide_columns};
use sstkit_table::{Comparator, Table, TableOptions, TableReadOptions};
use sstkit_testkit::Random;

type Expected = BTreeMap<Vec<u8>, (EntryKind, Vec<u8>)>;

fn options() -> BulkOptions {
    BulkOptions::new(TableOptions::rocksdb().filter("bloomfilter:10".parse().unwrap()))
}

/// Points of all files, in order, and what the manifest says compared with what is there.
fn read(folder: &Path, manifest: &BulkManifest) -> Vec<(Vec<u8>, EntryKind, Vec<u8>)> {
    manifest.verify(folder).unwrap();
    assert!(manifest.non_overlapping);
    let mut all = Vec::new();
    for file in &manifest.files {
        let table = Table::open(folder.join(&file.name)).unwrap();
        table.verify().into_result().unwrap();
        let entries: Vec<_> = table.entries().map(Result::unwrap).collect();
        assert!(entries.iter().all(|entry| entry.sequence == 0));
        let ranges = table.range_deletions().len() as u64;
        assert_eq!((file.entries, file.range_deletions), (entries.len() as u64 + ranges, ranges));
        assert_eq!(file.bytes, table.size());
        all.extend(entries.into_iter().map(|it| (it.user_key, it.kind, it.value.to_vec())));
    }
    all
}

fn as_list(expected: &Expected) -> Vec<(Vec<u8>, EntryKind, Vec<u8>)> {
    expected.iter().map(|(key, (kind, value))| (key.clone(), *kind, value.clone())).collect()
}

const KINDS: [EntryKind; 5] = [
    EntryKind::Value,
    EntryKind::Value,
    EntryKind::Deletion,
    EntryKind::SingleDeletion,
    EntryKind::Merge,
];

/// Random entries with repeated keys, into the builder and into a model.
fn fill(builder: &mut BulkBuilder, count: u64, seed: u64, duplicates: Duplicates) -> Expected {
    let mut random = Random::new(seed);
    let mut expected = Expected::new();
    for _ in 0..count {
        let length = random.below(12);
        let mut key = format!("user/{:03}", random.below(count)).into_bytes();
        key.extend(random.bytes(length % 2));
        let kind = KINDS[random.below(KINDS.len() as u64) as usize];
        let length = random.below(200);
        let value = match kind {
            EntryKind::Value | EntryKind::Merge => random.bytes(length),
            _ => Vec::new(),
        };
        builder.add(kind, &key, &value).unwrap();
        match duplicates {
            Duplicates::First => drop(expected.entry(key).or_insert((kind, value))),
            _ => drop(expected.insert(key, (kind, value))),
        }
    }
    expected
}

#[test]
fn any_order_any_budget() {
    let folder = tempfile::tempdir().unwrap();
    let mut summaries: Vec<BulkSummary> = Vec::new();
    for (seed, (memory, count)) in
        [(1 << 20, 3000), (64 << 10, 3000), (16 << 10, 3000), (0, 500), (700 << 10, 20_000)]
            .into_iter()
            .enumerate()
    {
        for threads in [1, 3] {
            for duplicates in [Duplicates::Last, Duplicates::First] {
                let out = folder.path().join(format!("{seed}-{threads}-{duplicates:?}"));
                let options = options()
                    .memory(memory)
                    .threads(threads)
                    .duplicates(duplicates)
                    .max_file_size(Some(20_000));
                let mut builder = BulkBuilder::create(&out, &options).unwrap();
                let expected = fill(&mut builder, count, seed as u64, duplicates);
                let summary = builder.finish().unwrap();
                assert_eq!(read(&out, &summary.manifest), as_list(&expected), "{out:?}");
                let kept = expected.len() as u64;
                assert_eq!(summary.entries_added, count);
                assert_eq!(summary.duplicates_dropped, count - kept);
                let manifest = BulkManifest::read(out.join(MANIFEST_NAME)).unwrap();
                assert_eq!(manifest, summary.manifest);
                summaries.push(summary);
            }
        }
    }
    // All ways were gone: in memory, with runs, with runs of runs.
    assert!(summaries.iter().any(|summary| summary.runs == 0));
    assert!(summaries.iter().any(|summary| summary.runs > 0 && summary.merge_passes == 0));
    assert!(summaries.iter().any(|summary| summary.merge_passes > 1));
    assert!(summaries.iter().any(|summary| summary.manifest.files.len() > 5));
}

#[test]
fn one_file_of_the_name_given() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("users.sst");
    let mut builder = BulkBuilder::create(&path, &options().memory(10_000)).unwrap();
    let expected = fill(&mut builder, 1000, 7, Duplicates::Last);
    assert!(!path.exists());
    let summary = builder.finish().unwrap();
    assert_eq!(summary.manifest.files[0].name, "users.sst");
    assert_eq!(read(folder.path(), &summary.manifest), as_list(&expected));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "and nothing else");
}

#[test]
fn sorted_input_costs_no_runs_and_disorder_is_named() {
    let folder = tempfile::tempdir().unwrap();
    for duplicates in [Duplicates::Last, Duplicates::First] {
        let out = folder.path().join(format!("{duplicates:?}"));
        let options =
            options().sorted(true).duplicates(duplicates).max_file_size(Some(5000)).memory(0);
        let mut builder = BulkBuilder::create(&out, &options).unwrap();
        for i in 0..1000u32 {
            builder.put(format!("{i:06}").as_bytes(), b"first").unwrap();
            if i % 3 == 0 {
                builder.put(format!("{i:06}").as_bytes(), b"last").unwrap();
            }
        }
        let error = builder.put(b"000001", b"").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains("entry 1335 is out of order"), "{error}");
        let summary = builder.finish().unwrap();
        assert_eq!((summary.runs, summary.duplicates_dropped), (0, 334));
        let found = read(&out, &summary.manifest);
        assert_eq!(found.len(), 1000);
        let third =
            if duplicates == Duplicates::Last { b"last".to_vec() } else { b"first".to_vec() };
        for (i, (_, _, value)) in found.iter().enumerate() {
            assert_eq!(*value, if i % 3 == 0 { third.clone() } else { b"first".to_vec() });
        }
    }
}

#[test]
fn duplicates_as_an_error_name_the_key() {
    let folder = tempfile::tempdir().unwrap();
    for (memory, sorted) in [(1 << 20, false), (0, false), (0, true)] {
        let options = options().duplicates(Duplicates::Error).memory(memory).sorted(sorted);
        let mut builder = BulkBuilder::create(folder.path().join("x.sst"), &options).unwrap();
        let mut result = Ok(());
        for i in 0..5000u32 {
            result = result.and(builder.put(format!("{i:06}").as_bytes(), &[1; 50]));
            if i == 4321 {
                result = result.and(builder.put(b"004321", b"again"));
            }
        }
        let error = result.and_then(|()| builder.finish().map(drop)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains("duplicate key \"004321\""), "{error}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left");
    }
}

#[test]
fn other_orders_and_timestamps() {
    let folder = tempfile::tempdir().unwrap();
    for (name, comparator) in [
        ("reverse", Comparator::ReverseBytewise),
        ("stamped", Comparator::BytewiseWithTimestamp),
        ("reverse stamped", Comparator::ReverseBytewiseWithTimestamp),
    ] {
        let out = folder.path().join(name);
        let options =
            options().comparator(comparator.clone()).max_file_size(Some(3000)).memory(5000);
        let mut builder = BulkBuilder::create(&out, &options).unwrap();
        let mut random = Random::new(5);
        let mut keys = Vec::new();
        for _ in 0..2000 {
            let key = format!("{}", random.below(300)).into_bytes();
            let time = random.below(9).to_le_bytes();
            match comparator.timestamp_size() {
                0 => builder.put(&key, &key).unwrap(),
                _ => builder.put_at(&key, &time, &key).unwrap(),
            }
            keys.push([&key[..], &time[..comparator.timestamp_size()]].concat());
        }
        keys.sort_by(|a, b| comparator.compare(a, b));
        keys.dedup();
        let summary = builder.finish().unwrap();
        assert!(summary.manifest.files.len() > 1 && summary.runs > 1);
        let found: Vec<_> =
            read(&out, &summary.manifest).into_iter().map(|(key, _, _)| key).collect();
        assert_eq!(found, keys, "{name}");
        for pair in summary.manifest.files.windows(2) {
            assert_ne!(pair[0].largest, pair[1].smallest, "versions of a key stay together");
        }
    }
    let options = options().comparator(Comparator::BytewiseWithTimestamp);
    let mut builder = BulkBuilder::create(folder.path().join("x"), &options).unwrap();
    assert!(builder.put(b"key", b"value").unwrap_err().to_string().contains("timestamp"));
}

#[test]
fn entities_and_range_deletions_over_files() {
    let folder = tempfile::tempdir().unwrap();
    for sorted in [false, true] {
        let out = folder.path().join(format!("{sorted}"));
        let options = options().max_file_size(Some(4000)).memory(8000).sorted(sorted);
        let mut builder = BulkBuilder::create(&out, &options).unwrap();
        builder.delete_range(b"000100", b"000900").unwrap();
        builder.delete_range(b"000400", b"000400").unwrap();
        builder.delete_range(b"zz", b"zzz").unwrap();
        assert!(builder.delete_range(b"b", b"a").is_err());
        for i in 0..1000u32 {
            let i = if sorted { i } else { i * 77 % 1000 };
            let columns: [(&[u8], &[u8]); 2] = [(b"name", b"x"), (b"", &i.to_le_bytes())];
            builder.put_entity(format!("{i:06}").as_bytes(), &columns).unwrap();
        }
        let manifest = builder.finish().unwrap().manifest;
        let found = read(&out, &manifest);
        assert_eq!(found.len(), 1000);
        for (i, (_, kind, value)) in found.iter().enumerate() {
            assert_eq!(*kind, EntryKind::WideColumnEntity);
            let columns = decode_wide_columns(value).unwrap();
            assert_eq!((columns.len(), columns[0].name), (2, &b""[..]), "{i}");
        }
        // Together the files delete the given ranges, each no more than its own keys.
        let mut pieces = Vec::new();
        for file in &manifest.files {
            let table = Table::open(out.join(&file.name)).unwrap();
            for range in table.range_deletions() {
                assert!(range.start >= file.smallest && range.end <= file.largest);
                pieces.push((range.start.clone(), range.end.clone()));
            }
        }
        assert!(pieces.len() > 3);
        assert_eq!(pieces.first().unwrap().0, b"000100");
        assert_eq!(pieces.pop().unwrap(), (b"zz".to_vec(), b"zzz".to_vec()));
        assert_eq!(pieces.last().unwrap().1, b"000900");
        assert!(pieces.windows(2).all(|pair| pair[0].1 == pair[1].0));
        let last = manifest.files.last().unwrap();
        assert!(last.largest_is_exclusive && last.largest == b"zzz");
    }
}

#[test]
fn what_cannot_be_stored_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut builder = BulkBuilder::create(folder.path().join("x.sst"), &options()).unwrap();
    for kind in [EntryKind::BlobIndex, EntryKind::ValuePreferredSeqno] {
        assert_eq!(builder.add(kind, b"k", b"v").unwrap_err().kind(), ErrorKind::InvalidInput);
    }
    builder.put(b"k", b"v").unwrap();
    builder.finish().unwrap();

    for bad in [options().threads(0), options().max_file_size(Some(0)), options().extension("x")] {
        let error = BulkBuilder::create(folder.path().join("y"), &bad).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    }
    let table = TableOptions::rocksdb().block_size(0);
    let error = BulkBuilder::create(folder.path().join("y"), &BulkOptions::new(table)).unwrap_err();
    assert!(error.to_string().contains("block_size"), "{error}");
}

#[test]
fn progress_is_reported_and_cancelling_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (out, count) = (folder.path().join("out"), 40_000u32);
    for (stop_in, stop_at) in [
        (None, 0),
        (Some(Phase::Merging), 1),
        (Some(Phase::Writing), 1),
        (Some(Phase::Writing), u64::from(count)),
    ] {
        let last = Arc::new(AtomicU64::new(0));
        let seen = Arc::clone(&last);
        let options =
            options().memory(100_000).max_file_size(Some(100_000)).progress(move |progress| {
                assert_eq!(progress.total, Some(u64::from(count)));
                if progress.phase == Phase::Writing {
                    seen.store(progress.done, Ordering::Relaxed);
                }
                match stop_in == Some(progress.phase) && progress.done >= stop_at {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            });
        let mut builder = BulkBuilder::create(&out, &options).unwrap();
        for i in 0..count {
            builder.put(&(i.wrapping_mul(0x9e37_79b9)).to_be_bytes(), &[7; 20]).unwrap();
        }
        match (stop_in, builder.finish()) {
            (None, Ok(summary)) => {
                assert!(summary.merge_passes > 0);
                assert_eq!(last.load(Ordering::Relaxed), u64::from(count));
                std::fs::remove_dir_all(&out).unwrap();
            }
            (Some(_), Err(error)) => {
                assert!(error.to_string().contains("cancelled"), "{error}");
                assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_level_decides_the_filter() {
    let folder = tempfile::tempdir().unwrap();
    for (level, kind) in [(1, "bloom"), (5, "ribbon")] {
        let path = folder.path().join(format!("{level}.sst"));
        let table = TableOptions::rocksdb().filter("ribbonfilter:10:3".parse().unwrap());
        let mut builder =
            BulkBuilder::create(&path, &BulkOptions::new(table).level(level)).unwrap();
        (0..5000u32).for_each(|i| builder.put(&i.to_be_bytes(), b"").unwrap());
        builder.finish().unwrap();
        let table = Table::open_with(&path, &TableReadOptions::default()).unwrap();
        let bits = table.properties().number("rocksdb.filter.size").unwrap() * 8 / 5000;
        assert_eq!(bits >= 9, kind == "bloom", "{level}: {bits}");
    }
}
