//! One piece of work done by several subjects, by turns: A B C A B C …; all times are kept.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use crate::clock::Moment;
use crate::data::Answer;

/// Which project a subject belongs to, and by which of its interfaces it works. sstkit's `Table` is
/// compared with RocksDB's `SstFileReader`, sstkit's `Database` with a RocksDB database over the same
/// directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    Sstkit,
    SstkitDatabase,
    RocksDb,
    RocksDbDatabase,
    Other,
}

impl Family {
    /// The name in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sstkit => "sstkit",
            Self::SstkitDatabase => "sstkit database",
            Self::RocksDb => "rocksdb",
            Self::RocksDbDatabase => "rocksdb database",
            Self::Other => "other",
        }
    }
}

/// One turn of a subject.
pub(crate) struct Run {
    pub(crate) time: Duration,
    pub(crate) answer: Answer,
}

/// Takes the time of all that `work` does.
pub(crate) fn timed(work: impl FnOnce() -> Result<Answer>) -> Result<Run> {
    let start = Moment::now();
    let answer = work()?;
    Ok(Run { time: start.elapsed(), answer })
}

type Work<'a> = Box<dyn FnMut() -> Result<Run> + 'a>;
type Check<'a> = Box<dyn Fn(&Answer) -> Result<()> + 'a>;

struct Subject<'a> {
    name: String,
    family: Family,
    work: Work<'a>,
}

/// A piece of work, and its subjects.
pub(crate) struct Comparison<'a> {
    name: String,
    operations: u64,
    check: Check<'a>,
    subjects: Vec<Subject<'a>>,
}

impl<'a> Comparison<'a> {
    /// `name` is a path, like `scan/none/in cache`; times are per operation.
    pub(crate) fn new(name: impl Into<String>, operations: u64, expected: Answer) -> Self {
        let check = move |answer: &Answer| {
            ensure!(*answer == expected, "expected {expected:?}, but it is {answer:?}");
            Ok(())
        };
        Self { name: name.into(), operations, check: Box::new(check), subjects: Vec::new() }
    }

    /// The same, where answers need not be alike but must pass `check`.
    pub(crate) fn checked_by(
        name: impl Into<String>,
        operations: u64,
        check: impl Fn(&Answer) -> Result<()> + 'a,
    ) -> Self {
        let check = Box::new(check);
        Self { name: name.into(), operations, check, subjects: Vec::new() }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// One that measures its time itself.
    pub(crate) fn subject(
        &mut self,
        name: impl Into<String>,
        family: Family,
        work: impl FnMut() -> Result<Run> + 'a,
    ) {
        self.subjects.push(Subject { name: name.into(), family, work: Box::new(work) });
    }

    /// Runs a number of rounds, in each of which every subject has a turn.
    pub(crate) fn run(mut self, rounds: usize) -> Result<Outcome> {
        eprint!("{}", self.name);
        let mut times = vec![Vec::new(); self.subjects.len()];
        for _ in 0..rounds.max(1) {
            for (subject, times) in self.subjects.iter_mut().zip(&mut times) {
                let context = || format!("{}: {}", self.name, subject.name);
                let run = (subject.work)().with_context(context)?;
                (self.check)(&run.answer).with_context(context)?;
                times.push(run.time.as_secs_f64() * 1e9 / self.operations.max(1) as f64);
            }
            eprint!(".");
        }
        eprintln!();
        let rows = self.subjects.iter().zip(times).map(|(subject, times)| Row {
            subject: subject.name.clone(),
            family: subject.family,
            ns: times,
        });
        Ok(Outcome { name: self.name.clone(), operations: self.operations, rows: rows.collect() })
    }
}

/// The result of a comparison.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) name: String,
    pub(crate) operations: u64,
    pub(crate) rows: Vec<Row>,
}

/// The times of one subject.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) subject: String,
    pub(crate) family: Family,
    /// Nanoseconds per operation, of each run.
    pub(crate) ns: Vec<f64>,
}

impl Row {
    /// The best time: the cost of the work with no interference.
    pub(crate) fn best(&self) -> f64 {
        self.ns.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// The median time.
    pub(crate) fn median(&self) -> f64 {
        median(&self.ns)
    }
}

/// The middle value; of an even number of values the larger of the two in the middle.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Our time divided by that of another subject: below 1 is faster.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ratio {
    /// Median over the rounds.
    pub(crate) median: f64,
    /// Smallest and largest of a round.
    pub(crate) spread: (f64, f64),
}

impl Outcome {
    /// The fastest of a family, by its median.
    pub(crate) fn fastest(&self, family: Family) -> Option<&Row> {
        let rows = self.rows.iter().filter(|row| row.family == family);
        rows.min_by(|a, b| a.median().total_cmp(&b.median()))
    }

    /// `Table` to the table reader of RocksDB. The turns of a round follow each other, so each round
    /// gives a ratio of its own.
    pub(crate) fn ratio(&self) -> Option<Ratio> {
        self.compare(Family::Sstkit, Family::RocksDb)
    }

    /// `Database` to a RocksDB database.
    pub(crate) fn database_ratio(&self) -> Option<Ratio> {
        self.compare(Family::SstkitDatabase, Family::RocksDbDatabase)
    }

    fn compare(&self, ours: Family, theirs: Family) -> Option<Ratio> {
        let (ours, theirs) = (self.fastest(ours)?, self.fastest(theirs)?);
        let rounds: Vec<f64> = ours.ns.iter().zip(&theirs.ns).map(|(a, b)| a / b).collect();
        let low = rounds.iter().copied().fold(f64::INFINITY, f64::min);
        let high = rounds.iter().copied().fold(0.0, f64::max);
        Some(Ratio { median: median(&rounds), spread: (low, high) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison(answers: Vec<Answer>) -> Result<Outcome> {
        let mut comparison =
            Comparison::new("test/one", 10, Answer { count: 1, ..Answer::default() });
        for (number, answer) in answers.into_iter().enumerate() {
            let family = if number == 0 { Family::Sstkit } else { Family::RocksDb };
            let mut turn = 0;
            comparison.subject(format!("subject {number}"), family, move || {
                turn += 1;
                let nanos = 1000 * (number as u64 + 1) / turn;
                Ok(Run { time: Duration::from_nanos(nanos), answer })
            });
        }
        comparison.run(2)
    }

    #[test]
    fn ratios_are_medians_over_rounds() {
        let right = Answer { count: 1, ..Answer::default() };
        let outcome = comparison(vec![right, right, right]).unwrap();
        assert_eq!(outcome.rows[0].ns, [100.0, 50.0]);
        assert_eq!(outcome.rows[0].best(), 50.0);
        assert_eq!(outcome.fastest(Family::RocksDb).unwrap().subject, "subject 1");
        assert_eq!(outcome.ratio(), Some(Ratio { median: 0.5, spread: (0.5, 0.5) }));
        assert_eq!(outcome.database_ratio(), None);
    }

    #[test]
    fn a_wrong_answer_is_an_error() {
        let right = Answer { count: 1, ..Answer::default() };
        let error = comparison(vec![right, Answer::default()]).unwrap_err();
        assert_eq!(error.to_string(), "test/one: subject 1");
    }
}
