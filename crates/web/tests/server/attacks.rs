//! Requests that no page of ours makes.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr};
use std::time::{Duration, Instant};

use sstkit_web::{InspectedSource, ServerOptions};

use crate::client::{Response, Running, source, testdata};

const TABLE: &str = "tables/one-entry.sst";

fn head(server: &Running, method: &str, target: &str, headers: &str) -> String {
    let port = server.port;
    format!(
        "{method} {target} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n{headers}\r\n"
    )
}

#[test]
fn a_name_that_leads_here_is_refused() {
    let server = Running::serve(&[TABLE]);
    for host in
        ["evil.example", "evil.example:80", "127.0.0.1.nip.io", "localhost.evil.example", "", "a b"]
    {
        for target in ["/", "/index.json", "/0/table.json", "/assets/app.js", "/nothing", "/%"] {
            let request =
                format!("GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
            let response = server.send(request);
            assert_eq!(response.status, 421, "{host} {target}");
            assert!(!response.text().contains("one-entry"), "{host}");
        }
    }
    for host in ["localhost", "127.0.0.1:1", "[::1]:9", "LOCALHOST:80"] {
        let request =
            format!("GET /0/table.json HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        assert_eq!(server.send(request).status, 200, "{host}");
    }
}

#[test]
fn pages_of_other_sites_are_refused() {
    let server = Running::serve(&[TABLE]);
    for origin in ["http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1"] {
        let response = server.get_with("/0/table.json", &format!("Origin: {origin}\r\n"));
        assert_eq!(response.status, 403, "{origin}");
        assert!(!response.headers.contains_key("access-control-allow-origin"));
    }
    let own = format!("Origin: http://127.0.0.1:{}\r\n", server.port);
    assert_eq!(server.get_with("/0/table.json", &own).status, 200);
    // An image or script of another site has no Origin.
    for site in ["cross-site", "same-site"] {
        let headers = format!("Sec-Fetch-Site: {site}\r\nSec-Fetch-Mode: no-cors\r\n");
        assert_eq!(server.get_with("/0/table.json", &headers).status, 403);
        assert_eq!(server.get_with("/0/verify.ndjson", &headers).status, 403);
        let link = format!("Sec-Fetch-Site: {site}\r\nSec-Fetch-Mode: navigate\r\n");
        assert_eq!(server.get_with("/0/table", &link).status, 200);
        assert_eq!(server.get_with("/0/table.json", &link).status, 403);
    }
}

#[test]
fn only_reading_is_allowed() {
    let server = Running::serve(&[TABLE]);
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "get", "BREW"] {
        let response = server.send(head(&server, method, "/0/table.json", ""));
        assert_eq!(response.status, 405, "{method}");
        assert_eq!(response.headers["allow"], "GET, HEAD");
    }
    let whole = server.get("/0/table.json");
    let response = server.send(head(&server, "HEAD", "/0/table.json", ""));
    assert_eq!((response.status, response.body.len()), (200, 0));
    assert_eq!(response.headers["content-length"], whole.body.len().to_string());
}

#[test]
fn bodies_are_refused_and_never_taken_for_a_request() {
    let server = Running::serve(&[TABLE]);
    let smuggled = "GET /0/table.json HTTP/1.1\r\nHost: localhost\r\n\r\n";
    for header in [
        format!("Content-Length: {}\r\n", smuggled.len()),
        "Transfer-Encoding: chunked\r\n".to_owned(),
        "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n".to_owned(),
        "Expect: 100-continue\r\n".to_owned(),
        "Upgrade: websocket\r\n".to_owned(),
    ] {
        let response = server.send(head(&server, "GET", "/", &header) + smuggled);
        assert_eq!(response.status, 400, "{header}");
        // One answer, and nothing after it.
        assert_eq!(response.text(), "requests have no body\n", "{header}");
    }
}

#[test]
fn addresses_lead_nowhere_else() {
    let server = Running::serve(&[TABLE]);
    for target in [
        "/../../../etc/passwd",
        "/assets/../Cargo.toml",
        "/assets/..%2f..%2fCargo.toml",
        "/assets/%2e%2e/%2e%2e/Cargo.toml",
        "/assets/%252e%252e/Cargo.toml",
        "/assets//etc/passwd",
        "/0/../../etc/passwd",
        "/0/table%00.json",
        "//etc/passwd",
        "/0/table.json/",
        "/99999999999999999999/table.json",
        "/\u{e9}",
    ] {
        let response = server.get(target);
        assert_eq!(response.status, 404, "{target}: {}", response.text());
    }
    // The last one is an overlong encoding of `../`.
    for target in
        ["*", "http://127.0.0.1/0/table.json", "0/table.json", "/%zz", "/assets/%c0%ae%c0%ae%c0%af"]
    {
        let response = server.send(head(&server, "GET", target, ""));
        assert_eq!(response.status, 400, "{target}");
    }
}

/// Line ends in an address do not become headers of the answer.
#[test]
fn addresses_write_no_headers() {
    let server = Running::serve_with(&[TABLE], &ServerOptions::default().needs_token(true));
    let token = server.url.split_once("token=").expect("a token").1;
    let injected = "%0d%0aSet-Cookie:%20injected=1%0d%0a%0d%0a";
    for target in [
        format!("/{injected}?token={token}"),
        format!("/0/table?token={token}{injected}"),
        format!("/0/table?token={token}&file={injected}"),
        format!("/0/lookup.json?token={token}&key={injected}"),
    ] {
        let response = server.get(&target);
        let cookie = response.headers.get("set-cookie").map_or("", String::as_str);
        assert!(!cookie.contains("injected"), "{target}: {cookie}");
        assert!(response.headers.contains_key("content-security-policy"), "{target}");
    }
    let response = server.send(head(&server, "GET", "/0/table\r\nX-Injected: 1", ""));
    assert_eq!(response.status, 400);
}

#[test]
fn large_heads_are_refused() {
    let server = Running::serve(&[TABLE]);
    let long = "a".repeat(1 << 20);
    let response = server.send(head(&server, "GET", "/", &format!("X: {long}\r\n")));
    assert_eq!(response.status, 431);
    let many = "X: y\r\n".repeat(10_000);
    assert_eq!(server.send(head(&server, "GET", "/", &many)).status, 431);
    assert_eq!(server.send(head(&server, "GET", &format!("/?{}", &long[..9_000]), "")).status, 414);
    let no_end = server.send("GET / HTTP/1.1\r\n".to_owned() + &"Y: z\r\n".repeat(10_000));
    assert_eq!(no_end.status, 431);
    assert_eq!(server.send([0xff; 100]).status, 400);
    assert_eq!(server.send(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03").status, 400);
    // It still answers.
    assert_eq!(server.get("/0/table.json").status, 200);
}

/// A client that sends a byte now and then is cut off, and does not keep others from being answered.
#[test]
fn slow_clients_are_cut_off() {
    let server = Running::serve(&[TABLE]);
    let mut slow: Vec<_> = (0..40).map(|_| server.connect()).collect();
    for stream in &mut slow {
        stream.write_all(b"GET / HT").unwrap();
    }
    assert_eq!(server.get("/0/table.json").status, 200);
    let start = Instant::now();
    let mut first = slow.remove(0);
    let response = loop {
        // The server may have closed it already.
        let _ = first.write_all(b"T");
        std::thread::sleep(Duration::from_millis(200));
        first.set_nonblocking(true).unwrap();
        let is_answered = first.peek(&mut [0]).is_ok();
        first.set_nonblocking(false).unwrap();
        if is_answered {
            break Response::read(&mut first);
        }
        assert!(start.elapsed() < Duration::from_secs(60), "it was never cut off");
    };
    // "GET / HTTTTT" is no HTTP at all, which is noticed before the time is up.
    assert!([400, 408].contains(&response.status), "{}", response.status);
    let mut idle = slow.remove(0);
    assert_eq!(Response::read(&mut idle).status, 408);
}

/// A table with values of a megabyte.
fn large_values(folder: &std::path::Path) -> String {
    let path = folder.join("large.sst");
    let options = sstkit_table::TableOptions::rocksdb();
    let mut writer = sstkit_table::TableWriter::create(&path, &options).unwrap();
    for key in 0..40 {
        let value = vec![key; 1 << 20];
        writer.put(format!("key{key:03}").as_bytes(), &value).unwrap();
    }
    writer.finish().unwrap();
    path.to_str().unwrap().to_owned()
}

/// Answers are limited, whatever the address says.
#[test]
fn no_answer_is_large() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::serve(&[&large_values(folder.path())]);
    let mut target = "/0/scan.json?limit=1000&value_bytes=1048576&encoding=hex".to_owned();
    let mut keys = Vec::new();
    loop {
        let response = server.get(&target);
        assert!(response.body.len() < 5 << 20, "{target}: {} bytes", response.body.len());
        let page: serde_json::Value = serde_json::from_slice(&response.body).unwrap();
        let rows = page["rows"].as_array().unwrap();
        assert!(!rows.is_empty(), "{target}");
        keys.extend(rows.iter().map(|row| row["key"].as_str().unwrap().to_owned()));
        assert_eq!(page["is_cut"], page["has_after"], "{target}");
        if page["has_after"] == false {
            break;
        }
        let last = keys.last().unwrap();
        target = format!("/0/scan.json?value_bytes=1048576&encoding=hex&limit=1000&after={last}");
    }
    // The pages together have every key once.
    assert!(keys.len() == 40 && keys.is_sorted(), "{keys:?}");
    let found = server.get("/0/lookup.json?key=key007");
    assert!(found.body.len() < 1 << 20, "{} bytes", found.body.len());
    let found: serde_json::Value = serde_json::from_slice(&found.body).unwrap();
    assert_eq!((&found["answer"], &found["is_cut"]), (&"found".into(), &true.into()));
}

/// Clients that request much and read nothing keep nobody else waiting.
#[test]
fn clients_that_do_not_read_lock_nobody_out() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::serve(&[&large_values(folder.path())]);
    let target = "/0/scan.json?limit=1000&value_bytes=1048576";
    let request = head(&server, "GET", target, "").replace("close", "keep-alive").repeat(8);
    // More of them than there are permits.
    let count = 2 * std::thread::available_parallelism().map_or(1, usize::from) + 8;
    let mut deaf: Vec<_> = (0..count).map(|_| server.connect()).collect();
    for stream in &mut deaf {
        stream.write_all(request.as_bytes()).unwrap();
    }
    // Each is being answered: before that, it only waits for its turn.
    for stream in &deaf {
        assert_eq!(stream.peek(&mut [0]).unwrap(), 1);
    }
    for _ in 0..4 {
        assert_eq!(server.get("/index.json").status, 200);
    }
}

/// Clients that read nothing do not keep the server from ending: it shuts their connections.
#[test]
fn clients_that_do_not_read_do_not_keep_the_server_running() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::serve(&[&large_values(folder.path())]);
    let target = "/0/scan.json?limit=1000&value_bytes=1048576";
    let request = head(&server, "GET", target, "").replace("close", "keep-alive").repeat(8);
    let mut deaf: Vec<_> = (0..4).map(|_| server.connect()).collect();
    for stream in &mut deaf {
        stream.write_all(request.as_bytes()).unwrap();
        assert_eq!(stream.peek(&mut [0]).unwrap(), 1);
    }
    let idle = server.connect();
    drop(server);
    for mut stream in deaf.into_iter().chain([idle]) {
        // What is left of the answer, and then the end.
        let _ = stream.read_to_end(&mut Vec::new());
    }
}

