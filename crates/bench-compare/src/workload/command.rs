//! The command line: `sst` and RocksDB's `sst_dump`, as processes, from start to exit.
//!
//! | work | `sst` | `sst_dump` |
//! |---|---|---|
//! | reading and counting every entry | `scan --count` | `--command=check --verify_checksum` |
//! | is it sound? | `verify` | `--command=check --verify_checksum`, then `--command=verify` |
//! | printing every entry | `scan` | `--command=scan` |
//! | printing everything | `dump` | `--command=raw` |
//!
//! What is printed goes into a file.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::args::Args;
use crate::comparison::{Comparison, Family, timed};
use crate::data::{Answer, Entries};
use crate::rocks;
use crate::session::Session;
use crate::settings::{Codec, Settings};

const CHECK: [&str; 2] = ["--command=check", "--verify_checksum"];

/// A piece of work, and how each is called for it.
struct Work {
    name: &'static str,
    sst: &'static [&'static str],
    /// It may need several calls.
    sst_dump: &'static [&'static [&'static str]],
}

const WORK: [Work; 4] = [
    Work { name: "count", sst: &["scan", "--count"], sst_dump: &[&CHECK] },
    Work { name: "verify", sst: &["verify"], sst_dump: &[&CHECK, &["--command=verify"]] },
    Work {
        name: "print entries",
        sst: &["scan"],
        sst_dump: &[&["--command=scan", "--verify_checksum"]],
    },
    Work { name: "dump", sst: &["dump"], sst_dump: &[&["--command=raw"]] },
];

pub(crate) fn run(session: &mut Session, entries: &Entries, args: &Args) -> Result<()> {
    let name = |work: &str, codec: Codec| format!("command: {work}/{codec}");
    let wanted = |session: &Session, codec| {
        WORK.iter().any(|work| session.plan.wants(&name(work.name, codec)))
    };
    let codecs: Vec<Codec> =
        Codec::ALL.into_iter().filter(|&codec| wanted(session, codec)).collect();
    if codecs.is_empty() {
        return Ok(());
    }
    let programs = Programs::new(args)?;
    for codec in codecs {
        let path = session.path("table.sst");
        rocks::write(&path, Settings::new(codec), entries)?;
        let output = session.path("output.txt");
        for Work { name: work, sst, sst_dump } in WORK {
            let (path, output, programs) = (&path, &output, &programs);
            let expected = Answer { count: entries.len(), ..Answer::default() };
            let mut comparison = Comparison::new(name(work, codec), entries.len(), expected);
            comparison.subject(format!("sst {}", sst.join(" ")), Family::Sstkit, move || {
                let run = timed(|| {
                    call(&programs.sst, sst, path, output)?;
                    Ok(expected)
                })?;
                check_output(sst, output, entries)?;
                Ok(run)
            });
            let calls: Vec<String> = sst_dump.iter().map(|args| args.join(" ")).collect();
            let name = format!("sst_dump {}", calls.join(" + "));
            comparison.subject(name, Family::RocksDb, move || {
                timed(|| {
                    for args in sst_dump {
                        call(&programs.sst_dump, args, path, output)?;
                    }
                    Ok(expected)
                })
            });
            session.run(comparison)?;
        }
        std::fs::remove_file(&path)?;
    }
    Ok(())
}

/// Runs a program over a table. Both say nothing on stderr if all is well.
fn call(program: &Path, args: &[&str], table: &Path, output: &Path) -> Result<()> {
    let context = || format!("{} {}", program.display(), args.join(" "));
    let mut command = Command::new(program);
    command.args(args).arg(table).stdout(File::create(output)?);
    let done = command.output().with_context(context)?;
    let message = String::from_utf8_lossy(&done.stderr);
    ensure!(done.status.success() && message.is_empty(), "{}: {message}", context());
    Ok(())
}

/// The count that `sst` prints, or as many lines as entries.
fn check_output(args: &[&str], output: &Path, entries: &Entries) -> Result<()> {
    let text = std::fs::read(output)?;
    let lines = text.iter().filter(|&&byte| byte == b'\n').count() as u64;
    let right = match args {
        ["scan", "--count"] => {
            let digits: Vec<u8> = text.iter().copied().filter(u8::is_ascii_digit).collect();
            digits == entries.len().to_string().as_bytes()
        }
        ["scan"] => lines == entries.len(),
        ["verify"] => String::from_utf8_lossy(&text).contains(": sound, "),
        _ => lines > entries.len(),
    };
    ensure!(right, "sst {}: not what was expected", args.join(" "));
    Ok(())
}

struct Programs {
    sst: PathBuf,
    sst_dump: PathBuf,
}

impl Programs {
    /// `sst_dump` is beside this program; `sst` is built now, unless it is given.
    fn new(args: &Args) -> Result<Self> {
        let me = std::env::current_exe()?;
        let folder = me.parent().context("the program is in a folder")?;
        let sst_dump = folder.join("sst_dump");
        ensure!(
            sst_dump.exists(),
            "no sst_dump beside {}: run `cargo build --release`",
            me.display()
        );
        let sst = match &args.sst {
            Some(sst) => sst.clone(),
            None => build_sst(folder)?,
        };
        Ok(Self { sst, sst_dump })
    }
}

/// Builds `sst` from this repository. In the folder of this crate cargo finds the flags that this
/// program was compiled with.
fn build_sst(folder: &Path) -> Result<PathBuf> {
    eprintln!("building sst with the flags of this program");
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let target = folder.join("sst-build");
    let status = Command::new("cargo")
        .args(["build", "--release", "--package", "sstkit-cli", "--manifest-path"])
        .arg(here.join("../../Cargo.toml"))
        .arg("--target-dir")
        .arg(&target)
        .current_dir(here)
        .status()
        .context("cargo")?;
    ensure!(status.success(), "building sst failed; --sst names one that is there");
    Ok(target.join("release/sst"))
}
