//! Where tables go: only regular files are ever replaced.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

use crate::run::{Ran, names_in, run, run_with};

const RECORD: &[u8] = b"{\"key\":\"a\",\"value\":\"1\"}\n";

fn build(out: &Path, options: &[&str]) -> Ran {
    let out = out.display().to_string();
    run_with(RECORD, &[&["build", "-", "-o", &out], options].concat())
}

fn compact(table: &Path, out: &Path) -> Ran {
    let paths = [table, out].map(|path| path.display().to_string());
    run(["compact", &paths[0], "-o", &paths[1], "--force"])
}

#[test]
fn devices_pipes_sockets_and_folders_are_never_replaced() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let table = path("table.sst");
    assert_eq!(build(&table, &[]).status, 0);
    let _socket = UnixListener::bind(path("socket")).expect("a socket");
    assert!(Command::new("mkfifo").arg(path("fifo")).status().expect("mkfifo").success());
    fs::create_dir(path("folder")).expect("a folder");
    for (target, link) in [("fifo", "to-fifo"), ("folder", "to-folder"), ("none", "dangling")] {
        symlink(target, path(link)).expect("a link");
    }
    symlink("/dev/null", path("to-null")).expect("a link");
    let before = names_in(folder.path());
    for (name, what) in [
        ("socket", "a socket"),
        ("fifo", "a FIFO"),
        ("folder", "a directory"),
        ("to-fifo", "a FIFO"),
        ("to-folder", "a directory"),
        ("to-null", "a device"),
        ("dangling", "link is broken"),
        ("/dev/null", "a device"),
    ] {
        for ran in [
            build(&path(name), &["--force"]),
            build(&path(name), &[]),
            build(&path(name), &["--sorted", "--force"]),
            compact(&table, &path(name)),
        ] {
            assert_eq!(ran.status, 2, "{name}");
            assert!(ran.stderr.contains(what), "{name}: {}", ran.stderr);
        }
    }
    assert_eq!(names_in(folder.path()), before);
    assert!(fs::metadata(path("fifo")).expect("there").file_type().is_fifo());
    assert!(fs::metadata("/dev/null").expect("there").file_type().is_char_device());
}

#[test]
fn a_link_to_a_file_stays_and_the_file_is_replaced() {
    let folder = tempfile::tempdir().expect("a folder");
    let (inner, link) = (folder.path().join("inner"), folder.path().join("link.sst"));
    fs::create_dir(&inner).expect("a folder");
    fs::write(inner.join("real.sst"), "old").expect("written");
    symlink("inner/real.sst", &link).expect("a link");
    let refused = build(&link, &[]);
    assert!(refused.status == 2 && refused.stderr.contains("--force"), "{}", refused.stderr);
    assert_eq!(fs::read(inner.join("real.sst")).expect("there"), b"old");
    for _ in 0..2 {
        let ran = build(&link, &["--force"]);
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    }
    assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
    assert_eq!(names_in(&inner), ["real.sst"]);
    let real = inner.join("real.sst").display().to_string();
    assert_eq!(run(["scan", &real]).stdout, "a => 1\n");
}

#[test]
fn no_file_is_called_minus() {
    let folder = tempfile::tempdir().expect("a folder");
    for options in [&[][..], &["--force"], &["--max-file-size", "1MiB"]] {
        let output = crate::run::sst()
            .current_dir(folder.path())
            .args(["build", "-", "-o", "-"])
            .args(options)
            .write_stdin(RECORD)
            .output()
            .expect("runs");
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains("standard output"), "{message}");
        assert!(output.stdout.is_empty() && names_in(folder.path()).is_empty());
    }
}

/// The name is free when the work begins, and taken when it ends.
#[test]
fn a_file_that_appears_during_the_work_is_not_replaced() {
    use std::io::Write as _;
    use std::process::Stdio;
    for (out, taken) in
        [("out.sst", "out.sst"), ("out", "out/000001.sst"), ("out", "out/manifest.json")]
    {
        let folder = tempfile::tempdir().expect("a folder");
        if out == "out" {
            fs::create_dir(folder.path().join("out")).expect("a folder");
        }
        let mut command = Command::new(env!("CARGO_BIN_EXE_sst"));
        command.args(["build", "-", "-o", out]).current_dir(folder.path());
        if out == "out" {
            command.args(["--max-file-size", "1MiB"]);
        }
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("runs");
        let mut stdin = child.stdin.take().expect("piped");
        // More than a pipe holds: when this returns, the work has begun.
        for number in 0..3000 {
            writeln!(stdin, "{{\"key\":\"{number:08}\",\"value\":\"{number:0100}\"}}")
                .expect("read");
        }
        fs::write(folder.path().join(taken), "theirs").expect("written");
        drop(stdin);
        let output = child.wait_with_output().expect("ends");
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{taken}: {message}");
        assert_eq!(fs::read(folder.path().join(taken)).expect("there"), b"theirs");
    }
}
