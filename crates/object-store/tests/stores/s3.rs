//! Tables in S3.

use bytes::Bytes;
use object_store::path::Path;
use object_store::{Error as StoreError, ObjectStoreExt};
use sstkit_object_store::{
    AsyncObject, RemoteObject, object_store, upload, upload_folder, upload_folder_while,
};
use sstkit_table::{AsyncTable, ErrorKind, Table, TableReadOptions};

use crate::bucket::Bucket;
use crate::tables::{KEYS, key, table, wanted};
use sstkit_testkit::object_stores::Fault;

/// One server for all, since it takes seconds to start.
#[test]
fn tables_in_a_bucket() {
    let bucket = Bucket::new();
    let bytes = table(1);
    let local = Table::from_bytes(bytes.clone()).unwrap();
    let path = bucket.put("db/users.sst", &bytes);
    let requests = bucket.proxy.requests();
    assert!(
        requests.iter().any(|it| it.starts_with("POST") && it.contains("uploads")),
        "{requests:?}"
    );

    reads(&bucket, &path, &local);
    rounds(&bucket, &path, &local);
    asynchronous_reads(&bucket, &path, &local);
    faults(&bucket, &path, &local);
    replaced(&bucket, &path);
    failed_upload(&bucket, &bytes);
    folder(&bucket);
}

fn reads(bucket: &Bucket, path: &Path, local: &Table) {
    bucket.proxy.requests();
    let remote = bucket.open(path);
    let requests = bucket.proxy.requests();
    assert!(requests.len() <= 2, "{requests:?}");
    assert_eq!(remote.get_many(&wanted()).unwrap(), local.get_many(&wanted()).unwrap());
    let requests = bucket.proxy.requests();
    assert!(requests.len() <= 3 * 64, "{requests:?}");
    assert_eq!(remote.get(&key(700)).unwrap(), local.get(&key(700)).unwrap());
    bucket.proxy.requests();
    assert_eq!(remote.get(&key(800)).unwrap(), local.get(&key(800)).unwrap());
    assert_eq!(bucket.proxy.requests().len(), 1, "a warm table");
    assert!(remote.iter().map(Result::unwrap).eq(local.iter().map(Result::unwrap)));
    assert!(remote.verify().is_sound());
}

/// The round trips of a table with partitions of filter and index, blocking and asynchronous.
fn rounds(bucket: &Bucket, path: &Path, local: &Table) {
    let proxy = &bucket.proxy;
    let (remote, opening) = proxy.count_rounds(|| bucket.open(path));
    assert!((1..=2).contains(&opening), "{opening}");
    let (found, many) = proxy.count_rounds(|| remote.get_many(&wanted()).unwrap());
    assert_eq!(found, local.get_many(&wanted()).unwrap());
    assert!((1..=3).contains(&many), "{many}");
    remote.get(&key(700)).unwrap();
    let (found, warm) = proxy.count_rounds(|| remote.get(&key(800)).unwrap());
    assert_eq!((found, warm), (local.get(&key(800)).unwrap(), 1));

    let object = AsyncObject::new(&bucket.far_store(), path.clone());
    let options = TableReadOptions::default();
    let runtime = &bucket.runtime;
    let open = || runtime.block_on(AsyncTable::from_source(object, &options)).unwrap();
    let (remote, opening) = proxy.count_rounds(open);
    assert!((1..=2).contains(&opening), "{opening}");
    let get_many = || runtime.block_on(remote.get_many(&wanted())).unwrap();
    let (found, many) = proxy.count_rounds(get_many);
    assert_eq!(found, local.get_many(&wanted()).unwrap());
    assert!((1..=3).contains(&many), "{many}");
    runtime.block_on(remote.get(&key(700))).unwrap();
    let (found, warm) = proxy.count_rounds(|| runtime.block_on(remote.get(&key(800))).unwrap());
    assert_eq!((found, warm), (local.get(&key(800)).unwrap(), 1));
}

fn asynchronous_reads(bucket: &Bucket, path: &Path, local: &Table) {
    bucket.runtime.block_on(async {
        bucket.proxy.requests();
        let object = AsyncObject::new(&bucket.far_store(), path.clone());
        let remote = AsyncTable::from_source(object, &TableReadOptions::default()).await.unwrap();
        assert!(bucket.proxy.requests().len() <= 2);
        let values = remote.get_many(&wanted()).await.unwrap();
        assert_eq!(values, local.get_many(&wanted()).unwrap());
        let (mut scan, mut expected) = (remote.iter(), local.iter());
        while let Some(pair) = scan.next().await {
            assert_eq!(pair.unwrap(), expected.next().unwrap().unwrap());
        }
        assert!(expected.next().is_none());
        assert!(remote.verify().await.unwrap().is_sound());
        // A blocking table does not panic on a thread of a runtime.
        assert!(bucket.open(path).get(&key(5)).unwrap().is_some());
    });
}

