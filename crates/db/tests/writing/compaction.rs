//! Compaction: parts, options, errors.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use sstkit_coding::checksum::ChecksumType;
use sstkit_db::{
    BulkBuilder, BulkOptions, Compaction, CompactionDecision, CompactionFilter, CompactionOptions,
    ErrorKind, SequenceNumbers,
};
use sstkit_table::raw::{BlobIndex, Codec, EntryKind, FormatVersion, InternalKey};
use sstkit_table::{Comparator, Table, TableOptions, TableWriter};
use sstkit_testkit::Random;

use crate::model::{Pile, append};

/// A table of entries with sequence numbers.
fn table(options: &TableOptions, entries: &[(&[u8], u64, EntryKind, &[u8])]) -> Table {
    let mut bytes = Vec::new();
    let options = options.clone().external_file(false);
    let mut writer = TableWriter::to_sink(&mut bytes, &options).unwrap();
    for &(user_key, sequence, kind, value) in entries {
        writer.add(&InternalKey { user_key, sequence, kind }, value).unwrap();
    }
    writer.finish().unwrap();
    Table::from_bytes(bytes).unwrap()
}

fn merge(entries: &[(&[u8], u64, EntryKind, &[u8])]) -> Table {
    table(&TableOptions::rocksdb().merge_operator("test.Append"), entries)
}

fn options() -> CompactionOptions {
    CompactionOptions::new(TableOptions::rocksdb())
}

fn run(tables: &[Table], options: &CompactionOptions, out: &Path) -> sstkit_db::Result<Pile> {
    let mut compaction = Compaction::new(options);
    for table in tables {
        compaction.add_table(table)?;
    }
    compaction.run(out)?;
    Ok(Pile::of_table(&Table::open(out)?, 0))
}

/// Tables of many keys, each over the whole key range.
fn large_tables(folder: &Path, comparator: &Comparator) -> Vec<Table> {
    let mut random = Random::new(1);
    (0..3)
        .map(|number| {
            let path = folder.join(format!("input{number}.sst"));
            let options = BulkOptions::new(TableOptions::rocksdb()).comparator(comparator.clone());
            let mut builder = BulkBuilder::create(&path, &options).unwrap();
            for _ in 0..8000 {
                let key = format!("user/{:06}", random.below(20_000));
                builder.put(key.as_bytes(), &random.bytes(40)).unwrap();
            }
            let mut ends = [b"user/005000", b"user/015000"];
            ends.sort_by(|a, b| comparator.compare(*a, *b));
            builder.delete_range(ends[0], ends[1]).unwrap();
            builder.finish().unwrap();
            Table::open(&path).unwrap()
        })
        .collect()
}

#[test]
fn threads_change_nothing_but_where_files_end() {
    for comparator in [Comparator::Bytewise, Comparator::ReverseBytewise] {
        let folder = tempfile::tempdir().unwrap();
        let tables = large_tables(folder.path(), &comparator);
        let mut first: Option<Pile> = None;
        for threads in [1, 2, 4] {
            let out = folder.path().join(format!("out{threads}"));
            let options = options().threads(threads).max_file_size(Some(100_000));
            let mut compaction = Compaction::new(&options);
            for table in &tables {
                compaction.add_table(table).unwrap();
            }
            let summary = compaction.run(&out).unwrap();
            assert_eq!(summary.parts, threads);
            summary.manifest.verify(&out).unwrap();
            let mut pile = Pile::default();
            let mut sizes = Vec::new();
            for file in &summary.manifest.files {
                let table = Table::open(out.join(&file.name)).unwrap();
                table.verify().into_result().unwrap();
                pile = pile.with(&Pile::of_table(&table, 0));
                sizes.push(file.bytes);
            }
            assert!(sizes.iter().all(|&size| size < 130_000), "{sizes:?}");
            assert!(sizes.len() >= 5 && sizes.iter().sum::<u64>() > 400_000, "{sizes:?}");
            let expected = first.get_or_insert_with(|| pile.clone());
            assert_eq!(pile.points, expected.points, "{threads}");
            assert_eq!(pile.visible(), expected.visible());
        }
    }
}

