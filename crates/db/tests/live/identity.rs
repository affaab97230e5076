//! Several tables of one maker in one database: RocksDB names the blocks in its cache after session
//! and file number, and serves the blocks of another table where both are the same.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::json;
use sstkit_db::{BulkBuilder, BulkOptions, Compaction, CompactionOptions, SequenceNumbers};
use sstkit_table::raw::{Codec, FormatVersion, TableView, property_names as names};
use sstkit_table::{Identity, Table, TableOptions, TableWriter, rewrite_tail};
use sstkit_testkit::engines::{call, keys, read_entries, read_values};

const COUNT: usize = 6000;

type Pair = (Vec<u8>, Vec<u8>);

fn options(identity: Identity) -> TableOptions {
    TableOptions::rocksdb()
        .format_version(FormatVersion::V6)
        .compression(Codec::None)
        .identity(identity)
}

/// A session that is given counts for all files of a build.
fn given() -> Identity {
    let mut identity = Identity::default();
    identity.session_id = "SESSIONSESSION123456".into();
    identity
}

fn entries() -> BTreeMap<Vec<u8>, Vec<u8>> {
    let entry = |number: usize| (format!("key{number:05}"), format!("value of {number:05}"));
    (0..COUNT).map(entry).map(|(key, value)| (key.into_bytes(), value.into_bytes())).collect()
}

/// Four tables by a writer each, all from the same options.
fn write_four(folder: &Path, options: &TableOptions) -> Vec<PathBuf> {
    let entries: Vec<_> = entries().into_iter().collect();
    let write = |(number, part): (usize, &[Pair])| {
        let path = folder.join(format!("{number}.sst"));
        let mut writer = TableWriter::create(&path, options).unwrap();
        for (key, value) in part {
            writer.put(key, value).unwrap();
        }
        writer.finish().unwrap();
        path
    };
    entries.chunks(COUNT / 4).enumerate().map(write).collect()
}

/// All tables have names of their own, and RocksDB, with one block cache, finds every key by `get`
/// and by its iterator.
fn check(folder: &Path, tables: &[PathBuf]) {
    assert!(tables.len() >= 4, "{} tables", tables.len());
    let identities: BTreeSet<_> = tables.iter().map(|path| identity(path)).collect();
    assert_eq!(identities.len(), tables.len(), "{identities:?}");
    assert!(identities.iter().all(|(session, _)| session.len() == 20), "{identities:?}");
    let expected = entries();
    let answer = call(
        "rocksdb_ingest",
        &json!({ "path": folder.join("rocksdb"), "settings": {}, "tables": tables,
                 "gets": keys(expected.keys()) }),
    );
    let found = read_values(&answer, "found");
    let right = found.iter().zip(expected.values()).filter(|(a, b)| a.as_ref() == Some(b)).count();
    assert_eq!(right, COUNT, "keys found by get");
    assert!(read_entries(&answer, "entries").into_iter().eq(expected), "the iterator differs");
}

/// Session and file number.
fn identity(path: &Path) -> (Vec<u8>, Option<u64>) {
    let table = Table::open(path).unwrap();
    let session = table.properties().get(names::DB_SESSION_IDENTITY).unwrap_or_default();
    (session.to_vec(), table.properties().number(names::ORIGINAL_FILE_NUMBER))
}

fn tables_in(folder: &Path) -> Vec<PathBuf> {
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut tables: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|ending| ending == "sst")).collect();
    tables.sort();
    tables
}

#[test]
fn writers_of_one_options_do_not_share_cache_keys() {
    let folder = tempfile::tempdir().unwrap();
    let tables = write_four(folder.path(), &options(Identity::random()));
    check(folder.path(), &tables);
}

#[test]
fn files_of_one_bulk_build_do_not_share_cache_keys() {
    for identity in [Identity::random(), given()] {
        for sorted in [true, false] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("tables");
            let options = BulkOptions::new(options(identity.clone()))
                .max_file_size(Some(32 << 10))
                .sorted(sorted);
            let mut builder = BulkBuilder::create(&path, &options).unwrap();
            for (key, value) in entries() {
                builder.put(&key, &value).unwrap();
            }
            builder.finish().unwrap();
            check(folder.path(), &tables_in(&path));
        }
    }
}

#[test]
fn files_of_one_compaction_do_not_share_cache_keys() {
    for identity in [Identity::random(), given()] {
        for threads in [1, 3] {
            let folder = tempfile::tempdir().unwrap();
            let inputs = write_four(folder.path(), &options(Identity::default()));
            let options = CompactionOptions::new(options(identity.clone()))
                .sequence_numbers(SequenceNumbers::Zero)
                .threads(threads)
                .max_file_size(Some(16 << 10));
            let mut compaction = Compaction::new(&options);
            for input in &inputs {
                compaction.add_table(&Table::open(input).unwrap()).unwrap();
            }
            let path = folder.path().join("tables");
            let summary = compaction.run(&path).unwrap();
            assert_eq!(summary.parts > 1, threads > 1, "{} parts", summary.parts);
            check(folder.path(), &tables_in(&path));
        }
    }
}

#[test]
fn tables_with_new_tails_do_not_share_cache_keys() {
    let folder = tempfile::tempdir().unwrap();
    let sources = write_four(folder.path(), &options(given()));
    let options = options(Identity::random()).filter("bloomfilter:10".parse().unwrap());
    let rewrite = |source: &PathBuf| {
        let path = source.with_extension("new.sst");
        let bytes = std::fs::read(source).unwrap();
        rewrite_tail(&TableView::open(&bytes).unwrap(), &path, &options).unwrap();
        path
    };
    let tables: Vec<_> = sources.iter().map(rewrite).collect();
    check(folder.path(), &tables);
}