/// Numbers that no page of ours writes are answered or refused, and the server continues.
#[test]
fn extreme_numbers_are_answered() {
    let names = [
        "databases/rocksdb-leveled-bloom",
        TABLE,
        "databases/leveldb-bloom-snappy",
        "tables/partitioned-decoupled-bloom-fv7.sst",
    ];
    let server = Running::serve(&names);
    let file = &server.json("/2/database.json")["levels"][0]["files"][0]["number"];
    let pages: [(&str, &[&str]); 12] = [
        ("/1/whatif.json?a=b", &["keys", "filters"]),
        ("/0/budget.json?a=b", &["bytes"]),
        ("/0/files.json?a=b", &["from", "limit"]),
        ("/0/history.json?a=b", &["from", "limit"]),
        ("/1/blocks.json?a=b", &["from", "limit", "file"]),
        ("/1/details.json?a=b", &["from", "limit"]),
        ("/1/block.json?offset=0", &["bytes_from", "bytes", "entries_from", "entries"]),
        ("/1/block.json?a=b", &["offset"]),
        ("/3/filter.json?a=b", &["part", "cells", "parts", "measure"]),
        (&format!("/2/filter.json?file={file}"), &["part", "cells", "measure"]),
        ("/1/scan.json?a=b", &["limit", "value_bytes"]),
        ("/0/table.json?a=b", &["file"]),
    ];
    for (page, parameters) in pages {
        for parameter in parameters {
            for number in [
                "0",
                "1",
                "4294967295",
                "4294967296",
                "1099511627776",
                "9223372036854775807",
                "9223372036854775808",
                "18446744073709551615",
                "18446744073709551616",
                "-1",
                "1e9",
                "0x10",
                "%00",
            ] {
                let target = format!("{page}&{parameter}={number}");
                let response = server.get(&target);
                let status = response.status;
                assert!(
                    [200, 400, 404].contains(&status),
                    "{target}: {status} {}",
                    response.text()
                );
                assert!(response.body.len() < 2 << 20, "{target}: {} bytes", response.body.len());
            }
        }
    }
    // The answer says what it is of.
    let curves = server.json("/1/whatif.json?keys=18446744073709551615");
    assert_eq!(curves["keys"], 1_u64 << 40);
    let rate = &curves["curves"][2]["points"][0]["rate"];
    assert_eq!(rate, 1.0, "{rate}");
}

