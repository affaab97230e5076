//! `sst refilter`: other filters, the same data.

use std::fs;
use std::path::Path;

use expect_test::expect;
use serde_json::Value;

use crate::run::{Ran, databases, names_in, run, run_with};

/// What it prints, but for the time and the folder.
fn printed(ran: &Ran, folder: &Path) -> String {
    let text = ran.all_in(folder);
    let lines = text.lines().map(|line| match line.split_once(", in ") {
        Some((before, _)) => format!("{before}, in TIME\n"),
        None => format!("{line}\n"),
    });
    lines.collect()
}

fn refilter(source: &str, output: &Path, options: &[&str]) -> Ran {
    let output = output.display().to_string();
    run([&["refilter", source, "-o", &output][..], options].concat())
}

#[test]
fn a_database_by_level() {
    let folder = tempfile::tempdir().expect("a folder");
    let new = folder.path().join("new");
    let source = "databases/rocksdb-leveled-bloom";
    let ran = refilter(source, &new, &["--filter", "bloomfilter:16", "--per-level", "6=none"]);
    expect![[r#"
        TMP/new: 3 tables, 84.5 KiB, in TIME
          filters                  4.9 KiB -> 2.5 KiB
          wasted reads, expected   0.0241 -> 1.0015 files per lookup of a key that is not found
          write-ahead logs copied  1

          level  files   keys  policy          filters    after  false positives    after
          0          2  1,271  bloomfilter:16  1.6 KiB  2.5 KiB          0.779 %  0.074 %
          6          1  2,621  none            3.3 KiB      0 B          0.858 %    100 %

          file            size     after   filter    after  false positives    after
          000046.sst  15.4 KiB  15.8 KiB    837 B  1.3 KiB          0.792 %  0.077 %
          000044.sst  15.9 KiB  16.3 KiB    837 B  1.3 KiB          0.765 %  0.072 %
          000042.sst  55.7 KiB  52.3 KiB  3.3 KiB      0 B          0.858 %    100 %
        --- status 0
    "#]]
    .assert_eq(&printed(&ran, folder.path()));
    let name = new.display().to_string();
    assert_eq!(run(["diff", source, &name]).status, 0);
    assert_eq!(run(["verify", &name]).status, 0);
    let scan = |path: &str| run(["scan", path, "--internal"]).stdout;
    assert_eq!(scan(source), scan(&name));
    let options = fs::read_dir(&new).expect("a folder").filter_map(|entry| {
        let path = entry.expect("an entry").path();
        path.file_name()?.to_str()?.starts_with("OPTIONS").then(|| fs::read_to_string(path))
    });
    let options: Vec<String> = options.map(|text| text.expect("a text")).collect();
    assert!(options[0].contains("filter_policy=bloomfilter:16:false"), "{options:?}");
    assert!(options[0].contains("optimize_filters_for_hits=true"), "{options:?}");
}

#[test]
fn a_plan_writes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let plan = |options: &[&str]| {
        let arguments = ["refilter", "databases/rocksdb-column-families", "--dry-run"];
        printed(&run([&arguments[..], options].concat()), folder.path())
    };
    expect![[r#"
        plan: 6 tables, 110.4 KiB
          filters                 8.2 KiB -> 6.0 KiB
          wasted reads, expected  0.0175 -> 0.0173 files per lookup of a key that is not found

          level            files   keys  policy              filters    after  false positives    after
          6 of default         1  1,743  ribbonfilter:8.7    2.2 KiB  1.3 KiB          0.761 %   1.56 %
          0 of meta            1    633  ribbonfilter:10.96    837 B    741 B          0.839 %  0.547 %
          6 of meta            1  1,418  ribbonfilter:8.67   1.8 KiB  1.1 KiB          0.839 %   1.56 %
          0 of événements      2  1,276  ribbonfilter:11.65  1.6 KiB  1.5 KiB          0.756 %  0.391 %
          6 of événements      1  1,422  ribbonfilter:10.25  1.8 KiB  1.3 KiB          0.925 %  0.781 %
        --- status 0
    "#]].assert_eq(&plan(&["--budget", "6KiB", "--filter", "ribbonfilter"]));
    expect![[r#"
        plan: 6 tables, 110.4 KiB
          filters                 8.2 KiB -> 2.8 KiB
          wasted reads, expected  0.0044 -> 0.0022 files per lookup, if 100 % find their key

          level            files   keys  policy          filters    after  false positives    after
          6 of default         1  1,743  none            2.2 KiB      0 B          0.761 %    100 %
          0 of meta            1    633  bloomfilter:12    837 B    965 B          0.839 %  0.384 %
          6 of meta            1  1,418  none            1.8 KiB      0 B          0.839 %    100 %
          0 of événements      2  1,276  bloomfilter:12  1.6 KiB  1.9 KiB          0.756 %  0.400 %
          6 of événements      1  1,422  none            1.8 KiB      0 B          0.925 %    100 %
        --- status 0
    "#]]
    .assert_eq(&plan(&["--budget", "6KiB", "--hit-rate", "1", "--per-level", "0=bloomfilter:12"]));
    expect![[r#"
        plan: 6 tables, 110.4 KiB
          filters                 8.2 KiB -> 8.2 KiB
          wasted reads, expected  0.0175 -> 0.0182 files per lookup of a key that is not found

          level            files   keys  policy          filters    after  false positives    after
          6 of default         1  1,744  bloomfilter:10  2.2 KiB  2.2 KiB          0.761 %  0.855 %
          0 of meta            1    634  bloomfilter:10    837 B    837 B          0.839 %  0.781 %
          6 of meta            1  1,419  bloomfilter:10  1.8 KiB  1.8 KiB          0.839 %  0.918 %
          0 of événements      2  1,278  bloomfilter:10  1.6 KiB  1.6 KiB          0.756 %  0.808 %
          6 of événements      1  1,423  bloomfilter:10  1.8 KiB  1.8 KiB          0.925 %  0.928 %
        --- status 0
    "#]]
    .assert_eq(&plan(&["--prefix-extractor", "fixed:4"]));
    assert_eq!(names_in(folder.path()), Vec::<String>::new());
}

/// The budget is kept, and the more there is, the fewer reads are wasted.
#[test]
fn more_memory_wastes_fewer_reads() {
    let folder = tempfile::tempdir().expect("a folder");
    for source in ["databases/rocksdb-column-families", "databases/leveldb-nofilter"] {
        let mut last = f64::INFINITY;
        for budget in [0_u32, 1000, 3000, 9000, 27_000] {
            let new = folder.path().join(format!("{budget}-{}", source.replace('/', "-")));
            let text = budget.to_string();
            let ran = refilter(source, &new, &["--budget", &text, "--format", "json"]);
            assert_eq!(ran.status, 0, "{}", ran.stderr);
            let report = &ran.json()[0];
            let number = |name: &str| report[name].as_f64().expect("a number");
            // Files of a level are taken to be of the same size.
            let used = number("filter_bytes_after");
            assert!(used <= 1.02 * f64::from(budget), "{used} of {budget}: {report}");
            assert!(number("wasted_reads_after") <= last, "{report}");
            last = number("wasted_reads_after");
        }
        assert!(last < 0.01, "{source}: {last}");
    }
}

/// What is predicted is what the filters of the result say.
#[test]
fn plans_come_true() {
    let folder = tempfile::tempdir().expect("a folder");
    for (number, (source, options)) in [
        ("databases/rocksdb-leveled-bloom", &["--filter", "bloomfilter:5"][..]),
        ("databases/rocksdb-leveled-bloom", &["--filter", "ribbonfilter:12:3"]),
        ("databases/rocksdb-leveled-bloom", &["--filter", "none"]),
        ("databases/rocksdb-fv2-legacy-filters", &["--filter", "bloomfilter:7"]),
        ("databases/leveldb-bloom-snappy", &["--filter", "bloomfilter:6"]),
        ("tables/fv7-bloom10.sst", &["--bits-per-key", "4"]),
    ]
    .into_iter()
    .enumerate()
    {
        let new = folder.path().join(number.to_string());
        let reports = [&["--dry-run"][..], &[]].map(|dry_run| {
            let ran = refilter(source, &new, &[options, &["--format", "json"], dry_run].concat());
            assert_eq!(ran.status, 0, "{}", ran.stderr);
            ran.json()[0].clone()
        });
        let [planned, done] = reports.clone().map(|it| it["wasted_reads_after"].as_f64().unwrap());
        assert!((planned / done - 1.0).abs() < 0.2, "{source}: {planned} became {done}");
        let [planned, done] = reports.map(|it| it["filter_bytes_after"].as_f64().unwrap());
        assert!(
            done > 0.0 && (planned / done - 1.0).abs() < 0.05 || planned == done,
            "{source}: {planned} became {done}"
        );
    }
}

#[test]
fn every_database_stays_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    for database in databases() {
        let new = folder.path().join(database.replace('/', "-"));
        let ran = refilter(&database, &new, &["--bits-per-key", "7", "--threads", "2"]);
        assert_eq!(ran.status, 0, "{database}: {}", ran.stderr);
        let new = new.display().to_string();
        let diff = run(["diff", &database, &new, "--internal", "--summary"]);
        assert_eq!(diff.status, 0, "{database}: {}", diff.all());
        assert_eq!(run(["verify", &new]).status, 0, "{database}");
    }
}

fn tables(folder: &Path) -> String {
    let lines: String =
        (0..2000).map(|i| format!("{{\"key\":\"key{i:05}\",\"value\":\"{i:050}\"}}\n")).collect();
    let out = folder.join("tables").display().to_string();
    let build = ["build", "-", "-o", &out, "--max-file-size", "20KiB", "--filter", "none"];
    assert_eq!(run_with(lines.as_bytes(), &build).status, 0);
    out
}

#[test]
fn directories_of_tables_and_tables() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = tables(folder.path());
    let new = folder.path().join("new");
    let ran = refilter(&source, &new, &["--bits-per-key", "12", "--files"]);
    expect![[r#"
        TMP/new: 7 tables, 26.4 KiB, in TIME
          filters                 0 B -> 3.3 KiB
          wasted reads, expected  1.0000 -> 0.0022 files per lookup of a key that is not found

          level  files   keys  policy          filters    after  false positives    after
          0          7  2,000  bloomfilter:12      0 B  3.3 KiB            100 %  0.224 %

          file           size    after  filter  after  false positives    after
          000001.sst  3.4 KiB  4.0 KiB     0 B  517 B            100 %  0.279 %
          000002.sst  3.4 KiB  4.0 KiB     0 B  517 B            100 %  0.201 %
          000003.sst  3.4 KiB  4.0 KiB     0 B  517 B            100 %  0.234 %
          000004.sst  3.4 KiB  4.0 KiB     0 B  517 B            100 %  0.252 %
          000005.sst  3.3 KiB  4.0 KiB     0 B  517 B            100 %  0.207 %
          000006.sst  3.4 KiB  4.0 KiB     0 B  517 B            100 %  0.220 %
          000007.sst  2.1 KiB  2.5 KiB     0 B  261 B            100 %  0.111 %
        --- status 0
    "#]]
    .assert_eq(&printed(&ran, folder.path()));
    assert_eq!(names_in(Path::new(&source)), names_in(&new));
    assert_eq!(run(["verify", &new.display().to_string()]).status, 0);

    let table = format!("{source}/000001.sst");
    let ran = refilter(&table, &folder.path().join("one.sst"), &["--filter", "ribbonfilter:9.9"]);
    expect![[r#"
        TMP/one.sst: 1 table, 3.8 KiB, in TIME
          filters                 0 B -> 341 B
          wasted reads, expected  1.0000 -> 0.0078 files per lookup of a key that is not found

          level  files  keys  policy            filters  after  false positives    after
          -          1   311  ribbonfilter:9.9      0 B  341 B            100 %  0.781 %

          file        size    after  filter  after  false positives    after
          one.sst  3.4 KiB  3.8 KiB     0 B  341 B            100 %  0.781 %
        --- status 0
    "#]]
    .assert_eq(&printed(&ran, folder.path()));
}

#[test]
fn what_cannot_work_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = tables(folder.path());
    let table = format!("{source}/000001.sst");
    let (database, leveldb) = ("databases/rocksdb-leveled-bloom", "databases/leveldb-nofilter");
    let new = folder.path().join("new");
    let taken = folder.path().join("taken");
    fs::write(&taken, b"theirs").expect("written");
    let nowhere = folder.path().join("nowhere/new");
    let before = names_in(folder.path());
    let mut lines = String::new();
    for (source, output, options) in [
        (database, &new, &[][..]),
        (database, &new, &["--filter", "bloomfilter"]),
        (database, &new, &["--filter", "blomfilter:10"]),
        (database, &new, &["--filter", "bloomfilter:10", "--bits-per-key", "9"]),
        (database, &new, &["--filter", "bloomfilter:10", "--budget", "1MiB"]),
        (database, &new, &["--filter", "bloomfilter:10", "--per-level", "3=none"]),
        (database, &new, &["--per-level", "6=none", "--per-level", "6=bloomfilter:8"]),
        (database, &new, &["--per-level", "none"]),
        (database, &new, &["--bits-per-key", "0.1"]),
        (database, &new, &["--bits-per-key", "9", "--no-whole-key-filtering"]),
        (database, &new, &["--budget", "1MiB", "--hit-rate", "2"]),
        (database, &taken, &["--bits-per-key", "9"]),
        (database, &taken, &["--bits-per-key", "9", "--force"]),
        (database, &nowhere, &["--bits-per-key", "9"]),
        (leveldb, &new, &["--filter", "ribbonfilter:10"]),
        (leveldb, &new, &["--filter", "ribbonfilter", "--budget", "1MiB"]),
        (leveldb, &new, &["--bits-per-key", "9", "--partition-filters"]),
        (&table, &taken, &["--bits-per-key", "9"]),
        (&table, &new, &["--bits-per-key", "9", "--per-level", "0=none"]),
        (&table, &new, &["--partition-filters"]),
        (&source, &new, &["--bits-per-key", "9", "--per-level", "0=none"]),
        ("tables/README.md", &new, &["--bits-per-key", "9"]),
        ("tables/none.sst", &new, &["--bits-per-key", "9"]),
    ] {
        let ran = refilter(source, output, options);
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{options:?}");
        let line = ran.stderr.lines().next().unwrap_or_default();
        lines.push_str(&line.replace(&folder.path().display().to_string(), "TMP"));
        lines.push('\n');
    }
    expect![[r#"
        sst: nothing to change: use --filter, --bits-per-key, --per-level or --budget
        sst: --filter without bits per key: add them, as in bloomfilter:10, or --bits-per-key
        sst: invalid value 'blomfilter:10' for '--filter <POLICY>': unknown filter policy "blomfilter:10" (expected bloomfilter:BITS, ribbonfilter:BITS[:LEVEL], leveldb.BuiltinBloomFilter2:BITS or none); did you mean "bloomfilter"?
        sst: --filter bloomfilter:10 has bits per key already: omit them, or --bits-per-key
        sst: --budget determines the bits per key: use --filter bloomfilter or ribbonfilter, not bloomfilter:10
        sst: --per-level 3=…: there are no tables in level 3 (levels with tables: 0, 6)
        sst: --per-level names level 6 twice
        sst: invalid value 'none' for '--per-level <LEVEL=POLICY>': "none": expected LEVEL=POLICY or FAMILY:LEVEL=POLICY, as in 6=bloomfilter:10
        sst: --bits-per-key 0.1 builds no filter: use --filter none, or 0.5 or more
        sst: --no-whole-key-filtering leaves the filter empty: use --prefix-extractor, or --filter none
        sst: --hit-rate must be from 0 to 1, not 2
        sst: TMP/taken: already exists; pass a new path for the directory
        sst: TMP/taken: already exists; pass a new path for the directory
        sst: TMP/nowhere: no such directory; create it first
        sst: LevelDB tables do not support ribbonfilter:10: use --filter bloomfilter:BITS or none
        sst: LevelDB tables do not support ribbonfilter: use --filter bloomfilter
        sst: LevelDB tables do not support --partition-filters: omit it
        sst: TMP/taken: already exists; use --force to replace it
        sst: --per-level has no effect: no PATH is a database
        sst: which policy the filters should have is not known: use --filter
        sst: --per-level has no effect: tables without a MANIFEST have no levels
        sst: tables/README.md: the footer at offset 2774 is corrupt: not a table, or truncated: unknown magic number (expected 57fb808b247547db or f7cff485b741e288, found 61746f7273207c0a)
        sst: tables/none.sst: No such file or directory (os error 2)
    "#]].assert_eq(&lines);
    let ran = run(["refilter", &table, "-o", &table, "--bits-per-key", "9", "--force"]);
    assert!(ran.stderr.contains("is the input"), "{}", ran.stderr);
    assert_eq!(names_in(folder.path()), before);

    // Nothing is written into an input directory.
    let inside = "databases/rocksdb-leveled-bloom/new.sst";
    for command in ["refilter", "compact", "salvage"] {
        let ran = run([command, "databases/rocksdb-leveled-bloom", "-o", inside]);
        assert_eq!(ran.status, 2, "{command}");
        assert!(ran.stderr.contains("inside of the input"), "{command}: {}", ran.stderr);
    }

    // With --force a file is replaced.
    let ran = refilter(&table, &taken, &["--bits-per-key", "9", "--force", "--format", "json"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(matches!(ran.json()[0]["bytes_after"], Value::Number(_)));
}

#[test]
fn damage_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = tables(folder.path());
    let damaged = format!("{source}/000002.sst");
    let mut bytes = fs::read(&damaged).expect("read");
    bytes[1000] ^= 1;
    fs::write(&damaged, bytes).expect("written");
    for source in [&source, &damaged] {
        let ran = refilter(source, &folder.path().join("new"), &["--bits-per-key", "9"]);
        assert_eq!(ran.status, 2);
        assert!(
            ran.stderr.contains("000002.sst") && ran.stderr.contains("checksum"),
            "{}",
            ran.stderr
        );
    }
    assert_eq!(names_in(folder.path()), ["tables"]);
}
