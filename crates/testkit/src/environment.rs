//! Virtual environments of Python and packages of node: created once, below the project's `target` directory.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::{fs, io};

/// The interpreter of an environment with these packages, which is created if it does not exist.
///
/// It is created under a temporary name and renamed when complete, so that an interrupted run leaves no
/// partial environment. The name contains a hash of the requirements: new requirements get a new
/// environment.
///
/// # Errors
///
/// Without python3 and its module venv, and if a package cannot be installed, with the reason.
pub fn python_environment(name: &str, requirements: &str) -> Result<PathBuf, String> {
    let environment = target_folder().join(format!("{name}-{:016x}", hash(requirements)));
    let interpreter = environment.join("bin/python");
    make_once(&environment, &interpreter, |unfinished| make(unfinished, requirements))?;
    Ok(interpreter)
}

/// A directory in which node finds these packages of npm, which is created if it does not exist, as
/// [`python_environment`] does.
///
/// # Errors
///
/// Without npm, and if a package cannot be installed, with the reason.
pub fn node_environment(name: &str, packages: &[&str]) -> Result<PathBuf, String> {
    let environment = target_folder().join(format!("{name}-{:016x}", hash(&packages.join(" "))));
    make_once(&environment, &environment.join("node_modules"), |unfinished| {
        empty(unfinished)?;
        fs::create_dir_all(unfinished).map_err(|error| error.to_string())?;
        let options = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"];
        run(Command::new("npm").args(options).arg(unfinished).args(packages))
    })?;
    Ok(environment)
}

/// Makes a directory under a temporary name, unless `there`, which is in it, exists.
fn make_once(
    environment: &Path,
    there: &Path,
    make: impl FnOnce(&Path) -> Result<(), String>,
) -> Result<(), String> {
    // The tests of a process are threads of it: one of them makes it, the others wait.
    static MAKING: Mutex<()> = Mutex::new(());
    let _making = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    if there.exists() {
        return Ok(());
    }
    let unfinished = environment.with_extension(format!("unfinished-{}", std::process::id()));
    make(&unfinished)?;
    match fs::rename(&unfinished, environment) {
        Ok(()) => Ok(()),
        // Another process was faster.
        Err(_) if there.exists() => remove(&unfinished),
        Err(error) => Err(format!("{}: {error}", environment.display())),
    }
}

/// Makes sure that there is a place for a directory, and nothing in it.
fn empty(environment: &Path) -> Result<(), String> {
    remove(environment)?;
    match environment.parent() {
        Some(parent) => {
            fs::create_dir_all(parent).map_err(|error| format!("{}: {error}", parent.display()))
        }
        None => Ok(()),
    }
}

fn make(environment: &Path, requirements: &str) -> Result<(), String> {
    empty(environment)?;
    run(Command::new("python3").args(["-m", "venv", "--copies"]).arg(environment))?;
    // Inside, where no other process that makes one at the same time looks.
    let list = environment.join("requirements.txt");
    fs::write(&list, requirements).map_err(|error| error.to_string())?;
    run(Command::new(environment.join("bin/python"))
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"])
        .arg(&list))
}

fn remove(folder: &Path) -> Result<(), String> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(format!("{}: {error}", folder.display()))
        }
        _ => Ok(()),
    }
}

/// The directory that cargo builds in: above the test's own executable.
pub fn target_folder() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    program
        .ancestors()
        .find(|folder| folder.join("CACHEDIR.TAG").exists())
        .map_or_else(std::env::temp_dir, Path::to_path_buf)
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{command:?} failed:\n{}", String::from_utf8_lossy(&output.stderr)))
}
