//! The files of a database directory.
//!
//! Their checksums keep damage from the code behind them, and a forger recomputes them: so each
//! file is read as it is, and with its checksums put right.

use bytes::Bytes;
use sstkit_coding::fixed::{decode_fixed32, get_fixed16};
use sstkit_db::raw::{
    BackupMeta, BlobFile, FileName, LogEvent, LogReader, ManifestState, OptionsFile,
    OptionsSection, RecoveryMode, VersionEdit, WriteBatch, parse_current,
};
use sstkit_table::raw::{BlobIndex, Engine};

use crate::sealing::{log_of, seal_blob_file, seal_log};

/// What a compressed record may grow to.
const MAX_RECORD_SIZE: usize = 1 << 20;

fn engine(form: u8) -> Engine {
    if form & 1 == 0 { Engine::RocksDb } else { Engine::LevelDb }
}

/// A log. The first byte says of which engine, and whether the number in the first record is the
/// log's own.
pub fn log(data: &[u8]) {
    let Some((&form, data)) = data.split_first() else { return };
    let number = match data.get(7..11).and_then(|bytes| bytes.first_chunk()) {
        Some(number) if form & 2 != 0 => u64::from(decode_fixed32(*number)),
        _ => 0,
    };
    read_log(data, engine(form), number);
    read_log(&seal_log(data), engine(form), number);
}

fn read_log(data: &[u8], engine: Engine, number: u64) {
    let mut log = LogReader::new(data, engine, number).with_max_record_size(MAX_RECORD_SIZE);
    let mut events = 0;
    let mut problems = Vec::new();
    while let Ok(Some(event)) = log.next_record() {
        events += 1;
        assert!(events <= data.len() + 1, "more events than bytes");
        match event {
            LogEvent::Record(record) => {
                assert!(record.offset < data.len() as u64);
                read_batch(record.payload, engine);
            }
            LogEvent::Problem(problem) => problems.push(problem),
            other => panic!("{other:?}"),
        }
    }
    for problem in &problems {
        for mode in [RecoveryMode::PointInTimeRecovery, RecoveryMode::AbsoluteConsistency] {
            let _ = mode.react(problem, log.is_recycled());
        }
        let _ = format!("{problem:?}");
    }
    let _ = (log.predecessor(), log.timestamp_sizes().len(), log.is_compressed());
}

/// A record of a log: writes that count together.
pub fn write_batch(data: &[u8]) {
    read_batch(data, Engine::RocksDb);
    read_batch(data, Engine::LevelDb);
}

fn read_batch(data: &[u8], engine: Engine) {
    let Ok(batch) = WriteBatch::decode_from(data, engine) else { return };
    let records = batch.records().count();
    assert!(records <= data.len());
    assert!(batch.count() as usize <= records);
}

/// A MANIFEST. The first byte says of which engine; then edits, each with its length in two bytes,
/// of which a log is made.
pub fn manifest(data: &[u8]) {
    let Some((&form, mut data)) = data.split_first() else { return };
    let engine = engine(form);
    let mut edits = Vec::new();
    while let Some(length) = get_fixed16(&mut data) {
        let (edit, rest) = data.split_at(usize::from(length).min(data.len()));
        let _ = VersionEdit::decode_from(edit, engine);
        edits.push(edit);
        data = rest;
    }
    let Ok(state) = ManifestState::replay(&log_of(&edits)[..], engine) else { return };
    for family in state.column_families.values() {
        for (level, file) in family.files() {
            assert_eq!(family.level_of(file.number), Some(level), "a table in two levels");
        }
        let _ = family.live_blob_files().count();
    }
}

/// The meta file of a backup: no path leads out of the folder.
pub fn backup_meta(data: &[u8]) {
    let Ok(meta) = BackupMeta::parse(data) else { return };
    assert!(meta.files.len() <= data.len());
    for file in &meta.files {
        let mut names = file.path.split('/');
        let folder = names.next();
        assert!(matches!(folder, Some("private" | "shared" | "shared_checksum")), "{}", file.path);
        assert!(names.all(|name| !name.is_empty() && name != "." && name != ".."), "{}", file.path);
    }
}

/// An OPTIONS file, a CURRENT file, and the name of a file.
pub fn options_file(data: &[u8]) {
    let _ = parse_current(data);
    let text = String::from_utf8_lossy(data);
    let _ = FileName::parse(&text);
    let Ok(file) = OptionsFile::parse(&text) else { return };
    let database = file.database();
    let _ = (database.wal_dir(), database.wal_recovery_mode());
    let names = file.sections().iter().filter_map(|section| section.name());
    for name in names.chain(["default"]).take(8) {
        let family = file.column_family(name);
        let _ = (family.comparator(), family.get("merge_operator"), family.prefix_extractor());
        let _ = (family.num_levels(), family.get("table_factory"));
        let table = file.table(name);
        let _ = (table.filter_policy(), table.whole_key_filtering(), table.get("format_version"));
    }
    for (_, value) in file.sections().iter().flat_map(OptionsSection::options) {
        let _ = (value.as_text(), value.as_name(), value.get("id"));
        value.items().iter().for_each(|item| drop(item.items()));
    }
}

/// A blob file: its records in order, and each of them by its reference.
pub fn blob_file(data: &[u8]) {
    read_blobs(data.to_vec());
    read_blobs(seal_blob_file(data));
}

fn read_blobs(data: Vec<u8>) {
    let size = data.len();
    let family = data.get(8..12).and_then(|bytes| bytes.first_chunk());
    let family = family.map_or(0, |bytes| decode_fixed32(*bytes));
    let Ok(file) = BlobFile::open(Bytes::from(data), family) else { return };
    let mut count = 0;
    for record in file.records().map_while(Result::ok) {
        count += 1;
        assert!(count <= size);
        let index = BlobIndex::Stored {
            expiration: None,
            file: 1,
            offset: record.value_offset,
            size: record.stored_size,
            codec: file.header().codec,
        };
        let value = file.get(&record.key, &index).expect("a record that was read can be looked up");
        assert_eq!(value, record.value);
    }
}
