//! Checks that the combinations of features compile, each crate on its own: together, one crate would
//! turn on the features of another.

use std::path::Path;
use std::process::Command;

use crate::process::{output, run};
use crate::toolchain;

/// A package, its features without the default ones, and whether the short form checks it, too.
struct Combination {
    package: &'static str,
    features: &'static str,
    is_short: bool,
}

/// Features with which those examples of `sstkit` compile that require no other ones.
const EXAMPLES: [&str; 2] = ["", "write"];

const fn short(package: &'static str, features: &'static str) -> Combination {
    Combination { package, features, is_short: true }
}

const fn long(package: &'static str, features: &'static str) -> Combination {
    Combination { package, features, is_short: false }
}

const COMBINATIONS: &[Combination] = &[
    long("sstkit-coding", ""),
    short("sstkit-filter", ""),
    long("sstkit-table", ""),
    long("sstkit-table", "zstd"),
    long("sstkit-table", "lz4"),
    long("sstkit-table", "snappy"),
    long("sstkit-table", "zlib"),
    long("sstkit-table", "bzip2"),
    long("sstkit-table", "ruzstd"),
    long("sstkit-table", "zstd,ruzstd"),
    short("sstkit-table", "async"),
    long("sstkit-object-store", ""),
    long("sstkit-object-store", "fs"),
    long("sstkit-object-store", "write"),
    long("sstkit-object-store", "aws"),
    long("sstkit-object-store", "gcp"),
    long("sstkit-object-store", "azure"),
    long("sstkit-object-store", "http"),
    long("sstkit-table", "write"),
    long("sstkit-table", "write,codecs"),
    long("sstkit-db", ""),
    long("sstkit-db", "json"),
    long("sstkit-db", "write"),
    long("sstkit-db", "ruzstd"),
    long("sstkit-db", "zstd"),
    short("sstkit", ""),
    long("sstkit", "json"),
    long("sstkit", "write"),
    long("sstkit", "async"),
    long("sstkit", "inspect"),
    short("sstkit", "ruzstd,lz4,snappy,zlib,bzip2"),
    long("sstkit-inspect", ""),
    long("sstkit-arrow", ""),
    long("sstkit-web", ""),
    long("sstkit-cli", ""),
    long("sstkit-cli", "serve"),
    long("sstkit-cli", "parquet"),
    long("sstkit-cli", "remote"),
    long("sstkit-python", ""),
];

/// Every codec without C, and nothing that creates files.
const WASM_TABLE: &str = "ruzstd,lz4,snappy,zlib,bzip2";

/// What compiles for WebAssembly.
const WASM: &[(&str, &str)] =
    &[("sstkit-coding", ""), ("sstkit-filter", ""), ("sstkit-table", WASM_TABLE)];

const WASM_TARGET: &str = "wasm32-unknown-unknown";

/// The features with which the example `pure_rust` reads tables of all codecs: every codec without C, and none,
/// where it checks that each codec that is left out is an error with the name of its feature.
const PURE_RUST: [&str; 2] = ["ruzstd,lz4,snappy,zlib,bzip2", ""];

/// Checks the combinations: all, or the few of the short form.
///
/// # Errors
///
/// The first combination that does not compile.
pub fn check(root: &Path, only_short: bool) -> Result<(), String> {
    for Combination { package, features, is_short } in COMBINATIONS {
        if *is_short || !only_short {
            cargo(root, &arguments("check", package, features, None))?;
        }
    }
    for features in EXAMPLES {
        let mut arguments = arguments("check", "sstkit", features, None);
        arguments.push("--examples".into());
        cargo(root, &arguments)?;
    }
    for absence in ABSENCES {
        check_absence(root, absence)?;
    }
    for features in PURE_RUST {
        let mut arguments = arguments("run", "sstkit", features, None);
        arguments.push("--example=pure_rust".into());
        cargo(root, &arguments)?;
    }
    if only_short {
        return Ok(());
    }
    if !toolchain::is_installed(WASM_TARGET) {
        println!("{WASM_TARGET}: left out, the target is not installed");
        return Ok(());
    }
    for (package, features) in WASM {
        cargo(root, &arguments("check", package, features, Some(WASM_TARGET)))?;
    }
    Ok(())
}

fn arguments(command: &str, package: &str, features: &str, target: Option<&str>) -> Vec<String> {
    let mut arguments = vec![
        command.to_owned(),
        "--quiet".into(),
        "--locked".into(),
        "--no-default-features".into(),
        format!("--package={package}"),
        format!("--features={features}"),
    ];
    arguments.extend(target.map(|target| format!("--target={target}")));
    arguments
}

/// Dependencies that a combination of features must not have.
struct Absence {
    package: &'static str,
    features: &'static str,
    target: Option<&'static str>,
    dependencies: &'static [&'static str],
}

const ABSENCES: &[Absence] = &[
    // No library in C without the feature `zstd`.
    Absence {
        package: "sstkit",
        features: "write,inspect,ruzstd,lz4,snappy,zlib,bzip2",
        target: None,
        dependencies: &["cc", "zstd-sys"],
    },
    // Readers do not pay for what only writers need.
    Absence {
        package: "sstkit",
        features: "codecs",
        target: None,
        dependencies: &["serde", "serde_json", "tempfile"],
    },
    // Nothing that needs an operating system, so that WebAssembly compiles.
    Absence {
        package: "sstkit-table",
        features: WASM_TABLE,
        target: Some(WASM_TARGET),
        dependencies: &["cc", "getrandom", "rustix", "tempfile", "zstd-sys"],
    },
];

/// Looks at the dependencies, for which no target has to be installed.
fn check_absence(root: &Path, absence: &Absence) -> Result<(), String> {
    let Absence { package, features, target, dependencies } = absence;
    let mut command = Command::new(env!("CARGO"));
    command
        .args(["tree", "--locked", "--edges=normal,build", "--prefix=none", "--format={p}"])
        .args(["--no-default-features", "--package", package, "--features", features])
        .args(target.map(|target| format!("--target={target}")))
        .current_dir(root);
    let packages = output(&mut command)?;
    let mut names = packages.lines().filter_map(|line| line.split(' ').next());
    match names.find(|name| dependencies.contains(name)) {
        Some(name) => Err(format!("{package} with {features} depends on {name}")),
        None => Ok(()),
    }
}

fn cargo(root: &Path, arguments: &[String]) -> Result<(), String> {
    println!("cargo {}", arguments.join(" "));
    run(Command::new(env!("CARGO")).args(arguments).current_dir(root))
}
