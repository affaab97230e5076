//! Time: that of the clock on the wall, or that which this process has worked.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

static CPU_TIME: AtomicBool = AtomicBool::new(false);

/// From now on, time worked is what counts: for machines that do something else at the same time.
pub(crate) fn use_cpu_time() {
    CPU_TIME.store(true, Ordering::Relaxed);
}

/// A moment.
#[derive(Clone, Copy)]
pub(crate) enum Moment {
    Wall(Instant),
    Worked(Duration),
}

impl Moment {
    pub(crate) fn now() -> Self {
        match CPU_TIME.load(Ordering::Relaxed) {
            true => Self::Worked(worked()),
            false => Self::Wall(Instant::now()),
        }
    }

    pub(crate) fn elapsed(self) -> Duration {
        match self {
            Self::Wall(start) => start.elapsed(),
            Self::Worked(start) => worked().saturating_sub(start),
        }
    }
}

/// The CPU time of all threads of this process.
fn worked() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes one structure.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_takes_time_by_both_clocks() {
        let moments = [Moment::Worked(worked()), Moment::Wall(Instant::now())];
        let mut random = crate::data::Random::new(1);
        let sum = (0..1_000_000).fold(0, |sum: u64, _| sum.wrapping_add(random.next()));
        assert_ne!(sum, 0);
        assert!(moments.iter().all(|moment| moment.elapsed() > Duration::ZERO));
    }
}
