//! Each system call of a writer in turn: the writer is killed before it, or it fails. Needs
//! `strace`, and says so where it cannot be had.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;

use sstkit_testkit::cases;
use sstkit_testkit::faults::strace::{Event, is_traceable, run_until};
use sstkit_testkit::faults::{Kind, Work};

use crate::state::{Before, Found, Place, places};

/// Calls that change what is on the disk, and those that make it last; whether they are tried even
/// in a short run. (Most files that are opened are the system's libraries.)
const CALLS: [(&str, bool); 6] = [
    ("fsync,fdatasync", true),
    ("link,linkat,copy_file_range", true),
    ("rename,renameat,renameat2", true),
    ("unlink,unlinkat,mkdir,mkdirat,rmdir", true),
    ("write,writev,pwrite64", false),
    ("openat", false),
];

/// Kills a writer before each call in turn, and counts what is there then.
fn kill_at_each(work: &Work, before: Before, calls: &str) -> BTreeMap<Found, u32> {
    let mut seen = BTreeMap::new();
    for number in 1.. {
        let place = Place::new(work, before);
        let what = format!("{:?} {before:?}, killed at {calls} {number}", work.kind);
        let output = run_until(&place.command(), calls, number, Event::Kill);
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
        let output = run_until(&place.command(), calls, number, Event::Fail("EIO"));
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
