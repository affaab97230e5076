//! The two makers of the same filters: sstkit and RocksDB. Their bytes must be equal.

use std::ffi::CStr;

use anyhow::{Context as _, Result};
use sstkit::filter::{AlignedBytes, FilterBuilder};
use sstkit::{BuildContext, Filter, FilterPolicy, HashedKey};

use super::keys::slices;
use super::{BATCH, FilterKey, FilterKind};
use crate::comparison::Family;
use crate::rocks;

/// The settings of both.
const BITS_PER_KEY: u64 = 10;

pub(crate) struct SstkitFilter {
    policy: FilterPolicy,
}

impl SstkitFilter {
    /// `policy` is `bloomfilter` or `ribbonfilter`.
    pub(crate) fn new(policy: &CStr) -> Result<Self> {
        let policy = format!("{}:{BITS_PER_KEY}", policy.to_str()?).parse()?;
        Ok(Self { policy })
    }
}

impl FilterKind for SstkitFilter {
    type Builder = FilterBuilder;
    type Built = Vec<u8>;
    type Filter = Filter<AlignedBytes>;

    fn name(&self) -> &'static str {
        "sstkit"
    }

    fn family(&self) -> Family {
        Family::Sstkit
    }

    fn builder(&self, _: usize) -> FilterBuilder {
        self.policy.builder(&BuildContext::default()).expect("the policy builds filters")
    }

    fn add(&self, builder: &mut FilterBuilder, keys: &[FilterKey]) {
        slices(keys).for_each(|key| builder.add(key));
    }

    fn finish(&self, builder: FilterBuilder) -> Result<Vec<u8>> {
        Ok(builder.finish()?)
    }

    fn size(&self, built: &Vec<u8>) -> usize {
        built.len()
    }

    fn settle(&self, built: Vec<u8>) -> Self::Filter {
        Filter::from_bytes(AlignedBytes::from(&built[..]))
    }

    #[inline]
    fn may_contain(&self, filter: &Self::Filter, key: &[u8]) -> bool {
        filter.may_contain(key)
    }

    fn query_batch(&self, filter: &Self::Filter, keys: &[FilterKey]) -> u64 {
        let mut answers = [false; BATCH];
        let mut batch = [[].as_slice(); BATCH];
        let mut positives = 0;
        for keys in keys.chunks(BATCH) {
            let (batch, answers) = (&mut batch[..keys.len()], &mut answers[..keys.len()]);
            batch.iter_mut().zip(slices(keys)).for_each(|(place, key)| *place = key);
            filter.may_contain_batch(batch, answers);
            positives += answers.iter().map(|&answer| u64::from(answer)).sum::<u64>();
        }
        positives
    }

    fn query_each_ahead(&self, filters: &[Self::Filter], which: &[u32], keys: &[FilterKey]) -> u64 {
        let mut positives = 0;
        for (which, keys) in which.chunks(BATCH).zip(keys.chunks(BATCH)) {
            let mut hashed = [const { None }; BATCH];
            for ((hashed, &filter), key) in hashed.iter_mut().zip(which).zip(slices(keys)) {
                let key = HashedKey::new(key);
                filters[filter as usize].prefetch(&key);
                *hashed = Some(key);
            }
            for (hashed, &filter) in hashed.iter().flatten().zip(which) {
                positives += u64::from(filters[filter as usize].may_contain_hashed(hashed));
            }
        }
        positives
    }
}

pub(crate) struct RocksFilter {
    policy: &'static CStr,
}

impl RocksFilter {
    pub(crate) fn new(policy: &'static CStr) -> Self {
        Self { policy }
    }
}

impl FilterKind for RocksFilter {
    type Builder = rocks::FilterBuilder;
    type Built = rocks::Filter;
    type Filter = rocks::Filter;

    fn name(&self) -> &'static str {
        "RocksDB"
    }

    fn family(&self) -> Family {
        Family::RocksDb
    }

    fn builder(&self, _: usize) -> rocks::FilterBuilder {
        rocks::FilterBuilder::new(self.policy, BITS_PER_KEY)
    }

    fn add(&self, builder: &mut rocks::FilterBuilder, keys: &[FilterKey]) {
        builder.add(keys);
    }

    fn finish(&self, builder: rocks::FilterBuilder) -> Result<rocks::Filter> {
        let filter = builder.finish();
        filter.bytes().last().context("an empty filter")?;
        Ok(filter)
    }

    fn size(&self, built: &rocks::Filter) -> usize {
        built.bytes().len()
    }

    fn settle(&self, built: rocks::Filter) -> rocks::Filter {
        built
    }

    fn may_contain(&self, filter: &rocks::Filter, key: &[u8]) -> bool {
        let key = key.first_chunk::<{ size_of::<FilterKey>() }>();
        key.is_none_or(|key| filter.query(std::slice::from_ref(key)) > 0)
    }

    fn query(&self, filter: &rocks::Filter, keys: &[FilterKey]) -> u64 {
        filter.query(keys)
    }

    fn query_batch(&self, filter: &rocks::Filter, keys: &[FilterKey]) -> u64 {
        filter.query_batch(keys)
    }

    fn query_each(&self, filters: &[rocks::Filter], which: &[u32], keys: &[FilterKey]) -> u64 {
        rocks::Filter::query_each(filters, which, keys)
    }

    fn query_each_batch(
        &self,
        filters: &[rocks::Filter],
        which: &[u32],
        keys: &[FilterKey],
    ) -> u64 {
        rocks::Filter::query_each_batch(filters, which, keys)
    }
}
