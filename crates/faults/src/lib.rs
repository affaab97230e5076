//! What goes wrong outside of sstkit, on purpose: sources whose reads fail or lie, sinks that are
//! full, processes that are killed. The tests of this crate see that nothing worse comes of it than
//! an error.
//!
//! | file | what |
//! |---|---|
//! | `source.rs` | a source with a fault in a read of its own choice |
//! | `sink.rs` | a sink with a fault at a byte, a write or the flush of its own choice |
//! | `work.rs` | writers at work, whose result is known: for `src/bin/writer.rs`, to be killed |
//! | `random.rs` | the same random numbers in every run |
//!
//! `SSTKIT_CASES=10` makes the tests try ten times as much.

#![forbid(unsafe_code)]

mod random;
mod sink;
mod source;
mod work;

pub use random::Random;
pub use sink::{FaultySink, SinkFault};
pub use source::{Fault, FaultySource};
pub use work::{Failure, Kind, Pause, Work};

/// How many times as much as usual is tried: the number in the variable `SSTKIT_CASES`, or 1.
pub fn cases() -> usize {
    let cases = std::env::var("SSTKIT_CASES").ok();
    cases.and_then(|cases| cases.parse().ok()).unwrap_or(1).max(1)
}
