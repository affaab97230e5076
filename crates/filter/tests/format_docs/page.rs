//! A page: finding the markers of its dumps, and comparing or rewriting what stands behind them.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

/// Names of dumps, and what makes them.
type Dumps<'d> = &'d [(&'d str, fn() -> String)];

/// Compares the dumps of a page, or rewrites them.
pub(crate) fn check_page(page: &str, dumps: Dumps<'_>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats").join(page);
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        .replace("\r\n", "\n");
    let current = with_dumps(page, &text, dumps);
    if text == current {
        return;
    }
    if std::env::var_os("UPDATE_GOLDENS").is_some_and(|value| value == "1") {
        std::fs::write(&path, current)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        return;
    }
    panic!(
        "docs/formats/{page} is out of date (UPDATE_GOLDENS=1 rewrites it):\n{}",
        difference(&text, &current)
    );
}

/// The text of a page with every dump as it should be.
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
        assert!(missing.remove(name), "{page}: no dump, or no second one, is called {name}");
        assert_eq!(lines.next(), Some("```text"), "{page}: what follows the marker of {name}");
        let end = lines.by_ref().find(|line| line.starts_with("```"));
        assert_eq!(end, Some("```"), "{page}: the end of {name}");
        let (_, dump) = dumps.iter().find(|(other, _)| *other == name).expect("was missing");
        let dump: String = dump().lines().map(|line| format!("{}\n", line.trim_end())).collect();
        let _ = writeln!(out, "```text\n{dump}```");
    }
    assert!(missing.is_empty(), "{page} has no marker for {missing:?}");
    out
}

/// The lines that differ, as far as the page did not grow or shrink.
fn difference(page: &str, current: &str) -> String {
    let mut out = String::new();
    for (i, (old, new)) in page.lines().zip(current.lines()).enumerate() {
        if old != new {
            let _ = writeln!(out, "line {}:\n- {old}\n+ {new}", i + 1);
        }
    }
    let (old, new) = (page.lines().count(), current.lines().count());
    if old != new {
        let _ = writeln!(out, "the page has {old} lines and should have {new}");
    }
    out
}
