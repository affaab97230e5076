//! Hostile files, made by hand: each is refused with a named error (or read to its end), within
//! bounded memory and time.
//!
//! One test runs all of them one after the other, because the memory that is measured is the
//! process's.

mod bombs;
mod directories;
mod filters;
mod forged_table;
mod logs;
mod manifests;
mod memory;
mod tables;
mod verifying;

use std::panic::{AssertUnwindSafe, catch_unwind};

use memory::{MIB, Peak};

/// One hostile thing: what it is, how many bytes it may take, and what has to happen.
struct Case {
    name: &'static str,
    /// Besides what the case itself holds.
    memory: usize,
    run: Box<dyn FnOnce()>,
}

impl Case {
    /// A case that may take a few MiB, as any small file may.
    fn small(name: &'static str, run: impl FnOnce() + 'static) -> Self {
        Self::of(name, 16 * MIB, run)
    }

    fn of(name: &'static str, memory: usize, run: impl FnOnce() + 'static) -> Self {
        Self { name, memory, run: Box::new(run) }
    }
}

#[test]
fn hostile_files_are_refused_within_bounds() {
    let groups: [fn() -> Vec<Case>; 7] = [
        tables::cases,
        bombs::cases,
        filters::cases,
        logs::cases,
        manifests::cases,
        directories::cases,
        verifying::cases,
    ];
    let mut failed = Vec::new();
    for case in groups.into_iter().flat_map(|cases| cases()) {
        let peak = Peak::start();
        if catch_unwind(AssertUnwindSafe(case.run)).is_err() {
            failed.push(format!("{}: see above", case.name));
        }
        let Some(taken) = peak.taken() else { continue };
        println!("{:60} {:6.1} MiB", case.name, taken as f64 / MIB as f64);
        if taken > case.memory {
            failed.push(format!("{}: {taken} bytes of memory", case.name));
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}
