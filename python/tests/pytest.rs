//! Runs the tests that are written in Python, with the module that this crate builds.
//!
//! The module is copied beside the Python sources below the directory that cargo builds in, and
//! pytest runs there, in a virtual environment with the packages of `requirements.txt`. The tests
//! compare with the command, which the tests of the whole workspace build. Those of Spark have an
//! environment of their own, and need Java.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::{env, fs};

use sstkit_testkit::engines::{python_environment, target_folder};
use sstkit_testkit::object_stores::{S3Server, create_bucket};

/// The directory of this crate.
fn crate_folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The directory of the built libraries, with that of the programs above it.
fn libraries() -> PathBuf {
    let program = env::current_exe().expect("a path of the test");
    program.parent().expect("a directory of libraries").to_path_buf()
}

/// Makes the package for a test, and returns the directory that it is in.
fn package(test: &str) -> PathBuf {
    let folder = target_folder().join(format!("python-package-{test}-{}", std::process::id()));
    let package = folder.join("sstkit");
    fs::create_dir_all(&package).expect("a directory for the package");
    copy_sources(&crate_folder().join("sstkit"), &package);
    let name = format!("{}_native{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX);
    let module = libraries().join(name);
    fs::copy(&module, package.join("_native.abi3.so"))
        .unwrap_or_else(|error| panic!("{}: {error}", module.display()));
    folder
}

fn copy_sources(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory");
    for entry in fs::read_dir(from).expect("the sources") {
        let path = entry.expect("a source").path();
        let name = path.file_name().expect("a name");
        let is_source =
            ["py", "pyi", "typed"].iter().any(|it| path.extension().is_some_and(|e| e == *it));
        match path.is_dir() {
            true if name != "__pycache__" => copy_sources(&path, &to.join(name)),
            false if is_source => drop(fs::copy(&path, to.join(name)).expect("a copy")),
            _ => {}
        }
    }
}

/// The command, as the tests of the workspace build it.
fn command() -> PathBuf {
    let path = libraries().with_file_name(format!("sst{}", env::consts::EXE_SUFFIX));
    let hint = "run the tests of the workspace, or with -p sstkit-cli, which build it";
    assert!(path.is_file(), "{}: not found; {hint}", path.display());
    path
}

fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (out, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?} failed:\n{out}\n{errors}");
    println!("{out}");
}

fn environment(name: &str, requirements: &str) -> PathBuf {
    python_environment(name, requirements)
        .unwrap_or_else(|problem| panic!("cannot install the packages of the tests: {problem}"))
}

fn interpreter() -> &'static Path {
    static INTERPRETER: OnceLock<PathBuf> = OnceLock::new();
    INTERPRETER.get_or_init(|| environment("python", include_str!("requirements.txt")))
}

/// Runs the Python tests of a directory, with a bucket in a real S3 server.
fn run_pytest(interpreter: &Path, package: &Path, tests: &str) {
    let server = S3Server::start();
    create_bucket(server.port, "python");
    let mut python = Command::new(interpreter);
    python
        .env("BUCKET", "s3://python")
        .env("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{}", server.port))
        .env("AWS_ALLOW_HTTP", "true")
        .env("AWS_ACCESS_KEY_ID", "test")
        .env("AWS_SECRET_ACCESS_KEY", "test")
        .env("AWS_REGION", "us-east-1")
        .env("PYTHONPATH", package)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("SST", command())
        .env("TESTDATA", crate_folder().with_file_name("testdata"))
        // Not the directory of the sources, where Python would find the package without its module.
        .current_dir(crate_folder().join(tests));
    run(python.args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "."]));
}

#[test]
fn types_are_right() {
    for tests in ["tests", "tests_spark"] {
        let mut python = Command::new(interpreter());
        let cache = target_folder().join("mypy-cache");
        run(python
            .args(["-m", "mypy", "--cache-dir"])
            .arg(cache)
            .args(["sstkit", tests])
            .current_dir(crate_folder()));
    }
}

#[test]
fn python_tests() {
    let package = package("python");
    run_pytest(interpreter(), &package, "tests");
    let mut python = Command::new(interpreter());
    python.env("PYTHONPATH", &package).env("MYPYPATH", &package).current_dir(&package);
    run(python.args(["-m", "mypy.stubtest", "sstkit._native"]));
    fs::remove_dir_all(package).expect("the package is removed");
}

#[test]
fn spark_tests() {
    if !Command::new("java").arg("-version").output().is_ok_and(|it| it.status.success()) {
        // Not by a macro, whose output only failing tests show. `.ci/run` requires Java.
        let _ = io::stderr().write_all(b"there is no java: the tests of Spark are left out\n");
        return;
    }
    let package = package("spark");
    let requirements = include_str!("../tests_spark/requirements.txt");
    run_pytest(&environment("spark", requirements), &package, "tests_spark");
    fs::remove_dir_all(package).expect("the package is removed");
}
