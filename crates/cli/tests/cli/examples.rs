//! The examples of the help texts, run as written.

#![cfg(all(unix, feature = "parquet", feature = "serve"))]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use crate::parquet;
use crate::run::{COMMANDS, copy_folder, run, testdata};

/// Other programs that the examples use.
const OTHERS: [(&str, &str); 5] =
    [("jq", "cat"), ("less", "cat"), ("man", "cat"), ("xdg-open", "true"), ("zcat", "cat \"$@\"")];

/// A home with everything that the examples talk about.
fn home() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let home = folder.path();
    for below in [
        "bin",
        ".zfunc",
        ".config/fish/completions",
        ".local/share/man/man1",
        ".local/share/bash-completion/completions",
    ] {
        fs::create_dir_all(home.join(below)).expect("a folder");
    }
    for (name, does) in OTHERS {
        let path = home.join("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{does}\n")).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("permitted");
    }
    for (name, golden) in [
        ("mydb", "databases/rocksdb-column-families"),
        ("rocksdb", "databases/rocksdb-leveled-bloom"),
        ("leveldb", "databases/leveldb-bloom-snappy"),
    ] {
        copy_folder(&testdata(golden), &home.join(name));
    }
    for name in ["000011.sst", "a.sst", "b.sst", "old.sst", "new.sst", "part-1.sst"] {
        fs::copy(testdata("tables/fv7-bloom10.sst"), home.join(name)).expect("copied");
    }
    fs::copy(testdata("tables/leveldb-table-bloom10-c0.ldb"), home.join("000005.ldb"))
        .expect("copied");
    fs::copy(testdata("databases/rocksdb-wal-plus-tables/000012.log"), home.join("000012.log"))
        .expect("copied");
    fs::copy(testdata("databases/rocksdb-blobs/MANIFEST-000005"), home.join("MANIFEST-000005"))
        .expect("copied");
    for (name, text) in [
        ("users.ndjson", "{\"key\":\"a\",\"value\":\"1\"}\n"),
        ("dump.ndjson.gz", "{\"key\":\"a\",\"value\":\"1\"}\n"),
        ("users.csv", "id,name\n1,alice\n"),
        ("users.tsv", "1\talice\n"),
    ] {
        fs::write(home.join(name), text).expect("written");
    }
    parquet::write(&home.join("part-1.parquet"));
    // A plan with both parts done.
    let path = |name: &str| home.join(name).display().to_string();
    let (parts, users) = (path("parts"), path("users.ndjson"));
    let attempt = ["part", &parts, &users, "--skip-others", "--attempt", "task-17-1", "--part"];
    for arguments in [
        vec!["plan", "-o", &parts, "--split-at", "m"],
        [&attempt[..], &["0"]].concat(),
        [&attempt[..], &["1"]].concat(),
    ] {
        let ran = run(&arguments);
        assert_eq!(ran.status, 0, "{arguments:?}: {}", ran.stderr);
    }
    folder
}

fn run_example(line: &str) -> String {
    let folder = home();
    let home = folder.path();
    let line = line.replace("/var/lib/mydb", "mydb").replace("path/to/db", "mydb");
    // A server ends with Ctrl-C; the port of the example may be in use.
    let line = match line.starts_with("sst serve") {
        true => format!("timeout -s INT 1 {}", line.replace("--port 8080", "--port 0")),
        false => line,
    };
    if let Some((_, output)) = line.split_once(" -o ") {
        let output = home.join(output.split(' ').next().unwrap_or_default());
        if output.is_file() {
            fs::remove_file(output).expect("removed");
        } else if ["rocksdb", "leveldb", "parts"].map(|name| home.join(name)).contains(&output) {
            // The input of one example is the output of another.
            fs::remove_dir_all(output).expect("removed");
        }
    }
    let sst = Path::new(env!("CARGO_BIN_EXE_sst")).parent().expect("a folder").display();
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("sh")
        .args(["-c", &line])
        .env("PATH", format!("{}:{sst}:{path}", home.join("bin").display()))
        .env("HOME", home)
        .current_dir(home)
        .output()
        .expect("runs");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn every_example_runs() {
    let mut count = 0;
    for command in COMMANDS {
        let help = run([command, "--help"]).stdout;
        let (_, examples) = help.split_once("Examples:\n").expect(command);
        for line in examples.lines().filter(|line| line.contains("sst ")) {
            let messages = run_example(line.trim());
            // Not to be found is an answer, too.
            let is_bad = |message: &&str| {
                !message.ends_with(": not found") && *message != "sst: press Ctrl-C to stop"
            };
            let bad = messages.lines().find(is_bad);
            assert_eq!(bad, None, "{line}");
            count += 1;
        }
    }
    assert!(count > 30, "{count}");
}
