//! sstkit compared with RocksDB, LevelDB and the filters of other crates, in one run.
//!
//! | file | what |
//! |---|---|
//! | `args.rs`, `session.rs` | what is wanted, and where |
//! | `data.rs`, `settings.rs` | entries, keys, expected answers; the options of both sides |
//! | `comparison.rs`, `clock.rs` | one piece of work done by several subjects, by turns |
//! | `reader.rs`, `ours.rs`, `rocks/`, `leveldb.rs`, `fileformat.rs` | readers and writers of tables |
//! | `filters/` | filters |
//! | `workload/` | the work |
//! | `machine.rs`, `noise.rs`, `report/` | what came out, and where it was measured |
//! | `shim/` | the C++ that calls RocksDB |

mod args;
mod clock;
mod comparison;
mod data;
mod fileformat;
mod filters;
mod leveldb;
mod machine;
mod noise;
mod ours;
mod reader;
mod report;
mod rocks;
mod session;
mod settings;
mod workload;

use anyhow::{Result, ensure};
use clap::Parser as _;

use crate::args::Args;
use crate::machine::Machine;
use crate::session::Session;

fn main() -> Result<()> {
    let args = Args::parse();
    if args.cpu_time {
        clock::use_cpu_time();
    }
    let mut session = Session::new(&args)?;
    let machine = Machine::look(&args, session.folder());
    for (name, value) in machine.lines() {
        println!("{name}: {value}");
    }
    ensure!(
        args.quick || args.noisy || !machine.noise.is_too_much(),
        "the machine is busy with something else: {}; --noisy measures nevertheless",
        machine.noise
    );
    workload::run(&mut session, &args)?;
    report::write(&session, &machine, &args)
}