#[test]
fn what_zero_cannot_express_names_key_and_operator() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.sst");
    let zero = options().sequence_numbers(SequenceNumbers::Zero);
    let two =
        [merge(&[(b"k", 5, EntryKind::Merge, b"a")]), merge(&[(b"k", 7, EntryKind::Merge, b"b")])];
    let error = run(&two, &zero, &out).unwrap_err().to_string();
    assert!(error.contains("\"k\"") && error.contains("test.Append"), "{error}");
    let error = run(&two, &zero.clone().merge_operator(append()), &out).unwrap_err().to_string();
    assert!(error.contains("\"k\"") && error.contains("bottommost"), "{error}");
    assert!(!out.exists());

    let found = run(&two, &zero.merge_operator(append()).bottommost(true), &out).unwrap();
    assert_eq!(found.points[0].value, b"a,b");
    assert_eq!((found.points[0].age.0, found.points[0].kind), (0, EntryKind::Value as u8));
}

#[test]
fn operands_of_one_number_need_an_operator() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.sst");
    let two =
        [merge(&[(b"k", 0, EntryKind::Merge, b"a")]), merge(&[(b"k", 0, EntryKind::Merge, b"b")])];
    let error = run(&two, &options(), &out).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("\"k\""), "{error}");
    let merged = options().bottommost(true).merge_operator(append());
    assert_eq!(run(&two, &merged, &out).unwrap().points[0].value, b"a,b");
}

#[test]
fn values_in_blob_files_belong_to_their_database() {
    let folder = tempfile::tempdir().unwrap();
    let mut reference = Vec::new();
    BlobIndex::Stored { expiration: None, file: 12, offset: 40, size: 9, codec: 0 }
        .encode_to(&mut reference);
    let with_blob = merge(&[(b"k", 3, EntryKind::BlobIndex, &reference)]);
    let out = folder.path().join("out.sst");
    let error = run(std::slice::from_ref(&with_blob), &options(), &out).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("000012"), "{error}");
    // Hidden versions are not read.
    let newer = merge(&[(b"k", 4, EntryKind::Value, b"v")]);
    assert_eq!(run(&[with_blob, newer], &options(), &out).unwrap().points.len(), 1);
}

#[test]
fn values_embedded_in_a_table_become_plain() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = Vec::new();
    let embedding = TableOptions::rocksdb().embedded_blobs(50);
    let mut writer = TableWriter::to_sink(&mut bytes, &embedding).unwrap();
    writer.put(b"large", &[b'x'; 100]).unwrap();
    writer.put_entity(b"named", &[(b"", b"small"), (b"c", &[b'y'; 80])]).unwrap();
    writer.finish().unwrap();
    let table = Table::from_bytes(bytes).unwrap();
    let stored: Vec<_> = table.entries().map(|entry| entry.unwrap().kind).collect();
    assert_eq!(stored[0], EntryKind::BlobIndex);

    let out = folder.path().join("out.sst");
    let found = run(&[table], &options(), &out).unwrap();
    assert_eq!(found.points[0].kind, EntryKind::Value as u8);
    assert_eq!(found.points[0].value, [b'x'; 100]);
    let columns = sstkit_table::raw::decode_wide_columns(&found.points[1].value).unwrap();
    assert_eq!(columns[1].value, sstkit_table::raw::ColumnValue::Inline(&[b'y'; 80]));
}

#[test]
fn operands_on_an_entity_change_its_default_column() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = Vec::new();
    let mut writer = TableWriter::to_sink(&mut bytes, &TableOptions::rocksdb()).unwrap();
    writer.put_entity(b"a", &[(b"", b"1"), (b"c", b"2")]).unwrap();
    writer.put_entity(b"b", &[(b"c", b"2")]).unwrap();
    writer.finish().unwrap();
    let base = Table::from_bytes(bytes).unwrap();
    let newer = merge(&[(b"a", 4, EntryKind::Merge, b"x"), (b"b", 5, EntryKind::Merge, b"y")]);
    let out = folder.path().join("out.sst");
    let found = run(&[base, newer], &options().merge_operator(append()), &out).unwrap();
    let table = Table::open(&out).unwrap();
    assert_eq!(found.points.len(), 2);
    assert!(found.points.iter().all(|it| it.kind == EntryKind::WideColumnEntity as u8));
    assert_eq!(table.get(b"a").unwrap().unwrap(), b"1,x");
    assert_eq!(table.get(b"b").unwrap().unwrap(), b",y");
}

