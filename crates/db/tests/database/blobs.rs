//! Which blob files count: those that are alive, and for the log those that the MANIFEST does not list yet.

use sstkit_coding::fixed::{put_fixed32, put_fixed64};
use sstkit_coding::varint::put_length_prefixed_slice;
use sstkit_db::{Database, ErrorKind};
use sstkit_table::raw::BlobIndex;
use sstkit_table::raw::EntryKind::BlobIndex as Blob;

use crate::maker::{Batch, Edit, Maker, internal, masked_crc};

const BLOB_FILE: u64 = 50;

/// Writes a blob file of one value, with a footer or without; a reference to the value.
fn write_blob_file(db: &Maker, key: &[u8], value: &[u8], footer: bool) -> Vec<u8> {
    const MAGIC: u32 = 0x0024_8f37;
    let mut file = Vec::new();
    put_fixed32(&mut file, MAGIC);
    put_fixed32(&mut file, 1);
    file.resize(30, 0);
    let header = file.len();
    put_fixed64(&mut file, key.len() as u64);
    put_fixed64(&mut file, value.len() as u64);
    put_fixed64(&mut file, 0);
    let crc = masked_crc(&file[header..]);
    put_fixed32(&mut file, crc);
    put_fixed32(&mut file, masked_crc(&[key, value].concat()));
    file.extend_from_slice(key);
    let (offset, size) = (file.len() as u64, value.len() as u64);
    file.extend_from_slice(value);
    if footer {
        let start = file.len();
        put_fixed32(&mut file, MAGIC);
        put_fixed64(&mut file, 1);
        file.resize(start + 28, 0);
        let crc = masked_crc(&file[start..]);
        put_fixed32(&mut file, crc);
    }
    std::fs::write(db.path().join(format!("{BLOB_FILE:06}.blob")), &file).unwrap();
    let index = BlobIndex::Stored { expiration: None, file: BLOB_FILE, offset, size, codec: 0 };
    let mut bytes = Vec::new();
    index.encode_to(&mut bytes);
    bytes
}

/// Adds a table with one reference, and says so, or not, that it leads to the blob file.
fn add_table(db: &mut Maker, reference: &[u8], is_linked: bool) {
    let size = db.write_table(11, &[(b"k", 5, Blob, reference)]);
    let key = internal(b"k", 5, Blob);
    let mut edit = Edit::default();
    edit.numbers(&[103, 1, 11, size]);
    put_length_prefixed_slice(&mut edit.0, &key);
    put_length_prefixed_slice(&mut edit.0, &key);
    edit.numbers(&[5, 5]);
    if is_linked {
        edit.numbers(&[4, 1, BLOB_FILE]);
    }
    edit.numbers(&[1, 4, 5]);
    db.edit(&edit);
}

fn add_blob_file(db: &mut Maker) {
    let mut edit = Edit::default();
    edit.numbers(&[400, BLOB_FILE, 1, 100, 0, 0, 0]);
    db.edit(&edit);
}

#[test]
fn a_table_refers_to_blob_files_that_are_alive() {
    let mut db = Maker::new();
    let reference = write_blob_file(&db, b"k", b"large", true);
    add_table(&mut db, &reference, true);
    db.finish();
    let opened = Database::open(db.path()).unwrap();
    let error = opened.get(b"k").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    assert!(error.to_string().contains("blob file 50, which column family"), "{error}");
    // Tables alone do not tell what is alive.
    assert_eq!(Database::open_tables(db.path()).unwrap().get(b"k").unwrap().unwrap(), b"large");
    add_blob_file(&mut db);
    db.finish();
    assert_eq!(Database::open(db.path()).unwrap().get(b"k").unwrap().unwrap(), b"large");
    // What the MANIFEST lists is finished.
    write_blob_file(&db, b"k", b"large", false);
    let error = Database::open(db.path()).unwrap().get(b"k").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    assert_eq!(error.file(), Some(db.path().join("000050.blob").as_path()));
}

#[test]
fn a_blob_file_that_no_table_starts_with_is_not_alive() {
    let mut db = Maker::new();
    let reference = write_blob_file(&db, b"k", b"large", true);
    add_table(&mut db, &reference, false);
    add_blob_file(&mut db);
    db.finish();
    let error = Database::open(db.path()).unwrap().get(b"k").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
}

#[test]
fn a_blob_file_that_only_the_log_refers_to_is_missed() {
    let db = Maker::new();
    let reference = write_blob_file(&db, b"k", b"large", true);
    // What was written again does not need it.
    let older = Batch::new().write(0, 0x11, &[b"gone", &[1, 51, 30, 5, 0]]).at(1);
    let newer = Batch::new().write(0, 1, &[b"gone", b"again"]).at(2);
    db.log(20, &[older, newer, Batch::new().write(0, 0x11, &[b"k", &reference]).at(3)]);
    db.finish();
    let verify = || {
        let database = Database::open(db.path()).unwrap();
        let mut problems = Vec::new();
        database.verify(|report| problems.extend(report.problems));
        // The id of a made database is empty.
        problems.retain(|it: &sstkit_db::VerifyProblem| !it.message.contains("IDENTITY"));
        problems
    };
    assert_eq!(verify().len(), 0, "{:?}", verify());
    std::fs::remove_file(db.path().join("000050.blob")).unwrap();
    let problems = verify();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].message.contains("in the log is in blob file 50"), "{problems:?}");
}

/// A reference of Titan: without a codec.
#[test]
fn references_into_files_of_titan_are_not_damage() {
    let db = Maker::new();
    let batch = Batch::new().write(0, 0x11, &[b"k", &[1, 5, 12, 0xe8, 0x07]]).at(1);
    db.log(20, &[batch]);
    db.finish();
    let error = Database::open(db.path()).unwrap().get(b"k").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    let titan = db.path().join("000005.blob");
    std::fs::write(&titan, [&[0x14, 0xa6, 0xe0, 0x2b][..], &[0; 100]].concat()).unwrap();
    let (report, _) = sstkit_db::verify_file(&titan, sstkit_db::FileKind::BlobFile, None);
    assert_eq!(report.status, sstkit_db::VerifyStatus::Unsupported, "{report:?}");
}

#[test]
fn the_log_may_refer_to_a_blob_file_that_is_still_written() {
    for footer in [false, true] {
        let db = Maker::new();
        let reference = write_blob_file(&db, b"k", b"large", footer);
        db.log(20, &[Batch::new().write(0, 0x11, &[b"k", &reference]).at(1)]);
        db.finish();
        let opened = Database::open(db.path()).unwrap();
        assert_eq!(opened.get(b"k").unwrap().unwrap(), b"large");
        assert_eq!(opened.iter().next().unwrap().unwrap().1, b"large");
    }
}
