//! Test cases as text files.
//!
//! A file is a sequence of cases, each a command with its input and the expected output:
//!
//! ```text
//! # A comment.
//! scan from=b limit=2 prefixes=(a, b)
//! a#3,put:1
//! b#2,delete
//! ----
//! c -> 7
//!
//! get d
//! ----
//! not found
//! ```
//!
//! The first line has the command, then arguments: `name`, `name=value` or `name=(value, value)`. The
//! lines up to `----` are the input, and those up to the next blank line the expected output. An output
//! that itself contains blank lines is written between two pairs of separators:
//!
//! ```text
//! dump
//! ----
//! ----
//! first paragraph
//!
//! second paragraph
//! ----
//! ----
//! ```
//!
//! The test knows the API, the cases do not:
//!
//! ```no_run
//! use sstkit_testkit::datadriven;
//!
//! #[test]
//! fn cases() {
//!     datadriven::run("testdata/arithmetic", || {
//!         let mut sum = 0;
//!         move |case| match case.command() {
//!             "add" => {
//!                 sum += case.input().lines().map(|line| line.parse::<i32>().unwrap()).sum::<i32>();
//!                 sum.to_string()
//!             }
//!             other => panic!("unknown command {other}"),
//!         }
//!     });
//! }
//! ```
//!
//! With `UPDATE_GOLDENS=1` the expected outputs are rewritten instead of compared.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::{root, update_goldens};

const SEPARATOR: &str = "----";
/// Around outputs with blank lines.
const FENCE: &str = "----\n----\n";

/// One command with its arguments and input.
#[derive(Debug)]
pub struct Case {
    command: String,
    arguments: Vec<(String, Vec<String>)>,
    input: String,
    /// The command line and the input as they are in the file.
    source: Vec<String>,
    expected: String,
    line: usize,
    used: RefCell<BTreeSet<String>>,
}

impl Case {
    /// The first word of the first line.
    pub fn command(&self) -> &str {
        &self.command
    }

    /// The lines between the command and the separator, without the last line break.
    pub fn input(&self) -> &str {
        &self.input
    }

    /// Whether an argument is given, with or without a value.
    pub fn has(&self, name: &str) -> bool {
        self.values(name).is_some()
    }

    /// The values of an argument: none for `name`, one for `name=value`.
    pub fn values(&self, name: &str) -> Option<&[String]> {
        let (name, values) = self.arguments.iter().find(|(other, _)| other == name)?;
        self.used.borrow_mut().insert(name.clone());
        Some(values)
    }

    /// The only value of an argument.
    ///
    /// # Panics
    ///
    /// If it has none, or several.
    pub fn value(&self, name: &str) -> Option<&str> {
        match self.values(name)? {
            [value] => Some(value),
            other => panic!("line {}: {name} has {} values", self.line, other.len()),
        }
    }

    /// The value of an argument as a number or another parsed type.
    ///
    /// # Panics
    ///
    /// If it cannot be parsed.
    pub fn parsed<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        let value = self.value(name)?;
        let parsed = value.parse();
        Some(parsed.unwrap_or_else(|_| panic!("line {}: {name}={value}", self.line)))
    }

    /// The value of an argument as bytes: see [`unescape`].
    pub fn bytes(&self, name: &str) -> Option<Vec<u8>> {
        self.value(name).map(unescape)
    }

    /// The arguments without a value, in order: `get a b` has the keys `a` and `b`.
    pub fn words(&self) -> Vec<&str> {
        let plain = self.arguments.iter().filter(|(_, values)| values.is_empty());
        let names: Vec<&str> = plain.map(|(name, _)| name.as_str()).collect();
        self.used.borrow_mut().extend(names.iter().map(|&name| name.to_owned()));
        names
    }

    fn check_arguments(&self, path: &Path) {
        for (name, _) in &self.arguments {
            let is_used = self.used.borrow().contains(name);
            let (path, line) = (path.display(), self.line);
            assert!(is_used, "{path}:{line}: unknown argument {name} of {}", self.command);
        }
    }
}

