//! The peak memory of this process, if the system reports it.

use std::fs;

pub(crate) const MIB: usize = 1 << 20;

/// The memory in use when a measurement began.
pub(crate) struct Peak {
    before: Option<usize>,
}

impl Peak {
    /// Starts a measurement. On Linux the peak can be reset; elsewhere nothing is measured.
    pub(crate) fn start() -> Self {
        let forgotten = fs::write("/proc/self/clear_refs", "5").is_ok();
        Self { before: resident("VmRSS:").filter(|_| forgotten) }
    }

    /// How much more memory was in use at the worst moment since.
    pub(crate) fn taken(&self) -> Option<usize> {
        Some(resident("VmHWM:")?.saturating_sub(self.before?))
    }
}

/// A number of bytes from the process's status.
fn resident(field: &str) -> Option<usize> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    let kib: usize = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib * 1024)
}
