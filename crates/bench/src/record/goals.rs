//! What is aimed at, and how far it is reached. A record, not a test: tests have no clock.

use std::fmt::Write;

use crate::subject::{Mode, Presence};

use super::Measurements;

const OURS: &str = "fast_local_bloom";
const PEER: &str = "fastbloom";
const LARGE: &str = "10000000";

/// Building a cache-local Bloom filter takes at most this part of the peer's time.
const BUILD_GOAL: f64 = 0.5;
/// A query of it, this part.
const QUERY_GOAL: f64 = 1.0;
/// Building a Ribbon filter of a million keys, in nanoseconds per key.
const RIBBON_GOAL: f64 = 100.0;

/// A table of the goals of which both sides were measured.
pub fn goals(measurements: &Measurements) -> String {
    let ratio = |task: &str| {
        let ours = measurements.nanos(task, LARGE, OURS)?;
        Some(ours / measurements.nanos(task, LARGE, PEER)?)
    };
    let mut text = String::from("| goal | at most | measured |\n|---|--:|--:|\n");
    let mut goal = |name: &str, goal: f64, measured: Option<f64>| {
        if let Some(measured) = measured {
            let verdict = if measured <= goal { "" } else { ", missed" };
            let _ = writeln!(text, "| {name} | {goal} | {measured:.2}{verdict} |");
        }
    };
    goal(
        &format!("building {OURS} of 10 million keys: ratio to {PEER}"),
        BUILD_GOAL,
        ratio("build"),
    );
    for presence in Presence::ALL {
        let task = format!("query/{}/{presence}", Mode::Single);
        let name = format!("queries of {presence} keys of it: ratio to {PEER}");
        goal(&name, QUERY_GOAL, ratio(&task));
    }
    goal(
        "building ribbon128 of 1 million keys: nanoseconds per key",
        RIBBON_GOAL,
        measurements.nanos("build", "1000000", "ribbon128"),
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Measurement;

    #[test]
    fn reached_missed_and_not_measured() {
        let measurements: Measurements = [
            ("build", LARGE, OURS, 10.0),
            ("build", LARGE, PEER, 40.0),
            ("query/single/absent", LARGE, OURS, 12.0),
            ("query/single/absent", LARGE, PEER, 10.0),
        ]
        .map(|(task, size, filter, nanos)| Measurement {
            task: task.into(),
            size: size.into(),
            filter: filter.into(),
            nanos,
        })
        .into_iter()
        .collect();
        let goals = goals(&measurements);
        let rows: Vec<&str> = goals.lines().skip(2).collect();
        assert_eq!(
            rows,
            [
                "| building fast_local_bloom of 10 million keys: ratio to fastbloom | 0.5 | 0.25 |",
                "| queries of absent keys of it: ratio to fastbloom | 1 | 1.20, missed |",
            ]
        );
    }
}
