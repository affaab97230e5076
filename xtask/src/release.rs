//! Checks that the crates are ready to publish, each as its users would get it.
//!
//! 1. Every crate is packed and compiled from its package, with the other packages as dependencies.
//! 2. The unit tests and the examples in the documentation run from the unpacked packages, and the programs in
//!    `examples/` are built from them: they need nothing of the repository.
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

/// Those of <https://crates.io/category_slugs> that the crates have.
const CATEGORIES: [&str; 5] =
    ["command-line-utilities", "data-structures", "database", "encoding", "no-std"];

const LICENCES: [&str; 2] = ["LICENSE-MIT", "LICENSE-APACHE"];

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
        check_categories(package).map_err(|error| format!("{name}: {error}"))?;
        if !folder.join("README.md").is_file() {
            return Err(format!("{name}: no README.md"));
        }
        check_licences(root, folder).map_err(|error| format!("{name}: {error}"))?;
        if package["metadata"]["docs"]["rs"].is_null() && name != "sstkit-cli" {
            return Err(format!("{name}: no [package.metadata.docs.rs]"));
        }
    }
    Ok(())
}

/// What a registry accepts, and where people look for such a crate.
fn check_categories(package: &Value) -> Result<(), String> {
    let list = |field: &str| -> Vec<&str> {
        package[field].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
    };
    let (keywords, categories) = (list("keywords"), list("categories"));
    if keywords.is_empty() || keywords.len() > 5 || keywords.iter().any(|it| it.len() > 20) {
        return Err(format!("keywords {keywords:?}: 1 to 5 are needed, of at most 20 characters"));
    }
    if categories.is_empty() || categories.len() > 5 {
        return Err(format!("categories {categories:?}: 1 to 5 are needed"));
    }
    if let Some(unknown) = categories.iter().find(|it| !CATEGORIES.contains(it)) {
        return Err(format!("category {unknown:?} is not one of crates.io's, or new here"));
    }
    let targets = package["targets"].as_array().into_iter().flatten();
    let has_program = targets.into_iter().any(|target| target["kind"][0] == "bin");
    let has_std = !package["features"]["std"].is_null();
    for (is_needed, category) in [(has_program, "command-line-utilities"), (has_std, "no-std")] {
        if is_needed != categories.contains(&category) {
            return Err(format!("category {category:?}: needed {is_needed}, found {categories:?}"));
        }
    }
    Ok(())
}

/// A package has nothing of the folder above it, so that each crate needs the texts themselves: a link becomes a
/// file with a path on systems without symbolic links.
fn check_licences(root: &Path, folder: &Path) -> Result<(), String> {
    for file in LICENCES {
        let read = |folder: &Path| {
            let path = folder.join(file);
            fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))
        };
        if read(folder)? != read(root)? {
            return Err(format!("{file} is not a copy of the one in the root"));
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
    for arguments in
        [&["test", "--lib", "--bins"][..], &["test", "--doc"], &["build", "--examples"]]
    {
        run(Command::new(env!("CARGO"))
            .args(arguments)
            .args(["--workspace", "--quiet"])
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
        println!(
            "not compared: there is no tag v*, so this is the first release, and cargo semver-checks has nothing to \
             compare it with"
        );
        return Ok(());
    };
    let libraries = CRATES.iter().filter(|name| **name != "sstkit-cli");
    run(Command::new(tools::SEMVER_CHECKS.install(root)?)
        .args(["semver-checks", "--baseline-rev", last])
        .args(libraries.map(|name| format!("--package={name}")))
        .current_dir(root))
}
