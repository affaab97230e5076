//! Which store an address means.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

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
    /// Distinguishes stores of [`new`](Self::new); 0 for those of addresses.
    number: u64,
}

/// The schemes of addresses that are stores.
const SCHEMES: [&str; 8] = ["s3", "s3a", "gs", "az", "abfs", "abfss", "http", "https"];

/// Whether a path is the address of an object or folder in a store, as `s3://bucket/path`.
pub fn is_address(path: &std::path::Path) -> bool {
    let scheme = path.to_str().and_then(|text| text.split_once("://"));
    scheme.is_some_and(|(scheme, _)| SCHEMES.contains(&scheme))
}
static NEXT_NUMBER: AtomicU64 = AtomicU64::new(1);

/// Variables of the environment that are settings of stores.
const SETTINGS: [&str; 3] = ["AWS_", "AZURE_", "GOOGLE_"];

impl Store {
    /// The store and the path that a URL means: `s3://bucket/path`, `gs://`, `az://`, `https://`, `file:///`. Credentials
    /// and other settings are those of the environment that the tools of each store use, such as
    /// `AWS_ACCESS_KEY_ID`, `AWS_REGION` and `AWS_ENDPOINT`. HTTP without TLS is accepted from this machine only, or
    /// where the settings allow it (`AWS_ALLOW_HTTP=true`).
    ///
    /// Credentials in the address itself are refused, whether as `user:password@` or in a query: an address becomes
    /// part of messages and paths.
    pub fn parse(url: &str) -> io::Result<(Self, Path)> {
        let invalid = |what: &str| invalid_address(url, what);
        let url = Url::parse(url).map_err(|error| invalid(&error.to_string()))?;
        // The user of `abfss://container@account.dfs.core.windows.net` is a container.
        let has_user = !url.username().is_empty() && !url.scheme().starts_with("abfs");
        if has_user || url.password().is_some() {
            return Err(invalid("credentials belong in the environment, not in the address"));
        }
        if url.query().is_some() {
            return Err(invalid("addresses with a query are not supported"));
        }
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
        Ok((Self { store: Arc::from(store), name, number: 0 }, path))
    }

    /// A store that was built with other settings. In a shared block cache its objects are those of its clones only:
    /// what it calls itself does not tell it from others.
    pub fn new(store: Arc<dyn ObjectStore>) -> Self {
        let name = store.to_string();
        let number = NEXT_NUMBER.fetch_add(1, Ordering::Relaxed);
        Self { store, name, number }
    }

    /// The store itself.
    pub fn object_store(&self) -> &Arc<dyn ObjectStore> {
        &self.store
    }

    /// Identifies the version of an object among those of all stores.
    pub(crate) fn identify(&self, path: &Path, version: &str) -> String {
        format!("{}\0{}\0{path}\0{version}", self.number, self.name)
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Store").field(&self.name).finish()
    }
}

/// The error of an address that cannot be used. Credentials that are in it are not shown.
pub(crate) fn invalid_address(url: &str, what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("{}: {what}", without_secrets(url)))
}

/// An address without the parts that may be secret: user and password, query and fragment. Also one that cannot be parsed.
fn without_secrets(url: &str) -> String {
    let shown = url.split(['?', '#']).next().unwrap_or_default();
    let Some((scheme, rest)) = shown.split_once("://") else { return shown.to_owned() };
    // A password may contain a slash, and then the address cannot be parsed.
    let end = rest.find('/').filter(|_| Url::parse(url).is_ok()).unwrap_or(rest.len());
    let (host, path) = rest.split_at(end);
    let host = match host.rsplit_once('@') {
        // What is a container there is no secret.
        Some((user, _)) if scheme.starts_with("abfs") && !user.contains(':') => host,
        Some((_, host)) => host,
        None => host,
    };
    format!("{scheme}://{host}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_not_shown() {
        for (url, shown) in [
            ("https://user:secret@host/a.sst?signature=secret#secret", "https://host/a.sst"),
            ("https://secret@host:99999999", "https://host:99999999"),
            ("s3://secret:se/cret@bucket/a", "s3://bucket/a"),
            ("s3://bucket/a@b", "s3://bucket/a@b"),
            (
                "abfss://container@account.dfs.core.windows.net/a",
                "abfss://container@account.dfs.core.windows.net/a",
            ),
            (
                "abfss://c:secret@account.dfs.core.windows.net/a",
                "abfss://account.dfs.core.windows.net/a",
            ),
            ("users.sst?secret", "users.sst"),
            ("", ""),
        ] {
            assert_eq!(without_secrets(url), shown);
        }
    }
}
