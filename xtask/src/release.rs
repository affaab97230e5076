//! Checks that the crates are ready to publish, each as its users would get it.
//!
//! 1. Every crate is packed and compiled from its package, with the other packages as dependencies.
//! 2. The unit tests and the examples in the documentation run from the unpacked packages: they need nothing of
//!    the repository.
//! 3. The public API is compared with that of the last release. A breaking change needs a new version.
//!
//! It uploads nothing: `docs/release.md` has the order.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::process::{output, run};
use crate::tools;

/// The crates that are published, each after those it depends on.
pub const CRATES: &[&str] = &[
    "sstkit-coding",
    "sstkit-filter",
    "sstkit-table",
    "sstkit-db",
    "sstkit-inspect",
    "sstkit-arrow",
    "sstkit-object-store",
    "sstkit-web",
    "sstkit-cli",
    "sstkit",
];

/// Checks everything.
///
/// # Errors
///
/// The first check that fails.
pub fn check(root: &Path) -> Result<(), String> {
    check_manifests(root)?;
    println!("packages");
    run(Command::new(env!("CARGO"))
        .args(["package", "--locked"])
        .args(CRATES.iter().map(|name| format!("--package={name}")))
        .current_dir(root))?;
    println!("tests of the packages");
    test_packages(root)?;
    println!("public API");
    check_api(root)
}

/// Every crate to be published has what a registry shows, and the others are not published.
///
/// # Errors
///
/// Names the crate and what is missing.
pub fn check_manifests(root: &Path) -> Result<(), String> {
    let text = output(
        Command::new(env!("CARGO"))
            .args(["metadata", "--locked", "--no-deps", "--format-version=1"])
            .current_dir(root),
    )?;
    let metadata: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let packages = metadata["packages"].as_array().ok_or("cargo lists no packages")?;
    for package in packages {
        let name = package["name"].as_str().unwrap_or_default();
        let is_published = package["publish"].is_null();
        if is_published != CRATES.contains(&name) {
            return Err(format!("{name}: `publish` does not match the list of published crates"));
        }
        if !is_published {
            continue;
        }
        for field in ["description", "license", "repository", "readme", "rust_version"] {
            if package[field].as_str().is_none_or(str::is_empty) {
                return Err(format!("{name}: no {field}"));
            }
        }
        let folder = Path::new(package["manifest_path"].as_str().unwrap_or_default());
        let folder = folder.parent().unwrap_or(root);
        for file in ["README.md", "LICENSE-MIT", "LICENSE-APACHE"] {
            if !folder.join(file).is_file() {
                return Err(format!("{name}: no {file}"));
            }
        }
        if package["metadata"]["docs"]["rs"].is_null() && name != "sstkit-cli" {
            return Err(format!("{name}: no [package.metadata.docs.rs]"));
        }
    }
    Ok(())
}

/// Runs the tests that are in the packages in a workspace of nothing else.
fn test_packages(root: &Path) -> Result<(), String> {
    let packages = root.join("target/package");
    let place = root.join("target/packaged");
    if place.exists() {
        fs::remove_dir_all(&place).map_err(|error| error.to_string())?;
    }
    fs::create_dir_all(&place).map_err(|error| error.to_string())?;
    let version = env!("CARGO_PKG_VERSION");
    let (mut members, mut patches) = (String::new(), String::new());
    for name in CRATES {
        let file = packages.join(format!("{name}-{version}.crate"));
        run(Command::new("tar").arg("--extract").arg("--file").arg(&file).current_dir(&place))?;
        members += &format!("\"{name}-{version}\", ");
        patches += &format!("{name} = {{ path = \"{name}-{version}\" }}\n");
    }
    let manifest = format!(
        "[workspace]\nresolver = \"3\"\nmembers = [{members}]\n\n[patch.crates-io]\n{patches}\n\
         [profile.test]\nopt-level = 2\n"
    );
    fs::write(place.join("Cargo.toml"), manifest).map_err(|error| error.to_string())?;
    fs::copy(root.join("Cargo.lock"), place.join("Cargo.lock"))
        .map_err(|error| error.to_string())?;
    for tests in [&["--lib", "--bins"][..], &["--doc"]] {
        run(Command::new(env!("CARGO"))
            .args(["test", "--workspace", "--quiet"])
            .args(tests)
            .env("CARGO_TARGET_DIR", root.join("target/packaged-build"))
            .current_dir(&place))?;
    }
    Ok(())
}

/// Compares the libraries with those of the last tag.
fn check_api(root: &Path) -> Result<(), String> {
    let tags = output(
        Command::new("git")
            .args(["tag", "--list", "v*", "--sort=-version:refname"])
            .current_dir(root),
    )?;
    let Some(last) = tags.lines().next() else {
        println!("no release to compare with: there is no tag v*");
        return Ok(());
    };
    let libraries = CRATES.iter().filter(|name| **name != "sstkit-cli");
    run(Command::new(tools::SEMVER_CHECKS.install(root)?)
        .args(["semver-checks", "--baseline-rev", last])
        .args(libraries.map(|name| format!("--package={name}")))
        .current_dir(root))
}
