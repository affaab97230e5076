//! What the documents say of files is true, and files stay of a size that can be read.

use std::path::Path;

use xtask::{files, root};

/// More lines than this hold a second idea. Tests and their data may be longer.
const MAX_LINES: usize = 500;

/// The targets of `[text](target)` in a text, without fences of code.
fn links(text: &str) -> Vec<&str> {
    let mut in_fence = false;
    let prose = text.lines().filter(|line| {
        let is_fence = line.trim_start().starts_with("```");
        in_fence ^= is_fence;
        !in_fence && !is_fence
    });
    prose
        .flat_map(|line| line.split("](").skip(1))
        .filter_map(|rest| rest.split_once(')'))
        .map(|(target, _)| target)
        .collect()
}

#[test]
fn links_lead_somewhere() {
    let mut broken = Vec::new();
    for document in files(&[".md"]) {
        let text = std::fs::read_to_string(&document).expect("a document is text");
        for link in links(&text) {
            let path = link.split('#').next().unwrap_or_default();
            if path.is_empty() || path.contains("://") {
                continue;
            }
            let folder = document.parent().unwrap_or(Path::new(""));
            if !folder.join(path).exists() {
                broken.push(format!("{}: {link}", document.display()));
            }
        }
    }
    assert!(broken.is_empty(), "links to nothing: {broken:#?}");
}

/// ARCHITECTURE.md names source files by the end of their paths.
#[test]
fn files_in_the_architecture_exist() {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    let is_part = |it: char| it.is_ascii_alphanumeric() || "_/.-".contains(it);
    let named = text.split(|it: char| !is_part(it)).filter(|word| word.ends_with(".rs"));
    let sources = files(&[".rs"]);
    let missing: Vec<&str> =
        named.filter(|name| !sources.iter().any(|path| path.ends_with(name))).collect();
    assert!(missing.is_empty(), "no such files: {missing:#?}");
}

#[test]
fn links_are_found() {
    let text = "See [a](b.md), [c](d#e).\n```\n[no](link)\n```\n";
    assert_eq!(links(text), ["b.md", "d#e"]);
}

#[test]
fn files_have_one_idea() {
    let long: Vec<String> = files(&[".rs"])
        .iter()
        .filter(|path| {
            path.strip_prefix(root()).is_ok_and(|path| path.iter().any(|it| it == "src"))
        })
        .filter_map(|path| {
            let lines = std::fs::read_to_string(path).expect("source is text").lines().count();
            (lines > MAX_LINES).then(|| format!("{}: {lines} lines", path.display()))
        })
        .collect();
    assert!(long.is_empty(), "look for the second idea: {long:#?}");
}
