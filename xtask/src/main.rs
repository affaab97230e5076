//! `cargo xtask COMMAND`: the chores of the project.

use std::process::{Command, ExitCode};

use xtask::{changelog, dist, features, lines, release, root};

const USAGE: &str = "\
usage: cargo xtask COMMAND

  goldens             rewrite all expected outputs of the tests
  changelog VERSION   move the notes in changes/unreleased to CHANGELOG.md
  features [--short]  check that the combinations of features compile
  lines               count the lines of production code
  dist [sst|wheel]    build what users install into target/dist: a static binary, a
                      Debian package, the wheel of the Python package
  release             check that the crates are ready to publish

The checks of the project are tests: cargo test -p xtask";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments[..] {
        ["goldens"] => rewrite_goldens(),
        ["changelog", version] => changelog::release(&root(), version),
        ["features"] => features::check(&root(), false),
        ["features", "--short"] => features::check(&root(), true),
        ["lines"] => {
            print!("{}", lines::report(&root()));
            Ok(())
        }
        ["dist"] => dist::all(&root()).map(|files| print!("{files}")),
        ["dist", "sst"] => dist::only_command(&root()).map(|files| print!("{files}")),
        ["dist", "wheel"] => dist::only_wheel(&root()).map(|files| print!("{files}")),
        ["release"] => release::check(&root()),
        _ => Err(USAGE.to_owned()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// Runs all tests with the variables that make them rewrite what they compare with.
fn rewrite_goldens() -> Result<(), String> {
    let status = Command::new(env!("CARGO"))
        .args(["test", "--workspace", "--no-fail-fast"])
        .envs([("UPDATE_GOLDENS", "1"), ("UPDATE_EXPECT", "1")])
        .current_dir(root())
        .status()
        .map_err(|error| error.to_string())?;
    match status.success() {
        true => Ok(()),
        false => Err("some tests failed: their outputs may be incomplete".into()),
    }
}
