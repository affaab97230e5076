//! Everything for programs.

use serde_json::{Value, json};

use super::goals::Wanted;
use super::{Report, goals};
use crate::comparison::{Outcome, Ratio};

pub(super) fn page(report: &Report<'_>) -> String {
    let machine = report.machine;
    let versions: serde_json::Map<String, Value> =
        machine.versions.iter().map(|(name, version)| (name.clone(), json!(version))).collect();
    let goals: Vec<Value> = goals::judge(report.outcomes)
        .iter()
        .map(|goal| {
            json!({
                "work": goal.work,
                "goal": match goal.wanted {
                    Wanted::AtMost(ratio) => json!({ "at_most": ratio }),
                    Wanted::Times(times) => json!({ "at_least_times": times }),
                },
                "measured": goal.measured,
                "reached": goal.reached,
            })
        })
        .collect();
    let page = json!({
        "date": machine.date,
        "command": machine.command,
        "machine": {
            "processor": machine.processor,
            "cores": machine.cores,
            "caches": machine.caches,
            "memory": machine.memory,
            "system": machine.system,
            "load": machine.load,
            "noise": machine.noise.share(),
            "file_system": machine.file_system,
        },
        "compilers": { "rustc": machine.rustc, "c++": machine.cxx },
        "versions": versions,
        "runs": report.runs,
        "outcomes": report.outcomes.iter().map(outcome).collect::<Vec<Value>>(),
        "goals": goals,
        "lost": goals::lost(report.outcomes),
        "notes": report.notes,
    });
    format!("{page:#}\n")
}

fn outcome(outcome: &Outcome) -> Value {
    let rows: Vec<Value> = outcome
        .rows
        .iter()
        .map(|row| {
            json!({
                "subject": row.subject,
                "family": row.family.name(),
                "best_ns": row.best(),
                "median_ns": row.median(),
                "ns": row.ns,
            })
        })
        .collect();
    json!({
        "work": outcome.name,
        "operations": outcome.operations,
        "ratio": outcome.ratio().map(ratio),
        "database_ratio": outcome.database_ratio().map(ratio),
        "subjects": rows,
    })
}

fn ratio(ratio: Ratio) -> Value {
    json!({ "median": ratio.median, "low": ratio.spread.0, "high": ratio.spread.1 })
}
