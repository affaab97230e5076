//! What `bench-compare` recorded, in one run or several.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;

use serde_json::Value;

/// Ratios by work, over the rounds of all runs.
#[derive(Debug, Default)]
pub(super) struct Comparisons {
    work: BTreeMap<String, Work>,
    runs: Vec<String>,
}

#[derive(Debug, Default)]
struct Work {
    /// Of each round: sstkit's time divided by RocksDB's.
    table: Vec<f64>,
    database: Vec<f64>,
    goal: Option<Goal>,
}

/// What is wanted of a ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Goal {
    AtMost(f64),
    AtLeastTimes(f64),
}

/// Which interfaces are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interface {
    /// `Table` with `SstFileReader`.
    Table,
    /// `Database` with a RocksDB database, over the same directory.
    Database,
}

impl Interface {
    fn families(self) -> [&'static str; 2] {
        match self {
            Self::Table => ["sstkit", "rocksdb"],
            Self::Database => ["sstkit database", "rocksdb database"],
        }
    }
}

/// A ratio of times: below 1 is faster than RocksDB.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ratio {
    pub(super) median: f64,
    low: f64,
    high: f64,
}

impl Ratio {
    fn of(rounds: &[f64]) -> Option<Self> {
        let mut sorted = rounds.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (low, high) = (*sorted.first()?, *sorted.last()?);
        Some(Self { median: sorted[sorted.len() / 2], low, high })
    }

    /// How many times as fast: RocksDB's time divided by ours.
    pub(super) fn speedup(self) -> Self {
        Self { median: 1.0 / self.median, low: 1.0 / self.high, high: 1.0 / self.low }
    }
}

/// `2.66 (2.51 to 2.70)`.
impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { median, low, high } = self;
        write!(f, "{median:.2} ({low:.2} to {high:.2})")
    }
}

impl Goal {
    /// Whether a ratio [in the unit of the goal](Self::shown) is enough.
    pub(super) fn is_reached_by(self, shown: Ratio) -> bool {
        match self {
            Self::AtMost(most) => shown.median <= most,
            Self::AtLeastTimes(least) => shown.median >= least,
        }
    }

    /// The ratio in the unit of the goal.
    pub(super) fn shown(self, ratio: Ratio) -> Ratio {
        match self {
            Self::AtMost(_) => ratio,
            Self::AtLeastTimes(_) => ratio.speedup(),
        }
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtMost(most) => write!(f, "≤ {most}"),
            Self::AtLeastTimes(least) => write!(f, "≥ {least}x"),
        }
    }
}

impl Comparisons {
    /// The results of all runs.
    pub(super) fn new(runs: &[Value]) -> Result<Self, Box<dyn Error>> {
        let mut this = Self::default();
        for run in runs {
            this.add(run)?;
        }
        Ok(this)
    }

    fn add(&mut self, run: &Value) -> Result<(), Box<dyn Error>> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        for outcome in run["outcomes"].as_array().ok_or("a record without outcomes")? {
            let work = self.work.entry(text(&outcome["work"])).or_default();
            work.table.extend(ratios(outcome, Interface::Table));
            work.database.extend(ratios(outcome, Interface::Database));
        }
        for goal in run["goals"].as_array().into_iter().flatten() {
            let limit = |name| goal["goal"][name].as_f64();
            let wanted = limit("at_most").map(Goal::AtMost);
            let wanted = wanted.or(limit("at_least_times").map(Goal::AtLeastTimes));
            if let Some(work) = self.work.get_mut(&text(&goal["work"])) {
                work.goal = wanted;
            }
        }
        let machine = &run["machine"];
        self.runs.push(format!(
            "* {}: {}, {} cores, {}, load {}{}; RocksDB {}; {} rounds; `{}`\n",
            text(&run["date"]),
            text(&machine["processor"]),
            machine["cores"],
            text(&machine["caches"]),
            text(&machine["load"]),
            noise(&machine["noise"]),
            text(&run["versions"]["RocksDB"]),
            run["runs"],
            text(&run["command"]),
        ));
        Ok(())
    }

    /// The ratio of a piece of work, if it was measured.
    pub(super) fn ratio(&self, work: &str, interface: Interface) -> Option<Ratio> {
        let work = self.work.get(work)?;
        Ratio::of(match interface {
            Interface::Table => &work.table,
            Interface::Database => &work.database,
        })
    }

    /// The names of all work, in order.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.work.keys().map(String::as_str)
    }

    /// All work with a goal, in the order of its names.
    pub(super) fn goals(&self) -> impl Iterator<Item = (&str, Goal)> {
        self.work.iter().filter_map(|(name, work)| Some((name.as_str(), work.goal?)))
    }

    /// The runs, a line each.
    pub(super) fn runs(&self) -> String {
        self.runs.concat()
    }
}

/// What is known about the noise of a machine, for the line of a run.
fn noise(share: &Value) -> String {
    share.as_f64().map_or_else(String::new, |share| format!(", noise {:.1}%", share * 100.0))
}

/// The ratio of each round. The turns of a round follow each other. Of several subjects of one family
/// the fastest counts, by its median.
fn ratios(outcome: &Value, interface: Interface) -> Vec<f64> {
    let times = interface.families().map(|family| {
        let subjects = outcome["subjects"].as_array().into_iter().flatten();
        let subjects = subjects.filter(|subject| subject["family"] == family);
        let median = |subject: &&Value| subject["median_ns"].as_f64().unwrap_or(f64::INFINITY);
        let fastest = subjects.min_by(|a, b| median(a).total_cmp(&median(b)));
        let times = fastest.and_then(|subject| subject["ns"].as_array()).into_iter().flatten();
        times.filter_map(Value::as_f64).collect::<Vec<f64>>()
    });
    let [ours, theirs] = times;
    ours.iter().zip(&theirs).map(|(ours, theirs)| ours / theirs).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn run(ours: [f64; 3], theirs: [f64; 3]) -> Value {
        let subject =
            |family, ns: [f64; 3]| json!({ "family": family, "median_ns": ns[1], "ns": ns });
        json!({
            "outcomes": [{ "work": "scan", "subjects": [
                subject("sstkit", ours),
                subject("rocksdb", theirs),
                subject("rocksdb", [900.0; 3]),
                subject("sstkit database", [50.0; 3]),
                subject("rocksdb database", [100.0; 3]),
            ] }],
            "goals": [{ "work": "scan", "goal": { "at_least_times": 3.0 } }],
        })
    }

    #[test]
    fn medians_over_the_rounds_of_all_runs() {
        let runs = [run([10.0, 20.0, 30.0], [100.0; 3]), run([40.0, 20.0, 20.0], [100.0; 3])];
        let comparisons = Comparisons::new(&runs).unwrap();
        let ratio = comparisons.ratio("scan", Interface::Table).unwrap();
        assert_eq!(ratio.to_string(), "0.20 (0.10 to 0.40)");
        assert_eq!(ratio.speedup().to_string(), "5.00 (2.50 to 10.00)");
        let database = comparisons.ratio("scan", Interface::Database).unwrap();
        assert_eq!(database.median, 0.5);
        assert_eq!(comparisons.ratio("write", Interface::Table), None);

        let (work, goal) = comparisons.goals().next().unwrap();
        assert_eq!((work, goal), ("scan", Goal::AtLeastTimes(3.0)));
        let is_reached = |ratio| goal.is_reached_by(goal.shown(ratio));
        assert!(is_reached(ratio) && !is_reached(database));
    }
}
