//! A process whose system calls fail, or that is killed at one of them, by `strace`.

use std::process::{Command, Output};

/// What happens at a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The process is killed before it.
    Kill,
    /// It fails with this error, such as `EIO`.
    Fail(&'static str),
}

/// Whether `strace` can be used.
///
/// # Panics
///
/// If it cannot in a run that has to test everything (`CI` is set).
pub fn is_traceable() -> bool {
    let tried = Command::new("strace").args(["-f", "-e", "trace=fsync", "true"]).output();
    let traceable = tried.is_ok_and(|output| output.status.success());
    if !traceable {
        // Where everything has to be tested, a test that does not run has failed.
        assert!(std::env::var_os("CI").is_none(), "strace is not installed, or may not trace");
        println!("not run: strace is not installed, or may not trace");
    }
    traceable
}

/// Runs a command; at the call of this number among `calls`, counted from 1 on, the event happens.
///
/// # Panics
///
/// If `strace` cannot be run.
pub fn run_until(run: &Command, calls: &str, number: u32, event: Event) -> Output {
    let event = match event {
        Event::Kill => "signal=KILL".to_owned(),
        Event::Fail(error) => format!("error={error}"),
    };
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o", "/dev/null"]);
    command.arg("-e").arg(format!("trace={calls}"));
    command.arg("-e").arg(format!("inject={calls}:{event}:when={number}"));
    command.arg("--").arg(run.get_program()).args(run.get_args());
    if let Some(folder) = run.get_current_dir() {
        command.current_dir(folder);
    }
    command.output().expect("strace runs")
}
