//! Separators beside the keys they separate.

use std::fmt::Write;

use sstkit_table::raw::{Engine, InternalKey, TableView};

use crate::golden::with_table;
use crate::wording::key_text;

pub(super) fn separators() -> String {
    let mut out = format!("{:<26}  {:<19}  {:<19}  separator\n", "table", "last key", "next key");
    for name in [
        "index-noshorten.sst",
        "index-restart8.sst",
        "index-shorten2.sst",
        "types-all-fv2.sst",
        "reverse-comparator.sst",
        "leveldb-table-bloom0-c0.ldb",
    ] {
        with_table(name, |table| {
            let rows = rows(table);
            let (last, before) = rows.split_last().expect("a row");
            let name = name.trim_end_matches(".sst").trim_end_matches(".ldb");
            let shortened = before.iter().find(|(key, _, separator)| !separator.starts_with(key));
            let shown = shortened.unwrap_or(&before[0]);
            for (name, (last_key, next_key, separator)) in [(name, shown), ("", last)] {
                let _ = writeln!(out, "{name:<26}  {last_key:<19}  {next_key:<19}  {separator}");
            }
        });
    }
    out
}

/// Last key of each block, first key of the next, and the separator.
fn rows(table: &TableView<'_>) -> Vec<(String, String, String)> {
    let blocks: Vec<_> = table
        .data_blocks()
        .expect("blocks")
        .map(|block| {
            let mut entries = block.expect("a block").into_entries().expect("entries");
            assert!(entries.advance().expect("an entry"));
            let first = user_key(table, entries.key()).to_vec();
            let mut last = first.clone();
            while entries.advance().expect("an entry") {
                last = user_key(table, entries.key()).to_vec();
            }
            (first, last)
        })
        .collect();
    let mut index = table.index().expect("an index");
    let mut rows = Vec::new();
    for (number, (_, last)) in blocks.iter().enumerate() {
        assert!(index.advance().expect("an entry"));
        let next = blocks.get(number + 1).map_or_else(|| "-".to_owned(), |(key, _)| key_text(key));
        rows.push((key_text(last), next, separator_text(table, index.key())));
    }
    rows
}

/// LevelDB's golden tables have bare user keys.
fn user_key<'k>(table: &TableView<'_>, key: &'k [u8]) -> &'k [u8] {
    match table.engine() {
        Engine::LevelDb => key,
        Engine::RocksDb => InternalKey::decode_from(key).expect("an internal key").user_key,
    }
}

fn separator_text(table: &TableView<'_>, separator: &[u8]) -> String {
    if table.index_format().user_keys || table.engine() == Engine::LevelDb {
        return key_text(separator);
    }
    let key = InternalKey::decode_from(separator).expect("an internal key");
    let sequence = if key.sequence == 0 { "0" } else { "2^56 - 1" };
    format!("{} at {sequence}, kind {:02x}", key_text(key.user_key), key.kind as u8)
}
