//! Each system call of a writer in turn: the writer is killed before it, or it fails. Needs
//! `strace`, and says so where it cannot be had.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use sstkit_testkit::cases;
use sstkit_testkit::faults::{Kind, Work};

use crate::state::{Before, Found, Place, places};

/// Calls that change what is on the disk, and those that make it last; whether they are tried even
/// in a short run. (Most files that are opened are the system's libraries.)
const CALLS: [(&str, bool); 5] = [
    ("fsync,fdatasync", true),
    ("rename,renameat,renameat2", true),
    ("unlink,unlinkat,mkdir,mkdirat,rmdir", true),
    ("write,writev,pwrite64", false),
    ("openat", false),
];

/// What happens at a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Kill,
    Fail,
}

fn is_traceable() -> bool {
    let tried = Command::new("strace").args(["-f", "-e", "trace=fsync", "true"]).output();
    let traceable = tried.is_ok_and(|output| output.status.success());
    if !traceable {
        // Where everything has to be tested, a test that does not run has failed.
        assert!(std::env::var_os("CI").is_none(), "strace is not installed, or may not trace");
        println!("not run: strace is not installed, or may not trace");
    }
    traceable
}

/// Runs the writer; at the call of this number, counted from 1 on, it happens.
fn run_until(place: &Place, calls: &str, number: u32, event: Event) -> std::process::Output {
    let event = match event {
        Event::Kill => "signal=KILL",
        Event::Fail => "error=EIO",
    };
    let writer = place.command();
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o", "/dev/null"]);
    command.arg("-e").arg(format!("trace={calls}"));
    command.arg("-e").arg(format!("inject={calls}:{event}:when={number}"));
    command.arg("--").arg(writer.get_program()).args(writer.get_args());
    command.output().unwrap()
}

/// Kills a writer before each call in turn, and counts what is there then.
fn kill_at_each(work: &Work, before: Before, calls: &str) -> BTreeMap<Found, u32> {
    let mut seen = BTreeMap::new();
    for number in 1.. {
        let place = Place::new(work, before);
        let what = format!("{:?} {before:?}, killed at {calls} {number}", work.kind);
        let output = run_until(&place, calls, number, Event::Kill);
        let found = place.check(&what);
        if output.status.signal().is_none() {
            assert!(output.stdout.ends_with(b"done\n"), "{what}: {output:?}");
            break;
        }
        *seen.entry(found).or_default() += 1;
        place.run_again(found, &what);
    }
    seen
}

/// Makes the first `count` system calls of a kind fail in turn, and counts the outcomes.
fn fail_at_each(work: &Work, before: Before, calls: &str, count: u32) -> BTreeMap<Found, u32> {
    let mut seen = BTreeMap::new();
    for number in 1..=count {
        let place = Place::new(work, before);
        let what = format!("{:?} {before:?}, failed at {calls} {number}", work.kind);
        let output = run_until(&place, calls, number, Event::Fail);
        let found = place.check(&what);
        // Not all calls matter: a line of output, a file that does not exist.
        if output.status.success() {
            assert_eq!(found, Found::New, "{what}: {output:?}");
        }
        let is_kept = output.stdout.windows(8).any(|it| it == b"in place");
        assert!(found != Found::New || output.status.success() || is_kept, "{what}: {output:?}");
        if !calls.contains("unlink") {
            place.check_clean(&what);
        }
        *seen.entry(found).or_default() += 1;
        place.run_again(found, &what);
    }
    seen
}

#[test]
fn stopped_at_every_step() {
    if !is_traceable() {
        return;
    }
    let (mut kills, mut failures) = (0, 0);
    for (kind, _) in Kind::ALL {
        for (work, before) in places(kind, 2500, 1) {
            for (calls, always) in CALLS {
                if !always && cases() == 1 {
                    continue;
                }
                let seen = kill_at_each(&work, before, calls);
                let count = seen.values().sum();
                println!("{kind:?} {before:?}, killed at {calls}: {seen:?}");
                let seen = fail_at_each(&work, before, calls, count);
                println!("{kind:?} {before:?}, failed at {calls}: {seen:?}");
                kills += count;
                failures += count;
            }
        }
    }
    println!("{kills} kills before a system call, {failures} calls that failed");
    assert!(kills > 50);
}
