//! Keys longer than a formatter's widths reach: nothing panics, and grids shorten them.

use crate::run::{run, run_wide, run_with};

/// One more than a width of 16 bits can say, and what a grid keeps of a cell.
const LENGTHS: [usize; 3] = [65_535, 65_536, 200_000];
const MAX_CELL: usize = 1000;

fn records(length: usize) -> String {
    let key = "k".repeat(length);
    format!("{{\"key\":\"{key}a\",\"value\":\"{key}\"}}\n{{\"key\":\"{key}b\",\"value\":\"\"}}\n")
}

#[test]
fn a_key_of_65536_characters_fits_into_every_grid() {
    for length in LENGTHS {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name).display().to_string();
        let (table, tables) = (path("one.sst"), path("many"));
        let records = records(length);
        let built = run_with(records.as_bytes(), &["build", "-", "-o", &table]);
        assert_eq!((built.status, built.stderr.as_str()), (0, ""));
        let arguments = ["build", "-", "-o", &tables, "--max-file-size", "1MiB"];
        let built = run_with(records.as_bytes(), &arguments);
        assert_eq!((built.status, built.stderr.as_str()), (0, ""));
        for arguments in [
            &["info", &table][..],
            &["info", &tables],
            &["filter", &table],
            &["filter", &tables],
            &["verify", &tables],
            &["layout", "--blocks", &table],
            &["scan", &table],
            &["compact", &tables, "-o", &path("again"), "--max-file-size", "1MiB", "--force"],
        ] {
            // As into a pipe, and on a terminal of any width.
            let wide = [80, 70_000, 1_000_000].map(|columns| run_wide(columns, arguments));
            for ran in wide.iter().chain([&run(arguments)]) {
                assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{length} {arguments:?}");
            }
        }
        // Both ends of the key are kept, with a mark between them.
        for (path, cells) in [(&table, 1), (&tables, 2)] {
            let ran = run(["info", path]);
            let line = ran.stdout.lines().find(|line| line.contains("kkkk")).expect("a key");
            assert!(line.chars().count() < cells * MAX_CELL + 200, "{}", line.chars().count());
            assert!(line.contains("k…k") && line.ends_with(['a', 'b']), "{line}");
        }
        // Programs get all of it.
        let json = run(["info", &table, "--format", "json"]).json();
        assert_eq!(json[0]["smallest_key"].as_str().map(str::len), Some(length + 1));
    }
}
