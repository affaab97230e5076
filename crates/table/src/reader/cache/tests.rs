use std::sync::Barrier;
use std::sync::atomic::AtomicUsize;

use super::*;
use crate::error::Error;
use crate::raw::{BlockBuilder, BlockFormat};

fn key(offset: u64) -> BlockKey {
    BlockKey { file: 0, kind: BlockKind::Data, handle: BlockHandle::new(offset, 1000) }
}

fn block(length: usize) -> CachedBlock {
    CachedBlock::Filter(Filter::from_bytes(vec![0; length].into()))
}

/// Asks for a block, which is loaded if it is not there. Says whether it was.
fn ask(cache: &BlockCache, key: BlockKey, priority: Priority, length: usize) -> bool {
    let hint = SlotHint::default();
    let (got, found) = cache.get_or_load(key, priority, &hint, |_| Ok(block(length))).unwrap();
    assert_eq!(got.len(), length as u64);
    found
}

#[test]
fn the_budget_holds() {
    let cache = BlockCache::new(100_000);
    for offset in 0..1000 {
        assert!(!ask(&cache, key(offset), Priority::Low, 1000));
        assert!(cache.used_bytes() <= 100_000);
    }
    assert!(cache.len() > 50);
    cache.clear();
    assert!(cache.is_empty());
    assert_eq!(cache.used_bytes(), 0);
    assert!(!ask(&cache, key(999), Priority::Low, 1000));
}

#[test]
fn a_cache_of_nothing_keeps_nothing() {
    let cache = BlockCache::new(0);
    for _ in 0..3 {
        assert!(!ask(&cache, key(0), Priority::Low, 100));
    }
    assert_eq!(cache.used_bytes(), 0);
}

#[test]
fn a_block_is_loaded_once_and_failures_are_not_kept() {
    let cache = BlockCache::with_high_priority_share(1 << 20, 0.5);
    let key = key(7);
    let failed =
        cache.get_or_load(key, Priority::High, &SlotHint::default(), |_| Err(Error::corrupt("no")));
    assert!(failed.is_err());
    assert!(!ask(&cache, key, Priority::High, 10));
    assert!(ask(&cache, key, Priority::High, 10));
}

#[test]
fn high_priority_outlives_any_number_of_data_blocks() {
    let cache = BlockCache::with_high_priority_share(200_000, 0.5);
    ask(&cache, key(0), Priority::High, 1000);
    for offset in 1..5000 {
        ask(&cache, key(offset), Priority::Low, 1000);
    }
    assert!(ask(&cache, key(0), Priority::High, 1000));
}

#[test]
fn a_block_of_a_quarter_of_the_budget_is_kept() {
    for (mib, share) in [(1, 0.0), (8, 0.0), (8, 0.5), (32, 0.0), (64, 0.0), (100, 0.0), (256, 0.5)]
    {
        let cache = BlockCache::with_high_priority_share(mib << 20, share);
        for offset in 1..20_000 {
            ask(&cache, key(offset), Priority::Low, 4000);
        }
        let mut loaded = 0;
        for offset in 1..100 {
            loaded += usize::from(!ask(&cache, key(0), Priority::High, (mib as usize) << 18));
            ask(&cache, key(offset), Priority::Low, 4000);
        }
        // In a full cache what is new has to be asked for again to be believed.
        assert!(loaded <= 2, "{mib} MiB: {loaded}");
        assert!(cache.used_bytes() <= mib << 20);
    }
}

#[test]
fn one_offset_may_be_several_blocks() {
    let cache = BlockCache::new(1 << 20);
    let key = |kind, size| BlockKey { file: 0, kind, handle: BlockHandle::new(7, size) };
    for key in [key(BlockKind::Data, 100), key(BlockKind::Data, 50), key(BlockKind::Filter, 100)] {
        assert!(!ask(&cache, key, Priority::Low, 100));
    }
    assert_eq!(cache.len(), 3);
}

#[test]
fn a_scan_does_not_drive_out_what_is_used_often() {
    let cache = BlockCache::deterministic(1 << 20);
    for _ in 0..3 {
        for offset in 0..50 {
            ask(&cache, key(offset), Priority::Low, 4000);
        }
    }
    let mut loaded = 0;
    for round in 0..20 {
        // Each time five times as much as there is room for.
        for offset in 0..1250 {
            ask(&cache, key(1000 + round * 1250 + offset), Priority::Low, 4000);
        }
        loaded += (0..50).filter(|&offset| !ask(&cache, key(offset), Priority::Low, 4000)).count();
    }
    assert!(loaded <= 50, "{loaded} of 1000");
}

