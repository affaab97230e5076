//! The goals, and whether they were reached.

use std::fmt;

use super::numbers::digits;
use crate::comparison::{Family, Outcome, Ratio};

/// The condition of a goal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Wanted {
    /// Our time divided by RocksDB's.
    AtMost(f64),
    /// RocksDB's time divided by ours.
    Times(f64),
}

/// The goals: the start of the name of a comparison, a part that must be in the rest of it, and what
/// is wanted of all that match. What begins with `database` compares databases, the rest tables.
const GOALS: [(&str, &str, Wanted); 36] = [
    ("bloom build/", "100000 keys", Wanted::AtMost(0.35)),
    ("bloom build/", "1000000 keys", Wanted::AtMost(0.35)),
    ("bloom build/", "10000000 keys", Wanted::AtMost(0.35)),
    ("bloom query/", "10000 keys", Wanted::AtMost(0.5)),
    ("bloom query/", "100000 keys", Wanted::AtMost(0.5)),
    ("bloom query in batches/", "10000 keys", Wanted::AtMost(0.5)),
    ("bloom query in batches/", "100000 keys", Wanted::AtMost(0.5)),
    ("bloom query/random", "", Wanted::AtMost(0.8)),
    ("bloom query in batches/random", "each key", Wanted::AtMost(0.4)),
    ("bloom query in batches/random", "each batch", Wanted::AtMost(0.6)),
    ("ribbon build/", "100000 keys", Wanted::AtMost(0.5)),
    ("ribbon build/", "1000000 keys", Wanted::AtMost(0.5)),
    ("ribbon build/", "10000000 keys", Wanted::AtMost(0.5)),
    ("ribbon query/", "10000 keys", Wanted::AtMost(0.5)),
    ("ribbon query/", "100000 keys", Wanted::AtMost(0.5)),
    ("ribbon query/", "1000000 keys", Wanted::AtMost(0.5)),
    ("ribbon query in batches/random", "each batch", Wanted::AtMost(0.7)),
    ("write/none/", "1 thread", Wanted::Times(2.5)),
    ("write/lz4/", "2 threads", Wanted::Times(2.5)),
    ("write/zstd/", "2 threads", Wanted::Times(1.8)),
    ("scan/", "1 thread", Wanted::Times(4.0)),
    ("reverse scan/", "1 thread", Wanted::Times(4.0)),
    ("get present/", "in cache/1 thread", Wanted::Times(3.0)),
    ("get absent/", "1 thread", Wanted::Times(5.0)),
    ("get batch of 32/", "in cache/1 thread", Wanted::Times(4.5)),
    ("get batch of 100/", "in cache/1 thread", Wanted::Times(4.5)),
    ("database scan/", "1 thread", Wanted::Times(3.0)),
    ("database reverse scan/", "1 thread", Wanted::Times(3.0)),
    ("database get present/", "1 thread", Wanted::Times(2.5)),
    ("database get absent/", "1 thread", Wanted::Times(5.0)),
    ("database get batch of 32/", "1 thread", Wanted::Times(4.0)),
    ("database get batch of 100/", "1 thread", Wanted::Times(4.0)),
    ("open and get one/", "", Wanted::Times(1.0)),
    ("database open and get one/", "", Wanted::Times(1.0)),
    ("command: count/", "", Wanted::Times(2.5)),
    ("command: verify/", "", Wanted::Times(2.0)),
];

/// By how much an entry of the largest table may cost more than one of the smallest.
const GROWTH: f64 = 1.15;

/// A measured goal.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Judged {
    pub(crate) work: String,
    pub(crate) wanted: Wanted,
    pub(crate) measured: String,
    pub(crate) reached: bool,
}

impl fmt::Display for Judged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = |reached| if reached { "reached" } else { "NOT reached" };
        let Self { work, wanted, measured, reached } = self;
        write!(f, "{work}: {wanted}, measured {measured}: {}", verdict(*reached))
    }
}

/// All goals for which there are outcomes.
pub(crate) fn judge(outcomes: &[Outcome]) -> Vec<Judged> {
    let mut judged = Vec::new();
    for (start, part, wanted) in GOALS {
        let matching = outcomes.iter().filter(|outcome| {
            outcome.name.strip_prefix(start).is_some_and(|rest| belongs(rest, part))
        });
        for outcome in matching {
            if let Some(ratio) = outcome.ratio().or(outcome.database_ratio()) {
                let (measured, reached) = wanted.judge(ratio);
                judged.push(Judged { work: outcome.name.clone(), wanted, measured, reached });
            }
        }
    }
    judged.extend(["growth write", "growth scan"].iter().filter_map(|work| grown(outcomes, work)));
    judged
}

/// Whether the rest of a name is the part or has it; a number is not a part of a longer one.
fn belongs(rest: &str, part: &str) -> bool {
    match part.starts_with(|first: char| first.is_ascii_digit()) && part.ends_with("keys") {
        true => rest == part,
        false => rest.contains(part),
    }
}

