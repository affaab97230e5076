//! What the project is built from: licences that go with its own, and one source.

use std::process::Command;

use serde_json::Value;

/// Licences that only require attribution: the list of `deny.toml`.
fn accepted() -> Vec<String> {
    let text = std::fs::read_to_string(xtask::root().join("deny.toml")).expect("deny.toml");
    let (_, list) = text.split_once("allow = [").expect("a list of licences");
    let (list, _) = list.split_once(']').expect("the end of the list");
    let names = list.split(',').map(|name| name.trim().trim_matches('"').to_owned());
    names.filter(|name| !name.is_empty()).collect()
}

fn packages() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--manifest-path"])
        .arg(xtask::root().join("Cargo.toml"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo speaks JSON");
    metadata["packages"].as_array().expect("a list of packages").clone()
}

/// Whether a licence expression can be satisfied with what is accepted: one of each `OR`, all of
/// each `AND`.
fn is_accepted(expression: &str, accepted: &[String]) -> bool {
    let expression = expression.replace('/', " OR ");
    split(&expression, " OR ").iter().any(|choice| {
        split(choice, " AND ").iter().all(|part| {
            let part = part.trim();
            match part.strip_prefix('(').and_then(|part| part.strip_suffix(')')) {
                Some(inner) => is_accepted(inner, accepted),
                None => {
                    let name = part.split(" WITH ").next().unwrap_or(part).trim();
                    accepted.iter().any(|accepted| accepted == name)
                }
            }
        })
    })
}

/// Splits where no parenthesis is open.
fn split<'a>(expression: &'a str, by: &str) -> Vec<&'a str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0usize);
    for (at, character) in expression.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 && at >= start && expression[at..].starts_with(by) => {
                parts.push(&expression[start..at]);
                start = at + by.len();
            }
            _ => {}
        }
    }
    parts.push(&expression[start..]);
    parts
}

#[test]
fn expressions_are_understood() {
    let list = ["MIT", "Apache-2.0", "Unicode-3.0"].map(str::to_owned);
    for accepted in [
        "MIT",
        "MIT OR GPL-3.0",
        "Apache-2.0/MIT",
        "(MIT OR GPL-2.0) AND Unicode-3.0",
        "Apache-2.0 WITH LLVM-exception",
    ] {
        assert!(is_accepted(accepted, &list), "{accepted}");
    }
    for refused in ["GPL-3.0", "MIT AND GPL-3.0", "(MIT AND GPL-2.0) OR AGPL-3.0", ""] {
        assert!(!is_accepted(refused, &list), "{refused}");
    }
}

#[test]
fn every_licence_is_accepted() {
    let accepted = accepted();
    let refused: Vec<String> = packages()
        .iter()
        .filter(|package| !is_accepted(package["license"].as_str().unwrap_or_default(), &accepted))
        .map(|package| {
            format!("{} {}: {}", package["name"], package["version"], package["license"])
        })
        .collect();
    assert!(refused.is_empty(), "licences to be looked at: {refused:#?}");
}

#[test]
fn everything_comes_from_the_registry() {
    let elsewhere: Vec<String> = packages()
        .iter()
        .filter_map(|package| package["source"].as_str())
        .filter(|source| *source != "registry+https://github.com/rust-lang/crates.io-index")
        .map(str::to_owned)
        .collect();
    assert!(elsewhere.is_empty(), "other sources: {elsewhere:#?}");
}
