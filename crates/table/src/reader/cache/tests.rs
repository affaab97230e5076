use std::sync::Barrier;
use std::sync::atomic::AtomicUsize;

use super::*;
use crate::error::Error;

fn key(offset: u64) -> BlockKey {
    BlockKey { file: 0, kind: BlockKind::Data, handle: BlockHandle::new(offset, 1000) }
}

fn block(length: usize) -> CachedBlock {
    CachedBlock::Filter(Filter::from_bytes(vec![0; length].into()))
}

/// Gets a block, loading it on a miss. Returns whether it was a hit.
fn get(cache: &BlockCache, key: BlockKey, priority: Priority, length: usize) -> bool {
    let hint = SlotHint::default();
    let (got, found) = cache.get_or_load(key, priority, &hint, |_| Ok(block(length))).unwrap();
    assert_eq!(got.len(), length as u64);
    found
}

#[test]
fn the_capacity_is_not_exceeded() {
    let cache = BlockCache::new(100_000);
    for offset in 0..1000 {
        assert!(!get(&cache, key(offset), Priority::Low, 1000));
        assert!(cache.used_bytes() <= 100_000);
    }
    assert!(cache.len() > 50);
    cache.clear();
    assert!(cache.is_empty());
    assert_eq!(cache.used_bytes(), 0);
    assert!(!get(&cache, key(999), Priority::Low, 1000));
}

#[test]
fn a_cache_without_capacity_is_empty() {
    let cache = BlockCache::new(0);
    for _ in 0..3 {
        assert!(!get(&cache, key(0), Priority::Low, 100));
    }
    assert_eq!(cache.used_bytes(), 0);
}

#[test]
fn blocks_are_loaded_once_and_errors_are_not_cached() {
    let cache = BlockCache::with_high_priority_share(1 << 20, 0.5);
    let key = key(7);
    let failed =
        cache.get_or_load(key, Priority::High, &SlotHint::default(), |_| Err(Error::corrupt("no")));
    assert!(failed.is_err());
    assert!(!get(&cache, key, Priority::High, 10));
    assert!(get(&cache, key, Priority::High, 10));
}

#[test]
fn data_blocks_do_not_evict_high_priority_blocks() {
    let cache = BlockCache::with_high_priority_share(200_000, 0.5);
    get(&cache, key(0), Priority::High, 1000);
    for offset in 1..5000 {
        get(&cache, key(offset), Priority::Low, 1000);
    }
    assert!(get(&cache, key(0), Priority::High, 1000));
}

#[test]
fn a_block_of_a_quarter_of_the_capacity_is_cached() {
    for (mib, share) in [(1, 0.0), (8, 0.0), (8, 0.5), (32, 0.0), (64, 0.0), (100, 0.0), (256, 0.5)]
    {
        let cache = BlockCache::with_high_priority_share(mib << 20, share);
        for offset in 1..20_000 {
            get(&cache, key(offset), Priority::Low, 4000);
        }
        let mut loaded = 0;
        for offset in 1..100 {
            loaded += usize::from(!get(&cache, key(0), Priority::High, (mib as usize) << 18));
            get(&cache, key(offset), Priority::Low, 4000);
        }
        // In a full cache a new block stays only if it is used again.
        assert!(loaded <= 2, "{mib} MiB: {loaded}");
        assert!(cache.used_bytes() <= mib << 20);
    }
}

#[test]
fn blocks_at_one_offset_are_distinct() {
    let cache = BlockCache::new(1 << 20);
    let key = |kind, size| BlockKey { file: 0, kind, handle: BlockHandle::new(7, size) };
    for key in [key(BlockKind::Data, 100), key(BlockKind::Data, 50), key(BlockKind::Filter, 100)] {
        assert!(!get(&cache, key, Priority::Low, 100));
    }
    assert_eq!(cache.len(), 3);
}

#[test]
fn a_scan_does_not_evict_blocks_that_are_used_often() {
    let cache = BlockCache::deterministic(1 << 20);
    for _ in 0..3 {
        for offset in 0..50 {
            get(&cache, key(offset), Priority::Low, 4000);
        }
    }
    let mut loaded = 0;
    for round in 0..20 {
        // Five times the capacity each time.
        for offset in 0..1250 {
            get(&cache, key(1000 + round * 1250 + offset), Priority::Low, 4000);
        }
        loaded += (0..50).filter(|&offset| !get(&cache, key(offset), Priority::Low, 4000)).count();
    }
    assert!(loaded <= 50, "{loaded} of 1000");
}

#[test]
fn a_long_scan_fills_free_room_and_admits_ghost_entries() {
    let cache = BlockCache::deterministic(1 << 20);
    assert!(cache.admits_scanned(&key(0)), "there is room");
    for offset in 0..1000 {
        get(&cache, key(offset), Priority::Low, 4000);
    }
    for offset in 2000..2050 {
        assert!(!cache.admits_scanned(&key(offset)));
        assert!(cache.admits_scanned(&key(offset)), "it has a ghost entry");
    }
}

