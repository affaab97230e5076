//! Tables merged into new ones.

use std::path::Path;

use expect_test::expect;
use serde_json::Value;

use crate::run::{databases, names_in, run, run_with};

fn build(path: &str, records: &str) {
    let ran = run_with(records.as_bytes(), &["build", "-", "-o", path]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
}

/// Nothing in the tables tells which is newer: all sequence numbers are 0.
#[test]
fn duplicates_are_decided_or_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (old, new, out) = (path("old.sst"), path("new.sst"), path("out.sst"));
    build(&old, "{\"key\":\"a\",\"value\":\"1\"}\n{\"key\":\"b\",\"value\":\"1\"}");
    build(&new, "{\"key\":\"b\",\"value\":\"2\"}\n{\"key\":\"c\",\"value\":\"2\"}");
    let compact = |duplicates: &str| {
        run(["compact", &old, &new, "-o", &out, "--force", "--duplicates", duplicates])
    };
    for (duplicates, b) in [("last", 2), ("first", 1)] {
        assert_eq!(compact(duplicates).status, 0);
        let expected = format!("a => 1\nb => {b}\nc => 2\n");
        assert_eq!(run(["scan", &out]).stdout, expected, "{duplicates}");
    }
    std::fs::remove_file(&out).expect("removed");
    expect![[r#"
        --- stderr
        sst: the key b occurs twice with sequence number 0: use --duplicates last or first, or omit one of the inputs
        --- status 2
    "#]]
    .assert_eq(&compact("error").all());
    assert_eq!(names_in(folder.path()), ["new.sst", "old.sst"]);
}

/// In a database sequence numbers differ, so nothing is refused; and little memory does.
#[test]
fn databases_have_no_duplicates() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out.sst").display().to_string();
    for database in databases() {
        let arguments = ["compact", &database, "-o", &out, "--force", "--sequence-numbers", "keep"];
        let ran = run([&arguments[..], &["--duplicates", "error", "--memory", "1MiB"]].concat());
        assert_eq!(ran.status, 0, "{database}: {}", ran.stderr);
    }
}

#[test]
fn the_later_path_wins() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (old, new, out) = (path("old.sst"), path("new.sst"), path("out.sst"));
    build(
        &old,
        "{\"key\":\"a\",\"value\":\"1\"}\n{\"key\":\"b\",\"value\":\"1\"}\n{\"key\":\"c\",\"value\":\"1\"}",
    );
    build(&new, "{\"key\":\"b\",\"value\":\"2\"}\n{\"key\":\"c\",\"type\":\"delete\"}");
    let scan = |path: &str| run(["scan", path, "--internal"]).stdout;
    let compact = |arguments: &[&str]| {
        let ran = run([&["compact", &old, &new, "-o", &out, "--force"], arguments].concat());
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
        scan(&out)
    };
    assert_eq!(compact(&[]), "put 0 a => 1\nput 0 b => 2\ndelete 0 c\n");
    assert_eq!(compact(&["--drop-tombstones"]), "put 0 a => 1\nput 0 b => 2\n");
    let ran = run(["compact", &old, &new, "-o", &out]);
    expect![[r#"
        --- stderr
        sst: TMP/out.sst: already exists; use --force to replace it
        --- status 2
    "#]]
    .assert_eq(&ran.all_in(folder.path()));
    assert_eq!(names_in(folder.path()), ["new.sst", "old.sst", "out.sst"]);
}

#[test]
fn databases_keep_what_is_visible() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out").display().to_string();
    for database in databases() {
        let visible = |path: &str| -> Vec<Value> { run(["scan", path, "--format", "json"]).json() };
        let info = &run(["info", &database, "--format", "json"]).json()[0];
        let comparator =
            info["column_families"][0]["comparator"].as_str().expect("a name").to_owned();
        let ran = run([
            "compact",
            &database,
            "-o",
            &out,
            "--force",
            "--max-file-size",
            "20KiB",
            "--drop-tombstones",
            "--format",
            "json",
            "--sequence-numbers",
            "keep",
            "--comparator",
            &comparator,
        ]);
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{database}");
        let mut found = Vec::new();
        for name in names_in(Path::new(&out)).iter().filter(|name| name.ends_with(".sst")) {
            let path = format!("{out}/{name}");
            assert_eq!(run(["verify", &path]).status, 0, "{database}");
            found.extend(visible(&path));
        }
        assert_eq!(found, visible(&database), "{database}");
    }
}
