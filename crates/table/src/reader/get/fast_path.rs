//! The short way to a value: from the index to the slot of its data block, by fences to its entry.
//!
//! ```text
//! index search ---> place ---> slot of the cache ---> entry
//!                   handle,    block, fences       key and value
//!                   hint
//! ```
//!
//! Each arrow is a wait for memory where a table is larger than the processor's caches, and there is
//! no other: no hash table, no count of references. Many keys at once wait together.
//!
//! It leads to the newest entry of a key, so it is of use where that is a plain value, as mostly. All
//! else is left to the [long way](crate::reader::get::lookup).

use std::ops::Range;

use bytes::Bytes;
use sstkit_coding::prefetch::prefetch;
use sstkit_filter::FilterLayout;

use crate::index::flat_index::BlockLocation;
use crate::raw::{Block, BlockKind, EntryKind, Sought};
use crate::reader::cache::{BlockCache, BlockKey};
use crate::reader::get::lookup::count_found;
use crate::reader::open::core::Core;
use crate::reader::value::Value;

/// Longer values are handles into their blocks. To copy a shorter one takes less time than to count a
/// reference to its block, and the block can go while the value stays.
const MAX_COPIED: usize = 512;

/// How many keys wait together: as many as a processor can wait for.
const TOGETHER: usize = 32;

/// What the short way has led to.
#[derive(Debug)]
pub(crate) struct FastGet {
    /// The newest entry of a key: a plain value and its sequence number. `None` if there is none.
    pub(crate) entry: Option<(u64, Value)>,
    pub(crate) block_length: u64,
}

/// Gets values the short way.
#[derive(Clone, Copy)]
pub(crate) struct FastPath<'t> {
    core: &'t Core,
    cache: &'t BlockCache,
    file: u64,
}

impl<'t> FastPath<'t> {
    /// `None` where there is no short way.
    pub(crate) fn new(core: &'t Core) -> Option<Self> {
        let file = core.blocks.cache.as_ref()?;
        let is_plain = core.keys.is_bytewise()
            && core.keys.timestamp_size() == 0
            && core.range_deletions.is_empty()
            && core.filter().is_none_or(|filter| filter.layout() != FilterLayout::Block);
        is_plain.then_some(Self { core, cache: &file.cache, file: file.number })
    }

    /// What the short way leads to for one key, if there is one.
    pub(crate) fn find(core: &'t Core, key: &[u8]) -> Option<(Self, FastGet)> {
        let way = Self::new(core)?;
        Some((way, way.get(way.place(key)?, key)?))
    }

    /// The data block that has `key`, if any has.
    #[inline]
    pub(crate) fn place(&self, key: &[u8]) -> Option<&'t BlockLocation> {
        let search = self.core.keys.newest(key);
        let (places, entry) = self.core.direct_entry(&search.before())?;
        places.get(entry)
    }

    /// The newest entry of `key`. `None` if the long way has to be gone. Nothing is counted yet.
    pub(crate) fn get(&self, place: &BlockLocation, key: &[u8]) -> Option<FastGet> {
        let keys = &self.core.keys;
        let block = self.block_key(place);
        self.cache.prefetch(&place.hint);
        self.cache.look(&block, &place.hint, keys.tail_length(), |block, fences| {
            fences.prefetch(block, key);
            let entry = match fences.find(block, key)? {
                Sought::Nothing => None,
                Sought::Entry { tail, value } => match keys.tail(tail)? {
                    (sequence, EntryKind::Value) => Some((sequence, value_in(block, value))),
                    _ => return None,
                },
            };
            Some(FastGet { entry, block_length: block.bytes().len() as u64 })
        })
    }

    /// Counts, as the long way does, a look into a block of so many bytes, and whether the key was
    /// there.
    #[inline]
    pub(crate) fn count(&self, block_length: u64, found: bool) {
        if self.core.blocks.tickers.is_some() {
            self.core.blocks.count_data_hit(block_length);
            if found {
                count_found(self.core);
            }
        }
    }

    /// The values of those of `keys` whose places are given, one after the other, to `then`; with
    /// `None` for each that has to go the long way. An error of `then` ends it.
    pub(crate) fn get_each<K: AsRef<[u8]>, E>(
        &self,
        keys: &[K],
        wanted: &[usize],
        mut then: impl FnMut(usize, Option<Option<Value>>) -> Result<(), E>,
    ) -> Result<(), E> {
        let key = |at: usize| keys[at].as_ref();
        for wanted in wanted.chunks(TOGETHER) {
            let mut places = [None; TOGETHER];
            let places = &mut places[..wanted.len()];
            for (place, &at) in places.iter_mut().zip(wanted) {
                *place = self.place(key(at));
                place.iter().for_each(|place| prefetch(*place));
            }
            for place in places.iter().flatten() {
                self.cache.prefetch(&place.hint);
            }
            for (place, &at) in places.iter().zip(wanted) {
                place.iter().for_each(|place| self.prefetch(place, key(at)));
            }
            for (place, &at) in places.iter().zip(wanted) {
                let quick = place.and_then(|place| self.get(place, key(at)));
                if let Some(FastGet { entry, block_length }) = &quick {
                    self.count(*block_length, entry.is_some());
                }
                then(at, quick.map(|quick| quick.entry.map(|(_, value)| value)))?;
            }
        }
        Ok(())
    }

    /// Asks for the memory of the entries where `key` may be.
    fn prefetch(&self, place: &BlockLocation, key: &[u8]) {
        let (block, tail) = (self.block_key(place), self.core.keys.tail_length());
        self.cache.look(&block, &place.hint, tail, |block, fences| {
            fences.prefetch(block, key);
            Some(())
        });
    }

    #[inline]
    fn block_key(&self, place: &BlockLocation) -> BlockKey {
        BlockKey { file: self.file, kind: BlockKind::Data, handle: place.handle() }
    }
}

