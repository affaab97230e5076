//! Instructions that the hot paths take, counted by `valgrind --tool=callgrind`.
//!
//! Times differ from minute to minute, counts do not: a change that makes a hot path longer shows at once, on a busy
//! machine, too. What counts cannot show is waiting for memory; for that there are the benches.
//!
//! ```text
//! counts check ---> valgrind … counts run ---> each hot path, once for warming and once inside of `counted`
//!    ^                     |                                               '--> one dump of callgrind's each
//!    |                     v
//!    '---- docs/benchmarks/instruction-counts.txt: one line a path, instructions per operation
//! ```
//!
//! The counts are those of a compiler, a C library and a processor (which kernel is chosen is found out when it runs;
//! valgrind knows AVX2, not AVX-512). So the file says what it was counted with, and this is no part of the tests.

mod callgrind;
mod databases;
mod filters;
mod limits;
mod own_filter;
mod record;
mod tables;

pub use callgrind::{Counted, count};
pub use limits::{ExceededLimit, exceeded_limits};
pub use record::{Difference, Record, TOLERANCE};

use std::hint::black_box;

/// A hot path: a fixed amount of work.
pub struct HotPath {
    /// What is done.
    pub name: String,
    /// What one operation is.
    pub unit: &'static str,
    /// How many of them the work is.
    pub operations: u64,
    /// The work, which checks its own answer.
    pub work: Box<dyn FnMut()>,
}

impl HotPath {
    fn new(
        name: impl Into<String>,
        unit: &'static str,
        operations: usize,
        work: impl FnMut() + 'static,
    ) -> Self {
        Self { name: name.into(), unit, operations: operations as u64, work: Box::new(work) }
    }
}

/// Runs all hot paths, each once to warm up and once to be counted. `done` hears of each.
pub fn run(done: impl FnMut(&HotPath)) {
    run_named("", 1, done);
}

/// Runs the hot paths whose names contain `name`, the counted work `times` times: for a profile.
pub fn run_named(name: &str, times: usize, mut done: impl FnMut(&HotPath)) {
    let mut visit = |mut path: HotPath| {
        if !path.name.contains(name) {
            return;
        }
        (path.work)();
        (0..times).for_each(|_| counted(&mut path.work));
        finished(&path);
        done(&path);
    };
    filters::each(&mut visit);
    tables::each(&mut visit);
    databases::each(&mut visit);
    own_filter::each(&mut visit);
}

/// The only function whose instructions are counted: callgrind knows it by its name.
#[inline(never)]
fn counted(work: &mut dyn FnMut()) {
    work();
    // Something is left to do here, so that the call above does not become a jump.
    black_box(work);
}

/// Callgrind, which is given the name of this function, writes its counts when it is called, and resets them.
#[inline(never)]
fn finished(path: &HotPath) {
    black_box(path);
}
