//! `sst plan`, `sst part` and `sst commit`: a build in parts gives what one build gives.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::run::{Ran, run};
use crate::schemas;

const ROWS: usize = 3_000;

/// A folder with an input whose rows are in no order.
fn input() -> (TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let rows = (0..ROWS).map(|row| row * 7919 % ROWS);
    let rows: String = rows.map(|row| format!("key{row:05},value {}\n", row * row)).collect();
    let path = folder.path().join("all.csv");
    fs::write(&path, format!("key,value\n{rows}")).expect("written");
    let path = path.display().to_string();
    (folder, path)
}

fn fine(ran: Ran) -> Ran {
    assert_eq!(ran.status, 0, "{}{}", ran.stdout, ran.stderr);
    ran
}

fn json(name: &str, arguments: &[&str]) -> Value {
    let ran = fine(run([arguments, &["--format", "json"]].concat()));
    schemas::validate(&schemas::schema(name), name, &ran);
    ran.json()[0].clone()
}

#[test]
fn parts_add_up_to_one_build() {
    let (folder, all) = input();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (out, whole) = (path("out"), path("whole.sst"));
    let plan = json("plan", &["plan", &all, "--parts", "4", "--shard-at", "key01000", "-o", &out]);
    assert_eq!(plan["parts"], 4);
    let splits: Vec<&str> =
        plan["splits"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(splits.contains(&"key01000") && splits.is_sorted(), "{splits:?}");

    // Before the commit, the output has no manifest.
    for part in ["2", "0", "3", "1"] {
        // Two attempts at one part.
        for attempt in if part == "3" { &["a", "b"][..] } else { &["a"] } {
            let names = ["--part", part, "--attempt", attempt, "--skip-others"];
            let done = json("part", &[&["part", &out, &all][..], &names].concat());
            assert_eq!(done["manifest"]["attempt"], *attempt);
            assert!(Path::new(done["folder"].as_str().unwrap()).is_dir());
        }
        assert!(!folder.path().join("out/manifest.json").exists());
    }
    let entries = ROWS.to_string();
    let wrong = run(["commit", &out, "--entries", "7"]);
    assert_eq!(wrong.status, 2, "{}", wrong.stdout);
    assert!(!folder.path().join("out/manifest.json").exists());
    let commit = ["commit", &out, "--entries", &entries, "--attempt", "3=b"];
    let done = json("commit", &commit);
    assert_eq!(done["manifest"]["entries"], ROWS);
    let left = done["left_over"][0].as_str().unwrap();
    assert!(left.ends_with("part-000003.attempt-a"), "{left}");
    // Again, and clean up: the same tables.
    let again = json("commit", &["commit", &out, "--clean"]);
    assert_eq!(again["manifest"], done["manifest"]);
    assert_eq!(again["left_over"], Value::Array(Vec::new()));
    assert!(!folder.path().join("out/_sstkit").exists());

    fine(run(["build", &all, "-o", &whole]));
    fine(run(["diff", &whole, &out]));
    fine(run(["verify", &out]));
}

#[test]
fn a_missing_part_and_keys_of_others_are_refused() {
    let (folder, all) = input();
    let out = folder.path().join("out").display().to_string();
    fine(run(["plan", "-o", &out, "--split-at", "key01000", "--split-at", "key02000"]));
    let second = run(["plan", "-o", &out, "--split-at", "key01000"]);
    assert!(second.status == 2 && second.stderr.contains("plan already"), "{}", second.stderr);
    let others = run(["part", &out, &all, "--part", "1"]);
    assert!(others.status == 2 && others.stderr.contains("belongs to part"), "{}", others.stderr);
    fine(run(["part", &out, &all, "--part", "1", "--skip-others"]));
    let none = run(["part", &out, &all, "--part", "3", "--skip-others"]);
    assert!(none.status == 2 && none.stderr.contains("no part 3"), "{}", none.stderr);
    let early = run(["commit", &out]);
    assert!(early.status == 2 && early.stderr.contains("part"), "{}", early.stderr);
    assert!(!folder.path().join("out/manifest.json").exists());
}
