//! Where tables go: whole or not at all, and nothing of anybody else's is touched.

use std::cmp::Ordering;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use sstkit_db::{
    BulkBuilder, BulkManifest, BulkOptions, Database, DatabaseOptions, ErrorKind, MANIFEST_NAME,
};
use sstkit_table::{Comparator, KeyOrder, TableOptions};

fn options() -> BulkOptions {
    BulkOptions::new(TableOptions::rocksdb()).max_file_size(Some(2000))
}

fn build(path: &Path, options: &BulkOptions, count: u32) -> sstkit_db::Result<BulkManifest> {
    let mut builder = BulkBuilder::create(path, options)?;
    for i in 0..count {
        builder.put(format!("{i:06}").as_bytes(), &i.to_le_bytes())?;
    }
    Ok(builder.finish()?.manifest)
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_folder_appears_when_it_is_complete() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let mut builder = BulkBuilder::create(&out, &options()).unwrap();
    builder.put(b"key", b"value").unwrap();
    assert!(!out.exists());
    drop(builder);
    assert_eq!(names(folder.path()), Vec::<String>::new());

    let manifest = build(&out, &options(), 500).unwrap();
    let mut expected: Vec<_> = manifest.files.iter().map(|file| file.name.clone()).collect();
    expected.push(MANIFEST_NAME.into());
    assert_eq!(names(&out), expected);
    assert_eq!(expected[0], "000001.sst");
    assert_eq!(names(folder.path()), ["out"]);
}

#[test]
fn the_manifest_tells_the_settings() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let table = TableOptions::rocksdb().filter("bloomfilter:10".parse().unwrap()).block_size(1000);
    build(&out, &BulkOptions::new(table).max_file_size(Some(2000)), 100).unwrap();
    let manifest = BulkManifest::read(out.join(MANIFEST_NAME)).unwrap();
    for (name, value) in [
        ("engine", "rocksdb"),
        ("format_version", "7"),
        ("block_size", "1000"),
        ("compression", "LZ4"),
        ("filter_policy", "bloomfilter:10"),
        ("rocksdb.filter.policy", "bloomfilter"),
    ] {
        assert_eq!(manifest.options.get(name).map(String::as_str), Some(value), "{name}");
    }
}

#[test]
fn existing_files_are_replaced_only_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    fs::create_dir(&out).unwrap();
    fs::write(out.join("notes.txt"), "mine").unwrap();
    let many = build(&out, &options(), 2000).unwrap();
    assert!(many.files.len() > 3);

    let error = build(&out, &options(), 100).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains("already"), "{error}");
    many.verify(&out).unwrap();

    let few = build(&out, &options().replace(true), 100).unwrap();
    assert_eq!(few.files.len(), 1);
    // The new one has another name than those that were there until it was.
    let new = &few.files[0].name;
    assert!(many.files.iter().all(|file| file.name != *new));
    assert_eq!(names(&out), [new, MANIFEST_NAME, "notes.txt"]);
    few.verify(&out).unwrap();

    // A table without a manifest: of another program, or what an interrupted replacement has left.
    fs::remove_file(out.join(MANIFEST_NAME)).unwrap();
    assert!(build(&out, &options(), 100).unwrap_err().to_string().contains(new));
    assert_eq!(fs::read_to_string(out.join("notes.txt")).unwrap(), "mine");
}

#[test]
fn a_database_is_never_written_into() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("CURRENT"), "MANIFEST-000001\n").unwrap();
    let error = build(folder.path(), &options().replace(true), 10).unwrap_err();
    assert!(error.to_string().contains("database"), "{error}");
    assert_eq!(names(folder.path()), ["CURRENT"]);
}

#[test]
fn one_file_where_one_is_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let one = options().max_file_size(None);
    let error = build(folder.path(), &one, 10).unwrap_err();
    assert!(error.to_string().contains("directory"), "{error}");

    let path = folder.path().join("users.sst");
    fs::write(&path, "old").unwrap();
    assert!(build(&path, &one, 10).unwrap_err().to_string().contains("already"));
    assert!(build(&path, &options(), 10).unwrap_err().to_string().contains("file"));
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    build(&path, &one.clone().replace(true), 10).unwrap();
    assert_eq!(names(folder.path()), ["users.sst"]);

    // An external table of RocksDB's has entries; one of LevelDB's need not.
    let empty = build(&folder.path().join("empty.sst"), &one, 0).unwrap_err();
    assert!(empty.to_string().contains("an empty table"), "{empty}");
    let leveldb = BulkOptions::new(TableOptions::leveldb());
    assert_eq!(build(&folder.path().join("empty.ldb"), &leveldb, 0).unwrap().entries, 0);
    assert_eq!(build(&folder.path().join("none"), &options(), 0).unwrap().files, []);
}

