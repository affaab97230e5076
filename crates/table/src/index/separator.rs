//! Separators: short keys between two data blocks.
//!
//! ```text
//! last key of a block     first key of the next    between them
//! "the quick brown fox"   "the who"                "the r"     both engines
//! "ab1xx"                 "ab2"                    "ab1y"      RocksDB
//!                                                  "ab1xx"     LevelDB
//! ```
//!
//! A shortened user key gets the largest sequence number, so that it sorts before every real entry
//! with an equal key. The kind is the largest one the engine has: 0x18 in RocksDB 11.9, 0x14 in
//! RocksDB 6.20, 0x01 in LevelDB.

use std::cmp::Ordering;

use sstkit_coding::fixed::put_fixed64;

use crate::comparator::Comparator;
use crate::options::TableOptions;
use crate::raw::{Engine, EntryKind, InternalKey, MAX_SEQUENCE_NUMBER, common_prefix};

/// Computes separators and successors of internal keys.
#[derive(Clone, Debug)]
pub(crate) struct Separators {
    comparator: Comparator,
    engine: Engine,
    /// The largest kind that the engine has.
    seek_kind: EntryKind,
}

impl Separators {
    pub(crate) fn new(options: &TableOptions) -> Self {
        let seek_kind = match options.engine {
            Engine::LevelDb => EntryKind::Value,
            Engine::RocksDb if options.is_of_rocksdb6() => EntryKind::DeletionWithTimestamp,
            Engine::RocksDb => EntryKind::ValuePreferredSeqno,
        };
        Self { comparator: options.comparator.clone(), engine: options.engine, seek_kind }
    }

    /// A key at or after `last` and before `next`, both internal keys.
    pub(crate) fn between(&self, last: &[u8], next: &[u8]) -> Vec<u8> {
        let (user_last, user_next) = (user_key(last), user_key(next));
        self.with_tail(last, self.shortest_separator(user_last, user_next))
    }

    /// A key at or after the internal key `last`.
    pub(crate) fn after(&self, last: &[u8]) -> Vec<u8> {
        self.with_tail(last, self.short_successor(user_key(last)))
    }

    fn with_tail(&self, last: &[u8], shortened: Vec<u8>) -> Vec<u8> {
        let user_last = user_key(last);
        let short_enough = match self.engine {
            Engine::RocksDb => shortened.len() <= user_last.len(),
            Engine::LevelDb => shortened.len() < user_last.len(),
        };
        if !short_enough || self.comparator.compare(user_last, &shortened) != Ordering::Less {
            return last.to_vec();
        }
        self.first_of(shortened)
    }

    /// The internal key that sorts before all entries of a user key.
    pub(crate) fn first_of(&self, user_key: Vec<u8>) -> Vec<u8> {
        let mut key = user_key;
        put_fixed64(&mut key, MAX_SEQUENCE_NUMBER << 8 | self.seek_kind as u64);
        key
    }

    /// A user key at or after `last` and before `next`, shortened as the engine does.
    pub(crate) fn shortest_separator(&self, last: &[u8], next: &[u8]) -> Vec<u8> {
        let shared = common_prefix(last, next);
        // One is a prefix of the other: nothing to shorten.
        let (Some(&a), Some(&b)) = (last.get(shared), next.get(shared)) else {
            return last.to_vec();
        };
        match (&self.comparator, self.engine) {
            (Comparator::Bytewise, Engine::LevelDb) if a < u8::MAX && a + 1 < b => {
                return incremented(last, shared);
            }
            (Comparator::Bytewise, Engine::RocksDb) if a < b => {
                if shared + 1 < next.len() || a + 1 < b {
                    return incremented(last, shared);
                }
                // `next` ends with the byte after `a`: incrementing this byte would reach it.
                // Incrementing a later one does not.
                if let Some(place) = last[shared + 1..].iter().position(|&byte| byte < u8::MAX) {
                    return incremented(last, shared + 1 + place);
                }
            }
            (Comparator::ReverseBytewise, _) if a > b && shared + 1 < last.len() => {
                return last[..=shared].to_vec();
            }
            // Keys with timestamps are not shortened, and nothing is known about custom comparators.
            _ => {}
        }
        last.to_vec()
    }

    /// A user key at or after `last`, shortened as the engine does.
    pub(crate) fn short_successor(&self, last: &[u8]) -> Vec<u8> {
        match (&self.comparator, last.iter().position(|&byte| byte < u8::MAX)) {
            (Comparator::Bytewise, Some(place)) => incremented(last, place),
            _ => last.to_vec(),
        }
    }
}

