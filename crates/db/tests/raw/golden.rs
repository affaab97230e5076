//! Every file of every directory that the engines wrote.

use std::collections::BTreeMap;
use std::fs::{self, File};

use sstkit_db::raw::{
    BlobFile, ColumnFamilyState, FileName, LogEvent, LogReader, LogWriter, OptionsFile,
    RecoveryMode, VersionEdit, WriteBatch, WriteRecord,
};
use sstkit_table::Table;
use sstkit_table::raw::{BlobIndex, Engine, EntryKind, InternalKey};

use crate::corpus::{Directory, directories};

#[test]
fn every_manifest_lists_the_existing_tables() {
    for directory in directories() {
        let state = directory.manifest();
        let mut listed = BTreeMap::new();
        for (level, file) in state.column_families.values().flat_map(ColumnFamilyState::files) {
            assert!(level < 7);
            assert!(file.number < state.next_file_number);
            assert_eq!(file.smallest_sequence.is_some(), directory.engine == Engine::RocksDb);
            assert!(file.largest_sequence.unwrap_or(0) <= state.last_sequence);
            assert!(InternalKey::decode_from(&file.smallest).is_ok());
            listed.insert(file.number, file.size);
        }
        let mut there = BTreeMap::new();
        for (name, path) in &directory.files {
            if let FileName::Table(number) = name {
                there.insert(*number, fs::metadata(path).unwrap().len());
            }
        }
        // An engine may not have got round to deleting files.
        there.retain(|number, _| listed.contains_key(number));
        assert_eq!(listed, there, "{}", directory.path.display());
        check_families(&directory);
    }
}

fn check_families(directory: &Directory) {
    let state = directory.manifest();
    let identity = fs::read_to_string(directory.path.join("IDENTITY")).ok();
    let identity = identity.as_deref().map(|text| text.strip_suffix('\n').unwrap_or(text));
    assert_eq!(state.db_id.as_deref(), identity);
    for (id, family) in &state.column_families {
        assert_eq!(*id, family.id);
        assert!(*id <= state.max_column_family);
        let comparator = family.comparator.as_deref().unwrap();
        assert!(comparator.starts_with("leveldb.BytewiseComparator"));
        let mut epochs = family.files().map(|(_, file)| file.epoch_number.is_some());
        assert!(epochs.all(|known| known == (directory.engine == Engine::RocksDb)));
    }
    assert_eq!(state.column_families[&0].name, "default");
}

#[test]
fn column_families_have_their_names() {
    let with_families: Vec<Vec<String>> = directories()
        .iter()
        .map(|directory| {
            let families = directory.manifest().column_families;
            families.into_values().map(|family| family.name).collect()
        })
        .filter(|names: &Vec<String>| names.len() > 1)
        .collect();
    assert_eq!(with_families, vec![["default", "meta", "événements"]; 2]);
}

#[test]
fn the_bounds_are_those_of_the_tables() {
    for directory in directories() {
        let state = directory.manifest();
        for (_, file) in state.column_families.values().flat_map(ColumnFamilyState::files) {
            let [sst, ldb] = FileName::of_table(file.number).map(|name| directory.path.join(name));
            let table = Table::open(if sst.exists() { sst } else { ldb }).unwrap();
            let first = table.entries().next().unwrap().unwrap();
            let smallest = InternalKey::decode_from(&file.smallest).unwrap();
            // A range deletion may come before the first entry.
            if smallest.kind != EntryKind::RangeDeletion {
                assert!(first.user_key.starts_with(smallest.user_key), "{:?}", smallest);
            }
        }
    }
}

#[test]
fn every_log_holds_batches_whose_sequence_numbers_continue() {
    let (mut recycled, mut compressed, mut with_timestamps, mut records) = (0, 0, 0, 0);
    for directory in directories() {
        let mut next_sequence = None;
        for (number, path) in directory.logs() {
            let file = File::open(path).unwrap();
            let mut log = LogReader::new(file, directory.engine, number);
            while let Some(event) = log.next_record().unwrap() {
                let record = match event {
                    LogEvent::Record(record) => record,
                    other => panic!("{}: {other:?}", path.display()),
                };
                let batch = WriteBatch::decode_from(record.payload, directory.engine).unwrap();
                assert_eq!(next_sequence.unwrap_or(batch.sequence()), batch.sequence());
                next_sequence = Some(batch.sequence() + u64::from(batch.count()));
                records += batch.records().count();
            }
            recycled += u32::from(log.is_recycled());
            compressed += u32::from(log.is_compressed());
            with_timestamps += u32::from(log.timestamp_sizes().values().eq([&8]));
        }
    }
    assert_eq!((recycled > 0, compressed, with_timestamps), (true, 1, 1));
    assert!(records > 1000, "{records}");
}