/// Work for clients that are gone ends, and keeps no permit.
#[test]
fn abandoned_requests_lock_nobody_out() {
    let server = Running::serve(&[TABLE]);
    for round in 0..200_u64 {
        let mut gone = server.connect();
        // Each with numbers that were not computed before.
        let keys = (1 << 39) + round * 1_000_003;
        let target = format!("/0/whatif.json?keys={keys}");
        gone.write_all(head(&server, "GET", &target, "").as_bytes()).unwrap();
        gone.shutdown(Shutdown::Both).unwrap();
    }
    // Connections count until the server has noticed that the client is gone.
    let is_answered = || match server.get("/0/table.json").status {
        200 => true,
        _ => {
            std::thread::sleep(std::time::Duration::from_millis(50));
            false
        }
    };
    assert!((0..100).any(|_| is_answered()));
}

/// A table with keys of megabytes that take a few bytes of the file.
fn long_keys(folder: &std::path::Path) -> String {
    let path = folder.join("long.sst");
    let options = sstkit_table::TableOptions::rocksdb().compression(sstkit_table::raw::Codec::Zstd);
    let options = options.filter("bloomfilter:10".parse().unwrap());
    let mut writer = sstkit_table::TableWriter::create(&path, &options).unwrap();
    for last in 0..4 {
        let mut key = vec![0xff; 2 << 20];
        key.push(last);
        writer.put(&key, b"value").unwrap();
    }
    writer.finish().unwrap();
    path.to_str().unwrap().to_owned()
}

