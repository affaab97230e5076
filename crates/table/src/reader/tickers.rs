//! Counters of the read path, under RocksDB's names and by RocksDB's rules.

use sstkit_coding::named_enum;
use sstkit_coding::striped::StripedCounters;

/// One line per ticker: its name here, RocksDB's name, and when it is incremented.
macro_rules! tickers {
    ($($ticker:ident $name:literal $meaning:literal;)+) => {
        named_enum! {
            /// A counter of the read path.
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
            #[non_exhaustive]
            pub enum Ticker {
                $(#[doc = concat!("`", $name, "`: ", $meaning, ".")] $ticker => $name,)+
            }

            /// RocksDB's name.
            fn name;
        }
    };
}

tickers! {
    BloomFilterUseful "rocksdb.bloom.filter.useful"
        "lookups that a whole-key filter answered with no";
    BloomFilterFullPositive "rocksdb.bloom.filter.full.positive"
        "lookups that a whole-key filter let pass";
    BloomFilterFullTruePositive "rocksdb.bloom.filter.full.true.positive"
        "lookups with a whole-key filter that found an entry of the key, a deletion too";
    BloomFilterPrefixChecked "rocksdb.bloom.filter.prefix.checked"
        "lookups that probed a prefix filter";
    BloomFilterPrefixUseful "rocksdb.bloom.filter.prefix.useful"
        "lookups that a prefix filter answered with no";
    BloomFilterPrefixTruePositive "rocksdb.bloom.filter.prefix.true.positive"
        "lookups without whole-key filter that found an entry of the key";
    LastLevelSeekFiltered "rocksdb.last.level.seek.filtered"
        "seeks in the last level that a prefix filter answered with no";
    LastLevelSeekFilterMatch "rocksdb.last.level.seek.filter.match"
        "seeks in the last level that a prefix filter let pass";
    LastLevelSeekData "rocksdb.last.level.seek.data"
        "seeks in the last level that read a data block";
    LastLevelSeekDataUsefulFilterMatch "rocksdb.last.level.seek.data.useful.filter.match"
        "of these, with a filter that let pass, those that came to a value";
    LastLevelSeekDataUsefulNoFilter "rocksdb.last.level.seek.data.useful.no.filter"
        "of these, without a filter, those that came to a value";
    NonLastLevelSeekFiltered "rocksdb.non.last.level.seek.filtered"
        "the same for the other levels";
    NonLastLevelSeekFilterMatch "rocksdb.non.last.level.seek.filter.match"
        "the same for the other levels";
    NonLastLevelSeekData "rocksdb.non.last.level.seek.data"
        "the same for the other levels";
    NonLastLevelSeekDataUsefulFilterMatch "rocksdb.non.last.level.seek.data.useful.filter.match"
        "the same for the other levels";
    NonLastLevelSeekDataUsefulNoFilter "rocksdb.non.last.level.seek.data.useful.no.filter"
        "the same for the other levels";
    BlockCacheHit "rocksdb.block.cache.hit"
        "blocks found in the cache";
    BlockCacheMiss "rocksdb.block.cache.miss"
        "blocks not found in the cache";
    BlockCacheAdd "rocksdb.block.cache.add"
        "blocks put into the cache";
    BlockCacheBytesRead "rocksdb.block.cache.bytes.read"
        "bytes of the blocks found";
    BlockCacheBytesWrite "rocksdb.block.cache.bytes.write"
        "bytes of the blocks put in";
    BlockCacheDataHit "rocksdb.block.cache.data.hit"
        "data blocks found";
    BlockCacheDataMiss "rocksdb.block.cache.data.miss"
        "data blocks not found in the cache";
    BlockCacheDataAdd "rocksdb.block.cache.data.add"
        "data blocks put in";
    BlockCacheDataBytesInsert "rocksdb.block.cache.data.bytes.insert"
        "bytes of the data blocks put in";
    BlockCacheIndexHit "rocksdb.block.cache.index.hit"
        "index blocks and partitions found";
    BlockCacheIndexMiss "rocksdb.block.cache.index.miss"
        "index blocks and partitions not found in the cache";
    BlockCacheIndexAdd "rocksdb.block.cache.index.add"
        "index blocks and partitions put in";
    BlockCacheIndexBytesInsert "rocksdb.block.cache.index.bytes.insert"
        "bytes of the index blocks and partitions put in";
    BlockCacheFilterHit "rocksdb.block.cache.filter.hit"
        "filters, partitions and the index over them found";
    BlockCacheFilterMiss "rocksdb.block.cache.filter.miss"
        "filters, partitions and the index over them not found in the cache";
    BlockCacheFilterAdd "rocksdb.block.cache.filter.add"
        "filters, partitions and the index over them put in";
    BlockCacheFilterBytesInsert "rocksdb.block.cache.filter.bytes.insert"
        "bytes of the filters, partitions and the index over them put in";
}

const COUNT: usize = Ticker::ALL.len();

/// Counters of the read path, shared by any number of tables and threads.
///
/// ```
/// use sstkit_table::{Ticker, Tickers};
///
/// let tickers = Tickers::default();
/// assert_eq!(tickers.get(Ticker::BloomFilterUseful), 0);
/// assert_eq!(tickers.false_positive_rate(), None);
/// for (ticker, count) in tickers.iter() {
///     println!("{ticker} COUNT : {count}");
/// }
/// ```
///
/// A lookup adds to one or two of them per table, and a database always counts. So they are
/// [striped](sstkit_coding::striped): an addition costs a few instructions and no cache line that
/// other threads write to. (Collecting the counts of a lookup and adding them at its end saves
/// nothing: they belong to different tables.)
#[derive(Debug, Default)]
pub struct Tickers {
    counters: StripedCounters<COUNT>,
}

impl Tickers {
    /// The count of one ticker.
    pub fn get(&self, ticker: Ticker) -> u64 {
        self.counters.get(ticker as usize)
    }

    /// All tickers with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (Ticker, u64)> {
        Ticker::ALL.iter().map(|&ticker| (ticker, self.get(ticker)))
    }

    /// Sets all counts to 0.
    pub fn reset(&self) {
        self.counters.reset();
    }

    /// The share of lookups of missing keys that passed whole-key filters; `None` before the first
    /// such lookup.
    ///
    /// ```text
    /// (full.positive - full.true.positive) / (full.positive - full.true.positive + useful)
    /// ```
    pub fn false_positive_rate(&self) -> Option<f64> {
        let positive = self.get(Ticker::BloomFilterFullPositive);
        let wrong = positive.saturating_sub(self.get(Ticker::BloomFilterFullTruePositive)) as f64;
        let not_found = wrong + self.get(Ticker::BloomFilterUseful) as f64;
        (not_found > 0.0).then(|| wrong / not_found)
    }

    #[inline]
    pub(crate) fn add(&self, ticker: Ticker, count: u64) {
        self.counters.add(ticker as usize, count);
    }

    #[inline]
    pub(crate) fn add_all<const N: usize>(&self, counts: [(Ticker, u64); N]) {
        self.counters.add_all(counts.map(|(ticker, count)| (ticker as usize, count)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn false_positive_rate_is_of_keys_not_found() {
        let tickers = Tickers::default();
        tickers.add(Ticker::BloomFilterUseful, 98);
        tickers.add(Ticker::BloomFilterFullPositive, 12);
        tickers.add(Ticker::BloomFilterFullTruePositive, 10);
        assert_eq!(tickers.false_positive_rate(), Some(0.02));
        tickers.reset();
        assert_eq!(tickers.false_positive_rate(), None);
        assert!(tickers.iter().all(|(_, count)| count == 0));
    }

    #[test]
    fn names_are_distinct() {
        let names: std::collections::BTreeSet<_> = Ticker::ALL.iter().map(|t| t.name()).collect();
        assert_eq!(names.len(), COUNT);
    }
}
