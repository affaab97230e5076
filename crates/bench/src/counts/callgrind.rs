//! Running callgrind and reading what it wrote.

use std::error::Error;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The function that is counted.
const COUNTED: &str = "sstkit_bench::counts::counted";
/// The function before which a count is written down.
const FINISHED: &str = "sstkit_bench::counts::finished";

/// What a hot path took.
#[derive(Clone, Debug, PartialEq)]
pub struct Counted {
    /// What was done.
    pub name: String,
    /// What one operation is.
    pub unit: String,
    /// Instructions per operation.
    pub instructions: f64,
}

/// Runs `program run` under callgrind and reads the counts of all hot paths. Files are written into `folder`.
pub fn count(program: impl AsRef<OsStr>, folder: &Path) -> Result<Vec<Counted>, Box<dyn Error>> {
    let dumps = folder.join("callgrind.out");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--combine-dumps=yes", "--quiet"])
        .arg(format!("--callgrind-out-file={}", dumps.display()))
        .args([format!("--toggle-collect={COUNTED}"), format!("--dump-before={FINISHED}")])
        .arg(program)
        .arg("run")
        .output()
        .map_err(|error| {
            format!("valgrind, which counts the instructions, does not run: {error}")
        })?;
    if !output.status.success() {
        let messages = String::from_utf8_lossy(&output.stderr);
        return Err(format!("valgrind has failed, {}: {messages}", output.status).into());
    }
    let paths = String::from_utf8(output.stdout)?;
    let counts = totals(&fs::read_to_string(&dumps)?);
    if counts.len() != paths.lines().count() {
        let (dumps, paths) = (counts.len(), paths.lines().count());
        return Err(format!("callgrind counted {dumps} times, but there are {paths} paths").into());
    }
    paths.lines().zip(counts).map(|(line, total)| counted(line, total)).collect()
}

/// A line of `counts run` and what callgrind counted.
fn counted(line: &str, total: u64) -> Result<Counted, Box<dyn Error>> {
    let mut fields = line.split('\t');
    let (Some(name), Some(unit), Some(operations)) = (fields.next(), fields.next(), fields.next())
    else {
        return Err(format!("{line:?} is not the line of a hot path").into());
    };
    let operations: u64 = operations.parse()?;
    let instructions = total as f64 / operations as f64;
    Ok(Counted { name: name.into(), unit: unit.into(), instructions })
}

/// The totals of all dumps in which anything was counted, in their order. (The last one, at the end of the program,
/// is empty.)
fn totals(dumps: &str) -> Vec<u64> {
    let totals = dumps.lines().filter_map(|line| line.strip_prefix("summary: "));
    totals.filter_map(|total| total.trim().parse().ok()).filter(|&total| total > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dumps_are_read() {
        let text = "# callgrind format\nevents: Ir\n\npart: 1\nsummary: 4200\nfn=x\n1 4200\n\
                    totals: 4200\n\npart: 2\nsummary: 7\n\npart: 3\nsummary: 0\n";
        assert_eq!(totals(text), [4200, 7]);
        let path = counted("a scan\tentry\t100", 4200).unwrap();
        assert_eq!(
            path,
            Counted { name: "a scan".into(), unit: "entry".into(), instructions: 42.0 }
        );
        assert!(counted("a scan", 1).is_err());
    }
}