#[test]
fn ghost_entries_enter_the_main_queue() {
    let cache = BlockCache::deterministic(8 << 20);
    let count_found = |from: u64, count: u64| {
        (from..from + count).filter(|&it| get(&cache, key(it), Priority::Low, 4000)).count()
    };
    // Room for two thousand: the hundred are evicted each time, unless they are in the main queue.
    count_found(10_000, 2000);
    assert_eq!(count_found(0, 100), 0);
    count_found(20_000, 2100);
    assert_eq!(count_found(0, 100), 0, "they were new");
    count_found(30_000, 2100);
    let found = count_found(0, 100);
    assert!(found > 80, "{found} of those with ghost entries were found");
}

#[test]
fn wrong_hints_are_corrected() {
    let cache = BlockCache::new(100_000);
    let hint = SlotHint::default();
    cache.get_or_load(key(0), Priority::Low, &hint, |_| Ok(block(77))).unwrap();
    let slot = hint.get();
    assert_ne!(slot, NO_SLOT);
    assert_eq!(cache.get(&key(0), Priority::Low, &hint).unwrap().len(), 77);
    for wrong in [slot + 1, 1 << 20, NO_SLOT] {
        hint.set(wrong);
        assert_eq!(cache.get(&key(0), Priority::Low, &hint).unwrap().len(), 77);
        assert_eq!(hint.get(), slot);
        assert!(cache.get(&key(1), Priority::Low, &hint).is_none());
    }
}

#[test]
fn a_slot_may_have_been_reused() {
    let cache = BlockCache::new(100_000);
    let hint = SlotHint::default();
    cache.get_or_load(key(0), Priority::Low, &hint, |_| Ok(block(1000))).unwrap();
    for offset in 1..1000 {
        get(&cache, key(offset), Priority::Low, 1000);
    }
    assert!(cache.get(&key(0), Priority::Low, &hint).is_none());
    assert!(cache.peek(&key(0)).is_none());
    assert!(cache.peek(&key(999)).is_some());
}

#[test]
fn threads_wait_for_the_one_that_loads() {
    let cache = BlockCache::new(1 << 20);
    let (loads, barrier) = (AtomicUsize::new(0), Barrier::new(4));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for offset in 0..100 {
                    barrier.wait();
                    let load = |_| {
                        loads.fetch_add(1, Ordering::Relaxed);
                        std::thread::yield_now();
                        Ok(block(offset + 1))
                    };
                    let key = key(offset as u64);
                    let hint = SlotHint::default();
                    let (got, _) = cache.get_or_load(key, Priority::Low, &hint, load).unwrap();
                    assert_eq!(got.len(), offset as u64 + 1);
                }
            });
        }
    });
    assert_eq!(loads.into_inner(), 100);
}

#[test]
fn after_an_error_or_panic_the_next_thread_loads() {
    let cache = BlockCache::new(1 << 20);
    let (loads, barrier) = (AtomicUsize::new(0), Barrier::new(4));
    let done = std::thread::scope(|scope| {
        let threads = [0; 4].map(|_| {
            scope.spawn(|| {
                barrier.wait();
                let load = |_| {
                    std::thread::yield_now();
                    match loads.fetch_add(1, Ordering::Relaxed) {
                        0 => panic!("on purpose"),
                        1 => Err(Error::corrupt("on purpose")),
                        _ => Ok(block(10)),
                    }
                };
                cache.get_or_load(key(0), Priority::Low, &SlotHint::default(), load).is_ok()
            })
        });
        threads.map(|thread| thread.join().ok())
    });
    assert_eq!(done.iter().filter(|it| it.is_none()).count(), 1);
    assert_eq!(done.iter().filter(|it| **it == Some(false)).count(), 1);
    assert_eq!(loads.into_inner(), 3);
}

/// Many threads with a cache that is too small always get the right block.
#[test]
fn concurrent_gets_under_eviction() {
    let cache = BlockCache::new(50_000);
    std::thread::scope(|scope| {
        for seed in 1..5u64 {
            let cache = &cache;
            scope.spawn(move || {
                let hints: Vec<_> = (0..200).map(|_| SlotHint::default()).collect();
                let mut state = seed;
                for round in 0..20_000 {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let at = (state >> 33) as usize % 200;
                    let load = |_| Ok(block(100 + at));
                    let key = key(at as u64);
                    let (got, _) = cache.get_or_load(key, Priority::Low, &hints[at], load).unwrap();
                    assert_eq!(got.len(), 100 + at as u64);
                    assert!(cache.used_bytes() <= 50_000);
                    if round % 5000 == 0 {
                        cache.clear();
                    }
                }
            });
        }
    });
}

