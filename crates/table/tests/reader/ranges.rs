//! What the index alone tells about key ranges, compared with the entries.

use std::ops::Bound;
use std::sync::Arc;

use sstkit_table::raw::Trailer;
use sstkit_table::{BlockCache, Table, TableOptions, TableReadOptions, TableWriter};
use sstkit_testkit::goldens::{golden_tables, open, options};

use crate::counting_source::CountingSource;

/// The user keys of a table without timestamps, each with the offset and the end of its data block.
fn placed_keys(table: &Table) -> Vec<(Vec<u8>, u64, u64)> {
    let timestamp_size = table.user_keys().unwrap().timestamp_size();
    let mut cursor = table.entry_cursor();
    let mut more = cursor.seek_to_first().unwrap();
    let mut keys = Vec::new();
    while more {
        let block = cursor.block().unwrap();
        let key = cursor.user_key();
        let bare = key[..key.len() - timestamp_size].to_vec();
        keys.push((bare, block.offset, block.offset + block.size + Trailer::LENGTH as u64));
        more = cursor.next().unwrap();
    }
    keys
}

#[test]
fn offsets_and_sizes() {
    for golden in golden_tables() {
        let name = golden.path.display();
        let table = open(&golden, &options());
        let keys = placed_keys(&table);
        let end = keys.last().map_or(0, |(_, _, end)| *end);
        // The newest version of a key is where a lookup starts.
        let first = |key: &[u8]| keys.iter().find(|(it, _, _)| it == key).unwrap();
        for (key, _, _) in keys.iter().step_by(keys.len() / 50 + 1) {
            let offset = table.approximate_offset(key).unwrap();
            let (_, start, _) = first(key);
            // A block may end with a separator that equals the next key: then it is that block.
            assert!(offset <= *start, "{name}: {}", key.escape_ascii());
            let in_between =
                keys.iter().filter(|(it, at, _)| *at > offset && at < start && it != key);
            assert_eq!(in_between.count(), 0, "{name}: {}", key.escape_ascii());
            let after = table.approximate_size((Bound::Included(key), Bound::Unbounded)).unwrap();
            let before = table.approximate_size((Bound::Unbounded, Bound::Excluded(key))).unwrap();
            assert_eq!((before, before + after), (offset, end), "{name}");
        }
        assert_eq!(table.approximate_size(..).unwrap(), end, "{name}");
    }
}

#[test]
fn the_index_separates_blocks() {
    for golden in golden_tables() {
        let name = golden.path.display();
        let table = open(&golden, &options());
        let order = table.comparator().unwrap();
        let keys = placed_keys(&table);
        let blocks: Vec<_> = table.index().unwrap().map(Result::unwrap).collect();
        let mut offsets: Vec<u64> = keys.iter().map(|(_, offset, _)| *offset).collect();
        offsets.dedup();
        assert!(blocks.iter().map(|block| block.handle.offset).eq(offsets), "{name}");
        for block in blocks {
            let within = || keys.iter().filter(|(_, offset, _)| *offset == block.handle.offset);
            let compare = |key: &[u8]| order.compare_without_timestamp(key, &block.separator);
            assert!(within().all(|(key, _, _)| compare(key).is_le()), "{name}: {block:?}");
            let mut behind = keys.iter().filter(|(_, offset, _)| *offset > block.handle.offset);
            assert!(behind.all(|(key, _, _)| compare(key).is_ge()), "{name}: {block:?}");
            if let Some(first) = block.first_key {
                assert_eq!(first, within().next().unwrap().0, "{name}");
            }
        }
    }
}

#[test]
fn split_keys_make_equal_parts() {
    for golden in golden_tables() {
        let name = golden.path.display();
        let table = open(&golden, &options());
        let order = table.comparator().unwrap();
        for parts in [1, 2, 7] {
            let splits = table.split_keys(parts).unwrap();
            assert!(splits.len() < parts, "{name}");
            let less =
                |pair: &[Vec<u8>]| order.compare_without_timestamp(&pair[0], &pair[1]).is_lt();
            assert!(splits.windows(2).all(less), "{name}");
        }
    }
    let mut bytes = Vec::new();
    let mut writer = TableWriter::to_sink(&mut bytes, &TableOptions::rocksdb()).unwrap();
    for number in 0..50_000u32 {
        writer.put(&number.to_be_bytes(), &[number as u8; 30]).unwrap();
    }
    writer.finish().unwrap();
    let source = Arc::new(CountingSource::new(&bytes));
    let table = Table::from_source(Arc::clone(&source), &TableReadOptions::default()).unwrap();
    for parts in 1..20 {
        let splits = table.split_keys(parts).unwrap();
        assert_eq!(splits.len(), parts - 1);
        for (number, key) in (1..).zip(splits) {
            let mut split = [0; 4];
            split[..key.len().min(4)].copy_from_slice(&key[..key.len().min(4)]);
            let expected = 50_000 * number / parts as u32;
            assert!(u32::from_be_bytes(split).abs_diff(expected) < 500, "{number} of {parts}");
        }
        table.approximate_size(1u32.to_be_bytes()..40_000u32.to_be_bytes()).unwrap();
    }
    let data = table.approximate_size(..).unwrap();
    assert!(source.lowest() >= data, "data blocks were read");
}

#[test]
fn blocks_of_a_file_are_evicted() {
    let golden = golden_tables().remove(0);
    let cache = BlockCache::new(10 << 20);
    let options = options().block_cache(&cache);
    let (a, b) = (open(&golden, &options), open(&golden, &options));
    assert!(a.iter().count() > 0);
    let of_a = cache.len();
    assert!(b.iter().count() > 0 && of_a > 0);
    let both = cache.len();
    a.evict_cached_blocks();
    assert_eq!(cache.len(), both - of_a);
    assert!(a.iter().all(|entry| entry.is_ok()));
}
