//! `sst refilter` of a large database beside `cp` of the same files.
//!
//! ```text
//! database   level 1   1 %      keys of 16 bytes, values of 1000 that repeat a pattern,
//!            level 2   9 %      blocks of 4 KiB, not compressed, bloomfilter:10
//!            level 3  90 %
//!
//! rounds     cp | sst refilter | cp and sync | cp | sst refilter | …
//! ```
//!
//! Before each turn everything is synced and the last copy is deleted. `sst refilter` syncs what it
//! writes, `cp` does not; so `cp` and a `sync` are measured, too. The memory is the peak of the
//! resident set.

mod database;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::record::date::today;
use crate::watched_command::{self, load};

/// What is measured.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where the database and its copies are written.
    pub directory: PathBuf,
    /// The approximate size of the database.
    pub bytes: u64,
    /// How often each is done.
    pub rounds: usize,
    /// The new filter policy.
    pub filter: String,
    /// The `sst` command.
    pub command: PathBuf,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            directory: std::env::temp_dir(),
            bytes: 10_000_000_000,
            rounds: 3,
            filter: "ribbonfilter:10".into(),
            command: PathBuf::from("target/release/sst"),
        }
    }
}

/// The measurements.
#[derive(Clone, Debug)]
pub struct RefilterRun {
    settings: Settings,
    files: usize,
    bytes: u64,
    load: String,
    rounds: Vec<Round>,
}

#[derive(Clone, Copy, Debug)]
struct Round {
    cp: Duration,
    cp_and_sync: Duration,
    refilter: Duration,
    /// Bytes in memory at most.
    peak: u64,
}

impl RefilterRun {
    /// Makes the database and does all rounds. `say` gets a line for each.
    pub fn measure(settings: &Settings, say: impl Fn(String)) -> Result<Self, Box<dyn Error>> {
        let folder = tempfile::tempdir_in(&settings.directory)?;
        let source = folder.path().join("source");
        let start = Instant::now();
        database::make(&source, settings.bytes)?;
        let sizes = sizes(&source)?;
        let mut run = Self {
            settings: settings.clone(),
            files: sizes.len(),
            bytes: sizes.iter().sum(),
            load: load(),
            rounds: Vec::new(),
        };
        say(format!("{} bytes made in {:?}", run.bytes, start.elapsed()));
        let target = folder.path().join("target");
        let refilter = |source: &Path, target: &Path| {
            let mut command = Command::new(&settings.command);
            command.arg("refilter").arg(source).arg("-o").arg(target);
            command.args(["--filter", &settings.filter, "--format", "json"]);
            command
        };
        let copy = |source: &Path, target: &Path| {
            let mut command = Command::new("cp");
            command.arg("-r").arg(source).arg(target);
            command
        };
        for number in 0..=settings.rounds {
            let turn = |command: Command, sync: bool| -> Result<(Duration, u64), Box<dyn Error>> {
                run_synced(&mut Command::new("sync"))?;
                let start = Instant::now();
                let (peak, _) = watched_command::run(command, 0)?;
                if sync {
                    run_synced(&mut Command::new("sync"))?;
                }
                let time = start.elapsed();
                fs::remove_dir_all(&target)?;
                Ok((time, peak))
            };
            let (cp, _) = turn(copy(&source, &target), false)?;
            let (refilter, peak) = turn(refilter(&source, &target), false)?;
            let (cp_and_sync, _) = turn(copy(&source, &target), true)?;
            let round = Round { cp, cp_and_sync, refilter, peak };
            // The first one fills the page cache.
            if number > 0 {
                run.rounds.push(round);
            }
            say(format!("{round:?}"));
        }
        Ok(run)
    }

    /// The record.
    pub fn to_json(&self) -> Value {
        let rounds: Vec<Value> = self
            .rounds
            .iter()
            .map(|round| {
                json!({
                    "cp_seconds": round.cp.as_secs_f64(),
                    "cp_and_sync_seconds": round.cp_and_sync.as_secs_f64(),
                    "refilter_seconds": round.refilter.as_secs_f64(),
                    "refilter_peak_bytes": round.peak,
                })
            })
            .collect();
        json!({
            "date": today(),
            "machine": crate::record::machine::machine().trim_end(),
            "load": self.load,
            "files": self.files,
            "bytes": self.bytes,
            "filter": self.settings.filter,
            "rounds": rounds,
        })
    }
}

/// The sizes of all files of a directory.
fn sizes(folder: &Path) -> std::io::Result<Vec<u64>> {
    fs::read_dir(folder)?.map(|entry| Ok(entry?.metadata()?.len())).collect()
}

fn run_synced(command: &mut Command) -> Result<(), Box<dyn Error>> {
    match command.status()?.success() {
        true => Ok(()),
        false => Err(format!("{command:?} failed").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_made_database_has_its_levels_and_size() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("database");
        database::make(&path, 20_000_000).unwrap();
        let bytes: u64 = sizes(&path).unwrap().iter().sum();
        assert!((18_000_000..24_000_000).contains(&bytes), "{bytes}");
        let database = sstkit_db::Database::open(&path).unwrap();
        let levels: Vec<u32> =
            database.default_column_family().levels().iter().map(|it| it.number).collect();
        assert_eq!(levels, [1, 2, 3]);
    }
}
