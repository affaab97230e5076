//! Verification: events while it runs, one at a time, stopped when its client goes.

use std::io::{BufRead as _, BufReader, Write as _};

use serde_json::Value;

use crate::client::Running;

/// The lines of a chunked body.
fn events(server: &Running, source: usize) -> Vec<Value> {
    let response = server.get(&format!("/{source}/verify.ndjson"));
    assert_eq!(response.status, 200, "{}", response.text());
    assert_eq!(response.headers["transfer-encoding"], "chunked");
    let text = response.text();
    text.split("\r\n")
        .filter(|line| line.starts_with('{'))
        .map(|it| serde_json::from_str(it).unwrap())
        .collect()
}

#[test]
fn a_sound_database_is_verified() {
    let server = Running::serve(&["databases/rocksdb-leveled-bloom", "tables/fv7-bloom10.sst"]);
    assert_eq!(server.json("/0/health.json")["last"], Value::Null);
    for source in [0, 1] {
        let events = events(&server, source);
        let kinds: Vec<&str> = events.iter().map(|it| it["event"].as_str().unwrap()).collect();
        assert_eq!((kinds[0], *kinds.last().unwrap()), ("start", "end"));
        let files = kinds.iter().filter(|it| **it == "file").count() as u64;
        let end = events.last().unwrap();
        assert_eq!((end["status"].as_str(), end["files"].as_u64()), (Some("sound"), Some(files)));
        let health = server.json(&format!("/{source}/health.json"));
        assert_eq!(health["running"], false);
        assert_eq!(health["last"]["reports"].as_array().unwrap().len() as u64, files);
    }
}

#[test]
fn damage_is_found_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.sst");
    let mut bytes = std::fs::read(crate::client::testdata("tables/fv7-bloom10.sst")).unwrap();
    bytes[5_000] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let server = Running::serve(&[path.to_str().unwrap()]);
    let events = events(&server, 0);
    let report = &events[1]["report"];
    assert_eq!(events.last().unwrap()["status"], "damaged");
    let problem = &report["problems"][0];
    assert_eq!(
        (problem["block"].as_str(), problem["offset"].as_u64()),
        (Some("data"), Some(4_015))
    );
    // The page of the block shows the stored bytes, and why they cannot be decoded.
    let block = server.json("/0/block.json?offset=4015");
    assert!(block["problem"]["message"].as_str().unwrap().contains("checksum"));
    assert!(!block["contents"]["hex"].as_str().unwrap().is_empty());
}

/// Starts a verification and leaves; another one can be started, which fails while one is running.
#[test]
fn a_client_that_goes_stops_it() {
    let server = Running::serve(&["databases/rocksdb-leveled-bloom"]);
    for _ in 0..20 {
        let mut stream = server.connect();
        let request =
            format!("GET /0/verify.ndjson HTTP/1.1\r\nHost: localhost:{}\r\n\r\n", server.port);
        stream.write_all(request.as_bytes()).unwrap();
        let mut line = String::new();
        BufReader::new(&stream).read_line(&mut line).unwrap();
        assert!(line.starts_with("HTTP/1.1 200") || line.starts_with("HTTP/1.1 409"), "{line}");
    }
    let start = std::time::Instant::now();
    while server.json("/0/health.json")["running"] == true {
        assert!(start.elapsed().as_secs() < 60, "it was never stopped");
    }
    assert_eq!(events(&server, 0).last().unwrap()["status"], "sound");
}