/// Keys are cut, and the answer says so.
#[test]
fn long_keys_make_no_long_answers() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::serve(&[&long_keys(folder.path())]);
    let blocks = server.json("/0/blocks.json");
    let mut targets: Vec<String> = [
        "/index.json",
        "/0/table.json",
        "/0/blocks.json",
        "/0/details.json",
        "/0/filter.json",
        "/0/probe.json?key=abc",
        "/0/lookup.json?key=abc",
        "/0/lookup.json?key=abc&encoding=hex",
        "/0/versions.json?key=abc",
        "/0/scan.json",
        "/0/scan.json?encoding=hex&last=1",
        "/0/scan.json?prefix=%5Cxff",
        "/0/health.json",
        "/0/verify.ndjson",
    ]
    .map(str::to_owned)
    .into();
    let offsets = blocks["blocks"].as_array().unwrap().iter().map(|block| block[1].clone());
    targets.extend(offsets.map(|offset| format!("/0/block.json?offset={offset}")));
    for target in targets {
        let response = server.get(&target);
        assert!(response.body.len() < 256 << 10, "{target}: {} bytes", response.body.len());
    }
    let table = server.json("/0/table.json");
    let shown = table["info"]["smallest_key"].as_str().unwrap();
    assert!(shown.ends_with('…'), "{shown}");
    let key = table["cut"].as_array().unwrap().iter().find(|it| it["at"] == "/info/smallest_key");
    assert_eq!(key.unwrap()["length"], 4 * (2 << 20) + 4);
    let rows = &server.json("/0/scan.json?encoding=hex")["rows"];
    assert_eq!(rows.as_array().unwrap().len(), 4);
    assert_eq!(rows[0]["key_length"], (2 << 20) + 1);
}