/// A value of a block, whose bytes are there.
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

    use super::*;
    use crate::reader::get::lookup::Lookup;
    use crate::reader::open::tail::open;
    use crate::{TableOptions, TableReadOptions, TableWriter};

    fn key(number: usize) -> Vec<u8> {
        format!("user{number:06}").into_bytes()
    }

    /// Even keys: plain values, long ones, deletions and operands of a merge by turns.
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
    fn plain_values_and_keys_that_are_not_there() {
        let core = table();
        let quick = FastPath::new(&core).unwrap();
        let get = |number| Some(quick.get(quick.place(&key(number))?, &key(number))?.entry);
        assert!((0..2000).all(|number| get(number).is_none()), "nothing is in the cache yet");
        for number in (0..2000).cycle().take(6000) {
            let _ = Lookup::new(&core).entries(&key(number), None, |_, _| true);
        }
        let mut behind = 0;
        for number in 0..2000 {
            let found = get(number);
            match (number % 2, number / 2 % 8) {
                // What is behind the last entry of a block may be in the next one.
                (1, _) => match found {
                    Some(found) => assert_eq!(found, None),
                    None => behind += 1,
                },
                (_, 6 | 7) => assert_eq!(found, None, "{number} goes the long way"),
                (_, 5) => assert_eq!(found.unwrap().unwrap().1, &[5; MAX_COPIED + 1][..]),
                _ => assert_eq!(found.unwrap().unwrap(), (0, Value::from(key(number)))),
            }
        }
        let blocks = core.index_search().unwrap().places().unwrap().len();
        assert!(behind <= blocks, "{behind} of {blocks}");
    }

    #[test]
    fn many_at_once_in_their_order() {
        let core = table();
        let quick = FastPath::new(&core).unwrap();
        let keys: Vec<_> = (0..2000).map(key).collect();
        for number in (0..2000).cycle().take(6000) {
            let _ = Lookup::new(&core).entries(&key(number), None, |_, _| true);
        }
        let wanted: Vec<usize> = (0..2000).step_by(3).collect();
        let mut seen = Vec::new();
        let each = |at: usize, value: Option<Option<Value>>| {
            seen.push(at);
            let found = quick.get(quick.place(&keys[at]).unwrap(), &keys[at]);
            assert_eq!(value, found.map(|quick| quick.entry.map(|(_, value)| value)));
            Ok::<_, ()>(())
        };
        quick.get_each(&keys, &wanted, each).unwrap();
        assert_eq!(seen, wanted);
        assert_eq!(quick.get_each(&keys, &wanted, |at, _| Err(at)), Err(0));
    }
}
