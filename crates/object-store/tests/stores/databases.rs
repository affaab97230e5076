//! Databases in S3: equal to the same ones on disk, in a known number of requests.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use object_store::path::Path as ObjectPath;
use sstkit_db::{Database, DatabaseOptions, ErrorKind, FileKind, MANIFEST_NAME};
use sstkit_object_store::{object_store, register_store, upload_folder};
use sstkit_table::TableOptions;
use sstkit_table::raw::Codec;

use crate::bucket::Bucket;
use sstkit_testkit::database_notation::write_database;
use sstkit_testkit::object_stores::Fault;

/// Several column families, blobs, logs of both engines, range deletions, tables alone.
const DATABASES: [&str; 7] = [
    "leveldb-bloom-snappy",
    "leveldb-zstd-log-tail",
    "rocksdb-blobs",
    "rocksdb-column-families",
    "rocksdb-range-deletes",
    "rocksdb-wal-only",
    "rocksdb-wal-plus-tables",
];

fn local(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/databases").join(name)
}

/// One server for all, since it takes seconds to start.
#[test]
fn databases_in_a_bucket() {
    let bucket = Bucket::new();
    register_store("s3://databases", bucket.store.clone());
    for name in DATABASES {
        bucket.upload(name, &local(name));
    }
    for name in DATABASES {
        equal(&remote(name), &local(name));
    }
    requests(&bucket);
    faults(&bucket);
    damage(&bucket);
    spark(&bucket);
    bulk(&bucket);
    rounds(&bucket);
    latency(&bucket);
}

fn remote(name: &str) -> PathBuf {
    Path::new("s3://databases").join(name)
}

impl Bucket {
    fn upload(&self, name: &str, folder: &Path) {
        upload_folder(&self.store, &ObjectPath::from(name), folder, "CURRENT").unwrap();
        self.proxy.requests();
    }
}

/// Keys and values.
type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

/// All that is visible, by column family.
fn contents(database: &Database) -> Vec<(String, Pairs)> {
    let of_family = |family: sstkit_db::ColumnFamily| {
        let pairs = family.iter().map(|pair| pair.map(|(key, value)| (key, value.to_vec())));
        (family.name().to_owned(), pairs.collect::<Result<_, _>>().unwrap())
    };
    database.column_families().map(of_family).collect()
}

fn equal(remote: &Path, local: &Path) {
    let (far, near) = (Database::open(remote).unwrap(), Database::open(local).unwrap());
    assert_eq!(far.engine(), near.engine());
    assert_eq!(far.last_sequence(), near.last_sequence());
    assert_eq!(far.caveats().len(), near.caveats().len(), "{:?}", far.caveats());
    assert_eq!(far.logs().len(), near.logs().len());
    let (found, expected) = (contents(&far), contents(&near));
    assert!(found == expected, "{}", remote.display());
    for (family, (_, pairs)) in far.column_families().zip(&expected) {
        let keys: Vec<&Vec<u8>> = pairs.iter().map(|(key, _)| key).step_by(7).collect();
        let values = family.get_many(&keys).unwrap();
        assert!(values.iter().zip(pairs.iter().step_by(7)).all(|(found, (_, value))| {
            found.as_ref().is_some_and(|found| found[..] == value[..])
        }));
    }
    let mut reports = Vec::new();
    far.verify(|report| reports.push(report));
    assert!(reports.iter().all(sstkit_db::FileVerification::is_sound), "{reports:?}");
}

/// A list, all small files at once, CURRENT once more to see whether anything has changed; then one request for a table,
/// which is not longer than the end that is read first.
fn requests(bucket: &Bucket) {
    let wait = Duration::from_secs(6); // until listings are not used any more
    std::thread::sleep(wait);
    bucket.proxy.requests();
    let database = Database::open(remote("rocksdb-leveled-bloom-copy"));
    assert!(database.is_err());
    bucket.upload("rocksdb-leveled-bloom", &local("rocksdb-leveled-bloom"));
    let database = Database::open(remote("rocksdb-leveled-bloom")).unwrap();
    let requests = bucket.proxy.requests();
    let count = |what: &str| requests.iter().filter(|it| it.contains(what)).count();
    assert_eq!(count("list-type=2"), 1, "{requests:#?}");
    assert_eq!((count("/CURRENT"), count("MANIFEST-"), count("OPTIONS-")), (2, 1, 1));
    assert!(requests.len() <= 6, "and a log: {requests:#?}");
    assert_eq!(count(".sst"), 0, "tables are opened when they are needed");
    let keys: Vec<Vec<u8>> = database.iter().map(|pair| pair.unwrap().0).collect();
    let again = Database::open(remote("rocksdb-leveled-bloom")).unwrap();
    bucket.proxy.requests();
    // The log has been read: its keys cost no request.
    let mut requests = Vec::new();
    let key = keys.iter().find(|key| {
        assert!(again.get(key).unwrap().is_some());
        requests = bucket.proxy.requests();
        !requests.is_empty()
    });
    let key = key.expect("a key that is not in the log");
    let tables = again.default_column_family().levels().iter().map(|it| it.files.len()).sum();
    assert!((1..=tables).contains(&requests.len()), "{requests:?}");
    assert!(again.get(key).unwrap().is_some());
    assert_eq!(bucket.proxy.requests().len(), 0, "its block is in the cache");
}

