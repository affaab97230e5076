//! A bucket in a real S3 server.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path;
use object_store::{BackoffConfig, RetryConfig};
use sstkit_object_store::{RemoteObject, Store, object_store, upload};
use sstkit_table::{Table, TableReadOptions};

use sstkit_testkit::object_stores::{Proxy, S3Server, Upstream, create_bucket};

/// A server, the proxy in front of it, and a bucket.
pub(crate) struct Bucket {
    pub(crate) proxy: Proxy,
    pub(crate) store: Store,
    pub(crate) runtime: tokio::runtime::Runtime,
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
    pub(crate) fn new() -> Self {
        // Selects the provider of TLS, as every program does that parses an address.
        Store::parse("s3://tables").unwrap();
        let server = S3Server::start();
        let proxy = Proxy::start(Upstream::Port(server.port));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let store = Store::new(Arc::new(client(proxy.port)));
        let bucket = Self { proxy, store, runtime, _server: server };
        create_bucket(bucket.proxy.port, "tables");
        bucket
    }

    /// For the runtime of the test.
    pub(crate) fn far_store(&self) -> Store {
        Store::new(Arc::new(client(self.proxy.port)))
    }

    pub(crate) fn put(&self, path: &str, bytes: &Bytes) -> Path {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        let path = Path::from(path);
        upload(&self.store, &path, file.path()).unwrap();
        path
    }

    pub(crate) fn open(&self, path: &Path) -> Table {
        let source = RemoteObject::open(&self.store, path.clone()).unwrap();
        Table::from_file(source, path.to_string(), &TableReadOptions::default()).unwrap()
    }
}