/// The bytes up to `place`, with the last one incremented.
fn incremented(key: &[u8], place: usize) -> Vec<u8> {
    let mut key = key[..=place].to_vec();
    key[place] += 1;
    key
}

fn user_key(internal: &[u8]) -> &[u8] {
    &internal[..internal.len() - InternalKey::TAIL_LENGTH]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn separators(comparator: Comparator, engine: Engine) -> Separators {
        let options = match engine {
            Engine::LevelDb => TableOptions::leveldb(),
            Engine::RocksDb => TableOptions::rocksdb(),
        };
        Separators::new(&options.comparator(comparator))
    }

    #[test]
    fn the_drawn_examples() {
        let rocksdb = separators(Comparator::Bytewise, Engine::RocksDb);
        let leveldb = separators(Comparator::Bytewise, Engine::LevelDb);
        let reverse = separators(Comparator::ReverseBytewise, Engine::RocksDb);
        for (last, next, in_rocksdb, in_leveldb) in [
            (&b"the quick brown fox"[..], &b"the who"[..], &b"the r"[..], &b"the r"[..]),
            (b"ab1xx", b"ab2", b"ab1y", b"ab1xx"),
            (b"ab1xx", b"ab2y", b"ab2", b"ab1xx"),
            (b"ab1\xff\xff", b"ab2", b"ab1\xff\xff", b"ab1\xff\xff"),
            (b"ab", b"abc", b"ab", b"ab"),
        ] {
            assert_eq!(rocksdb.shortest_separator(last, next), in_rocksdb);
            assert_eq!(leveldb.shortest_separator(last, next), in_leveldb);
        }
        assert_eq!(reverse.shortest_separator(b"ab3aa", b"ab1bb"), b"ab3");
        assert_eq!(reverse.shortest_separator(b"ab3", b"ab1bb"), b"ab3");
        assert_eq!(rocksdb.short_successor(b"\xff\xfeab"), b"\xff\xff");
        assert_eq!(rocksdb.short_successor(b"\xff\xff"), b"\xff\xff");
        assert_eq!(reverse.short_successor(b"ab"), b"ab");
    }

    #[test]
    fn tails() {
        let last = b"key049x\x01\0\0\0\0\0\0\0";
        let next = b"key060x\x01\0\0\0\0\0\0\0";
        let rocksdb = separators(Comparator::Bytewise, Engine::RocksDb);
        assert_eq!(rocksdb.between(last, next), b"key05\x18\xff\xff\xff\xff\xff\xff\xff");
        let leveldb = separators(Comparator::Bytewise, Engine::LevelDb);
        assert_eq!(leveldb.between(last, next), b"key05\x01\xff\xff\xff\xff\xff\xff\xff");
        let rocksdb6 = TableOptions::rocksdb().readable_by("6.20".parse().unwrap());
        let rocksdb6 = Separators::new(&rocksdb6);
        assert_eq!(rocksdb6.between(last, next), b"key05\x14\xff\xff\xff\xff\xff\xff\xff");
        // RocksDB accepts a separator of the same length, LevelDB does not.
        let (last, next) = (&b"a\x01\0\0\0\0\0\0\0"[..], &b"d\x01\0\0\0\0\0\0\0"[..]);
        assert_eq!(rocksdb.between(last, next), b"b\x18\xff\xff\xff\xff\xff\xff\xff");
        assert_eq!(leveldb.between(last, next), last);
        let timestamps = separators(Comparator::BytewiseWithTimestamp, Engine::RocksDb);
        assert_eq!(timestamps.between(last, next), last);
    }

    proptest! {
        #[test]
        fn separators_are_between_the_blocks(
            a in prop::collection::vec(prop_oneof![0u8..4, 0xfcu8..], 0..6),
            b in prop::collection::vec(prop_oneof![0u8..4, 0xfcu8..], 0..6),
            reverse: bool,
            leveldb: bool,
        ) {
            let comparator =
                if reverse { Comparator::ReverseBytewise } else { Comparator::Bytewise };
            let engine = if leveldb { Engine::LevelDb } else { Engine::RocksDb };
            let (last, next) = match comparator.compare(&a, &b) {
                Ordering::Less => (a, b),
                Ordering::Greater => (b, a),
                Ordering::Equal => return Ok(()),
            };
            let separators = separators(comparator.clone(), engine);
            let between = separators.shortest_separator(&last, &next);
            prop_assert!(comparator.compare(&last, &between) != Ordering::Greater);
            prop_assert!(comparator.compare(&between, &next) == Ordering::Less);
            let after = separators.short_successor(&last);
            prop_assert!(comparator.compare(&last, &after) != Ordering::Greater);
        }
    }
}
