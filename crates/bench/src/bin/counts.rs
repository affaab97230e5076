//! Counts the instructions of the hot paths, and compares them with those in the file.
//!
//! ```text
//! cargo run --release -p sstkit-bench --bin counts -- check      exit status 1 if a path has become longer
//! cargo run --release -p sstkit-bench --bin counts -- update     rewrites the file
//! perf record target/release/counts profile "leveled database, scan" 100
//! ```
//!
//! Needs valgrind, and fails without it. `run`, which the other two start under valgrind, does the work.

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use sstkit_bench::counts::{self, Difference, Record, TOLERANCE};

const USAGE: &str = "usage: counts check|update|profile NAME TIMES";

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("counts: {error}");
            ExitCode::from(2)
        }
    }
}

/// Whether all is well.
fn run() -> Result<bool, Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["run"] => {
            counts::run(|path| println!("{}\t{}\t{}", path.name, path.unit, path.operations));
            Ok(true)
        }
        ["profile", name, times] => {
            counts::run_named(name, times.parse()?, |path| println!("{}", path.name));
            Ok(true)
        }
        ["check"] => check(),
        ["update"] => {
            let record = count()?;
            fs::write(file(), record.to_string())?;
            print!("{record}");
            Ok(true)
        }
        _ => Err(USAGE.into()),
    }
}

fn check() -> Result<bool, Box<dyn Error>> {
    let text =
        fs::read_to_string(file()).map_err(|error| format!("{}: {error}", file().display()))?;
    let stored = Record::parse(&text)?;
    let now = count()?;
    if now.with != stored.with {
        println!("the file was counted with {}", stored.with);
        println!("this is                   {}", now.with);
        println!("differences may be theirs\n");
    }
    let differences = stored.differences(&now.counts);
    for difference in &differences {
        let mark = if difference.is_failure() { "FAILED" } else { "better" };
        println!("{mark} {difference}");
    }
    let exceeded = counts::exceeded_limits(&now.counts);
    exceeded.iter().for_each(|limit| println!("FAILED {limit}"));
    let failed = differences.iter().filter(|difference| difference.is_failure()).count();
    let failed = failed + exceeded.len();
    let (paths, percent) = (now.counts.len(), TOLERANCE * 100.0);
    println!("{paths} paths, {failed} failed (tolerance {percent:.0} %)");
    if differences.iter().any(|it| !matches!(it, Difference::Slower(..))) {
        println!("`counts update` writes what is now");
    }
    Ok(failed == 0)
}

/// Counts all hot paths of this very program.
fn count() -> Result<Record, Box<dyn Error>> {
    if cfg!(debug_assertions) {
        return Err("counts mean something for --release only".into());
    }
    let valgrind = first_line("valgrind", &["--version"])
        .map_err(|error| format!("valgrind, which counts the instructions, is missing: {error}"))?;
    let compiler = first_line("rustc", &["--version"])?;
    let target = format!("{}-{}", env::consts::ARCH, env::consts::OS);
    let folder = tempfile::tempdir()?;
    let counts = counts::count(env::current_exe()?, folder.path())?;
    Ok(Record { with: format!("{compiler}, {target}, {valgrind}"), counts })
}

fn first_line(program: &str, arguments: &[&str]) -> Result<String, Box<dyn Error>> {
    let output = Command::new(program).args(arguments).output()?;
    if !output.status.success() {
        return Err(format!("{program}: {}", output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?.lines().next().unwrap_or_default().to_owned())
}

/// Where the counts are kept.
fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/benchmarks/instruction-counts.txt")
}
