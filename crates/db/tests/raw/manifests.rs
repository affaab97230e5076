//! MANIFESTs made by hand: every tag, and every rule of putting edits together.

use proptest::prelude::*;
use sstkit_db::raw::{FileMetaData, ManifestState, VersionEdit};
use sstkit_db::{ErrorKind, Result};
use sstkit_table::raw::Engine;

use crate::edit_writer::{EditWriter, beginning, edit, manifest};

fn decode(edit: &EditWriter) -> Result<VersionEdit> {
    VersionEdit::decode_from(&edit.bytes, Engine::RocksDb)
}

fn replay(edits: &[EditWriter]) -> Result<ManifestState> {
    ManifestState::replay(manifest(edits).as_slice(), Engine::RocksDb)
}

/// The message of an error.
fn refusal(edits: &[EditWriter]) -> String {
    replay(edits).unwrap_err().to_string()
}

#[test]
fn the_drawn_example() {
    let bytes = [0x02, 0x06, 0x09, 0x00, 0x03, 0x07, 0x04, 0x05];
    for engine in [Engine::LevelDb, Engine::RocksDb] {
        let edit = VersionEdit::decode_from(&bytes, engine).unwrap();
        assert_eq!((edit.log_number, edit.prev_log_number), (Some(6), Some(0)));
        assert_eq!((edit.next_file_number, edit.last_sequence), (Some(7), Some(5)));
    }
}

#[test]
fn every_plain_tag() {
    let written = edit()
        .tag(1)
        .slice(b"cmp")
        .scalar(10, 11)
        .tag(5)
        .number(3)
        .key(b"cursor")
        .scalar(200, 4)
        .tag(201)
        .slice("événements".as_bytes())
        .tag(202)
        .scalar(203, 9)
        .scalar(300, 2);
    let read = decode(&written).unwrap();
    assert_eq!(read.comparator.as_deref(), Some("cmp"));
    assert_eq!(read.min_log_number_to_keep, Some(11));
    assert_eq!(read.compact_cursors, [(3, b"cursor\x01\x01\0\0\0\0\0\0".to_vec())]);
    assert_eq!((read.column_family, read.column_family_drop), (4, true));
    assert_eq!(read.column_family_add.as_deref(), Some("événements"));
    assert_eq!((read.max_column_family, read.atomic_group_remaining), (Some(9), Some(2)));
}

#[test]
fn every_tag_with_a_length() {
    let written = edit()
        .tag(8193)
        .slice(b"the id")
        .tag(8198)
        .slice(b"12345678")
        .tag(8199)
        .slice(&[50, 2, 60, 1])
        .tag(8200)
        .slice(&[49])
        .tag(8201)
        .slice(&[0])
        .tag(8202)
        .slice(&[3, 1, 9, 0x81, 0x80, 0x04, 2, b'?', b'?', 1])
        .tag(8203)
        .slice(&[1])
        .tag(8192 + 77)
        .slice(b"from the future")
        .tag(8196)
        .number(51)
        .number(1);
    let read = decode(&written).unwrap();
    assert_eq!(read.db_id.as_deref(), Some("the id"));
    assert_eq!(read.full_history_timestamp_low.as_deref(), Some(&b"12345678"[..]));
    let wals: Vec<_> = read.wal_additions.iter().map(|it| (it.number, it.synced_size)).collect();
    assert_eq!((&wals[..], read.wal_deletion), (&[(50, Some(60)), (51, None)][..], Some(49)));
    assert_eq!(read.persist_timestamps, Some(false));
    // With a field of a newer version that may be skipped.
    assert_eq!(read.subcompaction_progress.unwrap().input_records, 9);
    assert_eq!(decode(&edit().scalar(8197, 48)).unwrap().wal_deletion, Some(48));
}

