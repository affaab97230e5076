//! The README's first command prints what is written below it.
//!
//! Run with `UPDATE_GOLDENS=1` this test rewrites that instead of comparing it.

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

    let keys = std::fs::read(repository.join(quickstart::SAMPLE)).expect("the sample");
    let mut printed = Vec::new();
    quickstart::show(quickstart::SAMPLE, &keys, &mut printed).expect("it runs");
    let printed = String::from_utf8(printed).expect("text");
    if std::env::var_os("UPDATE_GOLDENS").is_some_and(|value| value == "1") {
        let current = [&readme[..begin], &printed, &readme[end..]].concat();
        std::fs::write(&path, current).expect("the README can be written");
        return;
    }
    assert_eq!(readme[begin..end], printed, "UPDATE_GOLDENS=1 rewrites the README");
}