/// Many blocks are used only once: the others get fences.
#[test]
fn only_used_blocks_have_fences() {
    let cache = BlockCache::new(100_000);
    let bytes = Bytes::from_static(&[0, 1, 1, b'k', b'v', 0, 0, 0, 0, 1, 0, 0, 0]);
    let block = CachedBlock::Block(Block::parse(bytes).unwrap());
    let hint = SlotHint::default();
    let look = |key| cache.look(&key, &hint, 0, |_, _| Some(()));
    assert_eq!(look(key(0)), None);
    cache.get_or_load(key(0), Priority::Low, &hint, |_| Ok(block)).unwrap();
    assert_eq!(look(key(0)), None, "never used");
    cache.get(&key(0), Priority::Low, &hint).unwrap();
    assert_eq!(look(key(0)), Some(()));
    assert_eq!(look(key(1)), None, "another block");
    cache.clear();
    assert_eq!(look(key(0)), None);
}

#[test]
fn each_use_adds_a_round_in_the_main_queue() {
    let cache = BlockCache::deterministic(100_000);
    let mut new = 100..;
    // Blocks that are used twice move to the main queue.
    let twice = |at| {
        for _ in 0..2 {
            get(&cache, key(at), Priority::Low, 1000);
        }
    };
    (&mut new).take(100).for_each(twice);
    [0, 1].into_iter().for_each(twice);
    (&mut new).take(20).for_each(twice);
    (0..3).for_each(|_| assert!(get(&cache, key(0), Priority::Low, 1000)));
    assert!(get(&cache, key(1), Priority::Low, 1000));
    while cache.peek(&key(1)).is_some() {
        (&mut new).take(1).for_each(twice);
    }
    assert!(cache.peek(&key(0)).is_some(), "it was used more often");
}

/// Clearing the cache does not start a second load of a block that is being loaded.
#[test]
fn clearing_keeps_loads_in_progress() {
    let cache = BlockCache::new(1 << 20);
    let (loads, barrier) = (AtomicUsize::new(0), Barrier::new(2));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let load = |_| {
                cache.clear();
                barrier.wait();
                std::thread::sleep(std::time::Duration::from_millis(50));
                loads.fetch_add(1, Ordering::Relaxed);
                Ok(block(10))
            };
            cache.get_or_load(key(0), Priority::Low, &SlotHint::default(), load).unwrap();
        });
        barrier.wait();
        let load = |_| {
            loads.fetch_add(1, Ordering::Relaxed);
            Ok(block(10))
        };
        cache.get_or_load(key(0), Priority::Low, &SlotHint::default(), load).unwrap();
    });
    assert_eq!(loads.into_inner(), 1);
    assert_eq!(cache.len(), 1);
}

/// Dropping the owner of the bytes uses the cache.
#[test]
fn blocks_are_dropped_without_a_lock() {
    struct Owner(BlockCache, Vec<u8>);
    impl AsRef<[u8]> for Owner {
        fn as_ref(&self) -> &[u8] {
            &self.1
        }
    }
    impl Drop for Owner {
        fn drop(&mut self) {
            let _ = self.0.used_bytes();
        }
    }
    let cache = BlockCache::new(10_000);
    for offset in 0..20 {
        let bytes = Bytes::from_owner(Owner(cache.clone(), vec![0; 4000]));
        let load = |_| Ok(CachedBlock::Filter(Filter::from_bytes(bytes)));
        cache.get_or_load(key(offset), Priority::Low, &SlotHint::default(), load).unwrap();
    }
    // Each owner has a handle to the cache.
    cache.clear();
}

#[test]
fn the_capacity_can_be_changed() {
    for share in [0.0, 0.3] {
        let cache = BlockCache::with_high_priority_share(1_000_000, share);
        let fill = || {
            for offset in 0..2000 {
                get(&cache, key(offset), Priority::Low, 1000);
                get(&cache, key(offset + 10_000), Priority::High, 100);
                assert!(cache.used_bytes() <= cache.capacity());
            }
        };
        fill();
        let full = cache.metrics();
        assert!(full.used_bytes > 800_000 && full.evictions > 0, "{full:?}");
        assert_eq!(full.blocks as u64, full.insertions - full.evictions);
        cache.set_capacity(200_000);
        let smaller = cache.metrics();
        assert!(smaller.used_bytes <= 200_000 && smaller.blocks > 0, "{smaller:?}");
        assert_eq!(smaller.capacity, 200_000);
        assert!(smaller.evictions > full.evictions && smaller.insertions == full.insertions);
        fill();
        assert!(cache.used_bytes() > 150_000);
        cache.set_capacity(1_000_000);
        fill();
        assert!(cache.used_bytes() > 800_000);
        cache.set_capacity(0);
        assert!(cache.is_empty());
        fill();
        assert!(cache.is_empty());
    }
}
