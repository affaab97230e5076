//! Running `sst`, and files to run it on.

use std::path::{Path, PathBuf};
use std::process::Output;

use assert_cmd::Command;

/// All commands but `bench`, which has commands of its own and takes as long as it takes.
pub(crate) const COMMANDS: [&str; 22] = [
    "info",
    "dump",
    "layout",
    "scan",
    "get",
    "stats",
    "verify",
    "diff",
    "filter",
    "advise",
    "serve",
    "report",
    "ingest-check",
    "build",
    "plan",
    "part",
    "commit",
    "compact",
    "refilter",
    "salvage",
    "completions",
    "man",
];

/// The command, with an environment of its own.
pub(crate) fn sst() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sst"));
    command.env_remove("COLUMNS").env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
    command
}

/// The command with the signals that end it, also if they are ignored where the tests were started: in the background of
/// a script, or under `nohup`. The command leaves ignored signals ignored.
pub(crate) fn interruptible() -> std::process::Command {
    let sst = env!("CARGO_BIN_EXE_sst");
    if cfg!(not(target_os = "linux")) {
        return std::process::Command::new(sst);
    }
    let mut command = std::process::Command::new("env");
    command.args(["--default-signal=HUP,INT,TERM", sst]);
    command
}

/// What a run came to: exit status, standard output, standard error.
pub(crate) struct Ran {
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    fn new(output: Output) -> Self {
        Self {
            status: output.status.code().expect("ended by itself"),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Everything in one text, for a golden. Places outside of the repository are named `TMP`.
    pub(crate) fn all(&self) -> String {
        let mut text = self.stdout.clone();
        if !self.stderr.is_empty() {
            text.push_str(&format!("--- stderr\n{}", self.stderr));
        }
        text.push_str(&format!("--- status {}\n", self.status));
        text
    }

    /// The same with a folder's name replaced.
    pub(crate) fn all_in(&self, folder: &Path) -> String {
        self.all().replace(&folder.display().to_string(), "TMP")
    }

    /// The lines of standard output.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.stdout.lines().map(str::to_owned).collect()
    }

    /// Standard output as JSON, a line each.
    pub(crate) fn json(&self) -> Vec<serde_json::Value> {
        let parse =
            |line: &str| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        self.stdout.lines().map(parse).collect()
    }
}

/// Runs it in the folder of the test files.
pub(crate) fn run<A: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = A>) -> Ran {
    Ran::new(sst().current_dir(testdata("")).args(arguments).output().expect("runs"))
}

/// Runs it with something on standard input.
pub(crate) fn run_with(input: &[u8], arguments: &[&str]) -> Ran {
    Ran::new(sst().args(arguments).write_stdin(input).output().expect("runs"))
}

/// Runs it in a terminal `columns` wide.
pub(crate) fn run_wide(columns: usize, arguments: &[&str]) -> Ran {
    let mut command = sst();
    command.current_dir(testdata("")).env("COLUMNS", columns.to_string()).args(arguments);
    Ran::new(command.output().expect("runs"))
}

/// A file of the repository.
pub(crate) fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name)
}

/// All tables, by name.
pub(crate) fn tables() -> Vec<String> {
    names("tables", |path| {
        path.extension().is_some_and(|extension| extension == "sst" || extension == "ldb")
    })
}

/// All databases, by name.
pub(crate) fn databases() -> Vec<String> {
    names("databases", Path::is_dir)
}

fn names(folder: &str, wanted: impl Fn(&Path) -> bool) -> Vec<String> {
    let entries = std::fs::read_dir(testdata(folder)).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path()).filter(|path| wanted(path));
    let mut names: Vec<String> = paths
        .map(|path| format!("{folder}/{}", path.file_name().expect("a name").to_string_lossy()))
        .collect();
    names.sort();
    assert!(!names.is_empty());
    names
}

/// What is known to be in a table or a database.
pub(crate) fn listing(path: &Path) -> Vec<serde_json::Value> {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let text = zstd::decode_all(&bytes[..]).expect("zstd");
    let text = String::from_utf8(text).expect("UTF-8");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Names in a folder, hidden ones included.
pub(crate) fn names_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Copies the files of a folder to a new one.
pub(crate) fn copy_folder(source: &Path, target: &Path) {
    std::fs::create_dir(target).expect("a folder");
    for name in names_in(source) {
        let bytes = std::fs::read(source.join(&name)).expect("read");
        std::fs::write(target.join(&name), bytes).expect("written");
    }
}
