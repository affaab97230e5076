//! A whole table file: all reads.
//!
//! Checksums keep most damage from the code behind them, and a forger recomputes them. So each
//! file is read twice, the second time without verifying any, and with the footer's, which is
//! always verified, put right; and among the seeds are tables that have none.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use sstkit_filter::HashedKey;
use sstkit_inspect::{
    Encoding, Explanation, FilterReport, InspectedTable, InternalScan, LayoutDescription,
    TableInfo, blocks, raw_dump,
};
use sstkit_table::raw::TableView;
use sstkit_table::{BlockCache, Cursor, Entry, ReadOptions, Table, TableReadOptions, Value};

use crate::concatenate::Concatenate;
use crate::sealing::seal_footer;

/// What a block may decompress to here. Larger ones are refused sooner, not treated otherwise.
const MAX_BLOCK_SIZE: usize = 1 << 20;

/// Small, so that blocks leave it, too.
const CACHE_SIZE: u64 = 64 << 10;

/// Number of keys of a table to look up, besides some that it does not have.
const MAX_KEYS: usize = 12;

/// No bytes make a table panic; and what [`Table::verify`] finds sound is the same from both ends,
/// and every key of it is found.
pub fn whole_table(data: &[u8]) {
    let bytes = Bytes::copy_from_slice(data);
    let options = TableReadOptions::default()
        .max_block_size(MAX_BLOCK_SIZE)
        .block_cache(&BlockCache::new(CACHE_SIZE))
        .merge_operator(Arc::new(Concatenate));
    let mut is_sound = false;
    if let Ok(file) = InspectedTable::from_bytes(bytes, &options) {
        is_sound = use_table(file.table());
        inspect(&file, is_sound);
    }
    // Of a sound table the checksums are right, so that it makes no difference to verify them.
    if is_sound {
        return;
    }
    let sealed = Bytes::from(seal_footer(data, data.len() as u64));
    if let Ok(table) = Table::from_source(sealed.clone(), &options.verify_checksums(false)) {
        use_table(&table);
        read_raw(&sealed);
    }
}

/// Asks everything, and says whether the table is sound.
fn use_table(table: &Table) -> bool {
    let forward: Result<Vec<_>, _> = table.iter().collect();
    let backward: Result<Vec<_>, _> = table.iter().rev().collect();
    let entries: Vec<Entry> = table.entries().map_while(Result::ok).collect();
    let _ = table.layout();
    let keys = some_keys(&entries);
    for key in &keys {
        let _ = table.get(key);
        let _ = table.explain(key);
        let _ = table.lookup(&HashedKey::new(key), |_, _| true);
        let _ = table.newest_range_deletion(key);
        for _ in table.prefix(&key[..key.len().min(4)]).take_while(Result::is_ok).take(8) {}
        for _ in table.range(key.clone()..).rev().take_while(Result::is_ok).take(8) {}
        let _ = table.may_match(&ReadOptions::default(), Some(key), true);
    }
    let _ = table.get_many(&keys);
    let _ = wander(table.cursor(), &keys);
    for entry in &entries {
        let _ = table.resolve(entry.kind, &entry.value);
        let _ = table.resolve_columns(&entry.value);
    }
    if let Some(filter) = table.filter() {
        let _ = (filter.kind(), filter.partitions(), filter.stats());
    }
    let verification = table.verify();
    let is_sound = verification.is_sound() && verification.order_checked();
    if is_sound {
        check_sound(table, forward, backward);
    }
    is_sound
}

/// What `verify` promises by finding nothing.
fn check_sound(
    table: &Table,
    forward: sstkit_table::Result<Vec<(Vec<u8>, Value)>>,
    backward: sstkit_table::Result<Vec<(Vec<u8>, Value)>>,
) {
    // Values of other files cannot be resolved, however sound the table.
    let (Ok(forward), Ok(mut backward)) = (forward, backward) else { return };
    backward.reverse();
    assert!(forward == backward, "a sound table differs from its two ends");
    for (key, value) in forward.iter().take(MAX_KEYS) {
        let found = table.get(key).expect("what was iterated over can be looked up");
        assert_eq!(found.as_ref(), Some(value), "a sound table denies {}", key.escape_ascii());
    }
}

/// Existing keys, keys beside them, and random ones.
fn some_keys(entries: &[Entry]) -> Vec<Vec<u8>> {
    let step = entries.len() / MAX_KEYS + 1;
    let mut keys = vec![Vec::new(), b"key".to_vec(), vec![0xff; 12]];
    for entry in entries.iter().step_by(step) {
        let key = &entry.user_key;
        keys.push(key.clone());
        keys.push([key.as_slice(), b"\0"].concat());
        keys.push(key[..key.len().saturating_sub(8)].to_vec());
    }
    keys
}

/// Moves a cursor to and fro.
fn wander(mut cursor: Cursor, keys: &[Vec<u8>]) -> sstkit_table::Result<()> {
    for key in keys {
        cursor.seek(key)?;
        for step in 0..6 {
            if !cursor.is_valid() {
                break;
            }
            let _ = cursor.value();
            if step % 3 == 0 {
                cursor.prev()?
            } else {
                cursor.next()?
            };
        }
        cursor.seek_for_prev(key)?;
        if cursor.is_valid() {
            cursor.prev()?;
        }
    }
    Ok(())
}

fn inspect(file: &InspectedTable, is_sound: bool) {
    let escape = Encoding::Escape;
    let _ = raw_dump(file, &mut io::sink());
    let _ = LayoutDescription::of("", file);
    if let Ok(blocks) = blocks(file, Some(escape)) {
        blocks.for_each(drop);
    }
    let _ = TableInfo::of("", file, escape);
    let _ = FilterReport::of("", file, 16);
    let forward: Result<Vec<_>, _> = file.table().iter().records().collect();
    let backward: Result<Vec<_>, _> = file.table().iter().records().rev().collect();
    for _ in InternalScan::new(file, escape) {}
    if let Ok(entries) = file.table().entries().take(4).collect::<Result<Vec<_>, _>>() {
        for entry in &entries {
            let _ = Explanation::in_table(file, file.bare(&entry.user_key), escape);
            let _ = file.table().get_record(file.bare(&entry.user_key));
        }
    }
    if is_sound && let (Ok(forward), Ok(mut backward)) = (forward, backward) {
        backward.reverse();
        assert!(forward == backward, "the records of a sound table differ from its two ends");
    }
}

/// The view over bytes in memory, for those who take files apart.
fn read_raw(data: &[u8]) {
    let mut options = sstkit_table::raw::DecodeOptions::default();
    options.verify_checksums = false;
    options.max_block_size = MAX_BLOCK_SIZE;
    let Ok(table) = TableView::open_with(data, &options) else { return };
    for (kind, handle) in table.blocks().unwrap_or_default() {
        let _ = table.block(kind, handle);
    }
    if let Ok(mut entries) = table.entries() {
        while matches!(entries.advance(), Ok(true)) {
            let _ = entries.internal_key();
        }
    }
    if let Ok(mut ranges) = table.range_deletions() {
        while matches!(ranges.advance(), Ok(true)) {
            let _ = ranges.begin();
        }
    }
}
