//! axe-core, which finds what people with a screen reader or without a mouse cannot use. It comes from
//! the npm registry, into the target directory, and is never part of the project.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::webdriver::Browser;

const VERSION: &str = "4.14.0";

/// The target directory of cargo.
pub(crate) fn target() -> PathBuf {
    // target/tmp, which cargo makes for tests.
    let tmp = Path::new(env!("CARGO_TARGET_TMPDIR"));
    tmp.parent().expect("the target directory").to_path_buf()
}

/// The script of axe-core.
pub(crate) fn script() -> String {
    let folder = target().join("axe-core").join(VERSION);
    let script = folder.join("package/axe.min.js");
    if !script.is_file() {
        std::fs::create_dir_all(&folder).expect("the folder");
        let archive = folder.join("axe-core.tgz");
        let url = format!("https://registry.npmjs.org/axe-core/-/axe-core-{VERSION}.tgz");
        run(Command::new("curl")
            .args(["--fail", "--silent", "--show-error", "--location", "--output"])
            .arg(&archive)
            .arg(&url));
        run(Command::new("tar")
            .arg("--extract")
            .arg("--gzip")
            .arg("--file")
            .arg(&archive)
            .arg("--directory")
            .arg(&folder));
    }
    std::fs::read_to_string(script).expect("axe-core")
}

fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// The serious and critical findings on the page.
pub(crate) fn findings(browser: &Browser, script: &str) -> Vec<String> {
    // The page's policy forbids scripts in the page, but not the driver to run one.
    browser.run(script);
    let results = browser.run_async("axe.run(document, { resultTypes: ['violations'] })");
    assert!(results["failed"].is_null(), "axe-core: {results}");
    let violations = results["violations"].as_array().cloned().unwrap_or_default();
    let is_serious = |it: &&Value| matches!(it["impact"].as_str(), Some("serious" | "critical"));
    let describe = |it: &Value| {
        let nodes = it["nodes"].as_array().cloned().unwrap_or_default();
        let places: Vec<String> = nodes
            .iter()
            .take(4)
            .map(|it| format!("{} {}", it["target"], it["failureSummary"]))
            .collect();
        format!("{}: {} {places:#?}", it["id"], it["help"])
    };
    violations.iter().filter(is_serious).map(describe).collect()
}