/// A panic is a failed page, and nothing more: the server continues, and ends without one.
#[test]
fn a_panic_ends_no_server() {
    let panics = InspectedSource::new("panics", || panic!("as the test wants it"));
    let sources = vec![panics, source(&testdata(TABLE))];
    let server = Running::serve_sources(sources, &ServerOptions::default());
    for _ in 0..40 {
        let response = server.get("/0/table.json");
        assert_eq!(response.status, 500, "{}", response.text());
        assert!(response.text().contains("this is a bug"), "{}", response.text());
    }
    // No page could be made of it.
    let mut stream = server.connect();
    stream.write_all(head(&server, "GET", "/0/verify.ndjson", "").as_bytes()).unwrap();
    let _ = stream.read_to_end(&mut Vec::new());
    assert_eq!(server.get("/1/table.json").status, 200);
}

#[test]
fn too_many_connections_are_refused_and_then_served_again() {
    let server = Running::serve(&[TABLE]);
    let held: Vec<_> = (0..200).map(|_| server.connect()).collect();
    let refused = held.iter().skip(128).filter(|stream| {
        let mut stream: &std::net::TcpStream = stream;
        let mut start = [0; 12];
        stream.read_exact(&mut start).is_ok() && start == *b"HTTP/1.1 503"
    });
    assert!(refused.count() > 0);
    drop(held);
    let start = Instant::now();
    loop {
        let mut stream = server.connect();
        let _ = stream.write_all(head(&server, "GET", "/0/table.json", "").as_bytes());
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        if bytes.starts_with(b"HTTP/1.1 200") {
            break;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "it never recovered");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn responses_keep_browsers_in_bounds() {
    let server = Running::serve(&[TABLE]);
    for target in ["/", "/0/table", "/0/table.json", "/assets/app.js", "/nothing"] {
        let headers = server.get(target).headers;
        let policy = &headers["content-security-policy"];
        for rule in
            ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"]
        {
            assert!(policy.contains(rule), "{target}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(headers["x-content-type-options"], "nosniff");
        assert_eq!(headers["cross-origin-resource-policy"], "same-origin");
        assert_eq!(headers["cache-control"], "no-store");
        assert_eq!(headers["referrer-policy"], "no-referrer");
    }
    assert_eq!(server.get("/0/table.json").headers["content-type"], "application/json");
}

#[test]
fn beyond_this_machine_the_token_is_needed() {
    let all = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
    let server = Running::serve_with(&[TABLE], &ServerOptions::default().address(all));
    let token = server.url.split_once("token=").expect("a token").1.to_owned();
    assert_eq!(token.len(), 32);
    for target in ["/", "/0/table.json", "/assets/app.js", "/nothing"] {
        assert_eq!(server.get(target).status, 401, "{target}");
    }
    assert_eq!(server.get(&format!("/0/table.json?token={}x", &token[1..])).status, 401);
    assert_eq!(server.get(&format!("/0/table.json?token={token}")).status, 200);
    let page = server.get(&format!("/?token={token}"));
    let cookie = &page.headers["set-cookie"];
    // Browsers send cookies to all ports of a host: those of two servers have two names.
    assert!(cookie.starts_with(&format!("sst_token_{}=", server.port)), "{cookie}");
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    let cookie = cookie.split(';').next().unwrap();
    assert_eq!(server.get_with("/0/table.json", &format!("Cookie: {cookie}\r\n")).status, 200);
    let bearer = format!("Authorization: Bearer {token}\r\n");
    assert_eq!(server.get_with("/0/table.json", &bearer).status, 200);
    // The token does not help a page of another site.
    let foreign = format!("{bearer}Origin: http://evil.example\r\n");
    assert_eq!(server.get_with("/0/table.json", &foreign).status, 403);

    let local = Running::serve_with(&[TABLE], &ServerOptions::default().needs_token(true));
    assert_eq!(local.get("/0/table.json").status, 401);
}

#[test]
fn a_connection_serves_many_requests() {
    let server = Running::serve(&[TABLE]);
    let mut stream = server.connect();
    let request = format!("GET /index.json HTTP/1.1\r\nHost: localhost:{}\r\n\r\n", server.port);
    // Pipelined: the second is read before the first is answered.
    stream.write_all(request.repeat(5).as_bytes()).unwrap();
    stream.write_all(head(&server, "GET", "/index.json", "").as_bytes()).unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let answers = String::from_utf8(bytes).unwrap().matches("HTTP/1.1 200 OK").count();
    assert_eq!(answers, 6);
    // A client that leaves in the middle disturbs nobody.
    let mut gone = server.connect();
    gone.write_all(request.as_bytes()).unwrap();
    gone.shutdown(Shutdown::Both).unwrap();
    assert_eq!(server.get("/index.json").status, 200);
}
