//! Golden tables, rebuilt from their entries: the same bytes.
//!
//! The settings come from the file itself (`settings.rs`), and where it does not say them they are
//! searched for (`search.rs`). The name of a table plays no part.

pub(crate) mod blocks;
pub(crate) mod search;
mod settings;

use std::sync::{Mutex, OnceLock};
use std::thread;

use sstkit_table::raw::{BlobIndex, Engine, EntryKind, InternalKey, TableView};
use sstkit_table::{TableOptions, TableWriter};

use self::blocks::is_compressed;
use sstkit_testkit::goldens::{Golden, golden_tables};

/// Rewrites the entries of `source`.
pub(crate) fn rebuild(source: &TableView<'_>, options: &TableOptions) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = TableWriter::to_sink(&mut bytes, options).unwrap();
    let bare = source.engine() == Engine::LevelDb && settings::has_bare_keys(source);
    let mut entries = source.entries().unwrap();
    while entries.advance().unwrap() {
        if bare {
            writer.put(entries.key(), entries.value()).unwrap();
            continue;
        }
        let key = entries.internal_key().unwrap();
        if key.kind == EntryKind::BlobIndex && source.properties().embedded_blobs().is_some() {
            let blob = BlobIndex::decode_from(entries.value()).unwrap();
            let key = InternalKey { kind: EntryKind::Value, ..key };
            writer.add(&key, &source.embedded_blob(&blob).unwrap()).unwrap();
        } else {
            writer.add(&key, entries.value()).unwrap();
        }
    }
    let mut ranges = source.range_deletions().unwrap();
    while ranges.advance().unwrap() {
        writer.add(&ranges.begin().unwrap(), ranges.end()).unwrap();
    }
    writer.finish().unwrap();
    bytes
}

/// A golden table and the options that make it again.
pub(crate) struct Solved {
    pub(crate) golden: Golden,
    pub(crate) options: Result<TableOptions, String>,
}

/// All tables to be rebuilt, solved once for all tests, on all cores.
pub(crate) fn solved_tables() -> &'static [Solved] {
    static SOLVED: OnceLock<Vec<Solved>> = OnceLock::new();
    SOLVED.get_or_init(|| {
        let queue = Mutex::new(golden_tables().into_iter());
        let solved = Mutex::new(Vec::new());
        let work = || {
            while let Some(golden) = { queue.lock().unwrap().next() } {
                let options = search::find(&TableView::open(&golden.bytes).unwrap());
                solved.lock().unwrap().push(Solved { golden, options });
            }
        };
        thread::scope(|scope| {
            for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
                scope.spawn(work);
            }
        });
        let mut solved = solved.into_inner().unwrap();
        solved.sort_by(|a, b| a.golden.path.cmp(&b.golden.path));
        assert!(!solved.is_empty(), "no tables to rebuild");
        solved
    })
}

/// Runs `test` on all tables that are compressed, or on all others, and reports all that fail.
pub(crate) fn for_every_table(
    compressed: bool,
    test: impl Fn(&TableView<'_>, &TableOptions) -> Result<(), String>,
) {
    let (mut tried, mut failures) = (0, Vec::new());
    for Solved { golden, options } in solved_tables() {
        let table = TableView::open(&golden.bytes).unwrap();
        if is_compressed(&table) != compressed {
            continue;
        }
        tried += 1;
        if let Err(failure) = options.clone().and_then(|options| test(&table, &options)) {
            failures.push(format!("{}: {failure}", golden.path.display()));
        }
    }
    println!("{} of {tried} tables", tried - failures.len());
    assert!(failures.is_empty(), "{} of {tried}:\n{}", failures.len(), failures.join("\n"));
}

/// Every byte of every uncompressed table: data, filter, index, properties, metaindex, footer.
#[test]
fn uncompressed_tables_are_identical() {
    for_every_table(false, |table, options| {
        blocks::same_file(table.file(), &rebuild(table, options))
    });
}

/// Compressed blocks are another encoder's, but what they hold is the same, and so is every block
/// that is not compressed, apart from the offsets in them.
#[test]
fn compressed_tables_hold_the_same_blocks() {
    for_every_table(true, |table, options| {
        let again = rebuild(table, options);
        let again = TableView::open(&again).map_err(|error| error.to_string())?;
        blocks::same_contents(table, &again)
    });
}
