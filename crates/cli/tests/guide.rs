//! Every command in the README and in the guide prints what is written below it.
//!
//! ````text
//! ```console
//! $ sst get items.sst user0004/item000042
//! 42
//! ```
//! ````
//!
//! The blocks of a document are run in their order by a shell, in a folder of their own that has the
//! repository's `testdata` in it. Times may differ. Behind `<!-- not compared -->` everything may,
//! and the commands must only succeed; blocks with `cargo` are not run here. With
//! `UPDATE_GOLDENS=1` the test rewrites what the commands print.

#![cfg(unix)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::str::Lines;

#[test]
fn readme() {
    check("README.md", 3);
}

#[test]
fn guide() {
    check("docs/guide.md", 30);
}

/// Compares a document with what its commands print, or rewrites it. A document with fewer commands
/// than there should be has a block that was not understood.
fn check(document: &str, at_least: usize) {
    let path = repository().join(document);
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut shell = Shell::new();
    let current = shell.replay(&text);
    assert!(shell.commands >= at_least, "{document} has only {} commands", shell.commands);
    if text == current {
        return;
    }
    if std::env::var_os("UPDATE_GOLDENS").is_some_and(|value| value == "1") {
        std::fs::write(&path, current)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        return;
    }
    panic!(
        "{document} is out of date (UPDATE_GOLDENS=1 rewrites it):\n{}",
        difference(&text, &current)
    );
}

/// Runs the commands of one document.
struct Shell {
    folder: tempfile::TempDir,
    commands: usize,
}

impl Shell {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::os::unix::fs::symlink(repository().join("testdata"), folder.path().join("testdata"))
            .expect("a link");
        Self { folder, commands: 0 }
    }

    /// The text with every output as it is now.
    fn replay(&mut self, text: &str) -> String {
        let mut out = String::new();
        let mut lines = text.lines();
        let mut before = "";
        while let Some(line) = lines.next() {
            let _ = writeln!(out, "{line}");
            if line == "```console" {
                let block = block(&mut lines);
                let compared = before != "<!-- not compared -->";
                if block.iter().any(|step| step.command.starts_with("cargo ")) {
                    block.iter().for_each(|step| step.write(&step.output, &mut out));
                } else {
                    block.iter().for_each(|step| self.step(step, compared, &mut out));
                }
                out.push_str("```\n");
            }
            before = line;
        }
        out
    }

    fn step(&mut self, step: &Step, compared: bool, out: &mut String) {
        self.commands += 1;
        let ran = self.run(&step.command);
        let printed: String = String::from_utf8_lossy(&ran.stdout)
            .lines()
            .map(|line| format!("{}\n", line.trim_end()))
            .collect();
        if !compared {
            assert!(ran.status.success(), "{}: {printed}", step.command);
        }
        let same = !compared || without_times(&printed) == without_times(&step.output);
        step.write(if same { &step.output } else { &printed }, out);
    }

    /// Standard output and standard error come together, as on a terminal.
    fn run(&self, command: &str) -> Output {
        let sst = Path::new(env!("CARGO_BIN_EXE_sst")).parent().expect("a folder");
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(sst.to_path_buf()).chain(std::env::split_paths(&path));
        Command::new("sh")
            .args(["-c", &format!("exec 2>&1\n{command}")])
            .current_dir(self.folder.path())
            .env("PATH", std::env::join_paths(folders).expect("folders"))
            .env("LC_ALL", "C")
            .env_remove("COLUMNS")
            .env_remove("NO_COLOR")
            .env_remove("CLICOLOR_FORCE")
            .output()
            .expect("a shell")
    }
}

/// A command, and what it is said to print.
struct Step {
    command: String,
    output: String,
}

impl Step {
    fn write(&self, output: &str, out: &mut String) {
        let _ = write!(out, "$ {}\n{output}", self.command);
    }
}

/// The steps of a block, up to its end. A `\` at the end of a line continues a command.
fn block(lines: &mut Lines<'_>) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in lines.take_while(|line| *line != "```") {
        match steps.last_mut() {
            Some(step) if step.output.is_empty() && step.command.ends_with('\\') => {
                let _ = write!(step.command, "\n{line}");
            }
            _ if line.starts_with("$ ") => {
                steps.push(Step { command: line[2..].into(), output: String::new() });
            }
            Some(step) => {
                let _ = writeln!(step.output, "{line}");
            }
            None => panic!("a block begins with a command, not with {line:?}"),
        }
    }
    steps
}

/// The text with a word for every time, such as `88.1 ms`.
fn without_times(text: &str) -> String {
    let is_unit = |word: &str| ["ns", "µs", "ms", "s", "min"].contains(&word.trim());
    let is_number = |word: &&str| word.trim().parse::<f64>().is_ok();
    let mut out: Vec<&str> = Vec::new();
    for word in text.split_inclusive([' ', '\n']) {
        match out.last_mut().filter(|number| is_unit(word) && is_number(number)) {
            Some(number) => *number = "TIME\n",
            None => out.push(word),
        }
    }
    out.concat()
}

/// The lines that differ, if the number of lines is the same.
fn difference(text: &str, current: &str) -> String {
    let mut out = String::new();
    for (i, (old, new)) in text.lines().zip(current.lines()).enumerate() {
        if old != new {
            let _ = writeln!(out, "line {}:\n- {old}\n+ {new}", i + 1);
        }
    }
    let (old, new) = (text.lines().count(), current.lines().count());
    if old != new {
        let _ = writeln!(out, "it has {old} lines and should have {new}");
    }
    out
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
