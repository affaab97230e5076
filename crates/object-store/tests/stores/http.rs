//! A table on an HTTP server.

use sstkit_object_store::{RemoteObject, Store};
use sstkit_table::{ErrorKind, Source, Table, TableReadOptions};

use crate::tables::{key, table, wanted};
use sstkit_testkit::object_stores::{Fault, Proxy, Upstream};

fn url(proxy: &Proxy) -> String {
    format!("http://127.0.0.1:{}/folder/users.sst", proxy.port)
}

#[test]
fn a_table_by_its_address() {
    let bytes = table(1);
    let proxy = Proxy::start(Upstream::File(bytes.clone()));
    let local = Table::from_bytes(bytes).unwrap();
    let (store, path) = Store::parse(&url(&proxy)).unwrap();
    let source = RemoteObject::open(&store, path).unwrap();
    let remote = Table::from_file(source, url(&proxy), &TableReadOptions::default()).unwrap();
    assert!(proxy.requests().len() <= 2);
    assert_eq!(remote.get_many(&wanted()).unwrap(), local.get_many(&wanted()).unwrap());
    proxy.requests();
    assert!(remote.get(&key(17)).unwrap().is_some());
    proxy.requests();
    assert!(remote.get(&key(117)).unwrap().is_some());
    assert_eq!(proxy.requests().len(), 1, "the table is warm");
    let pairs = |table: &Table| table.iter().map(Result::unwrap).collect::<Vec<_>>();
    assert!(pairs(&remote) == pairs(&local));
    let requests = proxy.requests();
    let windows = requests.iter().filter(|it| it.starts_with("GET")).count();
    assert!(windows <= 40, "windows, and partitions of the index: {requests:?}");
}

/// The requests of one call are made at the same time: the server answers none before all are there.
#[test]
fn ranges_are_read_at_the_same_time() {
    let bytes = table(2);
    let proxy = Proxy::start(Upstream::File(bytes.clone()));
    let (store, path) = Store::parse(&url(&proxy)).unwrap();
    let source = RemoteObject::open(&store, path).unwrap();
    let ranges: Vec<_> = (0..32).map(|at| at * 1000..at * 1000 + 10).collect();
    proxy.requests();
    proxy.gate(ranges.len());
    let read = source.read_many(&ranges).unwrap();
    assert!(
        ranges
            .iter()
            .zip(&read)
            .all(|(it, read)| { *read == bytes[it.start as usize..it.end as usize] })
    );
    assert_eq!(proxy.requests().len(), 32);
}

#[test]
fn other_answers_are_errors() {
    let proxy = Proxy::start(Upstream::File(table(3)));
    let (store, path) = Store::parse(&url(&proxy)).unwrap();
    proxy.fail([Fault::Status(404)]);
    let error = RemoteObject::open(&store, path).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{error}");
    assert_eq!(sstkit_table::Error::from(error).kind(), ErrorKind::NotFound);
    for address in ["nosuch://bucket/file", "http://", "users.sst"] {
        Store::parse(address).unwrap_err();
    }
    let (store, path) = Store::parse("http://192.0.2.1/users.sst").unwrap();
    let error = RemoteObject::open(&store, path).unwrap_err();
    assert!(format!("{error:?}").contains("BadScheme"), "no TLS, not this machine: {error:?}");
}
