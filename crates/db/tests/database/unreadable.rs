//! Files that cannot be read, end early, or are no files at all: an error or a caveat, never other
//! data in silence.

use std::fs;
use std::path::Path;

use sstkit_db::{
    CaveatKind, Compaction, CompactionOptions, Database, DatabaseOptions, ErrorKind, FileKind,
};
use sstkit_table::raw::EntryKind::Value;
use sstkit_table::{TableOptions, VerifyProgress};

use crate::maker::{Batch, Maker, masked_crc};

type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

/// A table with the old value of a key, and a log with the new one.
fn with_log() -> Maker {
    let mut db = Maker::new();
    db.table(1, 11, &[(b"a", 1, Value, b"old"), (b"b", 2, Value, b"B")]);
    db.log(20, &[Batch::new().put(b"a", b"new").at(3), Batch::new().put(b"c", b"C").at(4)]);
    db.finish();
    db
}

fn pairs(db: &Database) -> sstkit_db::Result<Pairs> {
    db.iter().map(|it| it.map(|(key, value)| (key, value.to_vec()))).collect()
}

/// Puts something at `path` that exists but cannot be read as a file.
fn unreadable(path: &Path) {
    fs::remove_file(path).unwrap();
    fs::create_dir(path).unwrap();
}

#[test]
fn a_log_that_cannot_be_read_is_an_error() {
    let db = with_log();
    let log = db.path().join("000020.log");
    unreadable(&log);
    for opened in [Database::open(db.path()), Database::open_tables(db.path())] {
        let error = opened.unwrap_err();
        assert_eq!((error.kind(), error.file()), (ErrorKind::Io, Some(log.as_path())), "{error}");
    }
    let options = DatabaseOptions::default().replay_logs(false);
    let opened = Database::open_with(db.path(), &options).unwrap();
    assert_eq!(opened.get(b"a").unwrap().unwrap(), b"old");
    assert!(Database::open_tables_with(db.path(), &options).is_ok());
}

#[cfg(unix)]
#[test]
fn a_log_that_leads_nowhere_is_an_error() {
    let db = with_log();
    let log = db.path().join("000020.log");
    fs::remove_file(&log).unwrap();
    std::os::unix::fs::symlink(db.path().join("nowhere"), &log).unwrap();
    for opened in [Database::open(db.path()), Database::open_tables(db.path())] {
        assert_eq!(opened.unwrap_err().kind(), ErrorKind::NotFound);
    }
}

#[test]
fn options_that_cannot_be_read_are_an_error() {
    let db = with_log();
    let options = db.path().join("OPTIONS-000007");
    fs::create_dir(&options).unwrap();
    let error = Database::open(db.path()).unwrap_err();
    assert_eq!((error.kind(), error.file()), (ErrorKind::Io, Some(options.as_path())), "{error}");
    // What can be read and makes no sense is left out, and said.
    fs::remove_dir(&options).unwrap();
    fs::write(&options, "nonsense").unwrap();
    let opened = Database::open(db.path()).unwrap();
    assert_eq!(opened.caveats()[0].kind(), CaveatKind::LeftOut);
    assert_eq!(opened.caveats()[0].file(), Some(options.as_path()));
}

/// Sparse, so that only its size is large.
#[test]
fn current_and_options_are_read_up_to_a_limit() {
    let db = with_log();
    let enlarge = |name: &str| {
        let file = fs::File::create(db.path().join(name)).unwrap();
        file.set_len(1 << 41).unwrap();
    };
    enlarge("OPTIONS-000007");
    let opened = Database::open(db.path()).unwrap();
    assert_eq!(opened.caveats()[0].kind(), CaveatKind::LeftOut);
    enlarge("CURRENT");
    assert_eq!(Database::open(db.path()).unwrap_err().kind(), ErrorKind::Corrupt);
}

#[cfg(unix)]
#[test]
fn pipes_in_place_of_files_are_refused_immediately() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    for name in ["CURRENT", "MANIFEST-000001", "OPTIONS-000007", "000020.log", "000011.sst"] {
        let db = with_log();
        let path = db.path().join(name);
        let _ = fs::remove_file(&path);
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR, 0).unwrap();
        let read = || pairs(&Database::open(db.path())?);
        let error = read().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io, "{name}: {error}");
        assert!(error.to_string().contains("a named pipe, not a regular file"), "{error}");
        assert_eq!(error.file(), Some(path.as_path()));
    }
}

