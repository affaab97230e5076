//! The hash index of a data block: rebuilt from its keys, and searched.

use std::fmt::Write;

use sstkit_coding::hash32::hash32_rocksdb;
use sstkit_table::raw::{Block, BlockKind, HashLookup, InternalKey};

use crate::annotated::Dump;
use crate::block_dump::{Tail, dump_packed, dump_restarts};
use crate::golden::{data_block, with_table};
use crate::wording::{count, key_text};

/// User keys with the index of their restart interval.
type Intervals = Vec<(Vec<u8>, usize)>;

fn with_block<T>(show: impl FnOnce(&[u8], &Intervals) -> T) -> T {
    with_table("datahash-fv7.sst", |table| {
        let block = table.block(BlockKind::Data, data_block(table, 0)).expect("a block");
        let mut entries = Block::parse(&block[..]).expect("a block").into_entries();
        let mut intervals = Intervals::new();
        while entries.advance().expect("an entry") {
            let key = InternalKey::decode_from(entries.key()).expect("an internal key");
            intervals.push((key.user_key.to_vec(), entries.restart_index()));
        }
        show(&block, &intervals)
    })
}

/// What the buckets hold, by the rules of the page.
fn expected_buckets(intervals: &Intervals) -> Vec<u8> {
    let wanted: f64 = intervals.iter().map(|_| 1.0 / 0.75).sum();
    let number = (wanted as u16).max(1) | 1;
    let mut buckets = vec![255; usize::from(number)];
    for (key, interval) in intervals {
        let bucket = &mut buckets[hash32_rocksdb(key, 397) as usize % usize::from(number)];
        *bucket = match *bucket {
            255 => *interval as u8,
            same if usize::from(same) == *interval => same,
            _ => 254,
        };
    }
    buckets
}

pub(super) fn tail() -> String {
    with_block(|block, intervals| {
        let tail = Tail::of(block);
        let mut dump = Dump::new(block);
        dump.skip(tail.before, format!("{} entries", intervals.len()));
        dump_restarts(&mut dump, tail.restarts);
        let buckets = dump.bytes(tail.buckets.expect("buckets"), "buckets");
        assert_eq!(buckets, expected_buckets(intervals));
        dump.bytes(2, count(buckets.len(), "bucket"));
        dump_packed(&mut dump);
        dump.finish()
    })
}

pub(super) fn answers() -> String {
    with_block(|block, intervals| {
        let parsed = Block::parse(block).expect("a block");
        let index = parsed.hash_index().expect("a hash index");
        let buckets = index.buckets();
        let mut out = String::from("key          hash      bucket  holds  search\n");
        let mut shown = |key: &[u8]| {
            let hash = hash32_rocksdb(key, 397);
            let bucket = hash as usize % buckets.len();
            let search = match index.lookup(key) {
                HashLookup::Restart(restart) => format!("interval {restart}"),
                HashLookup::Collision => "all intervals".to_owned(),
                HashLookup::Empty => "not here".to_owned(),
            };
            let (key, held) = (key_text(key), buckets[bucket]);
            let _ = writeln!(out, "{key:<11}  {hash:08x}  {bucket:>6}  {held:>5}  {search}");
        };
        let collides = |key: &[u8]| index.lookup(key) == HashLookup::Collision;
        let (first, last) = (&intervals[0], &intervals[intervals.len() - 1]);
        let two = intervals.iter().filter(|(key, _)| collides(key)).take(2);
        for (key, _) in [first, last].into_iter().chain(two) {
            shown(key);
        }
        shown(b"key00001695");
        shown(b"key00001698");
        out
    })
}
