//! The fast path of a point lookup: from the flat index to the slot of a data block in the cache, and
//! by its fences to the entry.
//!
//! ```text
//! flat index ---> location ---> cache slot ---> entry
//!                 handle,       block,          key and value
//!                 slot hint     fences
//! ```
//!
//! Each arrow is one cache miss if the table is larger than the processor's caches, and there are
//! no others: no hash table, no reference count. Lookups of several keys overlap their cache
//! misses.
//!
//! It finds the newest entry of a key, and suffices if that is a plain value, as it usually is.
//! Everything else is left to [`PointLookup`](crate::reader::get::point_lookup::PointLookup).

use std::ops::Range;

use bytes::Bytes;
use sstkit_coding::prefetch::prefetch;
use sstkit_filter::FilterLayout;

use crate::index::flat_index::BlockLocation;
use crate::raw::{Block, BlockKind, EntryKind, Sought};
use crate::reader::cache::{BlockCache, BlockKey};
use crate::reader::get::probe::true_positive;
use crate::reader::open::core::Core;
use crate::reader::tickers::Ticker;
use crate::reader::value::Value;

/// Longer values are handles into their blocks. Copying a shorter value is faster than incrementing
/// the reference count of its block, and does not keep the block in memory.
const MAX_COPIED: usize = 512;

/// The number of keys whose cache misses overlap: about the number of outstanding loads of a
/// processor.
const TOGETHER: usize = 32;

/// The result of the fast path.
#[derive(Debug)]
pub(crate) struct FastGet {
    /// The newest entry of a key: a plain value and its sequence number. `None`: not found.
    pub(crate) entry: Option<(u64, Value)>,
    pub(crate) block_length: u64,
}

/// The fast path of a table.
#[derive(Clone, Copy)]
pub(crate) struct FastPath<'t> {
    core: &'t Core,
    cache: &'t BlockCache,
    file: u64,
}

impl<'t> FastPath<'t> {
    /// `None` if the table has none.
    #[inline]
    pub(crate) fn new(core: &'t Core) -> Option<Self> {
        let file = core.blocks.cache.as_ref()?;
        let is_plain = core.keys.is_bytewise()
            && core.keys.timestamp_size() == 0
            && core.range_deletions.is_empty()
            && core.filter().is_none_or(|filter| filter.layout() != FilterLayout::Block);
        is_plain.then_some(Self { core, cache: &file.cache, file: file.number })
    }

    /// The newest entry of `key`; `None` if the slow path is needed. Counts nothing.
    #[inline]
    pub(crate) fn get(&self, key: &[u8]) -> Option<FastGet> {
        self.get_at(self.locate(key)?, key)
    }

    /// The data block that may have `key`, if any.
    #[inline]
    fn locate(&self, key: &[u8]) -> Option<&'t BlockLocation> {
        let search = self.core.keys.newest(key);
        let (locations, entry) = self.core.direct_entry(&search.before())?;
        locations.get(entry)
    }

    /// [`get`](Self::get) in a data block.
    fn get_at(&self, location: &BlockLocation, key: &[u8]) -> Option<FastGet> {
        let keys = &self.core.keys;
        let block = self.block_key(location);
        self.cache.prefetch(&location.hint);
        self.cache.look(&block, &location.hint, keys.tail_length(), |block, fences| {
            fences.prefetch(block, key);
            let entry = match fences.find(block, key)? {
                Sought::Nothing => None,
                Sought::Entry { tail, value } => match keys.tail(tail)? {
                    (stored, EntryKind::Value) => {
                        Some((keys.sequence(stored), value_in(block, value)))
                    }
                    _ => return None,
                },
            };
            Some(FastGet { entry, block_length: block.bytes().len() as u64 })
        })
    }

    /// Counts a hit of a block of `block_length` bytes, and whether it had the key, like the slow
    /// path.
    #[inline]
    pub(crate) fn count(&self, block_length: u64, is_found: bool) {
        let Some(tickers) = &self.core.blocks.tickers else { return };
        let hit = [
            (Ticker::BlockCacheHit, 1),
            (Ticker::BlockCacheDataHit, 1),
            (Ticker::BlockCacheBytesRead, block_length),
        ];
        match true_positive(self.core).filter(|_| is_found) {
            None => tickers.add_all(hit),
            Some(ticker) => {
                let [all, data, bytes] = hit;
                tickers.add_all([all, data, bytes, (ticker, 1)]);
            }
        }
    }

    /// Prefetches the entries where `key` may be.
    fn prefetch(&self, location: &BlockLocation, key: &[u8]) {
        let (block, tail) = (self.block_key(location), self.core.keys.tail_length());
        self.cache.look(&block, &location.hint, tail, |block, fences| {
            fences.prefetch(block, key);
            Some(())
        });
    }

    #[inline]
    fn block_key(&self, location: &BlockLocation) -> BlockKey {
        BlockKey { file: self.file, kind: BlockKind::Data, handle: location.handle() }
    }
}

