//! A server on golden data, and a client that can send anything.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;
use sstkit_db::DatabaseOptions;
use sstkit_table::TableReadOptions;
use sstkit_web::{InspectedSource, Inspector, Opened, Server, ServerOptions};

pub(crate) fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name)
}

/// Copies a database of `testdata` without the last table of its last level. Returns its number.
pub(crate) fn without_last_table(name: &str, to: &Path) -> u64 {
    let database = sstkit_db::Database::open(testdata(name)).expect("it opens");
    let levels = database.default_column_family().levels();
    let last = levels.last().and_then(|level| level.files.last()).expect("a table");
    std::fs::create_dir(to).expect("the folder");
    for entry in std::fs::read_dir(testdata(name)).expect("the files") {
        let path = entry.expect("a file").path();
        if path != last.path() {
            std::fs::copy(&path, to.join(path.file_name().expect("a name"))).expect("a copy");
        }
    }
    last.number()
}

/// A server that runs until it is dropped.
pub(crate) struct Running {
    pub(crate) port: u16,
    pub(crate) url: String,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    /// Serves tables and databases of `testdata`.
    pub(crate) fn serve(names: &[&str]) -> Self {
        Self::serve_with(names, &ServerOptions::default())
    }

    pub(crate) fn serve_with(names: &[&str], options: &ServerOptions) -> Self {
        Self::serve_sources(names.iter().map(|name| source(&testdata(name))).collect(), options)
    }

    pub(crate) fn serve_sources(sources: Vec<InspectedSource>, options: &ServerOptions) -> Self {
        let server = Server::bind(Inspector::new(sources), options).expect("a free port");
        let (port, url) = (server.port(), server.url());
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        let thread = std::thread::spawn(move || server.run(|| seen.load(Ordering::Relaxed)));
        Self { port, url, stop, thread: Some(thread) }
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let address = SocketAddr::from(([127, 0, 0, 1], self.port));
        let stream = TcpStream::connect(address).expect("the server listens");
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout");
        stream
    }

    /// Sends bytes on a new connection, and reads until the server closes it.
    pub(crate) fn send(&self, bytes: impl AsRef<[u8]>) -> Response {
        let mut stream = self.connect();
        stream.write_all(bytes.as_ref()).expect("the server reads");
        Response::read(&mut stream)
    }

    /// A request with these further header lines.
    pub(crate) fn get_with(&self, target: &str, headers: &str) -> Response {
        let host = format!("127.0.0.1:{}", self.port);
        self.send(format!(
            "GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}\r\n"
        ))
    }

    pub(crate) fn get(&self, target: &str) -> Response {
        self.get_with(target, "")
    }

    /// The JSON of an address, which must exist.
    pub(crate) fn json(&self, target: &str) -> Value {
        let response = self.get(target);
        assert_eq!(response.status, 200, "{target}: {}", response.text());
        serde_json::from_slice(&response.body).expect("JSON")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the server did not panic");
        }
    }
}

pub(crate) fn source(path: &Path) -> InspectedSource {
    // Pages show the name, and pictures of them should not show where it is on this machine.
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let path = path.to_path_buf();
    InspectedSource::new(name, move || match path.is_dir() {
        true => Opened::database(&path, &DatabaseOptions::default()),
        false => Opened::table(&path, &TableReadOptions::default()),
    })
}

#[derive(Debug, Default)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Response {
    /// Reads what the server sends until it closes the connection.
    pub(crate) fn read(stream: &mut TcpStream) -> Self {
        let mut bytes = Vec::new();
        // A reset after the answer is fine.
        let _ = stream.read_to_end(&mut bytes);
        Self::parse(&bytes)
    }

    fn parse(bytes: &[u8]) -> Self {
        let end = bytes.windows(4).position(|it| it == b"\r\n\r\n");
        let Some(end) = end else {
            panic!("no head: {:?}", String::from_utf8_lossy(bytes));
        };
        let head = String::from_utf8(bytes[..end].to_vec()).expect("a head is text");
        let mut lines = head.split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1)).expect("a status");
        let headers = lines.filter_map(|line| line.split_once(": "));
        let headers = headers.map(|(name, value)| (name.to_lowercase(), value.to_owned()));
        Self {
            status: status.parse().expect("a number"),
            headers: headers.collect(),
            body: bytes[end + 4..].to_vec(),
        }
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}
