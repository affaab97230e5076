//! The first command in the project's README prints what is written below it, and the README of the crate lists all
//! features and examples.
//!
//! Run with `UPDATE_GOLDENS=1` the first test rewrites that instead of comparing it.

use std::path::Path;

#[expect(dead_code, reason = "its `main` is for the command line")]
#[path = "../examples/quickstart.rs"]
mod quickstart;

const COMMAND: &str = "```console\n$ cargo run --release --example quickstart\n";

#[test]
fn the_first_command() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = repository.join("README.md");
    let readme = std::fs::read_to_string(&path).expect("the README").replace("\r\n", "\n");
    let begin = readme.find(COMMAND).expect("the command") + COMMAND.len();
    let end = begin + readme[begin..].find("```\n").expect("the end of the block");

    let mut printed = Vec::new();
    quickstart::show("a sample", &quickstart::sample(), &mut printed).expect("it runs");
    let printed = String::from_utf8(printed).expect("text");
    if std::env::var_os("UPDATE_GOLDENS").is_some_and(|value| value == "1") {
        let current = [&readme[..begin], &printed, &readme[end..]].concat();
        std::fs::write(&path, current).expect("the README can be written");
        return;
    }
    assert_eq!(readme[begin..end], printed, "UPDATE_GOLDENS=1 rewrites the README");
}

#[test]
fn features_and_examples_are_listed() {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = |name: &str| std::fs::read_to_string(crate_folder.join(name)).expect("a file");
    let readme = text("README.md");
    let is_listed = |name: &str| {
        let rows = readme.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
        rows.into_iter().any(|row| row.contains(&format!("`{name}`")))
    };
    let manifest = text("Cargo.toml");
    let (_, features) = manifest.split_once("[features]\n").expect("features");
    let features = features.lines().take_while(|line| !line.starts_with('['));
    let features = features.filter_map(|line| line.split_once(" = ").map(|(name, _)| name.into()));
    let examples = std::fs::read_dir(crate_folder.join("examples")).expect("examples");
    let examples = examples.map(|file| {
        let path = file.expect("an example").path();
        path.file_stem().expect("a name").to_string_lossy().into_owned()
    });
    let names: Vec<String> = features.filter(|name| name != "default").chain(examples).collect();
    assert!(names.iter().any(|name| name == "codecs") && names.len() > 15, "{names:?}");
    let missing: Vec<_> = names.iter().filter(|name| !is_listed(name)).collect();
    assert!(missing.is_empty(), "crates/sstkit/README.md does not list {missing:?}");
}