#[test]
fn of_a_long_scan_the_room_there_is_and_what_comes_by_again() {
    let cache = BlockCache::deterministic(1 << 20);
    assert!(cache.admits_scanned(&key(0)), "there is room");
    for offset in 0..1000 {
        ask(&cache, key(offset), Priority::Low, 4000);
    }
    for offset in 2000..2050 {
        assert!(!cache.admits_scanned(&key(offset)));
        assert!(cache.admits_scanned(&key(offset)), "it came by before");
    }
}

#[test]
fn a_block_that_went_leaves_its_memory() {
    let cache = BlockCache::deterministic(10_000);
    let mut left = 0;
    for offset in 0..100 {
        let load = |recycled: RecycledBuffer| {
            left += usize::from(!recycled.is_empty());
            let mut builder = BlockBuilder::new(BlockFormat::plain(16));
            builder.add(b"key", &[offset as u8; 1000]);
            let contents = recycled.copy_of(&builder.finish()?.contents);
            Ok(CachedBlock::Block(Block::parse(contents)?))
        };
        let hint = SlotHint::default();
        let (block, _) = cache.get_or_load(key(offset), Priority::Low, &hint, load).unwrap();
        let CachedBlock::Block(block) = block else { panic!("it is a block") };
        let mut entries = block.into_entries();
        assert!(entries.advance().unwrap());
        assert_eq!(entries.value(), [offset as u8; 1000]);
    }
    assert!(left > 80, "{left}");
}

#[test]
fn what_went_too_soon_stays_the_next_time() {
    let cache = BlockCache::deterministic(8 << 20);
    let count_found = |from: u64, count: u64| {
        (from..from + count).filter(|&it| ask(&cache, key(it), Priority::Low, 4000)).count()
    };
    // Room for two thousand: each time the hundred are driven out, but for those that stay.
    count_found(10_000, 2000);
    assert_eq!(count_found(0, 100), 0);
    count_found(20_000, 2100);
    assert_eq!(count_found(0, 100), 0, "they were new");
    count_found(30_000, 2100);
    let found = count_found(0, 100);
    assert!(found > 80, "of those that were remembered {found} are here");
}

#[test]
fn a_slot_says_what_it_holds() {
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
fn a_slot_may_have_got_another_block() {
    let cache = BlockCache::new(100_000);
    let hint = SlotHint::default();
    cache.get_or_load(key(0), Priority::Low, &hint, |_| Ok(block(1000))).unwrap();
    for offset in 1..1000 {
        ask(&cache, key(offset), Priority::Low, 1000);
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
fn who_fails_or_panics_leaves_it_to_the_next() {
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

/// Many threads, a budget that is always too small, blocks that come and go: whoever asks gets the
/// block that was asked for.
#[test]
fn under_pressure_everyone_gets_what_was_asked_for() {
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

/// Many blocks are looked into once: fences are for the others.
#[test]
fn only_blocks_that_were_used_are_looked_into() {
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
fn each_use_is_a_round_more() {
    let cache = BlockCache::deterministic(100_000);
    let mut new = 100..;
    // What is asked for twice comes to the main queue.
    let twice = |at| {
        for _ in 0..2 {
            ask(&cache, key(at), Priority::Low, 1000);
        }
    };
    (&mut new).take(100).for_each(twice);
    [0, 1].into_iter().for_each(twice);
    (&mut new).take(20).for_each(twice);
    (0..3).for_each(|_| assert!(ask(&cache, key(0), Priority::Low, 1000)));
    assert!(ask(&cache, key(1), Priority::Low, 1000));
    while cache.peek(&key(1)).is_some() {
        (&mut new).take(1).for_each(twice);
    }
    assert!(cache.peek(&key(0)).is_some(), "it was used more often");
}

/// Whoever loads a block while all others go still loads it for all.
#[test]
fn clearing_does_not_forget_who_loads() {
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

/// An owner of memory whose drop asks the cache.
#[test]
fn blocks_go_without_a_lock() {
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
    // Each has a handle to the cache.
    cache.clear();
}
