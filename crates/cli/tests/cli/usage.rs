//! Bad use: one clear line, status 2, nothing on standard output.

use expect_test::expect;

use crate::run::{COMMANDS, run};

fn refused(arguments: &[&str]) -> String {
    let ran = run(arguments);
    assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{arguments:?}: {}", ran.stderr);
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    // The lines below it only repeat the usage.
    ran.stderr.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn mistyped_names_have_suggestions() {
    let all = [
        &["scna", "x"][..],
        &["scan", "x", "--encoding", "hx"],
        &["scan", "x", "--formt", "json"],
        &["build", "-", "-o", "x", "--filter", "blomfilter:10"],
        &["build", "-", "-o", "x", "--filter", "bloomfilter:ten"],
        &["build", "-", "-o", "x", "--compression", "ztsd:3"],
        &["build", "-", "-o", "x", "--checksum", "crc32"],
        &["build", "-", "-o", "x", "--index", "twolevel"],
        &["build", "-", "-o", "x", "--comparator", "rocksdb.ReverseByteWiseComparator"],
        &["build", "-", "-o", "x", "--block-size", "4XB"],
        &["build", "-", "-o", "x", "--format-version", "8"],
        &["scan", "databases/rocksdb-column-families", "--column-family", "mata"],
        &["scan", "tables/types-all.sst", "--merge-operator", "uint64ad"],
    ]
    .map(refused)
    .join("\n");
    expect![[r#"
        sst: unrecognized subcommand 'scna'
        sst: invalid value 'hx' for '--encoding <ENCODING>'
        sst: unexpected argument '--formt' found
        sst: invalid value 'blomfilter:10' for '--filter <POLICY>': unknown filter policy "blomfilter:10" (expected bloomfilter:BITS, ribbonfilter:BITS[:LEVEL], leveldb.BuiltinBloomFilter2:BITS or none); did you mean "bloomfilter"?
        sst: invalid value 'bloomfilter:ten' for '--filter <POLICY>': filter policy "bloomfilter:ten": "ten" is not a valid number of bits per key
        sst: invalid value 'ztsd:3' for '--compression <CODEC[:LEVEL]>': unknown compression "ztsd" (expected none, snappy, zlib, bzip2, lz4, lz4hc, zstd); did you mean "zstd"?
        sst: invalid value 'crc32' for '--checksum <NAME>': unknown checksum "crc32" (expected none, crc32c, xxhash, xxhash64, xxh3); did you mean "crc32c"?
        sst: invalid value 'twolevel' for '--index <KIND>': unknown index "twolevel" (expected binary, hash, two-level, first-key); did you mean "two-level"?
        sst: invalid value 'rocksdb.ReverseByteWiseComparator' for '--comparator <[NAME=]ORDER>': unknown comparator "rocksdb.ReverseByteWiseComparator" (expected bytewise, reverse, bytewise.u64ts, reverse.u64ts, shortlex, little-endian, ignore-case, idb_cmp1, a name that the engines have for one, or NAME=ORDER); did you mean "rocksdb.ReverseBytewiseComparator"?
        sst: invalid value '4XB' for '--block-size <SIZE>': "4XB" is not a size (expected bytes, or a number with K, M or G)
        sst: invalid value '8' for '--format-version <N>': "8" is not a supported format version (expected 0 to 7)
        sst: databases/rocksdb-column-families: no column family "mata" (found default, meta, événements); did you mean "meta"?
        sst: unknown merge operator "uint64ad" (expected uint64add, stringappend, stringappendtest, put, max, bytesxor); did you mean "uint64add"?"#]].assert_eq(&all);
}

#[test]
fn names_of_ldb_and_sst_dump_have_tips() {
    let tip = |arguments: &[&str]| {
        let ran = run(arguments);
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{arguments:?}");
        let tips = ran.stderr.lines().filter(|line| line.trim_start().starts_with("tip: "));
        format!("{}: {}", arguments[0], tips.map(str::trim).collect::<Vec<_>>().join(", "))
    };
    let all = [
        &["dump_wal", "x"][..],
        &["idump", "x", "--hex"],
        &["list_column_families"],
        &["put", "x", "k", "v"],
        &["--command=raw", "x"],
        &["--file=x", "--command=scan"],
        &["--db=x", "scan"],
        &["--output_hex", "x"],
        &["sst_dump", "--file=x"],
        &["--max_keys=3", "x"],
        &["--no_value", "x"],
    ]
    .map(tip)
    .join("\n");
    expect![[r#"
        dump_wal: tip: use `sst dump FILE.log`
        idump: tip: use `sst scan --internal DB`
        list_column_families: tip: use `sst info DB`
        put: tip: `sst` never changes a database: only its engine does
        --command=raw: tip: use `sst verify` for check, `sst scan`, `sst dump` for raw
        --file=x: tip: files are arguments, as in `sst info FILE`
        --db=x: tip: the database is an argument, as in `sst scan DB`
        --output_hex: tip: use `--hex`
        sst_dump: tip: use `sst verify`, `sst scan` and `sst dump`
        --max_keys=3: tip: use `--limit N`
        --no_value: tip: use `--keys-only`"#]]
    .assert_eq(&all);
}

#[test]
fn contradictions_and_missing_things() {
    let all = [
        &["scan", "tables/none.sst"][..],
        &["scan", "compaction"],
        &["layout", "databases/rocksdb-blobs"],
        &["info", "/dev/null"],
        &["scan", "tables/README.md"],
        &["scan", "tables/types-all.sst", "--from", "a", "--prefix", "b"],
        &["scan", "tables/types-all.sst", "--from", "\\xzz"],
        &["get", "tables/types-all.sst"],
        &["get", "tables/types-all.sst", "0", "--encoding", "hex"],
        &["build", "tables/README.md", "-o", "x.sst"],
        &["build", "-", "-o", "x.sst", "--partition-filters", "--index", "binary"],
        &["build", "-", "-o", "x.ldb", "--profile", "leveldb", "--compression", "lz4"],
        &["build", "-", "-o", "x.sst", "--index", "hash"],
        &["build", "-", "-o", "x.sst", "--threads", "0"],
        &["build", "-", "-o", "x.sst", "--input-format", "parquet"],
        &["compact", "tables/types-all.sst", "tables/reverse-comparator.sst", "-o", "x.sst"],
        &["refilter", "compaction", "-o", "x", "--filter", "none"],
        &["bench", "filter", "--filter", "leveldb.BuiltinBloomFilter2:10"],
        &["bench", "filter", "--filter", "none"],
    ]
    .map(refused)
    .join("\n");
    expect![[r#"
        sst: tables/none.sst: No such file or directory (os error 2)
        sst: compaction: not a database (no CURRENT file) and no tables
        sst: databases/rocksdb-blobs: is a directory; pass one of its table files
        sst: /dev/null: neither a regular file nor a directory
        sst: tables/README.md: the footer at offset 2774 is corrupt: not a table, or truncated: unknown magic number (expected 57fb808b247547db or f7cff485b741e288, found 61746f7273207c0a)
        sst: the argument '--from <KEY>' cannot be used with '--prefix <START>'
        sst: the key "\\xzz": at byte 0: a backslash is written \\, any byte \xHH
        sst: the following required arguments were not provided:
        sst: the key "0": an odd number of hexadecimal digits
        sst: tables/README.md: unknown input format: use --input-format ndjson, csv, tsv or parquet
        sst: invalid argument: partition_filters contradicts index_kind = kBinarySearch
        sst: LevelDB does not support LZ4: use --compression none, snappy or zstd
        sst: invalid argument: index_kind = kHashSearch contradicts no prefix_extractor
        sst: --threads must be 1 or more
        sst: Parquet cannot be read from standard input: pass a file
        sst: invalid argument: cannot merge tables with different comparators (rocksdb.ReverseBytewiseComparator and leveldb.BytewiseComparator)
        sst: compaction: not a database (no CURRENT file) and no tables
        sst: leveldb.BuiltinBloomFilter2:10 builds a small filter for each 2 KiB of a table: use `sst bench table` to measure it
        sst: the filter policy none builds no full filters"#]].assert_eq(&all);
}

#[test]
fn help_ends_with_lines_to_paste() {
    for command in COMMANDS {
        let ran = run([command, "--help"]);
        assert_eq!(ran.status, 0);
        // As people read it, not as compilers do.
        assert!(!ran.stdout.contains("\\\""), "{command}");
        let (_, examples) = ran.stdout.split_once("Examples:\n").expect(command);
        assert!(examples.lines().any(|line| line.trim_start().starts_with("sst ")), "{command}");
    }
    let ran = run(["--help"]);
    expect![[r#"
        Inspect, verify and build LevelDB and RocksDB tables and databases.

        PATH is a table file (SST), a database directory, or a directory of tables written by `sst build` or
        `sst compact`. Kind and engine are detected. Inputs are never modified. `sst PATH` is short for `sst
        info PATH`.

        Exit status: 0 success, 1 negative result (not found, damaged, different), 2 failure.

        Usage: sst <COMMAND>

        Commands:
          info          Show what a table or database contains [aliases: properties, ls]
          dump          Print everything in a table, log, MANIFEST, OPTIONS or blob file
          layout        List every block of a table in file order
          scan          Print keys and values: the visible ones, or all entries (--internal)
          get           Print the values of keys; exit status 1 if any is not found
          stats         Show what a table or database contains, and what its space is used for
          verify        Read all of a table or database and report every problem [alias: check]
          diff          Show what differs between two tables or databases
          filter        Show the kind, size and false-positive rate of filters
          advise        Show what filters and indexes cost, and what to change
          serve         Show tables and databases in a browser
          report        Write the pages of `sst serve` as one HTML file
          ingest-check  Check whether RocksDB would ingest tables, and into which level
          build         Build tables or a database from NDJSON, CSV, TSV or Parquet
          plan          Plan a build in parts, for several processes or machines
          part          Build one part of a plan
          commit        Put the parts of a plan together
          compact       Merge tables or databases into new tables, or into a new database
          refilter      Change filters without a compaction
          salvage       Get out of a damaged table or database what is left of it
          bench         Measure the cost of a filter or a table on this machine
          completions   Print shell completions
          man           Print the manual page, or write those of all commands to a directory
          help          Print this message or the help of the given subcommand(s)

        Options:
          -h, --help
                  Print help (see a summary with '-h')

          -V, --version
                  Print version
    "#]].assert_eq(&ran.stdout);
}

#[test]
fn completions_and_manual_pages() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = run(["completions", shell]);
        assert_eq!(ran.status, 0);
        assert!(ran.stdout.contains("compact"), "{shell}");
    }
    assert!(run(["man"]).stdout.contains(".TH sst 1"));
    let folder = tempfile::tempdir().expect("a folder");
    let ran = run(["man", "--directory", &folder.path().display().to_string()]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let names = crate::run::names_in(folder.path());
    for name in ["sst.1", "sst-scan.1", "sst-diff.1", "sst-bench.1", "sst-bench-filter.1"] {
        assert!(names.iter().any(|it| it == name), "{names:?}");
    }
    assert_eq!(run(["man", "--directory", "/nowhere"]).status, 2);
}

/// The first page that users see leaves out no command.
#[test]
fn the_readme_names_every_command() {
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md"))
        .expect("a file");
    let help = run(["--help"]).stdout;
    let (_, list) = help.split_once("Commands:\n").expect("a list of commands");
    let commands: Vec<_> = list
        .lines()
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|&name| name != "help")
        .collect();
    assert_eq!(commands.len(), COMMANDS.len() + 1, "{commands:?}");
    let missing: Vec<_> =
        commands.into_iter().filter(|name| !readme.contains(&format!("`{name}`"))).collect();
    assert_eq!(missing, Vec::<&str>::new(), "README.md does not name them");
}

/// What people type who know other tools.
#[test]
fn other_names_for_the_same() {
    let table = "tables/one-entry.sst";
    for (typed, same) in [
        (&[table][..], &["info", table][..]),
        (&["--json", table], &["info", "--format", "json", table]),
        (&["properties", table], &["info", table]),
        (&["ls", table], &["info", table]),
        (&["check", table], &["verify", table]),
        (&["cat", table], &["scan", table]),
        (&["scan", "--json", "--hex", table], &["scan", "--format=json", "--encoding=hex", table]),
        (
            &["scan", "-xikn", "1", table],
            &["scan", "--hex", "--internal", "--keys-only", "--limit=1", table],
        ),
        (
            &["scan", "-rj", "-p", "k", table],
            &["scan", "--reverse", "--json", "--prefix", "k", table],
        ),
        (
            &["get", "-e", "hex", "-f", "json", table, "61"],
            &["get", "--hex", "--json", table, "61"],
        ),
        (
            &["scan", "-c", "meta", "databases/rocksdb-column-families"],
            &["scan", "--column-family", "meta", "databases/rocksdb-column-families"],
        ),
    ] {
        let (typed, same) = (run(typed), run(same));
        assert_eq!(typed.all(), same.all());
        assert_ne!(typed.status, 2, "{}", typed.stderr);
        assert_ne!(typed.stdout, "");
    }
    assert_eq!(
        refused(&["none/such.sst"]),
        "sst: none/such.sst: No such file or directory (os error 2)"
    );
    assert!(run(["scan", "-j", "--format", "text", table]).stderr.contains("cannot be used with"));
}