fn faults(bucket: &Bucket) {
    let (name, near) = ("rocksdb-blobs", Database::open(local("rocksdb-blobs")).unwrap());
    let expected = contents(&near);
    for fault in [Fault::Status(500), Fault::Status(503), Fault::Reset, Fault::Truncated] {
        bucket.proxy.fail([fault, fault]);
        let far = Database::open(remote(name)).unwrap();
        bucket.proxy.fail([fault, fault]);
        assert!(contents(&far) == expected, "{fault:?}");
    }
    // More than are repeated: an error that names the file, and no other answer.
    let far = Database::open(remote(name)).unwrap();
    bucket.proxy.fail([Fault::Status(500); 300]);
    let error = far.iter().find_map(Result::err).unwrap();
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    assert!(error.to_string().contains("s3://databases/rocksdb-blobs/"), "{error}");
    let error = Database::open(remote(name)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    bucket.proxy.clear_faults();
    assert!(contents(&Database::open(remote(name)).unwrap()) == expected);
}

/// What is missing or no database is reported as on disk.
fn damage(bucket: &Bucket) {
    let folder = tempfile::tempdir().unwrap();
    let copy =
        |name: &str| std::fs::copy(local("rocksdb-blobs").join(name), folder.path().join(name));
    for entry in std::fs::read_dir(local("rocksdb-blobs")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if !name.ends_with(".sst") {
            copy(&name).unwrap();
        }
    }
    bucket.upload("no-tables", folder.path());
    let far = Database::open(remote("no-tables")).unwrap();
    let error = far.iter().find_map(Result::err).unwrap();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    assert!(error.to_string().contains("file not found"), "{error}");
    let error = Database::open(remote("no-such")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    let outside = Database::open("s3://databases/../etc").unwrap_err();
    assert_eq!(outside.kind(), ErrorKind::NotFound, "{outside}");
    // A whole path in OPTIONS is one on the machine that wrote it, and never one on this machine.
    let logs = tempfile::tempdir().unwrap();
    std::fs::copy(local("rocksdb-wal-only").join("CURRENT"), logs.path().join("000099.log"))
        .unwrap();
    let options = std::fs::read_dir(folder.path()).unwrap().map(|it| it.unwrap().path());
    let options = options.filter(|it| it.to_string_lossy().contains("OPTIONS-")).max().unwrap();
    let text = std::fs::read_to_string(&options).unwrap();
    let wal_dir = format!("[DBOptions]\n  wal_dir={}", logs.path().display());
    std::fs::write(&options, text.replace("[DBOptions]", &wal_dir)).unwrap();
    bucket.upload("other-logs", folder.path());
    let far = Database::open(remote("other-logs")).unwrap();
    assert!(far.logs().iter().all(|log| log.starts_with("s3://databases")), "{:?}", far.logs());
}

/// Tables as Spark's state store uploads them: a folder of tables whose names have a UUID.
fn spark(bucket: &Bucket) {
    let folder = tempfile::tempdir().unwrap();
    for (at, entry) in std::fs::read_dir(local("rocksdb-leveled-bloom")).unwrap().enumerate() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|it| it == "sst") {
            let stem = path.file_stem().unwrap().to_str().unwrap();
            let name = format!("{stem}-4673dc67-ba79-44bf-acdf-48accfff3{at:03}.sst");
            std::fs::copy(&path, folder.path().join(name)).unwrap();
        }
    }
    bucket.upload("spark/SSTs", folder.path());
    let options = DatabaseOptions::default();
    let open = |path: &Path| Database::open_folder_with(path, &options).unwrap().unwrap();
    let (far, near) = (open(&remote("spark/SSTs")), open(folder.path()));
    assert!(contents(&far) == contents(&near));
    let requests = bucket.proxy.requests();
    let lists = requests.iter().filter(|it| it.contains("list-type=2")).count();
    let tables = std::fs::read_dir(folder.path()).unwrap().count();
    assert!(lists <= 2, "{requests:#?}");
    let heads = requests.iter().filter(|it| it.starts_with("HEAD")).count();
    assert!(heads <= 1, "{requests:#?}");
    // For the column families, for the bounds, and to open; then the bounds, and all of it.
    assert_eq!(requests.len() - lists - heads, (3 + 2) * tables, "{requests:#?}");
}

