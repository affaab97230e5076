//! One piece of work done by several subjects, by turns: A B C A B C …, the best time of each.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use crate::clock::Moment;
use crate::data::Answer;

/// Who a subject is of. Ratios are to the fastest of RocksDB's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    Sstkit,
    RocksDb,
    Other,
}

/// RocksDB around a table, as most Rust programs have it.
pub(crate) const DATABASE: &str = "RocksDB, as a database";

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

/// A piece of work, and those who do it.
pub(crate) struct Contest<'a> {
    name: String,
    operations: u64,
    check: Check<'a>,
    subjects: Vec<Subject<'a>>,
}

impl<'a> Contest<'a> {
    /// `name` is a path, like `scan/none/in cache`; times are told by operation.
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

    /// Runs it: in each round, every subject has a turn.
    pub(crate) fn hold(mut self, rounds: usize) -> Result<Outcome> {
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

/// What came of a contest.
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
    /// The best time: what the work costs when nothing else is in the way.
    pub(crate) fn best(&self) -> f64 {
        self.ns.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// The time in the middle, to see how far the best is from the others.
    pub(crate) fn median(&self) -> f64 {
        let mut sorted = self.ns.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
    }
}

impl Outcome {
    /// The fastest of a family.
    pub(crate) fn best(&self, family: Family) -> Option<&Row> {
        let rows = self.rows.iter().filter(|row| row.family == family);
        rows.min_by(|a, b| a.best().total_cmp(&b.best()))
    }

    /// Our time as a part of that of RocksDB as a database, which does more than read a table.
    pub(crate) fn ratio_to_database(&self) -> Option<f64> {
        let rows = self.rows.iter().filter(|row| row.subject.starts_with(DATABASE));
        let database = rows.map(Row::best).min_by(f64::total_cmp)?;
        Some(self.best(Family::Sstkit)?.best() / database)
    }

    /// Our time as a part of that of the fastest of RocksDB's: below 1 is faster.
    pub(crate) fn ratio(&self) -> Option<f64> {
        Some(self.best(Family::Sstkit)?.best() / self.best(Family::RocksDb)?.best())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contest(answers: Vec<Answer>) -> Result<Outcome> {
        let mut contest = Contest::new("test/one", 10, Answer { count: 1, ..Answer::default() });
        for (number, answer) in answers.into_iter().enumerate() {
            let family = if number == 0 { Family::Sstkit } else { Family::RocksDb };
            let mut turn = 0;
            contest.subject(format!("subject {number}"), family, move || {
                turn += 1;
                let nanos = 1000 * (number as u64 + 1) / turn;
                Ok(Run { time: Duration::from_nanos(nanos), answer })
            });
        }
        contest.hold(2)
    }

    #[test]
    fn the_best_of_all_turns_counts() {
        let right = Answer { count: 1, ..Answer::default() };
        let outcome = contest(vec![right, right, right]).unwrap();
        assert_eq!(outcome.rows[0].ns, [100.0, 50.0]);
        assert_eq!(outcome.rows[0].best(), 50.0);
        assert_eq!(outcome.best(Family::RocksDb).unwrap().subject, "subject 1");
        assert_eq!(outcome.ratio(), Some(0.5));
    }

    #[test]
    fn a_wrong_answer_ends_it() {
        let right = Answer { count: 1, ..Answer::default() };
        let error = contest(vec![right, Answer::default()]).unwrap_err();
        assert_eq!(error.to_string(), "test/one: subject 1");
    }
}