/// Looks up the keys with the given numbers, in that order; `lookup` returns the fast path and the key of
/// a number. Passes the number and the result to `then`: `None` for each key that needs the slow path.
/// An error of `then` ends it. Counts nothing.
pub(crate) fn get_each<'t, 'k, E>(
    wanted: &[usize],
    lookup: impl Fn(usize) -> (Option<FastPath<'t>>, &'k [u8]),
    mut then: impl FnMut(usize, Option<FastGet>) -> Result<(), E>,
) -> Result<(), E> {
    for wanted in wanted.chunks(TOGETHER) {
        let mut located = [None; TOGETHER];
        let located = &mut located[..wanted.len()];
        for (located, &number) in located.iter_mut().zip(wanted) {
            let (fast_path, key) = lookup(number);
            *located = fast_path.and_then(|it| Some((it, key, it.locate(key)?)));
            located.iter().for_each(|(.., location)| prefetch(*location));
        }
        for (fast_path, _, location) in located.iter().flatten() {
            fast_path.cache.prefetch(&location.hint);
        }
        for (fast_path, key, location) in located.iter().flatten() {
            fast_path.prefetch(location, key);
        }
        for (located, &number) in located.iter().zip(wanted) {
            then(number, located.and_then(|(fast_path, key, at)| fast_path.get_at(at, key)))?;
        }
    }
    Ok(())
}

/// The value at some bytes of a block.
fn value_in(block: &Block<Bytes>, value: Range<usize>) -> Value {
    let bytes = &block.bytes()[value.clone()];
    Value::from(match bytes.len() <= MAX_COPIED {
        true => Bytes::copy_from_slice(bytes),
        false => block.holder().slice(value),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sstkit_filter::HashedKey;

    use super::*;
    use crate::reader::get::point_lookup::PointLookup;
    use crate::reader::get::recorder::NoRecorder;
    use crate::reader::open::tail::open;
    use crate::{TableOptions, TableReadOptions, TableWriter};

    fn key(number: usize) -> Vec<u8> {
        format!("user{number:06}").into_bytes()
    }

    fn read_slowly(core: &Core, numbers: impl Iterator<Item = usize>) {
        for number in numbers {
            let key = key(number);
            let _ = PointLookup::new(core, &mut NoRecorder).get(&HashedKey::new(&key), |_, _| true);
        }
    }

    /// Even keys: plain values, long ones, deletions and merge operands in turn.
    fn table() -> Arc<Core> {
        let mut bytes = Vec::new();
        let mut writer = TableWriter::to_sink(&mut bytes, &TableOptions::rocksdb()).unwrap();
        for number in 0..1000 {
            let key = key(2 * number);
            match number % 8 {
                6 => writer.delete(&key),
                7 => writer.merge(&key, b"operand"),
                5 => writer.put(&key, &[5; MAX_COPIED + 1]),
                _ => writer.put(&key, &key),
            }
            .unwrap();
        }
        writer.finish().unwrap();
        open(Box::new(Bytes::from(bytes)), None, &TableReadOptions::default()).unwrap()
    }

    #[test]
    fn finds_plain_values_and_keys_not_found() {
        let core = table();
        let fast_path = FastPath::new(&core).unwrap();
        let get = |number| Some(fast_path.get(&key(number))?.entry);
        assert!((0..2000).all(|number| get(number).is_none()), "nothing is in the cache yet");
        read_slowly(&core, (0..2000).cycle().take(6000));
        let mut behind = 0;
        for number in 0..2000 {
            let found = get(number);
            match (number % 2, number / 2 % 8) {
                // What follows the last entry of a block may be in the next one.
                (1, _) => match found {
                    Some(found) => assert_eq!(found, None),
                    None => behind += 1,
                },
                (_, 6 | 7) => assert_eq!(found, None, "{number} takes the slow path"),
                (_, 5) => assert_eq!(found.unwrap().unwrap().1, &[5; MAX_COPIED + 1][..]),
                _ => assert_eq!(found.unwrap().unwrap(), (0, Value::from(key(number)))),
            }
        }
        let blocks = core.index_search().unwrap().places().unwrap().len();
        assert!(behind <= blocks, "{behind} of {blocks}");
    }

    #[test]
    fn finds_many_keys_in_their_order() {
        let core = table();
        let fast_path = FastPath::new(&core).unwrap();
        let keys: Vec<_> = (0..2000).map(key).collect();
        read_slowly(&core, (0..2000).cycle().take(6000));
        let wanted: Vec<usize> = (0..2000).step_by(3).collect();
        let mut seen = Vec::new();
        // A key without fast path is passed on in its place.
        let lookup = |at: usize| ((at != 3).then_some(fast_path), &keys[at][..]);
        let each = |at: usize, found: Option<FastGet>| {
            seen.push(at);
            let expected = fast_path.get(&keys[at]).filter(|_| at != 3);
            let entry = |found: Option<FastGet>| found.map(|found| found.entry);
            assert_eq!(entry(found), entry(expected));
            Ok::<_, ()>(())
        };
        get_each(&wanted, lookup, each).unwrap();
        assert_eq!(seen, wanted);
        assert_eq!(get_each(&wanted, lookup, |at, _| Err(at)), Err(0));
    }
}
