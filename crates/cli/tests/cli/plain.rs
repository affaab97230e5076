//! Nothing from a file reaches a terminal raw: the commands run on a pseudo-terminal.

#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::run::{run, run_with, testdata};

/// What a program prints on a pseudo-terminal; `None` where there is no Python to make one.
fn on_a_terminal(arguments: &[&str]) -> Option<String> {
    let output = Command::new("python3")
        .args(["-c", "import pty, sys; pty.spawn(sys.argv[1:])"])
        .arg(env!("CARGO_BIN_EXE_sst"))
        .args(arguments)
        .env_remove("NO_COLOR")
        .env("TERM", "xterm")
        .output()
        .ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Colours and line ends are ours; with them gone, nothing is left that a terminal acts on.
fn assert_plain(what: &str, text: &str) {
    let mut rest = text.replace("\r\n", "\n");
    for colour in ["0", "1", "2", "31", "32", "33", "34", "35", "36", "37"] {
        rest = rest.replace(&format!("\x1b[{colour}m"), "");
    }
    let active = |c: char| {
        (c.is_control() && c != '\n') || ('\u{202a}'..='\u{202e}').contains(&c) || c == '\u{2066}'
    };
    // The progress bar moves the cursor by itself.
    let rest = rest.replace("\r\x1b[2K", "").replace("\x1b[1A", "").replace("\x1b[1B", "");
    let found = rest.find(active).map(|at| rest[at..].chars().take(40).collect::<String>());
    assert_eq!(found, None, "{what}");
}

#[test]
fn nothing_from_a_file_reaches_a_terminal_raw() {
    let folder = tempfile::tempdir().expect("a folder");
    let nasty = "\x1b]0;owned\x07\x1b[2J\u{9b}31m\u{202e}";
    let table = folder.path().join(format!("{nasty}.sst"));
    let table = table.display().to_string();
    let csv = folder.path().join("in.csv").display().to_string();
    fs::write(&csv, format!("{nasty},b\n1,2\n")).expect("written");
    let record = serde_json::json!({"key": "a\u{1b}[2J", "value": "b\u{9b}"}).to_string();
    assert_eq!(run_with(record.as_bytes(), &["build", "-", "-o", &table]).status, 0);
    let database = testdata("terminal/names").display().to_string();
    let dumped = testdata("terminal/properties.sst").display().to_string();
    let missing = format!("{table}.missing");
    let mut runs = vec![
        vec!["build", &csv, "-o", "/nowhere/x.sst"],
        vec!["build", &csv, "-o", &missing],
        vec!["scan", &database, "--column-family", nasty],
        vec!["get", &database, nasty],
        vec!["get", &database, "x", "--explain"],
        vec!["get", &table, "a\\x1b[2J"],
        vec!["info", "--format", "json", &database],
        vec!["compact", &table, "-o", &table],
        vec![nasty],
        vec!["scan", nasty, "--prefix", nasty, nasty],
    ];
    for path in [&table, &database, &dumped, &missing] {
        for command in ["info", "dump", "layout", "scan", "verify", "filter"] {
            runs.push(vec![command, path]);
        }
        runs.push(vec!["layout", "--blocks", path]);
        runs.push(vec!["scan", "--internal", path]);
    }
    for arguments in runs {
        let Some(printed) = on_a_terminal(&arguments) else {
            return eprintln!("skipped: there is no python3 to make a pseudo-terminal with");
        };
        assert!(!printed.is_empty(), "{arguments:?}");
        assert_plain(&format!("{arguments:?}"), &printed);
    }
}

/// In a file or a pipe a dump is that of the engine, to the byte.
#[test]
fn a_dump_into_a_pipe_is_raw() {
    let ran = run(["dump", "terminal/properties.sst"]);
    assert!(ran.stdout.contains('\x1b'), "{}", ran.stdout);
}

/// Messages are escaped wherever they go.
#[test]
fn messages_are_in_one_line() {
    let path = Path::new("no\n\x1b[31msuch").display().to_string();
    let ran = run(["scan", &path]);
    assert!(ran.stderr.starts_with("sst: no\\n\\x1b[31msuch: "), "{}", ran.stderr);
    assert_eq!(ran.stderr.lines().count(), 1);
}
