//! Disks that are full, folders that cannot be written to, processes that are killed: the output of a
//! command is complete or does not exist.

#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Output};

use sstkit_testkit::faults::strace::{Event, is_traceable, run_until};
use tempfile::TempDir;

use crate::run::{copy_folder, names_in, run, testdata};

/// A command that writes a database or a table.
struct Case {
    arguments: Vec<String>,
    /// What it has the contents of.
    like: String,
}

/// Records in a file, and databases made of them and of others.
fn cases(folder: &Path) -> Vec<Case> {
    let input = folder.join("input.csv").display().to_string();
    let rows: String = (0..300).map(|number| format!("{number:05},{number:0100}\n")).collect();
    fs::write(&input, format!("key,value\n{rows}")).expect("written");
    let table = folder.join("like.sst").display().to_string();
    assert_eq!(run(["build", &input, "-o", &table]).status, 0);
    let arguments = |arguments: &[&str]| arguments.iter().map(|&it| it.to_owned()).collect();
    let rocksdb = testdata("databases/rocksdb-range-deletes").display().to_string();
    let leveldb = testdata("databases/leveldb-bloom-snappy").display().to_string();
    let copied = testdata("databases/rocksdb-wal-plus-tables").display().to_string();
    // No MANIFEST, and a table without its footer: tables are found in the bytes, and rewritten.
    let lost = folder.join("lost");
    copy_folder(&testdata("databases/rocksdb-range-deletes"), &lost);
    let damaged = |name: &String| name.ends_with(".sst");
    for name in names_in(&lost).into_iter().filter(|it| it.starts_with("MANIFEST")) {
        fs::remove_file(lost.join(name)).expect("removed");
    }
    let cut = lost.join(names_in(&lost).into_iter().find(damaged).expect("a table"));
    let bytes = fs::read(&cut).expect("read");
    fs::write(&cut, &bytes[..bytes.len() - 20]).expect("written");
    let (cut, lost) = (cut.display().to_string(), lost.display().to_string());
    let whole = folder.join("whole.sst").display().to_string();
    fs::write(&whole, bytes).expect("written");
    vec![
        Case {
            arguments: arguments(&["build", &input, "--max-file-size", "8KiB", "--as", "database"]),
            like: table.clone(),
        },
        Case {
            arguments: arguments(&[
                "build",
                &input,
                "--sorted",
                "--profile",
                "leveldb",
                "--as",
                "database",
            ]),
            like: table,
        },
        Case {
            arguments: arguments(&["compact", &rocksdb, "--keep-levels", "--as", "database"]),
            like: rocksdb.clone(),
        },
        Case {
            arguments: arguments(&["refilter", &leveldb, "--bits-per-key", "7"]),
            like: leveldb.clone(),
        },
        Case { arguments: arguments(&["compact", &leveldb, "--as", "database"]), like: leveldb },
        Case {
            arguments: arguments(&["refilter", &copied, "--filter", "ribbonfilter:10"]),
            like: copied,
        },
        Case { arguments: arguments(&["salvage", &lost]), like: rocksdb },
        Case { arguments: arguments(&["salvage", &cut]), like: whole },
    ]
}

/// A place for the output, beside a file of another program.
fn place() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("notes.txt"), "mine").expect("written");
    folder
}

fn command(case: &Case, folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sst"));
    command.args(&case.arguments).args(["-o", "out"]).current_dir(folder);
    command
}

/// Whether there is an output, which is complete then. What else is there is hidden.
fn is_complete(case: &Case, folder: &Path, what: &str) -> bool {
    for name in names_in(folder) {
        let is_hidden = name.starts_with('.') && name.ends_with(".tmp");
        assert!(is_hidden || name == "out" || name == "notes.txt", "{what}: {name}");
    }
    assert_eq!(fs::read(folder.join("notes.txt")).expect("there"), b"mine", "{what}");
    let out = folder.join("out").display().to_string();
    if !Path::new(&out).exists() {
        return false;
    }
    let verified = run(["verify", &out]);
    assert_eq!(verified.status, 0, "{what}: {}", verified.stdout);
    let difference = run(["diff", &out, &case.like, "--summary"]);
    assert_eq!(difference.status, 0, "{what}: {}", difference.stdout);
    true
}

/// Runs a command with an event at each of these calls in turn, until none is left. Returns how often
/// there was an output.
fn at_each(
    case: &Case,
    calls: &str,
    event: Event,
    mut check: impl FnMut(&Output, bool, &Path, &str),
) -> (u32, u32) {
    let (mut complete, mut missing) = (0, 0);
    for number in 1.. {
        let folder = place();
        let what = format!("{:?}, {event:?} at {calls} {number}", case.arguments);
        let output = run_until(&command(case, folder.path()), calls, number, event);
        let is_complete = is_complete(case, folder.path(), &what);
        check(&output, is_complete, folder.path(), &what);
        match is_complete {
            true => complete += 1,
            false => missing += 1,
        }
        // The calls after the last one: nothing happened.
        if output.status.success() && number > 2 * (missing + 4) {
            break;
        }
    }
    (complete, missing)
}

#[test]
fn the_disk_is_full_or_nothing_may_be_written() {
    if !is_traceable() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for case in cases(folder.path()) {
        for (calls, error) in [
            ("write,pwrite64,copy_file_range", "ENOSPC"),
            ("fsync,fdatasync", "EIO"),
            ("mkdir,mkdirat,rename,renameat,renameat2,linkat", "EACCES"),
        ] {
            let (_, missing) =
                at_each(&case, calls, Event::Fail(error), |output, is_there, place, what| {
                    let message = String::from_utf8_lossy(&output.stderr);
                    if is_there {
                        // Only what comes after the rename may fail: the sync of the parent, the report.
                        let is_said = message.contains("in place") || message.contains("output");
                        assert!(output.status.success() || is_said, "{what}: {message}");
                    } else {
                        assert_eq!(output.status.code(), Some(2), "{what}: {message}");
                        // Calls are counted in each thread, so that of the message may fail, too.
                        let is_lost = message.is_empty() && calls.starts_with("write");
                        assert!(message.starts_with("sst: ") || is_lost, "{what}: {message}");
                        assert_eq!(names_in(place), ["notes.txt"], "{what}: {message}");
                    }
                });
            assert!(missing > 0, "{:?} {calls}", case.arguments);
        }
    }
}

#[test]
fn killed_at_every_step() {
    if !is_traceable() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for case in cases(folder.path()) {
        for calls in ["fsync,fdatasync", "mkdir,mkdirat,rename,renameat,renameat2,linkat,unlinkat"]
        {
            let check = |output: &Output, is_there: bool, _: &Path, what: &str| {
                let is_killed = output.status.signal().is_some();
                assert!(is_killed || is_there, "{what}: {output:?}");
            };
            let (complete, missing) = at_each(&case, calls, Event::Kill, check);
            assert!(complete > 0 && missing > 0, "{:?} {calls}", case.arguments);
        }
    }
}
