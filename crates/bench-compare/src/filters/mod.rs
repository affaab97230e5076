//! Filters of sstkit, RocksDB and other crates behind one face.

mod keys;
mod kinds;
mod peers;

pub(crate) use self::keys::{CHUNK, Drawn, FilterKey, Keys};
pub(crate) use self::kinds::{RocksFilter, SstkitFilter};
pub(crate) use self::peers::{Fastbloom, Fuse, Sbbf};

use anyhow::Result;

use self::keys::slices;
use crate::comparison::Family;

/// A kind of filter. Calls are for many keys, so that what is measured is inside of them.
pub(crate) trait FilterKind {
    type Builder;
    /// As it is built.
    type Built;
    /// The filter as it is probed.
    type Filter;

    fn name(&self) -> &'static str;

    fn family(&self) -> Family;

    /// For this number of keys.
    fn builder(&self, keys: usize) -> Self::Builder;

    fn add(&self, builder: &mut Self::Builder, keys: &[FilterKey]);

    fn finish(&self, builder: Self::Builder) -> Result<Self::Built>;

    /// Bytes of it.
    fn size(&self, built: &Self::Built) -> usize;

    /// Moves it to memory like that where a reader of tables has it.
    fn settle(&self, built: Self::Built) -> Self::Filter;

    /// Whether a key may be in it.
    fn may_contain(&self, filter: &Self::Filter, key: &[u8]) -> bool;

    /// How many of the keys may be in it.
    fn query(&self, filter: &Self::Filter, keys: &[FilterKey]) -> u64 {
        slices(keys).map(|key| u64::from(self.may_contain(filter, key))).sum()
    }

    /// The same with what the filter has for many keys at once; one by one if it has nothing.
    fn query_batch(&self, filter: &Self::Filter, keys: &[FilterKey]) -> u64 {
        self.query(filter, keys)
    }

    /// Each key has its own filter.
    fn query_each(&self, filters: &[Self::Filter], which: &[u32], keys: &[FilterKey]) -> u64 {
        let pairs = which.iter().zip(slices(keys));
        let ask = |(&filter, key)| self.may_contain(&filters[filter as usize], key);
        pairs.map(|pair| u64::from(ask(pair))).sum()
    }

    /// The same with prefetching, if the filter supports it.
    fn query_each_ahead(&self, filters: &[Self::Filter], which: &[u32], keys: &[FilterKey]) -> u64 {
        self.query_each(filters, which, keys)
    }

    /// Each [`BATCH`] keys of one filter.
    fn query_each_batch(&self, filters: &[Self::Filter], which: &[u32], keys: &[FilterKey]) -> u64 {
        let batches = which.chunks(BATCH).zip(keys.chunks(BATCH));
        batches.map(|(which, keys)| self.query_batch(&filters[which[0] as usize], keys)).sum()
    }
}

/// Keys in a batch: as many as RocksDB takes at once.
pub(crate) const BATCH: usize = 32;
