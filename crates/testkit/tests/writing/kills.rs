//! `kill -9` of a writer that is at work.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use sstkit_testkit::faults::{Kind, Pause, Work};
use sstkit_testkit::{Random, cases};

use crate::state::{Before, Found, Place, places};

const COUNT: u32 = 20_000;

/// A writer at work, and what it says.
struct Running {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Running {
    fn start(place: &Place) -> Self {
        let mut child = place.command().stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output }
    }

    /// Waits until it says this. `false` if it ends before.
    fn wait_for(&mut self, text: &str) -> bool {
        let mut line = String::new();
        while self.output.read_line(&mut line).unwrap() > 0 {
            if line.trim_end() == text {
                return true;
            }
            line.clear();
        }
        false
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        let _ = self.output.read_to_end(&mut Vec::new());
    }
}

/// Stops at the given point, and is killed there.
fn kill_at(work: &Work, before: Before, pause: Pause) -> Found {
    let place = Place::new(&Work { pause, ..work.clone() }, before);
    let what = format!("{:?} {before:?}, killed at {pause:?}", work.kind);
    let mut running = Running::start(&place);
    assert!(running.wait_for("paused"), "{what}: does not come so far");
    running.kill();
    let found = place.check(&what);
    assert_ne!(found, Found::New, "{what}: it was not finished");
    place.run_again(found, &what);
    found
}

#[test]
fn killed_while_entries_come_and_while_they_are_written() {
    for (kind, _) in Kind::ALL {
        let mut kills = 0;
        for (work, before) in places(kind, COUNT, 2) {
            let entries = [0, 1, COUNT / 2, COUNT - 1].map(Pause::Entry);
            let reports = [1, 2, 3].map(Pause::Report);
            let pauses: Vec<Pause> = match kind {
                Kind::Table | Kind::LevelDbTable => entries.to_vec(),
                // Has entries at once, and reports nothing.
                Kind::CarryOver | Kind::CopiedDatabase => Vec::new(),
                // One before each table, and there is only one table.
                Kind::RefilteredFile => reports[..1].to_vec(),
                Kind::CompactionFile
                | Kind::CompactionFolder
                | Kind::CompactionDatabase
                | Kind::RefilteredFolder
                | Kind::RefilteredDatabase => reports.to_vec(),
                Kind::BulkFile | Kind::BulkFolder | Kind::BulkDatabase => {
                    [&entries[1..], &reports[..2]].concat()
                }
            };
            for pause in pauses {
                kill_at(&work, before, pause);
                kills += 1;
            }
        }
        // Before each there is nothing, or a result; for a folder there is an empty one, too; for a
        // database, and for a folder with other filters, there is nothing.
        let expected = match kind {
            Kind::Table | Kind::LevelDbTable => 2 * 4,
            Kind::CarryOver | Kind::CopiedDatabase => 0,
            Kind::CompactionDatabase | Kind::RefilteredFolder | Kind::RefilteredDatabase => 3,
            Kind::RefilteredFile => 2,
            Kind::BulkDatabase => 5,
            Kind::CompactionFile => 2 * 3,
            Kind::CompactionFolder => 3 * 3,
            Kind::BulkFile => 2 * 5,
            Kind::BulkFolder => 3 * 5,
        };
        assert_eq!(kills, expected, "{kind:?}");
    }
}

/// How long the writer takes from a line of its own to the end, about.
fn time_after(work: &Work, before: Before, line: &str) -> Duration {
    let place = Place::new(work, before);
    let mut running = Running::start(&place);
    assert!(running.wait_for(line));
    let start = Instant::now();
    assert!(running.wait_for("done"));
    let time = start.elapsed();
    running.child.wait().unwrap();
    time
}

/// At any moment of the last part, in which files are synced and get their names.
#[test]
fn killed_at_any_moment() {
    let mut random = Random::new(41);
    let mut seen: BTreeMap<Found, u32> = BTreeMap::new();
    for (kind, _) in Kind::ALL {
        let mut kills = 0;
        for (work, before) in places(kind, 6000, 2) {
            let time = time_after(&work, before, "finishing");
            for _ in 0..4 * cases() {
                let place = Place::new(&work, before);
                let mut running = Running::start(&place);
                assert!(running.wait_for("finishing"));
                let delay = time.mul_f64(random.index(1000) as f64 / 1000.0);
                std::thread::sleep(delay);
                running.kill();
                let what = format!("{kind:?} {before:?}, killed after {delay:?} of {time:?}");
                let found = place.check(&what);
                place.run_again(found, &what);
                *seen.entry(found).or_default() += 1;
                kills += 1;
            }
            // Who is killed after the end has finished.
            let place = Place::new(&work, before);
            let mut running = Running::start(&place);
            assert!(running.wait_for("done"));
            running.kill();
            let what = format!("{kind:?} {before:?}, killed after the end");
            assert_eq!(place.check(&what), Found::New, "{what}");
        }
        let places = match kind {
            _ if kind.is_only_new() => 1,
            _ if kind.is_folder() => 3,
            _ => 2,
        };
        assert_eq!(kills, places * 4 * cases(), "{kind:?}");
    }
    // Were all of them finished, no moment of the last part would have been met.
    let unfinished: u32 =
        seen.iter().filter(|(found, _)| **found != Found::New).map(|it| it.1).sum();
    assert!(unfinished > 0, "{seen:?}");
}
