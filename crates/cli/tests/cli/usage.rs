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
        &["build", "-", "-o", "x", "--block-size", "4KB"],
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
        sst: invalid value 'ztsd:3' for '--compression <CODEC[:LEVEL]>': no compression is known as "ztsd" (there are none, snappy, zlib, bzip2, lz4, lz4hc, zstd); did you mean "zstd"?
        sst: invalid value 'crc32' for '--checksum <NAME>': no checksum is known as "crc32" (there are none, crc32c, xxhash, xxhash64, xxh3); did you mean "crc32c"?
        sst: invalid value 'twolevel' for '--index <KIND>': no index is known as "twolevel" (there are binary, hash, two-level, first-key); did you mean "two-level"?
        sst: invalid value 'rocksdb.ReverseByteWiseComparator' for '--comparator <NAME>': no comparator is known as "rocksdb.ReverseByteWiseComparator" (there are leveldb.BytewiseComparator, rocksdb.ReverseBytewiseComparator, leveldb.BytewiseComparator.u64ts, rocksdb.ReverseBytewiseComparator.u64ts); did you mean "rocksdb.ReverseBytewiseComparator"?
        sst: invalid value '4KB' for '--block-size <SIZE>': "4KB" is not a size: write bytes, or a number with KiB, MiB or GiB
        sst: invalid value '8' for '--format-version <N>': "8" is not a format version that is written: 2 to 7 are
        sst: databases/rocksdb-column-families: no column family is called "mata" (there are default, meta, événements); did you mean "meta"?
        sst: no merge operator is known as "uint64ad" (there are uint64add, stringappend, stringappendtest, put, max, bytesxor); did you mean "uint64add"?"#]].assert_eq(&all);
}

#[test]
fn contradictions_and_missing_things() {
    let all = [
        &["scan", "tables/none.sst"][..],
        &["scan", "tables"],
        &["dump", "databases/rocksdb-blobs"],
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
        &["bench", "filter", "--filter", "leveldb.BuiltinBloomFilter2:10"],
        &["bench", "filter", "--filter", "none"],
    ]
    .map(refused)
    .join("\n");
    expect![[r#"
        sst: tables/none.sst: No such file or directory (os error 2)
        sst: tables: not a database (no CURRENT file) and no tables
        sst: databases/rocksdb-blobs: this is a directory; name one of its table files
        sst: /dev/null: this is neither a file nor a directory
        sst: tables/README.md: the footer at offset 2769 is corrupt: not a table, or truncated: unknown magic number (expected 57fb808b247547db or f7cff485b741e288, found 61746f7273207c0a)
        sst: the argument '--from <KEY>' cannot be used with '--prefix <START>'
        sst: the key "\\xzz": at byte 0: a backslash is written \\, any byte \xHH
        sst: the following required arguments were not provided:
        sst: the key "0": an odd number of hexadecimal digits
        sst: tables/README.md: its name does not tell its format: use --input-format ndjson, csv, tsv or parquet
        sst: the table cannot be used like this: partition_filters contradicts index_kind = kBinarySearch
        sst: LevelDB knows no LZ4: use --compression none, snappy or zstd
        sst: the table cannot be used like this: index_kind = kHashSearch contradicts no prefix_extractor
        sst: --threads must be 1 or more
        sst: Parquet is read from its end, which standard input does not allow: name a file
        sst: cannot be used like this: keys in the order rocksdb.ReverseBytewiseComparator cannot be merged with keys in the order leveldb.BytewiseComparator
        sst: leveldb.BuiltinBloomFilter2:10 has a small filter for each 2 KiB of a table, not one for many keys: measure it with `sst bench table`
        sst: the policy none builds no filters for many keys"#]].assert_eq(&all);
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
        Inspect tables (SST files) and databases of LevelDB and RocksDB, and build new ones.

        PATH is a table file, a database directory, or a folder of tables that `sst build` or `sst compact`
        wrote; which, and which engine wrote it, is found out. Nothing that is read is ever changed.

        Exit status: 0 fine, 1 a negative answer (not found, damaged), 2 trouble.

        Usage: sst <COMMAND>

        Commands:
          info         Show what a table or database contains
          dump         Print all of a table, as RocksDB's `sst_dump --command=raw` does
          layout       List every block of a table
          scan         Print keys and values: the visible ones, or every entry (--internal)
          get          Print the values of keys; exit status 1 if one is not found
          verify       Read all of a table or database and report every problem
          filter       Show what a filter is, what it costs and what it rejects
          build        Build tables from NDJSON, CSV, TSV or Parquet
          compact      Merge tables, or the levels of a database, into new tables
          bench        Measure what a filter or a table costs on this machine
          completions  Print the completions for a shell
          man          Print the manual page, or write those of all commands into a folder
          help         Print this message or the help of the given subcommand(s)

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
    for name in ["sst.1", "sst-scan.1", "sst-bench.1", "sst-bench-filter.1"] {
        assert!(names.iter().any(|it| it == name), "{names:?}");
    }
    assert_eq!(run(["man", "--directory", "/nowhere"]).status, 2);
}