#[test]
fn a_folder_that_cannot_be_written_to_is_named() {
    let folder = tempfile::tempdir().unwrap();
    for (path, kind) in [("missing/out", ErrorKind::NotFound), ("file/out", ErrorKind::Io)] {
        fs::write(folder.path().join("file"), "").unwrap();
        let error = build(&folder.path().join(path), &options(), 10).unwrap_err();
        assert_eq!(error.kind(), kind);
        assert!(error.to_string().contains("out"), "{error}");
    }
    let elsewhere = options().memory(0).temp_dir(folder.path().join("nowhere"));
    let error = build(&folder.path().join("out"), &elsewhere, 1000).unwrap_err();
    assert!(error.to_string().contains("nowhere"), "{error}");
    assert_eq!(names(folder.path()), ["file"]);
}

#[test]
fn damage_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let manifest = build(&out, &options(), 1000).unwrap();
    manifest.verify(&out).unwrap();
    let victim = out.join(&manifest.files[1].name);
    let bytes = fs::read(&victim).unwrap();

    let mut flipped = bytes.clone();
    flipped[bytes.len() / 2] ^= 1;
    fs::write(&victim, &flipped).unwrap();
    let error = manifest.verify(&out).unwrap_err();
    assert!(error.to_string().contains("000002.sst") && error.to_string().contains("checksum"));

    fs::write(&victim, &bytes[1..]).unwrap();
    assert!(manifest.verify(&out).unwrap_err().to_string().contains("size"));
    fs::remove_file(&victim).unwrap();
    assert_eq!(manifest.verify(&out).unwrap_err().kind(), ErrorKind::NotFound);
    fs::write(&victim, &bytes).unwrap();
    manifest.verify(&out).unwrap();

    let path = out.join(MANIFEST_NAME);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"version\": 1", "\"version\": 2")).unwrap();
    assert_eq!(BulkManifest::read(&path).unwrap_err().kind(), ErrorKind::Unsupported);
    fs::write(&path, &text[1..]).unwrap();
    assert_eq!(BulkManifest::read(&path).unwrap_err().kind(), ErrorKind::Corrupt);
}

/// The page about the manifest shows a real one.
#[test]
fn the_manifest_of_the_format_page() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let mut builder = BulkBuilder::create(&out, &options().max_file_size(Some(1))).unwrap();
    builder.put(b"alice", b"1").unwrap();
    builder.put(b"carol", b"3").unwrap();
    builder.delete_range(b"alice", b"dave").unwrap();
    let manifest = builder.finish().unwrap().manifest;
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats/manifest-json.md");
    let page = fs::read_to_string(page).unwrap();
    let json = manifest.to_json();
    assert!(page.contains(&json), "the page should show\n{json}");
}

/// An order that counts its comparisons.
#[derive(Debug)]
struct Counting(Arc<AtomicU64>);

impl KeyOrder for Counting {
    fn name(&self) -> &str {
        "test.Counting"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.0.fetch_add(1, Relaxed);
        a.cmp(b)
    }
}

/// Nothing relies on what a manifest says of itself: tables that overlap nevertheless are found
/// without comparing each with each other.
#[test]
fn many_overlapping_tables_of_a_manifest_are_not_compared_with_each_other() {
    const TABLES: u64 = 4000;
    let folder = tempfile::tempdir().unwrap();
    let files: Vec<_> = (1..=TABLES)
        .map(|number| {
            serde_json::json!({
                "name": format!("{number:06}.sst"), "smallest": format!("{number:08x}"),
                "largest": "ffffffff", "largest_is_exclusive": false, "entries": 1,
                "range_deletions": 0, "bytes": 1000, "checksum": "00000000"
            })
        })
        .collect();
    let manifest = serde_json::json!({
        "version": 1, "tool": "test", "comparator": "test.Counting", "non_overlapping": true,
        "checksum_function": "crc32c", "entries": TABLES, "range_deletions": 0,
        "bytes": 1000 * TABLES, "options": {}, "files": files
    });
    fs::write(folder.path().join(MANIFEST_NAME), manifest.to_string()).unwrap();
    let count = Arc::new(AtomicU64::new(0));
    let order = Comparator::User(Arc::new(Counting(Arc::clone(&count))));
    let options = DatabaseOptions::default().comparator(order);
    let db = Database::open_bulk_with(folder.path(), &options).unwrap();
    assert_eq!(db.default_column_family().stats().levels[0].files.len(), TABLES as usize);
    let count = count.load(Relaxed);
    assert!(count > TABLES && count < 64 * TABLES, "{count} comparisons");
}
