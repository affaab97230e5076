//! Failures outside of sstkit: reads that fail or return wrong bytes, disks that are full, processes
//! that are killed. The tests of this crate check that each leads to an error and to nothing worse.
//!
//! | file | contents |
//! |---|---|
//! | `database_damage.rs`, `file_damage.rs` | damage to the files of a database: of each kind, to each file |
//! | `source.rs` | a source with a fault in chosen reads |
//! | `sink.rs` | a sink with a fault at a chosen byte, write, or flush |
//! | `strace.rs` | a process whose system calls fail, or that is killed at one |
//! | `work.rs` | writers with a known result, run and killed through `src/bin/writer.rs` |

mod database_damage;
mod file_damage;
mod sink;
mod source;
pub mod strace;
mod work;

pub use database_damage::DatabaseDamage;
pub use file_damage::FileDamage;
pub use sink::{FaultySink, SinkFault};
pub use source::{Fault, FaultySource};
pub use work::{Failure, Kind, Pause, Work};
