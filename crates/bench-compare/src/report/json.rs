//! Everything for programs.

use serde_json::{Value, json};

use super::{Report, goals};
use crate::contest::{Family, Outcome};

pub(super) fn page(report: &Report<'_>) -> String {
    let machine = report.machine;
    let versions: serde_json::Map<String, Value> =
        machine.versions.iter().map(|(name, version)| (name.clone(), json!(version))).collect();
    let goals: Vec<Value> = goals::judge(report.outcomes)
        .iter()
        .map(|goal| {
            json!({
                "work": goal.work,
                "wanted": goal.wanted,
                "measured": goal.measured,
                "reached": goal.reached,
                "measured_beside_database": goal.beside_database.as_ref().map(|it| &it.0),
                "reached_beside_database": goal.beside_database.as_ref().map(|it| it.1),
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
                "family": match row.family {
                    Family::Sstkit => "sstkit",
                    Family::RocksDb => "rocksdb",
                    Family::Other => "other",
                },
                "best_ns": row.best(),
                "median_ns": row.median(),
                "ns": row.ns,
            })
        })
        .collect();
    json!({
        "work": outcome.name,
        "operations": outcome.operations,
        "ratio_to_rocksdb": outcome.ratio(),
        "ratio_to_rocksdb_as_a_database": outcome.ratio_to_database(),
        "subjects": rows,
    })
}