#[test]
fn versions_of_different_timestamps_are_different_keys() {
    let folder = tempfile::tempdir().unwrap();
    let stamped = |key: &[u8], time: u64| [key, &time.to_le_bytes()].concat();
    let options_of = TableOptions::rocksdb().comparator(Comparator::BytewiseWithTimestamp);
    let (one, two) = (stamped(b"k", 1), stamped(b"k", 2));
    let kind = EntryKind::Value;
    let older = table(&options_of, &[(&two, 3, kind, b"old"), (&one, 1, kind, b"first")]);
    let deletion = EntryKind::DeletionWithTimestamp;
    let last = stamped(b"k", 9);
    let newer = table(&options_of, &[(&last, 8, deletion, b""), (&two, 7, kind, b"new")]);
    let out = folder.path().join("out.sst");
    let found = run(&[older, newer], &options().bottommost(true), &out).unwrap();
    let values: Vec<_> = found.points.iter().map(|it| (&it.key[..], &it.value[..])).collect();
    assert_eq!(values, [(&last[..], &b""[..]), (&two, b"new"), (&one, b"first")]);

    let reverse = table(&TableOptions::rocksdb().comparator(Comparator::ReverseBytewise), &[]);
    let bytewise = merge(&[]);
    let error = run(&[reverse, bytewise], &options(), &out).unwrap_err();
    assert!(error.to_string().contains("different comparators"), "{error}");
}

#[test]
fn filters_are_rebuilt() {
    let folder = tempfile::tempdir().unwrap();
    let keys: Vec<_> = (0..2000u32).map(u32::to_be_bytes).collect();
    let entries: Vec<_> =
        keys.iter().map(|key| (&key[..], 1, EntryKind::Value, &b""[..])).collect();
    let input = merge(&entries);
    assert!(input.filter().is_none());
    let table = TableOptions::rocksdb().filter("ribbonfilter:10:3".parse().unwrap());
    let filtered = CompactionOptions::new(table);
    let size = |name: &str, options: &CompactionOptions| {
        let out = folder.path().join(name);
        run(std::slice::from_ref(&input), options, &out).unwrap();
        Table::open(out).unwrap().properties().number("rocksdb.filter.size").unwrap_or(0)
    };
    let (bloom, ribbon) =
        (size("bloom", &filtered.clone().level(1)), size("ribbon", &filtered.clone().level(4)));
    assert!(bloom >= 2000 * 10 / 8 && ribbon > 0 && ribbon < bloom * 4 / 5, "{bloom} {ribbon}");
    let hits = filtered.optimize_filters_for_hits(true);
    assert!(size("not the last", &hits) > 0);
    assert_eq!(size("last", &hits.bottommost(true)), 0);
}

