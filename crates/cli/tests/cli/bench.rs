//! Benches: that they measure what they say, not how long it takes.

use crate::run::run;

#[test]
fn filters_measure_their_rate() {
    for (policy, low, high) in [
        ("bloomfilter:10", 0.004, 0.02),
        ("ribbonfilter:10", 0.004, 0.02),
        ("bloomfilter:4", 0.08, 0.3),
    ] {
        let ran = run([
            "bench",
            "filter",
            "--filter",
            policy,
            "--memory",
            "100KiB",
            "--keys-per-filter",
            "2000",
            "--queries",
            "20000",
            "--mode",
            "random",
            "--mode",
            "batched",
            "--format",
            "json",
        ]);
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
        let report = &ran.json()[0];
        let rate = report["measured_fpr"].as_f64().expect("a rate");
        assert!((low..high).contains(&rate), "{policy}: {rate}");
        assert_eq!(report["false_negatives"], 0);
        assert_eq!(report["queries"].as_array().expect("rows").len(), 6);
    }
}

#[test]
fn tables_read_back_what_they_wrote() {
    let folder = tempfile::tempdir().expect("a folder");
    let ran = run([
        "bench",
        "table",
        "--entries",
        "3000",
        "--gets",
        "500",
        "--comparator",
        "rocksdb.ReverseBytewiseComparator",
        "--directory",
        &folder.path().display().to_string(),
    ]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    assert!(ran.stdout.starts_with("3,000 entries, "), "{}", ran.stdout);
    assert!(crate::run::names_in(folder.path()).is_empty());
}
