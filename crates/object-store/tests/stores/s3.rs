//! Tables in S3.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path;
use object_store::{BackoffConfig, Error as StoreError, ObjectStoreExt, RetryConfig};
use sstkit_object_store::{AsyncObject, RemoteObject, Store, object_store, upload, upload_folder};
use sstkit_table::{AsyncTable, ErrorKind, Table, TableReadOptions};

use crate::proxy::{Fault, Proxy, Upstream};
use crate::s3_server::S3Server;
use crate::tables::{KEYS, key, table, wanted};

/// A server, the proxy in front of it, and a bucket.
struct Bucket {
    proxy: Proxy,
    store: Store,
    runtime: tokio::runtime::Runtime,
    _server: S3Server,
}

fn client(port: u16) -> AmazonS3 {
    let backoff = BackoffConfig {
        init_backoff: Duration::from_millis(1),
        max_backoff: Duration::from_millis(2),
        base: 1.5,
    };
    AmazonS3Builder::new()
        .with_bucket_name("tables")
        .with_endpoint(format!("http://127.0.0.1:{port}"))
        .with_allow_http(true)
        .with_region("us-east-1")
        .with_access_key_id("test")
        .with_secret_access_key("test")
        .with_retry(RetryConfig { backoff, max_retries: 3, ..RetryConfig::default() })
        .build()
        .unwrap()
}

impl Bucket {
    fn new() -> Self {
        // Selects the provider of TLS, as every program does that parses an address.
        Store::parse("s3://tables").unwrap();
        let server = S3Server::start();
        let proxy = Proxy::start(Upstream::Port(server.port));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let store = Store::new(Arc::new(client(proxy.port)));
        let bucket = Self { proxy, store, runtime, _server: server };
        create_bucket(bucket.proxy.port);
        bucket
    }

    /// For the runtime of the test.
    fn far_store(&self) -> Store {
        Store::new(Arc::new(client(self.proxy.port)))
    }

    fn put(&self, path: &str, bytes: &Bytes) -> Path {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        let path = Path::from(path);
        upload(&self.store, &path, file.path()).unwrap();
        path
    }

    fn open(&self, path: &Path) -> Table {
        let source = RemoteObject::open(&self.store, path.clone()).unwrap();
        Table::from_file(source, path.to_string(), &TableReadOptions::default()).unwrap()
    }
}

/// object_store does not create buckets; moto accepts any credentials.
fn create_bucket(port: u16) {
    use std::io::{Read, Write};
    let mut connection = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
    let head = "Host: 127.0.0.1\r\nAuthorization: AWS4-HMAC-SHA256 Credential=test/20250101/us-east-1/s3/aws4_request";
    write!(connection, "PUT /tables HTTP/1.1\r\n{head}\r\nContent-Length: 0\r\n\r\n").unwrap();
    let mut response = String::new();
    connection.read_to_string(&mut response).unwrap();
    assert!(response.contains(" 200 "), "{response}");
}

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
    let names: Vec<_> = requests.iter().filter_map(|it| it.split(['/', ' ', '?']).nth(4)).collect();
    assert_eq!(names, ["000001.sst", "zzz.sst", "manifest.json"], "{requests:?}");
}
