//! What the fuzzer has found, once and for all: `testdata/damaged`, each file with its target.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use sstkit_fuzzing::TARGETS;
use sstkit_table::raw::{EntryKind, InternalKey};
use sstkit_table::{ErrorKind, Table, TableOptions, TableReadOptions, TableWriter};

/// Files and the targets that stumbled over them.
const FINDINGS: &[(&str, &str)] = &[
    ("atomic-group-without-end.manifest", "manifest"),
    ("blob-changes-order.model", "model"),
    ("index-separators-without-tails.sst", "whole_table"),
    ("index-top-level-separator.sst", "whole_table"),
    ("overfull-legacy-bloom.filter", "legacy_bloom"),
    ("table-range-inverted.database", "database"),
];

fn damaged() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/damaged")
}

/// The folder, its README and this list have the same files.
#[test]
fn every_finding_is_listed() {
    let files = fs::read_dir(damaged())
        .expect("a folder")
        .map(|entry| entry.expect("a file").file_name().into_string().expect("a name"));
    let files: BTreeSet<String> = files.filter(|name| name != "README.md").collect();
    let listed: BTreeSet<String> = FINDINGS.iter().map(|(file, _)| (*file).to_owned()).collect();
    assert_eq!(files, listed);
    let readme = fs::read_to_string(damaged().join("README.md")).expect("a README");
    for file in files {
        assert!(readme.contains(&format!("`{file}`")), "{file} is not in the README");
    }
}

#[test]
fn no_finding_comes_back() {
    for (file, name) in FINDINGS {
        let target = TARGETS.iter().find(|target| target.name == *name).expect("a target");
        let input = fs::read(damaged().join(file)).expect("a file");
        println!("{file}");
        (target.run)(&input);
    }
}

/// A separator of the top level that parts in the wrong place is reported, not only survived.
#[test]
fn verify_reads_both_levels_of_the_index() {
    let path = damaged().join("index-top-level-separator.sst");
    let options = TableReadOptions::default().verify_checksums(false);
    let table = Table::open_with(path, &options).expect("a table");
    let found = table.verify();
    let problem = found.problems().first().expect("a problem").to_string();
    assert!(problem.contains("the last key is after the block's index key"), "{problem}");
}

/// Separators that lack what keys are compared by are reported.
#[test]
fn verify_measures_separators() {
    let path = damaged().join("index-separators-without-tails.sst");
    let found = Table::open(path).expect("a table").verify();
    let problem = found.problems().first().expect("a problem").to_string();
    assert!(problem.contains("is too short (expected 16 bytes or more"), "{problem}");
}

/// A value that becomes a blob changes its kind, and with it its place among entries of one
/// sequence number: the writer refuses such entries.
#[test]
fn no_blob_changes_the_order() {
    let options = TableOptions::rocksdb().external_file(false).embedded_blobs(1);
    let mut writer = TableWriter::to_sink(Vec::new(), &options).expect("settings");
    let key = |kind| InternalKey { user_key: b"k", sequence: 3, kind };
    writer.add(&key(EntryKind::SingleDeletion), b"").expect("the first entry");
    let error = writer.add(&key(EntryKind::Value), b"value").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
}
