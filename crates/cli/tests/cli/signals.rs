//! Ctrl-C in the middle of work: nothing is left behind.

#![cfg(unix)]

use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::run::{interruptible, names_in};

fn start(folder: &Path, arguments: &[&str]) -> Child {
    interruptible()
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("runs")
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([name, &child.id().to_string()]).status();
    assert!(sent.expect("kill").success());
}

/// Waits until it has begun: the handler is set before anything is read.
fn feed(child: &mut Child, records: u32) {
    let mut stdin = child.stdin.take().expect("piped");
    for number in 0..records {
        writeln!(stdin, "{{\"key\":\"{number:08}\",\"value\":\"{number:0100}\"}}").expect("read");
    }
    stdin.flush().expect("read");
    child.stdin = Some(stdin);
}

fn ends_without_a_trace(mut child: Child, folder: &Path, name: &str) {
    let status = match name {
        "-HUP" => 129,
        "-INT" => 130,
        _ => 143,
    };
    signal(&child, name);
    // The input stays open: only the signal can end it.
    let stdin = child.stdin.take();
    let output = child.wait_with_output().expect("ends");
    drop(stdin);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{message}");
    assert_eq!(message, "sst: interrupted; nothing was written\n");
    assert_eq!(names_in(folder), Vec::<String>::new());
}

#[test]
fn while_building() {
    for (arguments, name) in [
        (&["build", "-", "-o", "out.sst"][..], "-INT"),
        (&["build", "-", "-o", "out.sst", "--sorted"], "-INT"),
        (&["build", "-", "-o", "out", "--max-file-size", "1MiB", "--memory", "1MiB"], "-TERM"),
        (&["build", "-", "-o", "out", "--max-file-size", "64KiB", "--sorted"], "-INT"),
        (&["build", "-", "-o", "out", "--as", "database", "--memory", "1MiB"], "-INT"),
        (&["build", "-", "-o", "out", "--as", "database", "--sorted"], "-TERM"),
        (&["build", "-", "-o", "out", "--as", "database", "--profile", "leveldb"], "-INT"),
        #[cfg(target_os = "linux")]
        (&["build", "-", "-o", "out.sst"], "-HUP"),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut child = start(folder.path(), arguments);
        // More than a pipe holds, so that some of it has been read when this returns.
        feed(&mut child, 50_000);
        ends_without_a_trace(child, folder.path(), name);
    }
}

#[test]
fn while_compacting_into_a_database() {
    let inputs = tempfile::tempdir().expect("a folder");
    let mut child = start(inputs.path(), &["build", "-", "-o", "source", "--as", "database"]);
    feed(&mut child, 50_000);
    assert!(child.wait_with_output().expect("ends").status.success());
    let source = inputs.path().join("source").display().to_string();
    for option in ["--keep-levels", "--inline-blobs"] {
        let folder = tempfile::tempdir().expect("a folder");
        let slow = ["--compression", "zstd:19", "--block-size", "64KiB", "--threads", "1", option];
        let compact = ["compact", &source, "-o", "out", "--as", "database"];
        let child = start(folder.path(), &[&compact[..], &slow].concat());
        while names_in(folder.path()).is_empty() {
            thread::sleep(Duration::from_millis(1));
        }
        ends_without_a_trace(child, folder.path(), "-INT");
    }
}

#[test]
fn while_changing_filters() {
    let inputs = tempfile::tempdir().expect("a folder");
    let start_build = |arguments: &[&str]| {
        let mut child = start(inputs.path(), &[&["build", "-"], arguments].concat());
        feed(&mut child, 200_000);
        assert!(child.wait_with_output().expect("ends").status.success());
    };
    start_build(&["-o", "database", "--as", "database", "--max-file-size", "256KiB"]);
    start_build(&["-o", "tables", "--max-file-size", "256KiB"]);
    start_build(&["-o", "table.sst"]);
    for (source, out) in [("database", "out"), ("tables", "out"), ("table.sst", "out.sst")] {
        let source = inputs.path().join(source).display().to_string();
        let folder = tempfile::tempdir().expect("a folder");
        let slow = ["--filter", "ribbonfilter:20", "--threads", "1"];
        let child = start(folder.path(), &[&["refilter", &source, "-o", out], &slow[..]].concat());
        while names_in(folder.path()).is_empty() {
            thread::sleep(Duration::from_millis(1));
        }
        ends_without_a_trace(child, folder.path(), "-INT");
    }
}