/// Every cut of a log or MANIFEST gives the same data, an error, or a caveat. Between two records
/// a cut leaves nothing behind: that is what the file was like some time before.
#[test]
fn a_file_that_ends_inside_a_record_is_reported() {
    let db = with_log();
    let whole = pairs(&Database::open(db.path()).unwrap()).unwrap();
    for name in ["000020.log", "MANIFEST-000001"] {
        let path = db.path().join(name);
        let bytes = fs::read(&path).unwrap();
        let mut between = vec![0];
        while let Some(header) = bytes.get(between[between.len() - 1]..).and_then(|it| it.get(..7))
        {
            let length = usize::from(u16::from_le_bytes([header[4], header[5]]));
            between.push(between[between.len() - 1] + 7 + length);
        }
        assert_eq!(between.last(), Some(&bytes.len()), "records one after the other");
        let mut told = 0;
        for length in (0..bytes.len()).filter(|length| !between.contains(length)) {
            fs::write(&path, &bytes[..length]).unwrap();
            let Ok(opened) = Database::open(db.path()) else { continue };
            let torn = |it: &&sstkit_db::Caveat| it.kind() == CaveatKind::TornTail;
            let caveat = opened.caveats().iter().find(torn);
            match caveat {
                Some(caveat) => {
                    assert_eq!(caveat.file(), Some(path.as_path()));
                    assert!(caveat.message().contains(name), "{caveat}");
                    told += 1;
                }
                None => assert_eq!(pairs(&opened).unwrap(), whole, "{name} cut to {length}"),
            }
        }
        assert!(told > 20, "{name}: {told}");
        fs::write(&path, &bytes).unwrap();
    }
    assert!(Database::open(db.path()).unwrap().caveats().is_empty());
}

/// Of an atomic group all edits count, or none.
#[test]
fn a_manifest_that_ends_inside_a_group_is_reported() {
    let mut db = with_log();
    let mut edit = crate::maker::Edit::default();
    edit.numbers(&[300, 1]).numbers(&[3, 1001]);
    db.edit(&edit);
    db.finish();
    let opened = Database::open(db.path()).unwrap();
    assert_eq!(opened.caveats()[0].kind(), CaveatKind::TornTail, "{:?}", opened.caveats());
}

/// A log after one that ends early counts only if its sequence numbers continue there.
#[test]
fn a_log_that_is_left_out_is_reported() {
    let db = with_log();
    let path = db.path().join("000020.log");
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    db.log(21, &[Batch::new().put(b"d", b"D").at(5)]);
    let opened = Database::open(db.path()).unwrap();
    assert_eq!(opened.get(b"d").unwrap(), None);
    let about = |name: &str| {
        let path = db.path().join(name);
        opened.caveats().iter().find(|it| it.file() == Some(&path)).map(sstkit_db::Caveat::kind)
    };
    assert_eq!(about("000020.log"), Some(CaveatKind::TornTail));
    assert_eq!(about("000021.log"), Some(CaveatKind::DamagedLog));
}

/// A log of this many zstd records with this many deletions of the empty key each.
fn compressed_log(records: u64, deletions: u32) -> Vec<u8> {
    const SET_COMPRESSION: u8 = 9;
    const FULL: u8 = 1;
    const ZSTD: u32 = 7;
    let mut log = Vec::new();
    let mut physical = |kind: u8, payload: &[u8]| {
        let crc = masked_crc(&[&[kind], payload].concat());
        log.extend_from_slice(&crc.to_le_bytes());
        log.extend_from_slice(&(payload.len() as u16).to_le_bytes());
        log.push(kind);
        log.extend_from_slice(payload);
    };
    physical(SET_COMPRESSION, &ZSTD.to_le_bytes());
    for record in 0..records {
        let mut batch = (1 + record * u64::from(deletions)).to_le_bytes().to_vec();
        batch.extend_from_slice(&deletions.to_le_bytes());
        batch.resize(batch.len() + 2 * deletions as usize, 0);
        physical(FULL, &zstd::bulk::compress(&batch, 3).unwrap());
    }
    assert!(log.len() < 32_768, "one block");
    log
}

/// 16 bytes for each write besides what is in the log, and not a byte more than allowed.
#[test]
fn compressed_logs_take_bounded_memory() {
    const RECORDS: u64 = 4;
    const DELETIONS: u32 = 500_000;
    let db = Maker::new();
    fs::write(db.path().join("000020.log"), compressed_log(RECORDS, DELETIONS)).unwrap();
    db.finish();
    let open = |bytes| {
        let options = DatabaseOptions::default().max_log_memory(bytes);
        Database::open_with(db.path(), &options)
    };
    let needed = RECORDS * (12 + u64::from(DELETIONS) * (2 + 16));
    let opened = open(needed).unwrap().default_column_family();
    assert_eq!(opened.memtable_entries() as u64, RECORDS * u64::from(DELETIONS));
    assert_eq!(Database::open(db.path()).unwrap().last_sequence(), RECORDS * 500_000);
    for bytes in [needed - 1, needed / 2, 900_000, 100, 0] {
        let error = open(bytes).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        assert!(error.to_string().contains("max_log_memory"), "{error}");
    }
}