/// Bytes written as text: `\xff`, `\n`, `\t`, `\\` and so on, as [`escape`] prints them.
///
/// # Panics
///
/// If an escape sequence is not valid.
pub fn unescape(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'\\' {
            out.push(*first);
            continue;
        }
        let (byte, length) = match tail {
            [b'x', ..] if tail.len() >= 3 && text.is_ascii() => {
                let digits = std::str::from_utf8(&tail[1..3]).expect("ASCII");
                (u8::from_str_radix(digits, 16).expect("two hexadecimal digits"), 3)
            }
            [b'n', ..] => (b'\n', 1),
            [b'r', ..] => (b'\r', 1),
            [b't', ..] => (b'\t', 1),
            [other @ (b'\\' | b'\'' | b'"'), ..] => (*other, 1),
            _ => panic!("invalid escape sequence in {text}"),
        };
        out.push(byte);
        rest = &tail[length..];
    }
    out
}

/// Bytes as text, on one line.
pub fn escape(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}

/// Runs the cases of a file, or of every `.txt` file in a directory and those below it. The path is
/// relative to the root of the project.
///
/// `start` makes a new runner for each file: what earlier cases of a file have built is available to
/// later ones. The runner returns the output of a case.
///
/// # Panics
///
/// If an output differs from the expected one, an argument is not used, or there are no cases.
pub fn run<R: FnMut(&Case) -> String>(path: &str, mut start: impl FnMut() -> R) {
    let mut files = Vec::new();
    find_files(&root().join(path), &mut files);
    assert!(!files.is_empty(), "no test cases in {path}");
    let mut failures = String::new();
    for file in files {
        let text = fs::read_to_string(&file)
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()))
            .replace("\r\n", "\n");
        let (current, differences) = run_text(&file, &text, start());
        if update_goldens() {
            if current != text {
                fs::write(&file, current)
                    .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            }
        } else {
            failures.push_str(&differences);
        }
    }
    assert!(failures.is_empty(), "{failures}UPDATE_GOLDENS=1 rewrites the expected outputs\n");
}

fn find_files(path: &Path, files: &mut Vec<PathBuf>) {
    if !path.is_dir() {
        files.push(path.to_path_buf());
        return;
    }
    let entries = fs::read_dir(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.is_dir() || path.extension().is_some_and(|it| it == "txt"));
    paths.sort();
    paths.iter().for_each(|path| find_files(path, files));
}

/// The text with the current outputs, and a description of those that differ.
fn run_text(path: &Path, text: &str, mut run: impl FnMut(&Case) -> String) -> (String, String) {
    let (mut current, mut differences) = (String::new(), String::new());
    let mut lines = Lines { lines: text.lines().collect(), next: 0 };
    while let Some(line) = lines.peek() {
        if line.is_empty() || line.starts_with('#') {
            current.push_str(&format!("{line}\n"));
            lines.next += 1;
            continue;
        }
        let case = lines.case(path);
        let mut output = run(&case);
        case.check_arguments(path);
        if !output.is_empty() && !output.ends_with('\n') {
            output.push('\n');
        }
        if output != case.expected {
            let (path, line) = (path.display(), case.line);
            differences.push_str(&format!(
                "{path}:{line}: {}\n--- expected\n{}--- found\n{output}---\n",
                case.source[0], case.expected
            ));
        }
        case.source.iter().for_each(|line| current.push_str(&format!("{line}\n")));
        current.push_str(&match output.starts_with('\n') || output.contains("\n\n") {
            true => format!("{FENCE}{output}{FENCE}"),
            false => format!("{SEPARATOR}\n{output}"),
        });
    }
    (current, differences)
}

struct Lines<'t> {
    lines: Vec<&'t str>,
    next: usize,
}