/// A folder of tables with a manifest.json, and single files of a database.
fn bulk(bucket: &Bucket) {
    use sstkit_db::{BulkBuilder, BulkOptions};
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out");
    let options = BulkOptions::new(TableOptions::rocksdb()).max_file_size(Some(20_000));
    let mut builder = BulkBuilder::create(&output, &options).unwrap();
    for number in 0..5000 {
        builder.put(format!("{number:06}").as_bytes(), b"a value").unwrap();
    }
    builder.finish().unwrap();
    upload_folder(&bucket.store, &ObjectPath::from("bulk"), &output, MANIFEST_NAME).unwrap();
    let far = Database::open_bulk(remote("bulk")).unwrap();
    assert!(contents(&far) == contents(&Database::open_bulk(&output).unwrap()));
    let name = "rocksdb-wal-plus-tables";
    for entry in std::fs::read_dir(local(name)).unwrap() {
        let file = entry.unwrap().file_name();
        let near = FileKind::of(&local(name).join(&file)).unwrap();
        assert_eq!(FileKind::of(&remote(name).join(&file)).unwrap(), near, "{file:?}");
    }
}

/// Keys in several levels: tables of all levels are opened at the same time, and so are their blocks read.
fn rounds(bucket: &Bucket) {
    let key = |number: u32| format!("key{number:05}");
    let value = |number: u32, level: u32| format!("{number}.{level}.{}", "v".repeat(200));
    let (mut text, mut sequence) = (String::new(), 0);
    for (level, tables, step) in [(2, 4, 1), (1, 2, 3), (0, 1, 7), (0, 1, 11)] {
        for table in 0..tables {
            writeln!(text, "level {level}").unwrap();
            for number in (table * 8000 / tables..(table + 1) * 8000 / tables).step_by(step) {
                sequence += 1;
                let value = value(number, level);
                writeln!(text, "{}#{sequence} put {value}", key(number)).unwrap();
            }
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("levels");
    let filter = "bloomfilter:10".parse().unwrap();
    let options = TableOptions::rocksdb().filter(filter).compression(Codec::None);
    write_database(&path, &text, &options.external_file(false));
    bucket.upload("levels", &path);
    let near = Database::open(&path).unwrap();
    let wanted = |first: u32| (0..64).map(|at| key(first + at * 124)).collect::<Vec<_>>();
    let expected = |keys: &[String]| {
        keys.iter().map(|key| near.get(key.as_bytes()).unwrap()).collect::<Vec<_>>()
    };
    let (opening, warm) = (wanted(0), wanted(61));

    let far = Database::open(remote("levels")).unwrap();
    let read = |keys: &[String]| {
        bucket.proxy.requests();
        let (found, rounds) = bucket.proxy.count_rounds(|| far.get_many(keys).unwrap());
        assert!(found == expected(keys));
        (bucket.proxy.requests(), rounds)
    };
    // One request opens a table that is not longer than its tail. The next round is for their blocks.
    let (requests, rounds) = read(&opening);
    assert_eq!(requests.iter().filter(|it| it.contains("bytes=-")).count(), 8, "{requests:?}");
    assert!(rounds <= 3, "{rounds}: {requests:#?}");
    let (requests, rounds) = read(&warm);
    assert!((64..64 * 3).contains(&requests.len()), "{}: {requests:#?}", requests.len());
    assert_eq!(rounds, 1, "{requests:#?}");
    let (requests, rounds) = read(&warm);
    assert_eq!((requests.len(), rounds), (0, 0), "the blocks are in the cache");

    // Faults and latency change nothing.
    bucket.proxy.slow_down(Duration::from_millis(20), 1e8);
    for fault in [Fault::Status(503), Fault::Reset, Fault::Truncated] {
        let far = Database::open(remote("levels")).unwrap();
        bucket.proxy.fail([fault, fault]);
        assert!(far.get_many(&opening).unwrap() == expected(&opening), "{fault:?}");
        bucket.proxy.fail([fault, fault]);
        assert!(far.get_many(&warm).unwrap() == expected(&warm), "{fault:?}");
    }
    bucket.proxy.slow_down(Duration::ZERO, 1e9);
}

/// Opening a database takes a few round trips, however many files it has.
fn latency(bucket: &Bucket) {
    std::thread::sleep(Duration::from_secs(6)); // until listings are not used any more
    let round = Duration::from_millis(300);
    bucket.proxy.slow_down(round, 1e9);
    let start = Instant::now();
    let far = Database::open(remote("rocksdb-column-families")).unwrap();
    let rounds = start.elapsed().as_secs_f64() / round.as_secs_f64();
    assert!(rounds < 5.0, "a list, small files, CURRENT: {rounds} rounds");
    assert!(far.column_families().len() > 1);
}
