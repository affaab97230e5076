//! Servers that give wrong answers: an error of the right kind, and never a panic or another value.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use object_store::http::HttpBuilder;
use object_store::path::Path;
use object_store::{BackoffConfig, ClientOptions, RetryConfig};
use sstkit_object_store::{RemoteObject, Store, object_store};
use sstkit_table::{ErrorKind, Table, TableReadOptions};
use sstkit_testkit::object_stores::{Proxy, Upstream};

use crate::tables::{KEYS, key, table, wanted};

/// What a server makes of the right response.
type Change = fn(Vec<u8>) -> Vec<u8>;

/// Wrong at any time.
const WRONG: [(&str, Change); 10] = [
    ("all of the file", |it| replaced(it, "206 Partial Content", "200 OK")),
    ("a byte less", |it| with_body(it, |body| body.truncate(body.len().saturating_sub(1)))),
    ("a byte more", |it| with_body(it, |body| body.push(0))),
    ("no bytes", |it| with_body(it, Vec::clear)),
    ("far more, without an end", endless),
    ("another range", |it| with_range(it, |range, size| format!("bytes 1{range}/{size}"))),
    ("an enormous size", |it| {
        with_range(it, |_, _| "bytes 7-17446744073709551615/18446744073709551615".into())
    }),
    ("a range that is no number", |it| with_range(it, |_, size| format!("bytes x-y/{size}"))),
    ("no range", |it| without(it, "Content-Range")),
    ("no HTTP", |_| b"\xff\0 what?".to_vec()),
];

/// Of another object, as far as can be seen.
const OTHER_OBJECT: [(&str, Change); 4] = [
    ("another ETag", |it| replaced(it, "\"one\"", "\"two\"")),
    ("a weak ETag", |it| replaced(it, "\"one\"", "W/\"one\"")),
    ("no ETag", |it| without(it, "ETag")),
    ("another size", |it| with_range(it, |range, size| format!("bytes {range}/{}", 10 * size))),
];

#[test]
fn wrong_answers_are_errors() {
    let server = Server::new(|it| it);
    for (name, change) in WRONG {
        server.changes(change);
        let error = RemoteObject::open(&server.store, "users.sst").expect_err(name);
        assert_eq!(sstkit_table::Error::from(error).kind(), ErrorKind::Io, "{name}");
        server.fails_and_recovers(name, change, ErrorKind::Io);
    }
}

#[test]
fn another_object_is_an_error() {
    let server = Server::new(|it| it);
    for (name, change) in OTHER_OBJECT {
        server.fails_and_recovers(name, change, ErrorKind::Changed);
    }
}

/// Some servers have no ETags: the time at which the object was written tells versions apart.
#[test]
fn without_etags_the_time_counts() {
    let server = Server::new(|it| without(it, "ETag"));
    server.fails_and_recovers(
        "without",
        |it| replaced(it, "Wed, 01", "Thu, 02"),
        ErrorKind::Changed,
    );
}

/// A server that does not answer is given up.
#[test]
fn no_answer_is_an_error() {
    let server = Server::new(|it| it);
    let table = server.open();
    server.proxy.slow_down(Duration::from_secs(5), 1e9);
    assert_eq!(table.get(&key(3)).unwrap_err().kind(), ErrorKind::Io);
    server.proxy.slow_down(Duration::ZERO, 1e9);
    assert!(table.get(&key(3)).unwrap().is_some());
}

/// A server whose answers can be changed.
struct Server {
    proxy: Proxy,
    store: Store,
    change: Arc<Mutex<Change>>,
    local: Table,
}