impl<'t> Lines<'t> {
    fn peek(&self) -> Option<&'t str> {
        self.lines.get(self.next).copied()
    }

    fn case(&mut self, path: &Path) -> Case {
        let start = self.next;
        let fail = |what: &str| -> ! { panic!("{}:{}: {what}", path.display(), start + 1) };
        let rest = &self.lines[start..];
        let Some(separator) = rest.iter().position(|line| *line == SEPARATOR) else {
            fail("no separator ----")
        };
        let input = &rest[1..separator];
        let after = &rest[separator + 1..];
        let (expected, length) = if after.first() == Some(&SEPARATOR) {
            let Some(end) = after.windows(2).skip(1).position(|it| it == [SEPARATOR; 2]) else {
                fail("the output has no end, ---- twice")
            };
            (&after[1..1 + end], end + 3)
        } else {
            let end = after.iter().position(|line| line.is_empty()).unwrap_or(after.len());
            (&after[..end], end)
        };
        self.next = start + separator + 1 + length;
        let mut words = words(rest[0]).into_iter();
        let Some((command, _)) = words.next() else { fail("no command") };
        Case {
            command,
            arguments: words.collect(),
            input: input.join("\n"),
            source: rest[..separator].iter().map(ToString::to_string).collect(),
            expected: expected.iter().map(|line| format!("{line}\n")).collect(),
            line: start + 1,
            used: RefCell::default(),
        }
    }
}

/// The words of a command line, each with its values.
fn words(line: &str) -> Vec<(String, Vec<String>)> {
    let mut words = Vec::new();
    let mut rest = line.trim();
    while !rest.is_empty() {
        let end = rest.find([' ', '=']).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        let values;
        (values, rest) = match after.strip_prefix('=') {
            None => (Vec::new(), after),
            Some(after) => match after.strip_prefix('(') {
                Some(list) => {
                    let (list, after) = list.split_once(')').expect("a closing parenthesis");
                    (list.split(',').map(|value| value.trim().to_owned()).collect(), after)
                }
                None => {
                    let end = after.find(' ').unwrap_or(after.len());
                    (vec![after[..end].to_owned()], &after[end..])
                }
            },
        };
        words.push((name.to_owned(), values));
        rest = rest.trim_start();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn echo(case: &Case) -> String {
        let words = case.words().join(" ");
        let list = case.values("list").unwrap_or_default().join("|");
        let key = case.bytes("key").map(|key| escape(&key));
        format!("{} [{words}] [{list}] {key:?}\n{}", case.command(), case.input())
    }

    const TEXT: &str = "# Comment\n\nfirst a b list=(x, y z) key=\\xff\nin\n----\nfirst [a b] [x|y z] \
        Some(\"\\\\xff\")\nin\n\nsecond\n\n----\n----\nsecond [] [] None\n\n\n----\n----\n";

    #[test]
    fn cases_are_parsed() {
        let (current, differences) = run_text(Path::new("x.txt"), TEXT, |case| {
            echo(case) + if case.command() == "second" { "\n\n" } else { "" }
        });
        assert_eq!(differences, "");
        assert_eq!(current, TEXT);
    }

    #[test]
    fn a_difference_is_reported_and_rewritten() {
        let old = "a\n----\nold\n\nb\n----\nnew\n";
        let (current, differences) = run_text(Path::new("x.txt"), old, |_| "new".into());
        assert_eq!(current, "a\n----\nnew\n\nb\n----\nnew\n");
        assert!(differences.starts_with("x.txt:1: a\n--- expected\nold\n"), "{differences}");
        assert!(!differences.contains("x.txt:5"), "{differences}");
    }

    #[test]
    #[should_panic(expected = "x.txt:1: unknown argument lmit of scan")]
    fn arguments_that_are_not_used_fail() {
        run_text(Path::new("x.txt"), "scan lmit=3\n----\n", |_| String::new());
    }

    #[test]
    fn bytes_round_trip() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(unescape(&escape(&all)), all);
    }
}
