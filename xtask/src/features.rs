//! Checks that the combinations of features compile, each crate on its own: together, one crate would
//! turn on the features of another.

use std::path::Path;
use std::process::Command;

/// A package, its features without the default ones, and whether the short form checks it, too.
struct Combination {
    package: &'static str,
    features: &'static str,
    is_short: bool,
}

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
    long("sstkit-db", "ruzstd"),
    long("sstkit-db", "zstd"),
    short("sstkit", ""),
    short("sstkit", "ruzstd,lz4,snappy,zlib,bzip2"),
    long("sstkit-inspect", ""),
    long("sstkit-arrow", ""),
    long("sstkit-web", ""),
    long("sstkit-cli", ""),
    long("sstkit-cli", "serve"),
    long("sstkit-cli", "parquet"),
];

/// What compiles for WebAssembly.
const WASM: &[(&str, &str)] =
    &[("sstkit-filter", ""), ("sstkit-table", "ruzstd,lz4,snappy,zlib,bzip2")];

const WASM_TARGET: &str = "wasm32-unknown-unknown";

/// The example that reads every codec without C.
const PURE_RUST: [&str; 8] = [
    "run",
    "--package=sstkit",
    "--locked",
    "--quiet",
    "--no-default-features",
    "--features=ruzstd,lz4,snappy,zlib,bzip2",
    "--example",
    "pure_rust",
];

/// Checks the combinations: all, or the few of the short form.
///
/// # Errors
///
/// The first combination that does not compile.
pub fn check(root: &Path, only_short: bool) -> Result<(), String> {
    for Combination { package, features, is_short } in COMBINATIONS {
        if *is_short || !only_short {
            cargo(root, &check_arguments(package, features, None))?;
        }
    }
    no_c_compiler(root)?;
    cargo(root, &PURE_RUST.map(str::to_owned))?;
    if only_short {
        return Ok(());
    }
    if !is_installed(WASM_TARGET) {
        println!("{WASM_TARGET}: left out, the target is not installed");
        return Ok(());
    }
    for (package, features) in WASM {
        cargo(root, &check_arguments(package, features, Some(WASM_TARGET)))?;
    }
    Ok(())
}

fn check_arguments(package: &str, features: &str, target: Option<&str>) -> Vec<String> {
    let mut arguments = vec![
        "check".to_owned(),
        "--quiet".into(),
        "--locked".into(),
        "--no-default-features".into(),
        format!("--package={package}"),
        format!("--features={features}"),
    ];
    arguments.extend(target.map(|target| format!("--target={target}")));
    arguments
}

/// Without the feature `zstd`, no library in C is among the dependencies.
fn no_c_compiler(root: &Path) -> Result<(), String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--package=sstkit", "--edges=normal,build"])
        .args(["--no-default-features", "--features=ruzstd,lz4,snappy,zlib,bzip2"])
        .args(["--prefix=none", "--format={p}"])
        .current_dir(root)
        .output()
        .map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let packages = String::from_utf8_lossy(&output.stdout);
    let needs_c = |line: &&str| line.starts_with("cc ") || line.starts_with("zstd-sys ");
    match packages.lines().find(needs_c) {
        Some(package) => Err(format!("sstkit without zstd depends on {package}")),
        None => Ok(()),
    }
}

fn cargo(root: &Path, arguments: &[String]) -> Result<(), String> {
    println!("cargo {}", arguments.join(" "));
    let status = Command::new(env!("CARGO"))
        .args(arguments)
        .current_dir(root)
        .status()
        .map_err(|error| error.to_string())?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("failed: cargo {}", arguments.join(" "))),
    }
}

/// Whether the standard library of a target is here.
fn is_installed(target: &str) -> bool {
    let output = Command::new("rustc").args(["--print=target-libdir", "--target", target]).output();
    output.is_ok_and(|output| {
        let folder = String::from_utf8_lossy(&output.stdout);
        Path::new(folder.trim()).is_dir()
    })
}
