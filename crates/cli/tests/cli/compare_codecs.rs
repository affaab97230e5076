//! `compact --compression all`: sizes are those of tables that are really written.

use std::fs;

use crate::run::{names_in, run};

#[test]
fn sizes_are_those_of_real_tables() {
    let folder = tempfile::tempdir().expect("a folder");
    let table = "tables/fv7-bloom10.sst";
    let reports = run(["compact", table, "--compression", "all", "--json"]).json();
    assert_eq!(reports.len(), 9);
    for report in &reports {
        let codec = report["codec"].as_str().expect("a codec");
        let name = match report["level"].as_i64() {
            Some(level) => format!("{codec}:{level}"),
            None => codec.to_owned(),
        };
        let out = folder.path().join("out.sst").display().to_string();
        let arguments = ["compact", table, "-o", &out, "--compression", &name, "--force"];
        let done = run([&arguments[..], &["--sequence-numbers", "keep"]].concat());
        assert_eq!(done.status, 0, "{}", done.stderr);
        // Properties name times and identities of their own.
        let (size, real) =
            (report["bytes"].as_u64().expect("bytes"), fs::metadata(&out).expect("a file").len());
        assert!(size.abs_diff(real) < 400, "{name}: {size} {real}");
        let blocks = report["compressed_blocks"].as_u64().expect("blocks");
        let info = &run(["info", "--full", "--json", &out]).json()[0];
        let codecs = info["codecs"].as_array().expect("codecs");
        let compressed: u64 = codecs
            .iter()
            .filter(|it| it["codec"] != "none")
            .filter_map(|it| it["blocks"].as_u64())
            .sum();
        assert_eq!(blocks, compressed, "{name}");
    }
    let text = run(["compact", "databases/rocksdb-leveled-bloom", "--compression", "all"]);
    assert_eq!((text.status, text.stdout.lines().count()), (0, 10), "{}", text.stderr);
    let leveldb = run([
        "compact",
        "databases/leveldb-bloom-snappy",
        "--compression",
        "all",
        "--profile",
        "leveldb",
        "--json",
    ]);
    let codecs: Vec<_> = leveldb
        .json()
        .iter()
        .map(|it| it["codec"].as_str().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(codecs, ["none", "snappy", "zstd", "zstd", "zstd", "zstd"]);
    let refused = run(["compact", table, "--compression", "all", "-o", "x.sst"]);
    assert!(refused.status == 2 && refused.stderr.contains("omit -o"), "{}", refused.stderr);
    assert_eq!(names_in(folder.path()), ["out.sst"]);
}
