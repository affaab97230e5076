//! Commands whose memory is watched while they run.

use std::error::Error;
use std::fs;
use std::io::Read as _;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// Between two looks at the memory of a process.
const POLL: Duration = Duration::from_millis(1);

/// Runs a command that should end with this status and prints little. Returns the peak of its resident set
/// in bytes (`VmHWM`, polled), and what it printed.
pub(crate) fn run(mut command: Command, status: i32) -> Result<(u64, String), Box<dyn Error>> {
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let of_process = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    let exit = loop {
        if let Some(exit) = child.try_wait()? {
            break exit;
        }
        let text = fs::read_to_string(&of_process).unwrap_or_default();
        peak = peak.max(high_water_mark(&text).unwrap_or(0));
        thread::sleep(POLL);
    };
    let mut printed = String::new();
    child.stdout.take().ok_or("no output")?.read_to_string(&mut printed)?;
    match exit.code() == Some(status) {
        true => Ok((peak, printed)),
        false => Err(format!("{command:?}: {exit}, not {status}").into()),
    }
}

/// The load of the machine in the last one, five and fifteen minutes.
pub(crate) fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').take(3).collect::<Vec<_>>().join(" ")
}

/// `VmHWM:    1234 kB`, in bytes.
fn high_water_mark(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_a_process() {
        let status = "Name:\tsst\nVmPeak:\t 9 kB\nVmHWM:\t    2048 kB\n";
        assert_eq!(high_water_mark(status), Some(2 << 20));
        assert_eq!(high_water_mark("Name:\tsst\n"), None);
    }
}
