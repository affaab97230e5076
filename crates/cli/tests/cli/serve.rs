//! `sst serve` and `sst report`, run as a user runs them.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use crate::run::{interruptible, names_in, run, sst, testdata};

fn table(name: &str) -> String {
    testdata("tables").join(name).display().to_string()
}

/// A server, and its address without the slash at the end.
fn serve(arguments: &[&str]) -> (Child, String) {
    let mut child = interruptible()
        .args(["serve", "--no-open"])
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("runs");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("an address");
    (child, line.trim_end().trim_end_matches('/').to_owned())
}

fn get(url: &str, target: &str) -> String {
    let address = url.strip_prefix("http://").expect("an address");
    let mut stream = TcpStream::connect(address).expect("it listens");
    let request = format!("GET {target} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    answer
}

#[test]
#[cfg(unix)]
fn it_answers_until_ctrl_c() {
    for signal in ["-INT", "-TERM"] {
        let (mut child, url) = serve(&[&table("one-entry.sst")]);
        assert!(url.starts_with("http://127.0.0.1:"), "{url}");
        assert!(get(&url, "/").starts_with("HTTP/1.1 200 OK\r\n"));
        assert!(get(&url, "/0/table.json").contains("\"kind\":\"rocksdb-table\""));
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status();
        assert!(sent.expect("kill").success());
        assert_eq!(child.wait().expect("ends").code(), Some(0), "{signal}");
        let mut messages = String::new();
        child.stderr.take().expect("piped").read_to_string(&mut messages).expect("text");
        assert_eq!(messages, "sst: press Ctrl-C to stop\n");
    }
}

#[test]
fn what_cannot_be_served_says_why() {
    let missing = run(["serve", "--no-open", "/nothing/here"]);
    assert_eq!(missing.status, 2);
    assert!(missing.stderr.starts_with("sst: /nothing/here: "), "{}", missing.stderr);
    let (mut child, url) = serve(&[&table("one-entry.sst")]);
    let port = url.rsplit(':').next().expect("a port");
    let taken = run(["serve", "--no-open", "--port", port, &table("one-entry.sst")]);
    assert_eq!(taken.status, 2);
    assert!(taken.stderr.contains(&format!("listening on 127.0.0.1:{port}")), "{}", taken.stderr);
    child.kill().expect("ends");
    child.wait().expect("ends");
}

/// A file that is no table is shown with the reason, beside the others.
#[test]
fn one_bad_file_does_not_stop_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let bad = folder.path().join("bad.sst");
    std::fs::write(&bad, b"not a table").unwrap();
    let (mut child, url) =
        serve(&[bad.to_str().unwrap(), &table("one-entry.sst"), "/nothing/here"]);
    let index = get(&url, "/index.json");
    assert_eq!(index.matches("\"kind\":\"failed\"").count(), 2, "{index}");
    assert!(index.contains("\"kind\":\"table\"") && index.contains("/nothing/here"), "{index}");
    assert!(get(&url, "/1/table.json").starts_with("HTTP/1.1 200 OK\r\n"));
    child.kill().expect("ends");
    child.wait().expect("ends");
}

#[test]
fn a_report_appears_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.html");
    let (table, path) = (table("fv7-bloom10.sst"), path.to_str().unwrap());
    let first = run(["report", &table, "-o", path, "--format", "json"]);
    assert_eq!(first.status, 0, "{}", first.stderr);
    let done = &first.json()[0];
    let html = std::fs::read_to_string(path).unwrap();
    assert_eq!(done["bytes"].as_u64(), Some(html.len() as u64));
    assert!(html.starts_with("<!doctype html>") && html.trim_end().ends_with("</html>"));
    // The data can be read as the page reads it.
    let data = html.split_once("id=\"report-data\">").unwrap().1.split_once("</script>").unwrap().0;
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    assert_eq!(data["pages"].as_object().unwrap().len() as u64, done["pages"].as_u64().unwrap());
    assert_eq!(data["pages"]["/0/health.json"]["last"]["status"], "sound");

    let again = run(["report", &table, "-o", path]);
    assert_eq!((again.status, again.stdout.as_str()), (2, ""));
    assert!(again.stderr.contains("use --force"), "{}", again.stderr);
    let small = run(["report", &table, "-o", path, "--force", "--no-verify", "--max-size", "64K"]);
    assert_eq!(small.status, 0, "{}", small.stderr);
    assert!(small.stdout.contains("left out because of --max-size"), "{}", small.stdout);
    assert_eq!(names_in(folder.path()), ["report.html"]);

    let nowhere = folder.path().join("missing/report.html");
    let failed = sst().args(["report", &table, "-o"]).arg(&nowhere).output().unwrap();
    assert_eq!(failed.status.code(), Some(2));
    assert_eq!(names_in(folder.path()), ["report.html"]);
}
