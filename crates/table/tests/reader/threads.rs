//! Many threads, one small cache.

use std::thread;

use sstkit_table::{BlockCache, Table};
use sstkit_testkit::goldens::{Model, golden_tables, open, options};

/// Far too small for the tables: blocks come and go all the time.
const CACHE_SIZE: u64 = 40_000;

#[test]
fn eight_threads_see_what_one_sees() {
    let cache = BlockCache::with_high_priority_share(CACHE_SIZE, 0.3);
    let options = options().block_cache(&cache).cache_index_and_filter_blocks(true);
    let tables: Vec<(Table, Model)> = golden_tables()
        .iter()
        .step_by(11)
        .map(|golden| (open(golden, &options), Model::of(golden)))
        .collect();
    thread::scope(|scope| {
        for number in 0..8 {
            let (tables, cache) = (&tables, &cache);
            scope.spawn(move || {
                for (table, model) in tables.iter().cycle().skip(number).take(tables.len()) {
                    let absent = model.absent_keys();
                    for key in model.keys.iter().chain(&absent).skip(number).step_by(8) {
                        assert_eq!(table.get(key).unwrap().as_deref(), model.get(key));
                    }
                    let count = match number % 2 {
                        0 => table.iter().map(Result::unwrap).count(),
                        _ => table.iter().rev().map(Result::unwrap).count(),
                    };
                    assert_eq!(count, model.visible.len());
                    assert!(cache.used_bytes() <= CACHE_SIZE);
                }
            });
        }
    });
    assert!(!cache.is_empty());
}

#[test]
fn tables_and_their_parts_may_go_elsewhere() {
    fn send_and_sync<T: Send + Sync>() {}
    fn send<T: Send>() {}
    send_and_sync::<Table>();
    send_and_sync::<BlockCache>();
    send_and_sync::<sstkit_table::Value>();
    send::<sstkit_table::Iter>();
    send::<sstkit_table::Cursor>();
    send::<sstkit_table::Entries>();
}
