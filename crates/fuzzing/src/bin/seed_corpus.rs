//! Writes what the fuzz targets start from: `seed_corpus FOLDER [TARGET…]`, a folder for each
//! target.

use std::{env, fs, io};

fn main() -> io::Result<()> {
    let mut arguments = env::args().skip(1);
    let Some(folder) = arguments.next() else {
        return Err(io::Error::other("usage: seed_corpus FOLDER [TARGET…]"));
    };
    let wanted: Vec<String> = arguments.collect();
    for target in sstkit_fuzzing::TARGETS {
        if !wanted.is_empty() && !wanted.iter().any(|name| name == target.name) {
            continue;
        }
        let folder = format!("{folder}/{}", target.name);
        fs::create_dir_all(&folder)?;
        for (i, seed) in (target.seeds)().iter().enumerate() {
            fs::write(format!("{folder}/seed-{i:04}"), seed)?;
        }
    }
    Ok(())
}
