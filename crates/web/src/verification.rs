//! Verifying a source while a page shows the progress.
//!
//! ```text
//! {"event":"start","files":31,"bytes":123456789}
//! {"event":"progress","bytes":4194304}
//! {"event":"file","report":{"file":"000011.sst","sound":true, …}}
//! {"event":"end","status":"sound","files":31,"seconds":1.7}
//! ```
//!
//! The client that started it sees the events. If it goes away, the verification stops. What a whole
//! verification found stays, for the next page.

use std::io;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;
use sstkit_inspect::{VerifyProgress, VerifyReport, VerifyStatus, verify_database_observed};

use crate::error::{PageError, Result};
use crate::pages::to_short_json;
use crate::source::Opened;

/// How often progress is reported.
const INTERVAL: Duration = Duration::from_millis(200);
/// Problems that are kept of all reports.
const MAX_PROBLEMS: usize = 10_000;
/// Reports that wait for the client.
const QUEUE: usize = 64;

/// The verifications of all sources.
pub(crate) struct Verifications(Vec<Mutex<Slot>>);

#[derive(Default)]
struct Slot {
    is_running: bool,
    last: Option<Finished>,
}

/// What a verification found.
#[derive(Clone, Debug, Serialize)]
struct Finished {
    /// The verdict about everything.
    status: &'static str,
    /// The number of files, including the directory of a database.
    files: u64,
    seconds: f64,
    /// The reports in the order in which they were made.
    reports: Vec<VerifyReport>,
}

/// The JSON of the page.
#[derive(Serialize)]
pub(crate) struct HealthState<'s> {
    file: &'s str,
    /// Whether a verification is running.
    running: bool,
    /// The tables to verify.
    files: u64,
    /// Their bytes.
    bytes: u64,
    /// What the last verification found.
    last: Option<Finished>,
}

#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Event<'e> {
    Start { files: u64, bytes: u64 },
    Progress { bytes: u64 },
    File { report: &'e VerifyReport },
    End { status: &'static str, files: u64, seconds: f64 },
}

impl Verifications {
    pub(crate) fn new(sources: usize) -> Self {
        Self((0..sources).map(|_| Mutex::default()).collect())
    }

    fn with<T>(&self, index: usize, use_slot: impl FnOnce(&mut Slot) -> T) -> T {
        use_slot(&mut self.0[index].lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn state<'s>(
        &self,
        index: usize,
        name: &'s str,
        opened: &Opened,
    ) -> HealthState<'s> {
        let (files, bytes) = extent(opened);
        self.with(index, |slot| HealthState {
            file: name,
            running: slot.is_running,
            files,
            bytes,
            last: slot.last.clone(),
        })
    }

    /// Verifies a source, and passes lines of JSON to `emit` until it fails.
    pub(crate) fn run(
        &self,
        index: usize,
        name: &str,
        opened: &Opened,
        emit: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<()> {
        if let Opened::Failed(why) = opened {
            return Err(PageError::not_found(why.clone()));
        }
        if self.with(index, |slot| std::mem::replace(&mut slot.is_running, true)) {
            return Err(PageError::busy("a verification is running already"));
        }
        // Also after a panic.
        let _running = Running(self, index);
        let finished = run(name, opened, emit);
        if let Some(finished) = finished {
            self.with(index, |slot| slot.last = Some(finished));
        }
        Ok(())
    }
}

struct Running<'v>(&'v Verifications, usize);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.with(self.1, |slot| slot.is_running = false);
    }
}

/// The number of tables, and their bytes.
fn extent(opened: &Opened) -> (u64, u64) {
    match opened {
        Opened::Table(file) => (1, file.table().size()),
        Opened::Database(database, _) => {
            let levels = database.column_families().flat_map(|family| family.levels());
            let files = levels.flat_map(|level| level.files);
            files.fold((0, 0), |(files, bytes), file| (files + 1, bytes + file.metadata().size))
        }
        Opened::Failed(_) => (0, 0),
    }
}

/// `None` if the client has gone.
fn run(
    name: &str,
    opened: &Opened,
    emit: &mut dyn FnMut(&[u8]) -> io::Result<()>,
) -> Option<Finished> {
    let start = Instant::now();
    let progress = VerifyProgress::default();
    let (send, receive) = sync_channel::<VerifyReport>(QUEUE);
    let mut say = |event: &Event<'_>| -> bool {
        let mut line = to_short_json(event).unwrap_or_default();
        line.push(b'\n');
        emit(&line).is_ok()
    };
    let (files, bytes) = extent(opened);
    let mut reports: Vec<VerifyReport> = Vec::new();
    let mut kept = 0;
    let is_complete = thread::scope(|scope| {
        let work = &progress;
        scope.spawn(move || {
            verify(name, opened, work, |report| {
                // The other end is open until this thread ends.
                let _ = send.send(report);
            });
        });
        let mut is_heard = say(&Event::Start { files, bytes });
        loop {
            if !is_heard {
                progress.stop();
            }
            match receive.recv_timeout(INTERVAL) {
                Ok(mut report) => {
                    is_heard = is_heard && say(&Event::File { report: &report });
                    report.problems.truncate(MAX_PROBLEMS - kept);
                    kept += report.problems.len();
                    reports.push(report);
                }
                Err(RecvTimeoutError::Timeout) => {
                    let bytes = progress.bytes();
                    is_heard = is_heard && say(&Event::Progress { bytes });
                }
                Err(RecvTimeoutError::Disconnected) => return is_heard,
            }
        }
    });
    if !is_complete {
        return None;
    }
    // The last one is about the directory, or the only one.
    let status = reports.last().map_or(VerifyStatus::Sound, |report| report.status).name();
    let (files, seconds) = (reports.len() as u64, start.elapsed().as_secs_f64());
    say(&Event::End { status, files, seconds });
    Some(Finished { status, files, seconds, reports })
}

fn verify(
    name: &str,
    opened: &Opened,
    progress: &VerifyProgress,
    mut each: impl FnMut(VerifyReport),
) {
    match opened {
        Opened::Table(file) => {
            let report = VerifyReport::of_table_observed(name, file, progress);
            if !progress.is_stopped() {
                each(report);
            }
        }
        Opened::Database(database, error) => {
            verify_database_observed(name, database, error.as_ref(), progress, each);
        }
        Opened::Failed(_) => {}
    }
}