/// A write with two versions of a key in different chunks of memory.
#[test]
fn logs_of_many_chunks_are_read_as_one() {
    let db = Maker::new();
    let value = |n: u64| vec![n as u8; 20_000];
    let key = |n: u64| format!("key{:03}", n % 100).into_bytes();
    let batches: Vec<Vec<u8>> =
        (1..=300).map(|n| Batch::new().put(&key(n), &value(n)).at(n)).collect();
    db.log(20, &batches);
    db.finish();
    let opened = Database::open(db.path()).unwrap();
    let expected: Pairs =
        (0..100).map(|n| (key(n), value(200 + if n == 0 { 100 } else { n }))).collect();
    assert_eq!(pairs(&opened).unwrap(), expected);
    for (key, value) in expected {
        assert_eq!(opened.get(&key).unwrap().as_deref(), Some(&value[..]));
    }
}

/// Without CURRENT: what is missing from a log is never said to be nowhere.
#[test]
fn a_lookup_that_misses_a_damaged_log_is_an_error() {
    let db = with_log();
    fs::remove_file(db.path().join("CURRENT")).unwrap();
    let log = db.path().join("000020.log");
    let whole = fs::read(&log).unwrap();
    assert_eq!(Database::open_tables(db.path()).unwrap().get(b"d").unwrap(), None);
    // In the first record, and in one whose checksum is right.
    let mut damaged = whole.clone();
    damaged[10] ^= 1;
    let mut nonsense = whole.clone();
    let end = 7 + usize::from(u16::from_le_bytes([whole[4], whole[5]]));
    nonsense[7 + 8] = 77;
    let crc = masked_crc(&nonsense[6..end]);
    nonsense[..4].copy_from_slice(&crc.to_le_bytes());
    for bytes in [damaged, nonsense] {
        fs::write(&log, bytes).unwrap();
        let opened = Database::open_tables(db.path()).unwrap();
        assert_eq!(opened.get(b"b").unwrap().unwrap(), b"B");
        let error = opened.get(b"d").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.to_string().contains("000020.log"), "{error}");
        assert!(pairs(&opened).is_err());
        let family = opened.default_column_family();
        let mut compaction = Compaction::new(&CompactionOptions::new(TableOptions::rocksdb()));
        assert!(compaction.add_column_family(&family, ..).is_err());
        // On purpose.
        let options = DatabaseOptions::default().replay_logs(false);
        let opened = Database::open_tables_with(db.path(), &options).unwrap();
        assert_eq!(opened.get(b"d").unwrap(), None);
    }
    // A crash of the engine explains it, and the engine puts up with it.
    fs::write(&log, &whole[..whole.len() - 1]).unwrap();
    let opened = Database::open_tables(db.path()).unwrap();
    assert!(opened.caveats().iter().any(|it| it.kind() == CaveatKind::TornTail));
    assert_eq!(opened.get(b"d").unwrap(), None);
}

#[test]
fn a_log_beyond_its_limit_without_current_is_an_error() {
    let db = with_log();
    fs::remove_file(db.path().join("CURRENT")).unwrap();
    fs::write(db.path().join("000020.log"), compressed_log(4, 500_000)).unwrap();
    let options = DatabaseOptions::default().max_log_memory(10_000_000);
    let error = Database::open_tables_with(db.path(), &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("10000000 bytes"), "{error}");
    assert!(error.to_string().contains("max_log_memory"), "{error}");
    assert!(Database::open_tables_with(db.path(), &options.replay_logs(false)).is_ok());
}

/// A verification that is stopped says nothing about the directory; a whole one counts all tables.
#[test]
fn a_verification_can_be_stopped() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../testdata/databases/rocksdb-leveled-bloom");
    let db = Database::open(path).unwrap();
    let verify = |progress: &VerifyProgress| {
        let mut kinds = Vec::new();
        db.verifier().progress(progress).run(|found| kinds.push(found.kind));
        kinds
    };
    let progress = VerifyProgress::default();
    let kinds = verify(&progress);
    assert_eq!(kinds.last(), Some(&FileKind::Database));
    assert_eq!(kinds.iter().filter(|kind| **kind == FileKind::Table).count(), 3);
    assert!(progress.bytes() > 0);

    let stopped = VerifyProgress::default();
    stopped.stop();
    assert_eq!(verify(&stopped), []);
}