impl Wanted {
    /// What a ratio is called here, and whether it is enough.
    fn judge(self, Ratio { median: ratio, .. }: Ratio) -> (String, bool) {
        match self {
            Self::AtMost(most) => (digits(ratio), ratio <= most),
            Self::Times(least) => (format!("{}x", digits(1.0 / ratio)), 1.0 / ratio >= least),
        }
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtMost(most) => write!(f, "at most {most}"),
            Self::Times(least) => write!(f, "at least {least}x"),
        }
    }
}

/// Our own cost per entry, of the largest table as a multiple of that of the smallest.
fn grown(outcomes: &[Outcome], work: &str) -> Option<Judged> {
    let mut sizes: Vec<(u64, f64)> = outcomes
        .iter()
        .filter_map(|outcome| {
            let size = outcome.name.strip_prefix(work)?.strip_prefix('/')?.parse().ok()?;
            Some((size, outcome.fastest(Family::Sstkit)?.median()))
        })
        .collect();
    sizes.sort_by_key(|&(size, _)| size);
    let [(small, before), .., (large, after)] = sizes[..] else { return None };
    let growth = after / before;
    Some(Judged {
        work: format!("{work} from {small} to {large} entries"),
        wanted: Wanted::AtMost(GROWTH),
        measured: digits(growth),
        reached: growth <= GROWTH,
    })
}

/// The work in which we are not the fastest, goal or not.
pub(crate) fn lost(outcomes: &[Outcome]) -> Vec<String> {
    outcomes.iter().filter_map(lost_case).collect()
}

fn lost_case(outcome: &Outcome) -> Option<String> {
    let ours = outcome.fastest(Family::Sstkit)?;
    let fastest = outcome.rows.iter().min_by(|a, b| a.median().total_cmp(&b.median()))?;
    (fastest.median() < ours.median()).then(|| {
        let times = digits(ours.median() / fastest.median());
        format!("Lost: {}: {} is {times} times as fast", outcome.name, fastest.subject)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::Row;

    fn outcome(name: &str, ours: f64, rocks: f64, other: f64) -> Outcome {
        let row = |subject: &str, family, ns| Row { subject: subject.into(), family, ns: vec![ns] };
        Outcome {
            name: name.into(),
            operations: 1,
            rows: vec![
                row("sstkit", Family::Sstkit, ours),
                row("RocksDB", Family::RocksDb, rocks),
                row("other", Family::Other, other),
            ],
        }
    }

    #[test]
    fn goals_are_judged_by_ratio() {
        let outcomes = [
            outcome("bloom build/100000 keys", 3.5, 10.0, 20.0),
            outcome("bloom build/1000000 keys", 3.6, 10.0, 20.0),
            outcome("scan/none/in cache/1 thread", 10.0, 40.0, 20.0),
            outcome("scan/none/in cache/2 threads", 10.0, 10.0, 20.0),
            outcome("write/lz4/2 threads", 10.0, 24.0, 20.0),
        ];
        let judged = judge(&outcomes);
        let reached: Vec<(&str, bool)> =
            judged.iter().map(|goal| (goal.work.as_str(), goal.reached)).collect();
        assert_eq!(
            reached,
            [
                ("bloom build/100000 keys", true),
                ("bloom build/1000000 keys", false),
                ("write/lz4/2 threads", false),
                ("scan/none/in cache/1 thread", true),
            ]
        );
        assert_eq!(
            judged[2].to_string(),
            "write/lz4/2 threads: at least 2.5x, measured 2.40x: NOT reached"
        );
    }

    #[test]
    fn databases_are_judged_by_their_own_goals() {
        let mut outcome = outcome("database get absent/none/in cache/1 thread", 10.0, 30.0, 50.0);
        outcome.rows[0].family = Family::SstkitDatabase;
        outcome.rows[1].family = Family::RocksDbDatabase;
        assert_eq!(
            judge(&[outcome])[0].to_string(),
            "database get absent/none/in cache/1 thread: at least 5x, measured 3.00x: NOT reached"
        );
    }

    #[test]
    fn growth_is_ours_and_from_the_smallest_to_the_largest() {
        let outcomes = [
            outcome("growth scan/50", 12.0, 10.0, 9.0),
            outcome("growth scan/1", 10.0, 10.0, 9.0),
            outcome("growth scan/10", 99.0, 10.0, 9.0),
        ];
        let judged = judge(&outcomes);
        assert_eq!(judged.len(), 1);
        assert_eq!((judged[0].measured.as_str(), judged[0].reached), ("1.20", false));
    }

    #[test]
    fn all_lost_cases_are_listed() {
        let outcomes = [outcome("get/one", 10.0, 20.0, 5.0), outcome("get/two", 1.0, 2.0, 3.0)];
        assert_eq!(lost(&outcomes), ["Lost: get/one: other is 2.00 times as fast"]);
    }
}