#[test]
fn while_salvaging() {
    let inputs = tempfile::tempdir().expect("a folder");
    let source = inputs.path().join("source.sst").display().to_string();
    let slow = ["--compression", "zstd", "--block-size", "64KiB"];
    let mut child =
        start(inputs.path(), &[&["build", "-", "-o", &source, "--sorted"][..], &slow].concat());
    feed(&mut child, 200_000);
    assert!(child.wait_with_output().expect("ends").status.success());
    let mut bytes = std::fs::read(&source).expect("read");
    bytes[1000] ^= 1;
    std::fs::write(&source, bytes).expect("written");
    for options in [&[][..], &["--as", "database"], &["--as", "folder"]] {
        let folder = tempfile::tempdir().expect("a folder");
        let child =
            start(folder.path(), &[&["salvage", &source, "-o", "out"][..], options].concat());
        while names_in(folder.path()).is_empty() {
            thread::sleep(Duration::from_millis(1));
        }
        ends_without_a_trace(child, folder.path(), "-INT");
    }
}

#[test]
fn while_measuring_a_table() {
    let folder = tempfile::tempdir().expect("a folder");
    let child =
        start(folder.path(), &["bench", "table", "--directory", ".", "--entries", "1000000000"]);
    while names_in(folder.path()).is_empty() {
        thread::sleep(Duration::from_millis(1));
    }
    ends_without_a_trace(child, folder.path(), "-INT");
}

/// Nobody reads what it prints, so that it waits in a write; or it waits for input, or works.
#[test]
fn every_command_ends_with_130() {
    let folder = tempfile::tempdir().expect("a folder");
    let table = folder.path().join("large.sst").display().to_string();
    let mut child = start(folder.path(), &["build", "-", "-o", &table, "--compression", "none"]);
    feed(&mut child, 20_000);
    assert!(child.wait_with_output().expect("ends").status.success());
    for arguments in [
        &["scan", &table][..],
        &["scan", &table, "--internal", "--format", "json"],
        &["dump", &table],
        &["layout", "--blocks", &table],
        &["bench", "filter"],
    ] {
        let mut child = start(folder.path(), arguments);
        let mut stdout = child.stdout.take().expect("piped");
        if arguments[0] != "bench" {
            // It has begun, and has more to print than a pipe holds.
            std::io::Read::read_exact(&mut stdout, &mut [0; 1]).expect("some output");
        } else {
            thread::sleep(Duration::from_millis(200));
        }
        signal(&child, "-INT");
        let status = child.wait().expect("ends");
        assert_eq!(status.code(), Some(130), "{arguments:?}");
    }
    assert_eq!(names_in(folder.path()), ["large.sst"]);
}

/// As under `nohup`, and in the background of a script.
#[test]
#[cfg(target_os = "linux")]
fn ignored_signals_stay_ignored() {
    for (ignored, name) in [("HUP", "-HUP"), ("INT", "-INT"), ("TERM", "-TERM")] {
        let folder = tempfile::tempdir().expect("a folder");
        let script = format!("trap '' {ignored}; exec \"$SST\" build - -o out.sst");
        let mut child = Command::new("sh")
            .args(["-c", &script])
            .env("SST", env!("CARGO_BIN_EXE_sst"))
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("runs");
        feed(&mut child, 50_000);
        signal(&child, name);
        let output = child.wait_with_output().expect("ends");
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*message), (Some(0), ""), "{name}");
        assert_eq!(names_in(folder.path()), ["out.sst"]);
    }
}

/// A scan into a file that has begun, and would take much longer.
#[test]
fn while_scanning_into_a_file() {
    let tables = tempfile::tempdir().expect("a folder");
    let table = tables.path().join("t.sst").display().to_string();
    let mut build = start(tables.path(), &["build", "-", "-o", &table, "--sorted"]);
    feed(&mut build, 150_000);
    drop(build.stdin.take());
    assert!(build.wait().expect("ends").success());
    for name in ["out.json", "out.csv"] {
        let folder = tempfile::tempdir().expect("a folder");
        let child = start(folder.path(), &["scan", &table, "--internal", "-o", name]);
        while names_in(folder.path()).is_empty() {
            thread::sleep(Duration::from_millis(1));
        }
        ends_without_a_trace(child, folder.path(), "-INT");
    }
}
