//! Runs a target once over each of some inputs: `replay TARGET FILE…`. For findings.

use std::{env, fs, io};

fn main() -> io::Result<()> {
    let mut arguments = env::args().skip(1);
    let name = arguments.next().unwrap_or_default();
    let Some(target) = sstkit_fuzzing::TARGETS.iter().find(|target| target.name == name) else {
        return Err(io::Error::other(format!("usage: replay TARGET FILE…; no target {name:?}")));
    };
    for file in arguments {
        (target.run)(&fs::read(&file)?);
        println!("{file}: fine");
    }
    Ok(())
}