fn faults(bucket: &Bucket, path: &Path, local: &Table) {
    for fault in [Fault::Status(500), Fault::Status(503), Fault::Reset, Fault::Truncated] {
        let remote = bucket.open(path);
        bucket.proxy.requests();
        bucket.proxy.fail([fault]);
        assert_eq!(
            remote.get_many(&wanted()).unwrap(),
            local.get_many(&wanted()).unwrap(),
            "{fault:?}"
        );
        bucket.proxy.fail([fault, fault]);
        let count = remote.iter().map(Result::unwrap).count();
        assert_eq!(count, KEYS as usize, "{fault:?}");
    }
    // More than are repeated.
    let remote = bucket.open(path);
    bucket.proxy.fail([Fault::Status(500); 200]);
    let error = remote.get(&key(3)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    assert_eq!(error.file().unwrap().to_str(), Some("db/users.sst"));
    bucket.proxy.clear_faults();
    assert!(remote.get(&key(3)).unwrap().is_some());
    let error = RemoteObject::open(&bucket.store, "no/such.sst").unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{error}");
}

fn replaced(bucket: &Bucket, path: &Path) {
    let remote = bucket.open(path);
    let object = AsyncObject::new(&bucket.far_store(), path.clone());
    let options = TableReadOptions::default();
    let far = bucket.runtime.block_on(AsyncTable::from_source(object, &options)).unwrap();
    bucket.put("db/users.sst", &table(2));
    assert_eq!(remote.get(&key(3)).unwrap_err().kind(), ErrorKind::Changed);
    assert_eq!(remote.get_many(&wanted()).unwrap_err().kind(), ErrorKind::Changed);
    assert_eq!(remote.iter().find_map(Result::err).unwrap().kind(), ErrorKind::Changed);
    let error = bucket.runtime.block_on(far.get(&key(3))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Changed, "{error}");
    assert!(bucket.open(path).get(&key(3)).unwrap().is_some());
}

fn failed_upload(bucket: &Bucket, bytes: &Bytes) {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    let path = Path::from("db/failed.sst");
    bucket.proxy.requests();
    bucket.proxy.refuse(Some("PUT"));
    upload(&bucket.store, &path, file.path()).unwrap_err();
    bucket.proxy.refuse(None);
    let requests = bucket.proxy.requests();
    assert!(
        requests.iter().any(|it| it.starts_with("DELETE")),
        "its parts are removed: {requests:?}"
    );
    let store = bucket.far_store().object_store().clone();
    let found = bucket.runtime.block_on(async move { store.head(&path).await });
    assert!(matches!(found, Err(StoreError::NotFound { .. })));
}

fn folder(bucket: &Bucket) {
    let folder = tempfile::tempdir().unwrap();
    for name in ["000001.sst", "manifest.json", "zzz.sst"] {
        std::fs::write(folder.path().join(name), name).unwrap();
    }
    bucket.proxy.requests();
    upload_folder(&bucket.store, &Path::from("out"), folder.path(), "manifest.json").unwrap();
    let requests = bucket.proxy.requests();
    let mut names: Vec<_> =
        requests.iter().filter_map(|it| it.split(['/', ' ', '?']).nth(4)).collect();
    assert_eq!(names.pop(), Some("manifest.json"), "{requests:?}");
    names.sort_unstable();
    assert_eq!(names, ["000001.sst", "zzz.sst"], "{requests:?}");

    // One of them fails: nothing is left, and the last one was not begun.
    for (faults, seen) in [(1, false), (0, true)] {
        bucket.proxy.requests();
        bucket.proxy.fail((0..faults).map(|_| Fault::Status(400)));
        let keep_going = || faults > 0;
        let path = Path::from("failed");
        let result =
            upload_folder_while(&bucket.store, &path, folder.path(), "manifest.json", &keep_going);
        result.unwrap_err();
        let requests = bucket.proxy.requests();
        assert!(!requests.iter().any(|it| it.contains("manifest.json")), "{requests:?}");
        assert_eq!(requests.is_empty(), seen, "interrupted before the first: {requests:?}");
        let store = bucket.far_store().object_store().clone();
        let found = bucket.runtime.block_on(store.list_with_delimiter(Some(&path))).unwrap();
        assert!(found.objects.is_empty(), "{found:?}");
    }
}
