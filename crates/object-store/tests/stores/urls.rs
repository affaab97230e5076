//! Which store and path an address means. No store is reached.

use std::path::Path;

use sstkit_object_store::{Store, register};

#[test]
fn addresses_of_all_stores() {
    for (url, store, path) in [
        ("s3://bucket/db/000011.sst", "AmazonS3", "db/000011.sst"),
        ("s3a://bucket/db/", "AmazonS3", "db"),
        ("gs://bucket/users.sst", "GoogleCloudStorage", "users.sst"),
        ("az://container/a%20b.sst", "MicrosoftAzure", "a b.sst"),
        ("https://example.org/users.sst", "Http", "users.sst"),
    ] {
        // Azure needs the name of an account, which is not in the address.
        let found = Store::parse(url);
        if url.starts_with("az://") {
            assert!(format!("{:?}", found.unwrap_err()).contains("ccount"));
            continue;
        }
        let (found, object) = found.unwrap();
        let kind = format!("{:?}", found.object_store());
        assert!(kind.starts_with(store), "{url}: {kind}");
        assert_eq!(object.as_ref(), path);
    }
    let account = "abfss://container@account.dfs.core.windows.net/a%20b.sst";
    let (found, object) = Store::parse(account).unwrap();
    assert!(format!("{:?}", found.object_store()).starts_with("MicrosoftAzure"));
    assert_eq!(object.as_ref(), "a b.sst");
}

#[test]
fn paths_of_addresses() {
    for (url, path) in [
        ("s3://addresses/db/000011.sst", "s3://addresses/db/000011.sst"),
        ("s3://addresses/db/", "s3://addresses/db/"),
        ("s3://addresses", "s3://addresses/"),
        ("s3://addresses/a%20b", "s3://addresses/a b"),
        ("gs://addresses/db", "gs://addresses/db"),
    ] {
        assert_eq!(register(url).unwrap().as_os_str(), Path::new(path).as_os_str());
    }
    for (url, problem) in [
        ("https://s3.us-east-1.amazonaws.com/bucket/x.sst", "s3://bucket/path"),
        ("https://example.org/x.sst?version=1", "query"),
        ("nosuch://bucket", "nosuch"),
    ] {
        let error = register(url).unwrap_err();
        assert!(error.to_string().contains(problem), "{error}");
    }
}

/// Addresses become part of paths and messages, so nothing secret may be in them.
#[test]
fn credentials_in_addresses_are_refused() {
    for url in [
        "https://user:secret@example.org/x.sst",
        "https://secret@example.org/x.sst",
        "s3://key:secret@bucket/x.sst",
        "s3://key:sec/secret@bucket/x.sst",
        "abfss://container:secret@account.dfs.core.windows.net/x.sst",
        "https://example.org/x.sst?X-Amz-Signature=secret",
        "https://account.blob.core.windows.net/c/x.sst?sv=1&sig=secret",
    ] {
        for error in [register(url).unwrap_err(), Store::parse(url).unwrap_err()] {
            let shown = format!("{error} {error:?}");
            assert!(!shown.contains("secret"), "{shown}");
            assert!(shown.contains("x.sst"), "{shown}");
        }
    }
    let (store, _) = Store::parse("s3://bucket/x.sst").unwrap();
    assert_eq!(format!("{store:?}"), "Store(\"s3://bucket\")");
}
