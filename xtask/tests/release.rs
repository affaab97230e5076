//! What crates need before they can be published.

use std::process::Command;

use xtask::{release, root};

#[test]
fn published_crates_have_what_a_registry_shows() {
    release::check_manifests(&root()).unwrap();
}

#[test]
fn the_document_has_the_order_of_the_crates() {
    let document = std::fs::read_to_string(root().join("docs/release.md")).unwrap();
    let order = release::CRATES.join(", ");
    assert!(document.contains(&order), "docs/release.md does not have: {order}");
}

/// Unit tests and examples run from the packages, where the rest of the repository does not exist.
#[test]
fn packaged_sources_stay_inside_of_their_package() {
    let mut found = Vec::new();
    for name in release::CRATES {
        let folder = root().join("crates").join(name.strip_prefix("sstkit-").unwrap_or(name));
        for file in packaged_files(name).lines().filter(|file| file.ends_with(".rs")) {
            let path = folder.join(file);
            let text = std::fs::read_to_string(&path).unwrap();
            for (number, line) in text.lines().enumerate() {
                let is_code = !line.trim_start().starts_with("//");
                let is_outside =
                    ["testdata", "CARGO_MANIFEST_DIR"].iter().any(|it| line.contains(it));
                if is_code && is_outside {
                    found.push(format!("{}:{}", path.display(), number + 1));
                }
            }
        }
    }
    assert!(found.is_empty(), "these lines read files outside of their package: {found:#?}");
}

fn packaged_files(name: &str) -> String {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["package", "--list", "--allow-dirty", "--offline", "--package", name]);
    let listed = cargo.current_dir(root()).output().unwrap();
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    String::from_utf8(listed.stdout).unwrap()
}
