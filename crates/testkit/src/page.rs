//! Dumps in the pages of `docs/formats`, compared with what the library prints today.
//!
//! A dump is a fenced block after a marker, `<!-- dump: NAME -->`.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::{difference, root, update_goldens};

/// Names of dumps, and the functions that print them.
pub type Dumps<'d> = &'d [(&'d str, fn() -> String)];

/// Compares the dumps of a page of `docs/formats`, or rewrites them.
///
/// # Panics
///
/// If they differ, or the markers on the page are not the names in `dumps`.
pub fn check_page(page: &str, dumps: Dumps<'_>) {
    let path = root().join("docs/formats").join(page);
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        .replace("\r\n", "\n");
    let current = with_dumps(page, &text, dumps);
    if text == current {
        return;
    }
    if update_goldens() {
        std::fs::write(&path, current)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        return;
    }
    panic!(
        "docs/formats/{page} is out of date (UPDATE_GOLDENS=1 rewrites it):\n{}",
        difference(&text, &current)
    );
}

/// The text of a page with current dumps.
fn with_dumps(page: &str, text: &str, dumps: Dumps<'_>) -> String {
    let mut out = String::new();
    let mut missing: BTreeSet<&str> = dumps.iter().map(|(name, _)| *name).collect();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let _ = writeln!(out, "{line}");
        let Some(name) =
            line.strip_prefix("<!-- dump: ").and_then(|line| line.strip_suffix(" -->"))
        else {
            continue;
        };
        assert!(missing.remove(name), "{page}: unknown or repeated dump {name}");
        assert_eq!(lines.next(), Some("```text"), "{page}: line after the marker of {name}");
        let end = lines.by_ref().find(|line| line.starts_with("```"));
        assert_eq!(end, Some("```"), "{page}: the end of {name}");
        let (_, dump) = dumps.iter().find(|(other, _)| *other == name).expect("was missing");
        let dump: String = dump().lines().map(|line| format!("{}\n", line.trim_end())).collect();
        let _ = writeln!(out, "```text\n{dump}```");
    }
    assert!(missing.is_empty(), "{page} has no marker for {missing:?}");
    out
}