/// Written by hand, as `SubcompactionProgress::EncodeTo` of RocksDB does.
#[test]
fn the_progress_of_a_compaction() {
    let table = edit()
        .tag(103)
        .number(u64::from(u32::MAX))
        .number(7)
        .number(4096)
        .key(b"a")
        .key(b"c")
        .number(1)
        .number(5)
        .tag(1);
    let files = edit().number(1).slice(&table.bytes);
    let level = edit().tag(3).slice(&[40]).tag(2).slice(&files.bytes).tag(1);
    let progress =
        edit().tag(2).slice(b"d12345678").tag(3).slice(&[50]).tag(4).slice(&level.bytes).tag(1);
    let read = decode(&edit().tag(8202).slice(&progress.bytes)).unwrap();

    let found = read.subcompaction_progress.as_ref().unwrap();
    assert_eq!(found.next_key.as_deref(), Some(&b"d12345678"[..]));
    assert_eq!((found.input_records, found.output.records), (50, 40));
    let [file] = &found.output.new_files[..] else { panic!("{found:?}") };
    assert_eq!((file.number, file.size), (7, 4096));
    assert_eq!((file.smallest_sequence, file.largest_sequence), (Some(1), Some(5)));
    assert!(found.proximal_output.new_files.is_empty());

    let mut again = Vec::new();
    read.encode_to(&mut again, Engine::RocksDb);
    assert_eq!(VersionEdit::decode_from(&again, Engine::RocksDb).unwrap(), read);

    for (damaged, what) in [
        (edit().tag(3).slice(&[50]), "tag of a compaction's progress"),
        (edit().tag(6).slice(&[50]).tag(1), "unknown field 6"),
        (edit().tag(4).slice(&[2, 1, 9, 1]).tag(1), "file of a compaction"),
        (edit().tag(4).slice(&[2, 3, 1, 1, 7, 1]).tag(1), "expected 103"),
    ] {
        let error = decode(&edit().tag(8202).slice(&damaged.bytes)).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
}

#[test]
fn every_form_of_a_new_file() {
    let bounds = |edit: EditWriter| edit.key(b"a").key(b"z");
    let plain = decode(&edit().new_file(2, 30)).unwrap().new_files.remove(0);
    assert_eq!((plain.0, plain.1.number, plain.1.size), (2, 30, 1000));
    assert_eq!((plain.1.smallest_sequence, plain.1.timestamps_persisted), (None, true));

    let second = bounds(edit().tag(100).number(2).number(30).number(1000)).number(1).number(2);
    let second = decode(&second).unwrap().new_files.remove(0).1;
    let sequences = (Some(1), Some(2));
    assert_eq!((second.smallest_sequence, second.largest_sequence), sequences);

    let third = edit().tag(102).number(2).number(30).number(3).number(1000);
    let third = decode(&bounds(third).number(1).number(2)).unwrap().new_files.remove(0).1;
    assert_eq!((third.path_id, FileMetaData::clone(&second)), (3, with_path_id(third, 0)));

    let fourth = decode(&edit().new_file4(2, 30).number(1)).unwrap().new_files.remove(0).1;
    assert_eq!(fourth, second);
}

fn with_path_id(mut file: FileMetaData, path_id: u32) -> FileMetaData {
    file.path_id = path_id;
    file
}

#[test]
fn every_custom_field_of_a_new_file() {
    let fields: [(u32, &[u8]); 19] = [
        (2, &[1]),
        (3, &[12, 0, 0, 0, 0, 0, 0, 0]),
        (4, &[40]),
        (5, &[50]),
        (6, &[60]),
        (7, b"sum"),
        (8, b"FileChecksumCrc32c"),
        (9, &[8]),
        (10, b"min"),
        (11, b"max"),
        (12, b"0123456789abcdef"),
        (13, &[13]),
        (14, &[14]),
        (15, &[15]),
        (16, &[0]),
        (17, b"opaque"),
        (18, b"from the future"),
        (63, b"from the future"),
        (65, &[2]),
    ];
    let mut written = edit().new_file4(1, 30);
    for (tag, value) in fields {
        written = written.tag(tag).slice(value);
    }
    let mut read = decode(&written.number(1)).unwrap();
    assert_eq!(read.min_log_number_to_keep, Some(12));
    let file = read.new_files.remove(0).1;
    let (smallest, largest) = (file.smallest.clone(), file.largest.clone());
    let mut expected = FileMetaData::new(30, 1000, smallest, largest);
    expected.path_id = 2;
    expected.smallest_sequence = Some(1);
    expected.largest_sequence = Some(2);
    expected.epoch_number = Some(13);
    expected.oldest_blob_file = Some(40);
    expected.file_checksum = Some(("FileChecksumCrc32c".into(), b"sum".to_vec()));
    expected.unique_id = Some(*b"0123456789abcdef");
    expected.min_timestamp = Some(b"min".to_vec());
    expected.max_timestamp = Some(b"max".to_vec());
    expected.timestamps_persisted = false;
    expected.oldest_ancestor_time = Some(50);
    expected.file_creation_time = Some(60);
    expected.temperature = Some(8);
    expected.marked_for_compaction = true;
    expected.compensated_range_deletion_size = 14;
    expected.tail_size = 15;
    assert_eq!(file, expected);
}

#[test]
fn what_must_be_understood_is_refused() {
    let unknown = edit().new_file4(1, 30).tag(66).slice(b"?").number(1);
    assert_eq!(decode(&unknown).unwrap_err().kind(), ErrorKind::Unsupported);
    let blob = edit().tag(401).number(1).number(1).number(1).number(64).slice(b"?").number(0);
    assert_eq!(decode(&blob).unwrap_err().kind(), ErrorKind::Unsupported);
    let refused = [
        edit().tag(8).number(1),                               // obsolete
        edit().tag(11).number(1),                              // unknown
        edit().tag(8192 + 77).number(100),                     // a length out of the record
        edit().tag(8198).slice(b""),                           // an empty timestamp
        edit().tag(8201).slice(&[0, 0]),                       // two bytes
        edit().deleted_file(1024, 5),                          // a level out of this world
        edit().tag(5).number(1).slice(b"short"),               // no internal key
        edit().new_file4(1, 30),                               // no end
        edit().new_file4(1, 30).tag(65).slice(&[4]).number(1), // path id
        edit().new_file4(1, 30).tag(12).slice(b"?").number(1), // unique id
        edit().scalar(4, 1 << 56),                             // sequence number
        edit().tag(8199).slice(&[50, 3, 1]),                   // unknown field of a log
    ];
    for (i, written) in refused.iter().enumerate() {
        assert_eq!(decode(written).unwrap_err().kind(), ErrorKind::Corrupt, "{i}");
    }
}

#[test]
fn leveldb_knows_few_tags_and_seven_levels() {
    let decode = |edit: EditWriter| VersionEdit::decode_from(&edit.bytes, Engine::LevelDb);
    assert!(decode(edit().new_file(6, 30).deleted_file(6, 29)).is_ok());
    assert!(decode(edit().new_file(7, 30)).is_err());
    assert!(decode(edit().scalar(10, 1)).is_err());
    assert!(decode(edit().tag(8193).slice(b"id")).is_err());
    assert!(decode(edit().new_file4(1, 30).number(1)).is_err());
}

#[test]
fn files_come_move_and_go() {
    let state = replay(&[
        beginning(),
        edit().new_file(0, 30).new_file(0, 31),
        edit().deleted_file(0, 30).new_file(3, 30),
        edit().deleted_file(0, 31),
    ])
    .unwrap();
    let family = &state.column_families[&0];
    let files: Vec<_> = family.files().map(|(level, file)| (level, file.number)).collect();
    assert_eq!(files, [(3, 30)]);
    assert_eq!((family.level_of(30), family.level_of(31)), (Some(3), None));
    assert_eq!((family.log_number, state.next_file_number, state.last_sequence), (6, 100, 5));
    assert_eq!(state.edits, 4);

    let twice = refusal(&[beginning(), edit().new_file(0, 30), edit().new_file(1, 30)]);
    assert!(twice.contains("is already in level 0"), "{twice}");
    let absent = refusal(&[beginning(), edit().deleted_file(0, 30)]);
    assert!(absent.contains("does not have it"), "{absent}");
    let leveldb = manifest(&[beginning(), edit().deleted_file(0, 30)]);
    assert!(ManifestState::replay(leveldb.as_slice(), Engine::LevelDb).is_ok());
}

#[test]
fn column_families_come_and_go() {
    let add = |id, name: &[u8]| edit().tag(201).slice(name).scalar(2, 8).scalar(200, id);
    let drop = |id| edit().tag(202).scalar(200, id);
    // The number of the family is written after the files.
    let file = edit().new_file(0, 40).scalar(200, 2);
    let state = replay(&[
        beginning(),
        add(1, b"one"),
        add(2, b"two"),
        file,
        drop(1),
        edit().scalar(2, 7).scalar(200, 2),
    ])
    .unwrap();
    assert_eq!(state.column_families.keys().copied().collect::<Vec<_>>(), [0, 2]);
    let two = state.column_family("two").unwrap();
    assert_eq!((two.id, two.level_of(40)), (2, Some(0)));
    assert_eq!(two.log_number, 8, "the largest counts");

    for edits in [
        [beginning(), add(1, b"one"), add(1, b"other")],
        [beginning(), drop(1), edit()],
        [beginning(), add(0, b"default"), edit()],
        [beginning(), edit().scalar(2, 7).scalar(200, 3), edit()],
    ] {
        assert!(refusal(&edits).contains("column family"));
    }
}

#[test]
fn an_atomic_group_is_whole_or_nothing() {
    let part = |number, remaining| edit().new_file(0, number).scalar(300, remaining);
    let files = |edits: &[EditWriter]| -> Vec<u64> {
        let state = replay(edits).unwrap();
        state.column_families[&0].files().map(|(_, file)| file.number).collect()
    };
    let group = [beginning(), part(30, 2), part(31, 1), part(32, 0), edit().new_file(0, 33)];
    assert_eq!(files(&group), [30, 31, 32, 33]);
    assert!(files(&group[..3]).is_empty());
    assert_eq!(files(&[beginning(), part(30, 0)]), [30]);

    let interrupted = [beginning(), part(30, 1), edit().new_file(0, 33)];
    assert!(refusal(&interrupted).contains("inside an atomic group"));
    for wrong in [0, 2, 3, u64::from(u32::MAX)] {
        let miscounted = [beginning(), part(30, 2), part(31, wrong)];
        assert!(refusal(&miscounted).contains("numbered incorrectly"));
    }
}

#[test]
fn edits_are_shown_in_order_and_groups_when_they_are_whole() {
    let group = |remaining: u64| edit().scalar(300, remaining).scalar(4, 100 - remaining);
    let seen = |edits: &[EditWriter]| {
        let mut seen = Vec::new();
        let bytes = manifest(edits);
        let state = ManifestState::replay_observed(&bytes[..], Engine::RocksDb, |offset, edit| {
            seen.push((offset, edit.last_sequence));
            Ok(())
        });
        assert_eq!(state.unwrap().edits, seen.len() as u64);
        assert!(seen.is_sorted());
        seen.into_iter().map(|(_, sequence)| sequence).collect::<Vec<_>>()
    };
    let (start, end) = (seen(&[beginning()]), edit().scalar(4, 200));
    let whole = seen(&[beginning(), group(2), group(1), group(0), end]);
    assert_eq!(whole, [&start[..], &[Some(98), Some(99), Some(100), Some(200)]].concat());
    assert_eq!(seen(&[beginning(), group(2), group(1)]), start);
}

#[test]
fn blob_files_collect_garbage() {
    let linked = |number, blob| edit().new_file4(1, number).tag(4).slice(&[blob]).number(1);
    let state = replay(&[
        beginning(),
        edit().blob_file(10, 4).blob_file(11, 4).blob_file(12, 4).blob_file(13, 4),
        linked(30, 11),
        edit().blob_garbage(11, 4).blob_garbage(12, 3),
        edit().blob_garbage(12, 1).blob_garbage(13, 1),
    ])
    .unwrap();
    let family = &state.column_families[&0];
    assert_eq!(family.blob_files[&12].garbage_count, 4);
    assert_eq!(family.blob_files[&13].garbage_bytes, 100);
    let live: Vec<u64> = family.live_blob_files().map(|file| file.number).collect();
    assert_eq!(live, [11, 13], "10 is older than any in use, 12 is all garbage");

    let blob = || edit().blob_file(10, 4);
    assert!(refusal(&[beginning(), blob(), blob()]).contains("added twice"));
    assert!(refusal(&[beginning(), edit().blob_garbage(10, 1)]).contains("which does not exist"));
    let garbage = [beginning(), blob(), edit().blob_garbage(10, 5)];
    assert!(refusal(&garbage).contains("more garbage than blobs"));
    let old_forms = [
        beginning(),
        edit().tag(8194).number(10).number(4).number(400).slice(b"m").slice(b"s").number(0),
        edit().tag(8195).number(10).number(1).number(100).number(0),
    ];
    let state = replay(&old_forms).unwrap();
    let file = &state.column_families[&0].blob_files[&10];
    assert_eq!(file.file_checksum, Some(("m".into(), b"s".to_vec())));
    assert_eq!(file.garbage_count, 1);
}

#[test]
fn logs_are_kept_account_of() {
    let state = replay(&[
        beginning(),
        edit().tag(8199).slice(&[7, 1]),
        edit().tag(8199).slice(&[8, 1]),
        edit().tag(8199).slice(&[8, 2, 50, 1]),
        edit().tag(8200).slice(&[8]),
    ])
    .unwrap();
    assert!(state.wals.into_iter().eq([(8, Some(50))]));
}

#[test]
fn what_every_manifest_must_say() {
    let all = [edit().scalar(2, 6), edit().scalar(3, 7), edit().scalar(4, 5)];
    assert!(replay(&all).is_ok());
    for missing in 0..all.len() {
        let rest: Vec<_> =
            (0..all.len()).filter(|i| *i != missing).map(|i| all[i].clone()).collect();
        assert!(refusal(&rest).contains("no edit has a"));
    }
    let changed = [beginning().tag(1).slice(b"one"), edit().tag(1).slice(b"two")];
    assert!(refusal(&changed).contains("comparator"));
}

#[test]
fn the_place_of_an_error_is_the_record() {
    let first = beginning();
    let error = replay(&[first.clone(), edit().tag(8)]).unwrap_err();
    assert_eq!(error.offset(), Some(7 + first.bytes.len() as u64));
}

#[test]
fn a_torn_tail_was_never_there_but_damage_is_an_error() {
    let whole = manifest(&[beginning(), edit().new_file(0, 30), edit().new_file(0, 31)]);
    let start = manifest(&[beginning()]).len();
    for end in start..whole.len() {
        let state = ManifestState::replay(&whole[..end], Engine::RocksDb).unwrap();
        assert!(state.edits >= 1 && state.edits < 3);
    }
    for at in start..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        if let Ok(state) = ManifestState::replay(damaged.as_slice(), Engine::RocksDb) {
            // A length that leads out of the file cannot be told from a torn tail.
            assert!(state.edits < 3);
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_are_an_edit_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for engine in [Engine::LevelDb, Engine::RocksDb] {
            let _ = VersionEdit::decode_from(&bytes, engine);
        }
    }
}
