//! Nothing from a file reaches a terminal raw: the commands run on a pseudo-terminal.

#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::run::{run, run_with, testdata};

/// What the command prints on a pseudo-terminal, which Python makes.
fn on_a_terminal(arguments: &[&str], colour: bool) -> String {
    let mut command = Command::new("python3");
    command
        .args(["-c", "import pty, sys; pty.spawn(sys.argv[1:])"])
        .arg(env!("CARGO_BIN_EXE_sst"))
        .args(arguments)
        .env_remove("NO_COLOR")
        .env("TERM", "xterm");
    if !colour {
        command.env("NO_COLOR", "1");
    }
    let output = command.output().expect("python3, to make a pseudo-terminal with");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Every style of the command, and the end of one.
const STYLES: [&str; 10] = ["0", "1", "2", "31", "32", "33", "34", "35", "36", "37"];

/// Without colour nothing is left that a terminal acts on, but for line ends; with it, our styles.
fn assert_plain(arguments: &[&str]) {
    for colour in [false, true] {
        let printed = on_a_terminal(arguments, colour);
        assert!(!printed.is_empty(), "{arguments:?}");
        // The progress bar moves the cursor by itself.
        let mut rest = printed.replace("\r\n", "\n").replace("\r\x1b[2K", "");
        rest = rest.replace("\x1b[1A", "").replace("\x1b[1B", "");
        if colour {
            for style in STYLES {
                rest = rest.replace(&format!("\x1b[{style}m"), "");
            }
        }
        let active = |c: char| {
            (c.is_control() && c != '\n')
                || ('\u{202a}'..='\u{202e}').contains(&c)
                || c == '\u{2066}'
        };
        let found = rest.find(active).map(|at| rest[at..].chars().take(40).collect::<String>());
        assert_eq!(found, None, "{arguments:?}, colour: {colour}");
    }
}

#[test]
fn nothing_from_a_file_reaches_a_terminal_raw() {
    let folder = tempfile::tempdir().expect("a folder");
    let nasty = "\x1b]0;owned\x07\x1b[2J\x1b[8m\x1b[31m\u{9b}8m\u{202e}";
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
        vec!["get", &table, "a\\x1b[2J", "--explain"],
        vec!["get", &table, nasty, "--explain"],
        vec!["get", &dumped, "x", "--explain"],
        vec!["info", "--format", "json", &database],
        vec!["compact", &table, "-o", &table],
        vec!["diff", &table, &dumped],
        vec!["diff", &dumped, &table, "--internal"],
        vec!["diff", &database, &database, "--column-family", nasty],
        vec![nasty],
        vec!["scan", nasty, "--prefix", nasty, nasty],
    ];
    for path in [&table, &database, &dumped, &missing] {
        for command in ["info", "dump", "layout", "scan", "verify", "filter"] {
            runs.push(vec![command, path]);
        }
        runs.push(vec!["layout", "--blocks", path]);
        runs.push(vec!["scan", "--internal", path]);
        runs.push(vec!["diff", &table, path, "--summary"]);
    }
    for arguments in runs {
        assert_plain(&arguments);
    }
}

/// Text output is the same for every destination, and a name is in one line.
#[test]
fn names_are_escaped_in_a_pipe() {
    let folder = tempfile::tempdir().expect("a folder");
    let name = "a\x1b[8m\n\u{9b}8m.sst";
    let table = folder.path().join(name).display().to_string();
    let record = br#"{"key":"a","value":"b"}"#;
    assert_eq!(run_with(record, &["build", "-", "-o", &table]).status, 0);
    let damaged = format!("{table}.damaged.sst");
    let mut bytes = fs::read(&table).expect("read");
    bytes[3] ^= 1;
    fs::write(&damaged, bytes).expect("written");
    for arguments in [
        &["verify", &table][..],
        &["verify", &damaged],
        &["info", &table],
        &["info", "--full", &damaged],
        &["layout", &table],
        &["layout", "--blocks", &damaged],
        &["filter", &table],
        &["filter", &table, &table],
    ] {
        let ran = run(arguments);
        let text = ran.stdout + &ran.stderr;
        assert!(!text.contains(['\x1b', '\u{9b}']), "{arguments:?}: {text}");
        assert!(text.contains("a\\x1b[8m\\n\\u{9b}8m.sst"), "{arguments:?}: {text}");
    }
    let ran = run(["verify", &table]);
    assert_eq!(ran.stdout.lines().count(), 1, "{}", ran.stdout);
}

/// In a file or a pipe a dump is that of the engine, to the byte.
#[test]
fn a_dump_into_a_pipe_is_raw() {
    let ran = run(["dump", "terminal/properties.sst"]);
    assert!(ran.stdout.contains('\x1b'), "{}", ran.stdout);
}

/// Messages are escaped for every destination.
#[test]
fn messages_are_in_one_line() {
    let path = Path::new("no\n\x1b[31msuch").display().to_string();
    let ran = run(["scan", &path]);
    assert!(ran.stderr.starts_with("sst: no\\n\\x1b[31msuch: "), "{}", ran.stderr);
    assert_eq!(ran.stderr.lines().count(), 1);
}

/// Text on a terminal shows valid UTF-8 as it is; a pipe and JSON keep the escape form.
#[test]
fn utf8_is_shown_on_a_terminal() {
    let folder = tempfile::tempdir().expect("a folder");
    let table = folder.path().join("words.sst").display().to_string();
    let key = "Zürich \u{202e}日本\u{9b}";
    let record = serde_json::json!({"key": key, "value": "naïve \\xff\\\\"}).to_string();
    assert_eq!(run_with(record.as_bytes(), &["build", "-", "-o", &table]).status, 0);
    let shown = "Zürich \\xe2\\x80\\xae日本\\xc2\\x9b => naïve \\xff\\\\";
    assert_eq!(on_a_terminal(&["scan", &table], false).trim_end(), shown);
    assert_eq!(run(["scan", "--encoding", "utf8", &table]).stdout.trim_end(), shown);
    let escaped = "Z\\xc3\\xbcrich \\xe2\\x80\\xae\\xe6\\x97\\xa5\\xe6\\x9c\\xac\\xc2\\x9b";
    assert!(run(["scan", &table]).stdout.starts_with(escaped));
    let json = on_a_terminal(&["scan", "--json", &table], false);
    assert!(json.contains("Z\\\\xc3\\\\xbcrich"), "{json}");
    // What is shown can be typed.
    let typed = shown.split(" => ").next().expect("a key");
    assert_eq!(run(["get", &table, typed]).stdout, "na\\xc3\\xafve \\xff\\\\\n");
}