impl Server {
    /// Also the answers that count as right are changed, by `always`.
    fn new(always: Change) -> Self {
        // Selects the provider of TLS, as every program does that parses an address.
        Store::parse("http://localhost").unwrap();
        let bytes: Bytes = table(5);
        let change = Arc::new(Mutex::new((|it| it) as Change));
        let shared = Arc::clone(&change);
        let answer = move |right| shared.lock().unwrap()(always(right));
        let proxy = Proxy::start(Upstream::Changed(bytes.clone(), Box::new(answer)));
        let backoff = BackoffConfig {
            init_backoff: Duration::from_millis(1),
            max_backoff: Duration::from_millis(2),
            base: 1.5,
        };
        let client = ClientOptions::new().with_allow_http(true);
        let client = HttpBuilder::new()
            .with_url(format!("http://127.0.0.1:{}", proxy.port))
            .with_client_options(client.with_timeout(Duration::from_secs(2)))
            .with_retry(RetryConfig { backoff, max_retries: 1, ..RetryConfig::default() })
            .build()
            .unwrap();
        let local = Table::from_bytes(bytes).unwrap();
        Self { proxy, store: Store::new(Arc::new(client)), change, local }
    }

    fn changes(&self, change: Change) {
        *self.change.lock().unwrap() = change;
    }

    fn open(&self) -> Table {
        let object = RemoteObject::open(&self.store, Path::from("users.sst")).unwrap();
        Table::from_source(object, &TableReadOptions::default()).unwrap()
    }

    /// Reads of a table that was opened before the server changes its answers fail, and work again after that.
    fn fails_and_recovers(&self, name: &str, change: Change, kind: ErrorKind) {
        self.changes(|it| it);
        let remote = self.open();
        self.changes(change);
        let errors = [
            remote.get(&key(700)).unwrap_err(),
            remote.get_many(&wanted()).unwrap_err(),
            remote.iter().find_map(Result::err).expect(name),
            remote.range(key(9)..).rev().find_map(Result::err).expect(name),
        ];
        for error in errors {
            assert_eq!(error.kind(), kind, "{name}: {error}");
        }
        self.changes(|it| it);
        assert_eq!(remote.get(&key(700)).unwrap(), self.local.get(&key(700)).unwrap());
        assert_eq!(remote.get_many(&wanted()).unwrap(), self.local.get_many(&wanted()).unwrap());
        assert_eq!(remote.iter().map(Result::unwrap).count(), KEYS as usize, "{name}");
    }
}

fn split(response: Vec<u8>) -> (String, Vec<u8>) {
    let end = response.windows(4).position(|it| it == b"\r\n\r\n").unwrap() + 4;
    let head = String::from_utf8(response[..end].to_vec()).unwrap();
    (head, response[end..].to_vec())
}

fn joined(head: &str, body: &[u8]) -> Vec<u8> {
    [head.as_bytes(), body].concat()
}

fn replaced(response: Vec<u8>, from: &str, to: &str) -> Vec<u8> {
    let (head, body) = split(response);
    joined(&head.replace(from, to), &body)
}

/// Without a line of the head.
fn without(response: Vec<u8>, name: &str) -> Vec<u8> {
    let (head, body) = split(response);
    let lines = head.split_inclusive("\r\n").filter(|line| !line.starts_with(name));
    joined(&lines.collect::<String>(), &body)
}

/// With another body, whose length is announced.
fn with_body(response: Vec<u8>, change: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
    let (head, mut body) = split(response);
    let before = format!("Content-Length: {}\r\n", body.len());
    change(&mut body);
    joined(&head.replace(&before, &format!("Content-Length: {}\r\n", body.len())), &body)
}

/// With another `Content-Range`, made of the range and the size in the right one.
fn with_range(response: Vec<u8>, change: impl Fn(&str, u64) -> String) -> Vec<u8> {
    let (head, body) = split(response);
    let line = |line: &str| match line.strip_prefix("Content-Range: bytes ") {
        Some(range) => {
            let (range, size) = range.trim_end().split_once('/').unwrap();
            format!("Content-Range: {}\r\n", change(range, size.parse().unwrap()))
        }
        None => line.to_owned(),
    };
    joined(&head.split_inclusive("\r\n").map(line).collect::<String>(), &body)
}

/// A body that does not say how long it is, and is very long.
fn endless(response: Vec<u8>) -> Vec<u8> {
    let (head, body) = split(response);
    let length = format!("Content-Length: {}", body.len());
    let chunk = [b"100000\r\n", &[0; 0x10_0000][..], b"\r\n"].concat();
    joined(&head.replace(&length, "Transfer-Encoding: chunked"), &chunk.repeat(32))
}
