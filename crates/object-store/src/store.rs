//! Which store an address means.

use std::fmt;
use std::io;
use std::sync::Arc;

use object_store::path::Path;
use object_store::{ObjectStore, parse_url_opts};
use url::{Host, Url};

use crate::error::io_error;

/// An object store; cloning is cheap.
///
/// A store keeps its connections, and a connection works only while the runtime runs that has opened it. So use one store
/// for [`RemoteObject`](crate::RemoteObject), whose requests run on a thread of this crate, and another one for each
/// runtime of [`AsyncObject`](crate::AsyncObject)s: otherwise a request may wait for a runtime that is idle.
#[derive(Clone)]
pub struct Store {
    store: Arc<dyn ObjectStore>,
    /// What distinguishes it from other stores of the process: scheme and host, or what it calls itself.
    name: String,
}

/// The schemes of addresses that are stores.
const SCHEMES: [&str; 8] = ["s3", "s3a", "gs", "az", "abfs", "abfss", "http", "https"];

/// Whether a path is the address of an object or folder in a store, as `s3://bucket/path`.
pub fn is_address(path: &std::path::Path) -> bool {
    let scheme = path.to_str().and_then(|text| text.split_once("://"));
    scheme.is_some_and(|(scheme, _)| SCHEMES.contains(&scheme))
}

/// Variables of the environment that are settings of stores.
const SETTINGS: [&str; 3] = ["AWS_", "AZURE_", "GOOGLE_"];

impl Store {
    /// The store and the path that a URL means: `s3://bucket/path`, `gs://`, `az://`, `https://`, `file:///`. Credentials
    /// and other settings are those of the environment that the tools of each store use, such as
    /// `AWS_ACCESS_KEY_ID`, `AWS_REGION` and `AWS_ENDPOINT`. HTTP without TLS is accepted from this machine only, or
    /// where the settings allow it (`AWS_ALLOW_HTTP=true`).
    pub fn parse(url: &str) -> io::Result<(Self, Path)> {
        let invalid = |error: url::ParseError| {
            io::Error::new(io::ErrorKind::InvalidInput, format!("{url}: {error}"))
        };
        let url = Url::parse(url).map_err(invalid)?;
        #[cfg(feature = "tls")]
        if rustls::crypto::CryptoProvider::get_default().is_none() {
            // If another thread was faster, its provider is as good.
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        let is_setting = |name: &str| SETTINGS.iter().any(|start| name.starts_with(start));
        let variables = std::env::vars_os().filter_map(|(name, value)| {
            let name = name.into_string().ok().filter(|name| is_setting(name))?;
            Some((name.to_ascii_lowercase(), value.into_string().ok()?))
        });
        let is_loopback = match url.host() {
            Some(Host::Domain(name)) => name == "localhost",
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        };
        let allow_http = (url.scheme() == "http" && is_loopback)
            .then(|| ("allow_http".to_owned(), "true".to_owned()));
        let (store, path) = parse_url_opts(&url, variables.chain(allow_http)).map_err(io_error)?;
        let name = url[..url::Position::BeforePath].to_owned();
        Ok((Self { store: Arc::from(store), name }, path))
    }

    /// A store that was built with other settings.
    pub fn new(store: Arc<dyn ObjectStore>) -> Self {
        let name = store.to_string();
        Self { store, name }
    }

    /// The store itself.
    pub fn object_store(&self) -> &Arc<dyn ObjectStore> {
        &self.store
    }

    /// Identifies the version of an object among those of all stores.
    pub(crate) fn identify(&self, path: &Path, version: &str) -> String {
        format!("{}\0{path}\0{version}", self.name)
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Store").field(&self.name).finish()
    }
}
