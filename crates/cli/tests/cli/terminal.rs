//! A narrow terminal, a closed pipe, a full disk.

use std::fs::File;
use std::io::Read as _;
use std::process::{Command, Stdio};

use expect_test::expect;

use crate::run::{names_in, run_wide, testdata};

#[test]
fn sixty_columns() {
    for arguments in [
        &["info", "tables/partitioned-decoupled-ribbon-fv7.sst"][..],
        &["info", "databases/rocksdb-leveled-bloom"],
        &["layout", "--blocks", "tables/types-all.sst"],
        &["scan", "tables/types-all.sst"],
        &["scan", "tables/types-all.sst", "--internal"],
        &["filter", "tables/partitioned-decoupled-bloom-fv7.sst"],
        &["filter", "databases/rocksdb-leveled-bloom"],
        &["layout", "tables/types-all.sst"],
        &["layout", "tables/partitioned-decoupled-ribbon-fv7.sst"],
    ] {
        let ran = run_wide(60, arguments);
        for line in ran.stdout.lines() {
            let width = line.chars().count();
            // A list of numbers has no part that could be left out.
            let may_be_wider = line.contains("restart points");
            assert!(width <= 60 || may_be_wider, "{arguments:?}: {line}");
        }
    }
    let ran = run_wide(60, &["scan", "tables/types-all.sst", "--limit", "3"]);
    expect![[r#"
        key00001694 => lorem-ipsum-565lorem-ipsum-627…em-ipsum-949lo
        key00001701 => lorem-ipsum-126\x9alorem-ipsum-409lorem
        key00001708 => o+\xf5lorem-ipsum-137lorem-i
        --- status 0
    "#]]
    .assert_eq(&ran.all());
}

#[test]
fn no_colour_unless_on_a_terminal() {
    let ran = run_wide(80, &["info", "tables/types-all.sst"]);
    assert!(!ran.stdout.contains('\x1b'));
}

/// `sst scan … | head`: no message, status 0.
#[test]
fn a_closed_pipe_is_silent() {
    for command in ["scan", "dump"] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_sst"))
            .args([command, "tables/block64k.sst"])
            .current_dir(testdata(""))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("runs");
        let mut stdout = child.stdout.take().expect("piped");
        let mut start = [0; 10];
        stdout.read_exact(&mut start).expect("some output");
        drop(stdout);
        let output = child.wait_with_output().expect("ends");
        assert_eq!(output.status.code(), Some(0), "{command}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{command}");
    }
}

/// Everything printed there is lost: that must not look like success.
#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_noticed() {
    for arguments in [
        &["scan", "tables/types-all.sst"][..],
        &["dump", "tables/types-all.sst"],
        &["info", "tables/types-all.sst"],
        &["verify", "tables/types-all.sst"],
        &["completions", "bash"],
    ] {
        let full = File::options().write(true).open("/dev/full").expect("a device");
        let output = Command::new(env!("CARGO_BIN_EXE_sst"))
            .args(arguments)
            .current_dir(testdata(""))
            .stdout(full)
            .output()
            .expect("runs");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(message.starts_with("sst: ") && message.contains("No space left"), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
}

/// A limit on the size of files instead of a small disk, which every system has.
#[test]
#[cfg(target_os = "linux")]
fn a_file_that_cannot_grow_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    let disk = folder.path().join("disk");
    std::fs::create_dir(&disk).expect("a folder");
    std::fs::write(folder.path().join("in.ndjson"), many_records()).expect("written");
    for options in BUILDS {
        let script = format!(
            "trap '' XFSZ; ulimit -f 60; exec \"$SST\" build ../in.ndjson --compression none {options}"
        );
        let output = Command::new("sh")
            .args(["-c", &script])
            .env("SST", env!("CARGO_BIN_EXE_sst"))
            .current_dir(&disk)
            .output()
            .expect("runs");
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{options}: {message}");
        assert!(message.contains("File too large"), "{options}: {message}");
        assert_eq!(names_in(&disk), Vec::<String>::new(), "{options}");
    }
}

/// How tables are built where there is too little room.
const BUILDS: [&str; 3] = ["-o out.sst", "-o out.sst --sorted", "-o out --max-file-size 50KiB"];

fn many_records() -> String {
    (0..20_000)
        .map(|i| format!("{{\"key\":\"{i:08}\",\"value\":\"{:0100}\"}}\n", i * 7919))
        .collect()
}

/// A disk of 200 KiB, in a world of its own; where such worlds are not allowed, the test says so.
#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_leaves_nothing_behind() {
    const NOT_ALLOWED: i32 = 77;
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("in.ndjson"), many_records()).expect("written");
    let disk = folder.path().join("disk");
    std::fs::create_dir(&disk).expect("a folder");
    for options in BUILDS {
        let script = format!(
            "mount -t tmpfs -o size=200k tmpfs . 2>/dev/null || exit {NOT_ALLOWED}; cd \"$PWD\"; \
             \"$SST\" build ../in.ndjson --compression none {options}; echo status $?; ls -A"
        );
        let output = Command::new("unshare")
            .args(["--user", "--map-root-user", "--mount", "sh", "-c", &script])
            .env("SST", env!("CARGO_BIN_EXE_sst"))
            .current_dir(&disk)
            .output();
        let Ok(output) = output else {
            return eprintln!("skipped: there is no `unshare` to make a small disk with");
        };
        let message = String::from_utf8_lossy(&output.stderr);
        if output.status.code() == Some(NOT_ALLOWED) || message.starts_with("unshare") {
            return eprintln!("skipped: a small disk may not be mounted here: {message}");
        }
        assert_eq!(String::from_utf8_lossy(&output.stdout), "status 2\n", "{options}: {message}");
        assert!(message.contains("No space left"), "{options}: {message}");
    }
}