#[test]
fn every_write_is_to_a_family_of_the_manifest() {
    for directory in directories() {
        let families = directory.manifest().column_families;
        for (number, path) in directory.logs() {
            let bytes = fs::read(path).unwrap();
            let mut log = LogReader::new(bytes.as_slice(), directory.engine, number);
            while let Some(LogEvent::Record(record)) = log.next_record().unwrap() {
                let batch = WriteBatch::decode_from(record.payload, directory.engine).unwrap();
                for record in batch.records() {
                    if let WriteRecord::Write(write) = record {
                        assert!(families.contains_key(&write.column_family));
                        assert!(!write.key.is_empty());
                    }
                }
            }
        }
    }
}

#[test]
fn every_options_file_answers() {
    let mut operators = Vec::new();
    for directory in directories() {
        for (name, path) in &directory.files {
            let FileName::Options(_) = name else { continue };
            let options = OptionsFile::parse(&fs::read_to_string(path).unwrap()).unwrap();
            assert_eq!(options.rocksdb_version(), Some("11.9.0"));
            let mode = options.database().wal_recovery_mode();
            assert_eq!(mode, Some(RecoveryMode::PointInTimeRecovery));
            let default = options.column_family("default");
            let state = directory.manifest();
            assert_eq!(default.comparator(), state.column_families[&0].comparator.as_deref());
            assert_eq!(default.num_levels(), Some(7));
            let name = |option| default.get(option).and_then(|value| value.as_name());
            assert_eq!(name("table_factory"), Some("BlockBasedTable"));
            assert_eq!(options.table("default").whole_key_filtering(), Some(true));
            assert!(options.table("default").filter_policy().is_some());
            operators.extend(name("merge_operator").map(str::to_owned));
        }
    }
    operators.sort();
    assert_eq!(operators, ["StringAppendOperator", "UInt64AddOperator"]);
}

#[test]
fn every_blob_file_holds_what_the_manifest_and_the_tables_say() {
    let mut blobs = 0;
    for directory in directories() {
        let families = directory.manifest().column_families;
        for family in families.values() {
            let mut files = BTreeMap::new();
            for listed in family.live_blob_files() {
                let path = directory.path.join(FileName::Blob(listed.number).to_string());
                let size = fs::metadata(&path).unwrap().len();
                assert_eq!(size, 30 + listed.blob_bytes + 32);
                let file = BlobFile::open(File::open(&path).unwrap(), family.id).unwrap();
                assert_eq!(file.blob_count(), Some(listed.blob_count));
                assert_eq!(file.records().map(Result::unwrap).count() as u64, listed.blob_count);
                files.insert(listed.number, file);
            }
            for (_, listed) in family.files() {
                let [path, _] = FileName::of_table(listed.number);
                let Ok(table) = Table::open(directory.path.join(path)) else { continue };
                for entry in table.entries() {
                    let entry = entry.unwrap();
                    if entry.kind == EntryKind::BlobIndex {
                        let index = BlobIndex::decode_from(&entry.value).unwrap();
                        let BlobIndex::Stored { file, .. } = index else { panic!("{index:?}") };
                        let value = files[&file].get(&entry.user_key, &index).unwrap();
                        assert!(value.len() >= 100);
                        blobs += 1;
                    }
                }
            }
        }
    }
    assert!(blobs > 100, "{blobs}");
}

/// Every edit that the engines wrote is written again byte for byte, and so is the whole log.
#[test]
fn every_manifest_is_written_again() {
    let mut edits = 0;
    for directory in directories() {
        let path = directory.manifest_path();
        let bytes = fs::read(&path).unwrap();
        let mut log = LogReader::new(bytes.as_slice(), directory.engine, 0);
        let mut again = LogWriter::new(Vec::new());
        while let Some(event) = log.next_record().unwrap() {
            let LogEvent::Record(record) = event else { panic!("{}: {event:?}", path.display()) };
            let edit = VersionEdit::decode_from(record.payload, directory.engine).unwrap();
            // RocksDB's size of the last compacted MANIFEST, which we pass over.
            if record.payload.starts_with(b"\x8b\x40") {
                assert_eq!(edit, VersionEdit::default());
                again.add_record(record.payload).unwrap();
                continue;
            }
            let mut encoded = Vec::new();
            edit.encode_to(&mut encoded, directory.engine);
            assert_eq!(
                encoded.escape_ascii().to_string(),
                record.payload.escape_ascii().to_string(),
                "{}: {edit:?}",
                path.display()
            );
            again.add_record(&encoded).unwrap();
            edits += 1;
        }
        assert!(again.into_inner() == bytes, "{}", path.display());
    }
    assert!(edits > 100, "{edits}");
}