#[test]
fn contradictions_and_cancelling_leave_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let tables = large_tables(folder.path(), &Comparator::Bytewise);
    let before = fs::read_dir(folder.path()).unwrap().count();
    let zero = options().sequence_numbers(SequenceNumbers::Zero);
    for (options, one, other) in [
        (options().keep_versions(true).bottommost(true), "keep_versions", "bottommost"),
        (zero.keep_versions(true), "keep_versions", "Zero"),
        (options().threads(0), "threads", "0"),
    ] {
        let error = run(&tables, &options, &folder.path().join("out")).unwrap_err().to_string();
        assert!(error.contains(one) && error.contains(other), "{error}");
    }
    for threads in [1, 3] {
        let options = options().threads(threads).max_file_size(Some(50_000)).progress(|progress| {
            assert_eq!(progress.total.map(|total| total > 15_000), Some(true));
            match progress.done > 16_000 {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        let error = run(&tables, &options, &folder.path().join("out")).unwrap_err();
        assert!(error.to_string().contains("cancelled"), "{error}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), before);
    }
}

#[test]
fn everything_deleted_is_an_empty_folder_of_tables() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let deleted = [
        merge(&[(b"a", 1, EntryKind::Value, b"x")]),
        merge(&[(b"a", 2, EntryKind::Deletion, b""), (b"b", 3, EntryKind::SingleDeletion, b"")]),
    ];
    let mut compaction = Compaction::new(&options().bottommost(true).max_file_size(Some(1000)));
    for table in &deleted {
        compaction.add_table(table).unwrap();
    }
    let summary = compaction.run(&out).unwrap();
    assert_eq!((summary.manifest.files.len(), summary.counts.tombstones), (0, 2));
    assert_eq!(fs::read_dir(&out).unwrap().count(), 1);
}

/// A table whose bytes were changed after it was written: it has no checksums.
fn patched(entries: &[(&[u8], u64, EntryKind, &[u8])], from: &[u8], to: &[u8]) -> Table {
    patched_blocks(entries, 4096, &[(from, to)])
}

/// The same with data blocks of about this size; of each patch the first place is changed, which is
/// in a data block and not in the index.
fn patched_blocks(
    entries: &[(&[u8], u64, EntryKind, &[u8])],
    block_size: usize,
    patches: &[(&[u8], &[u8])],
) -> Table {
    let options = TableOptions::rocksdb()
        .format_version(FormatVersion::V5)
        .checksum(ChecksumType::None)
        .compression(Codec::None)
        .use_delta_encoding(false)
        .block_size(block_size)
        .external_file(false);
    let mut bytes = Vec::new();
    let mut writer = TableWriter::to_sink(&mut bytes, &options).unwrap();
    for &(user_key, sequence, kind, value) in entries {
        writer.add(&InternalKey { user_key, sequence, kind }, value).unwrap();
    }
    writer.finish().unwrap();
    for (from, to) in patches {
        let at = bytes.windows(from.len()).position(|window| window == *from).unwrap();
        bytes[at..at + from.len()].copy_from_slice(to);
    }
    Table::from_bytes(bytes).unwrap()
}

fn internal(user_key: &[u8], sequence: u64, kind: EntryKind) -> Vec<u8> {
    let mut bytes = Vec::new();
    InternalKey { user_key, sequence, kind }.encode_to(&mut bytes);
    bytes
}

#[test]
fn versions_out_of_order_are_refused_and_not_merged_into_the_older_one() {
    use EntryKind::{Deletion, Value};
    let folder = tempfile::tempdir().unwrap();
    let entries: [(&[u8], u64, EntryKind, &[u8]); 3] =
        [(b"k", 5, Value, b"five"), (b"k", 3, Value, b"three"), (b"m", 1, Deletion, b"")];
    // The same number and kind again is no order, either.
    for late in [9, 5] {
        let patch = [internal(b"k", 3, Value), internal(b"k", late, Value)];
        let table = patched(&entries, &patch[0], &patch[1]);
        let other = merge(&[(b"k", 4, Value, b"four"), (b"n", 2, Value, b"n")]);
        for inputs in [vec![table.clone()], vec![other.clone(), table.clone()], vec![table, other]]
        {
            for options in [options(), options().keep_versions(true), options().bottommost(true)] {
                let out = folder.path().join("out.sst");
                let error = run(&inputs, &options, &out).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
                let message = error.to_string();
                assert!(message.contains("out of order") && message.contains("\"k\""), "{message}");
                assert!(!out.exists());
            }
        }
    }
}

/// What is out of order is refused even if it would not be written: merged, the deletion of `a` would
/// come too late for the value that it deletes.
#[test]
fn keys_out_of_order_are_refused_even_if_they_are_dropped() {
    use EntryKind::{Deletion, Value};
    let folder = tempfile::tempdir().unwrap();
    let patch = [internal(b"c", 9, Deletion), internal(b"a", 9, Deletion)];
    let newer = patched(&[(b"b", 10, Value, b"b"), (b"c", 9, Deletion, b"")], &patch[0], &patch[1]);
    let older = merge(&[(b"a", 1, Value, b"old")]);
    let out = folder.path().join("out.sst");
    let error = run(&[older, newer], &options().bottommost(true), &out).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    assert!(error.to_string().contains("out of order"), "{error}");
}

/// Each part of the key range searches for its start in every input. What lies on the wrong side of
/// that key must not be lost, nor be read by two parts.
#[test]
fn keys_displaced_across_parts_are_refused_and_not_lost_or_read_twice() {
    use EntryKind::Value;
    let folder = tempfile::tempdir().unwrap();
    // So large that the parts are cut at about the middle of it, whatever else there is.
    let large = &large_tables(folder.path(), &Comparator::Bytewise)[0];
    // One entry a block. The index stays as it was.
    let crafted = |keys: &[&str], patches: &[(&str, &str)]| {
        let entries: Vec<_> =
            keys.iter().map(|key| (key.as_bytes(), 7, Value, &b"v"[..])).collect();
        let patches: Vec<_> = patches
            .iter()
            .map(|(from, to)| [from, to].map(|key| internal(key.as_bytes(), 7, Value)))
            .collect();
        let patches: Vec<_> = patches.iter().map(|[from, to]| (&from[..], &to[..])).collect();
        patched_blocks(&entries, 1, &patches)
    };
    let keys = ["user/000100", "user/001000", "user/001100", "user/018000", "user/019000"];
    let late = ["user/000100", "user/016000", "user/017000", "user/018000", "user/019000"];
    let cases = [
        ("sound", crafted(&keys, &[])),
        // The first part ends at 017500, the second one starts behind 001100.
        ("read by none", crafted(&keys, &[("user/001000", "user/017500")])),
        // The first part extends to 018000, the second one starts at 000300: that block should have
        // keys up to 017000.
        (
            "read by two",
            crafted(&late, &[("user/016000", "user/000200"), ("user/017000", "user/000300")]),
        ),
        // The last block of all: there the second part finds nothing.
        ("the last one", crafted(&keys[..3], &[("user/001100", "user/018000")])),
    ];
    for (name, table) in &cases {
        for inputs in [[large, table], [table, large]] {
            for threads in [2, 3] {
                let out = folder.path().join(format!("{name}{threads}"));
                let options = options().threads(threads).max_file_size(Some(100_000)).replace(true);
                let mut compaction = Compaction::new(&options);
                for table in inputs {
                    compaction.add_table(table).unwrap();
                }
                if *name == "sound" {
                    assert_eq!(compaction.run(&out).unwrap().parts, threads);
                    continue;
                }
                let error = compaction.run(&out).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Corrupt, "{name}: {error}");
                assert!(error.to_string().contains("entries are out of order"), "{name}: {error}");
                assert!(!out.exists(), "{name}");
            }
        }
    }
}

/// Removes keys whose value is `old`, and makes other values longer.
struct Expire;

impl CompactionFilter for Expire {
    fn filter(&self, key: &[u8], value: &[u8]) -> CompactionDecision {
        match value {
            b"old" => CompactionDecision::Remove,
            b"keep" => CompactionDecision::Keep,
            _ => CompactionDecision::Change([value, b"/", key].concat()),
        }
    }
}

#[test]
fn values_are_filtered() {
    let folder = tempfile::tempdir().unwrap();
    let below = merge(&[
        (b"a", 1, EntryKind::Value, b"keep"),
        (b"b", 2, EntryKind::Value, b"older"),
        (b"c", 3, EntryKind::Value, b"old"),
    ]);
    let above = merge(&[
        (b"b", 5, EntryKind::Value, b"old"),
        (b"d", 6, EntryKind::Value, b"x"),
        (b"e", 8, EntryKind::Merge, b"y"),
        (b"e", 7, EntryKind::Value, b"old"),
        (b"f", 9, EntryKind::Deletion, b""),
    ]);
    let filtered = |bottommost: bool, name: &str| {
        let out = folder.path().join(name);
        let options = options().filter(Arc::new(Expire)).bottommost(bottommost);
        let mut compaction = Compaction::new(&options);
        compaction.add_table(&below).unwrap().add_table(&above).unwrap();
        let summary = compaction.run(&out).unwrap();
        let entries: Vec<(Vec<u8>, EntryKind, Vec<u8>)> = Table::open(&out)
            .unwrap()
            .entries()
            .map(|entry| {
                let entry = entry.unwrap();
                (entry.user_key.to_vec(), entry.kind, entry.value.to_vec())
            })
            .collect();
        (summary.counts.filtered, entries)
    };
    let entry = |key: &[u8], kind, value: &[u8]| (key.to_vec(), kind, value.to_vec());
    // The value below the operand is not the newest version of its key.
    let rest = [
        entry(b"d", EntryKind::Value, b"x/d"),
        entry(b"e", EntryKind::Merge, b"y"),
        entry(b"e", EntryKind::Value, b"old"),
    ];
    let kept = [
        entry(b"a", EntryKind::Value, b"keep"),
        entry(b"b", EntryKind::Deletion, b""),
        entry(b"c", EntryKind::Deletion, b""),
    ];
    let deletion = [entry(b"f", EntryKind::Deletion, b"")];
    assert_eq!(filtered(false, "upper.sst"), (3, [&kept[..], &rest, &deletion].concat()));
    assert_eq!(filtered(true, "lowest.sst"), (3, [&kept[..1], &rest].concat()));

    let contradiction = options().filter(Arc::new(Expire)).keep_versions(true);
    let error = Compaction::new(&contradiction).run(folder.path().join("no.sst")).unwrap_err();
    assert!(error.to_string().contains("keep_versions contradicts filter"), "{error}");
}
