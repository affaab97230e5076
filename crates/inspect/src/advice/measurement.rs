//! Lookups and seeks that are counted.
//!
//! ```text
//! a sampled key   user0042/post0017
//! not found       user0042/post0017\x9f\x02…   eight random bytes appended: in the range of the
//!                                              same files
//! found           user0042/post0017
//! seek            user0042/post0017\x9f\x02…   or, with a prefix extractor, a prefix with a random end
//! ```

use std::collections::BTreeMap;

use serde::Serialize;
use sstkit_db::{ColumnFamily, Database, Stats};
use sstkit_table::Ticker;

use super::key_sample;
use crate::error::Result;
use crate::filter_report::Random;

/// The random bytes of a key that is not found.
const RANDOM_BYTES: usize = 8;

/// Counted lookups and seeks.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct MeasuredReads {
    /// Lookups of keys that are not found.
    pub lookups: u64,
    /// Data blocks that a lookup reads needlessly, with the hit rate of the advice.
    pub wasted_reads: f64,
    /// The same for keys that are not found.
    pub wasted_reads_not_found: f64,
    /// The same for keys that are found.
    pub wasted_reads_found: f64,
    /// Seeks to prefixes without keys.
    pub seeks: u64,
    /// Data blocks that such a seek reads.
    pub wasted_seek_reads: f64,
    /// Each column family from the newest level to the oldest.
    pub levels: Vec<MeasuredLevel>,
}

/// What was counted in a level, for keys that are not found.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct MeasuredLevel {
    /// The column family.
    pub column_family: String,
    /// The level.
    pub level: u32,
    /// Probes of its filters, or of files without a filter, per lookup.
    pub probes: f64,
    /// Data blocks of the level that a lookup reads needlessly.
    pub wasted_reads: f64,
}

/// Does about this many lookups of keys that are not found, of keys that are, and seeks.
pub(super) fn measure(database: &Database, lookups: u64, hit_rate: f64) -> Result<MeasuredReads> {
    let families: Vec<ColumnFamily> = database.column_families().collect();
    let samples = families.iter().map(key_sample::keys).collect::<Result<Vec<_>>>()?;
    let all = samples.iter().map(Vec::len).sum::<usize>().max(1) as u64;
    let mut measured = MeasuredReads::default();
    let (mut found, mut reads_found, mut reads, mut seek_reads) = (0, 0, 0, 0);
    for (family, keys) in families.iter().zip(&samples).filter(|(_, keys)| !keys.is_empty()) {
        let count = lookups.saturating_mul(keys.len() as u64).div_ceil(all).max(1);
        let mut pass = Pass { family, keys, count, random: Random::new() };
        let levels = pass.not_found()?;
        measured.lookups += count;
        reads += levels.values().map(|(_, reads)| reads).sum::<u64>();
        measured.levels.extend(levels.into_iter().map(|(level, (probes, reads))| MeasuredLevel {
            column_family: family.name().to_owned(),
            level,
            probes: probes as f64,
            wasted_reads: reads as f64,
        }));
        let (lookups, wasted) = pass.found()?;
        (found, reads_found) = (found + lookups, reads_found + wasted);
        let (seeks, blocks) = pass.seeks()?;
        (measured.seeks, seek_reads) = (measured.seeks + seeks, seek_reads + blocks);
    }
    let per = |reads: u64, all: u64| reads as f64 / all.max(1) as f64;
    for level in &mut measured.levels {
        level.probes /= measured.lookups.max(1) as f64;
        level.wasted_reads /= measured.lookups.max(1) as f64;
    }
    measured.wasted_reads_not_found = per(reads, measured.lookups);
    measured.wasted_reads_found = per(reads_found, found);
    measured.wasted_reads =
        (1.0 - hit_rate) * measured.wasted_reads_not_found + hit_rate * measured.wasted_reads_found;
    measured.wasted_seek_reads = per(seek_reads, measured.seeks);
    Ok(measured)
}

/// Lookups in a column family.
struct Pass<'p> {
    family: &'p ColumnFamily,
    keys: &'p [Vec<u8>],
    count: u64,
    random: Random,
}

impl Pass<'_> {
    /// For each level the files in whose range the keys were, and those that were read.
    fn not_found(&mut self) -> Result<BTreeMap<u32, (u64, u64)>> {
        let before = files_read(&self.family.stats());
        for number in 0..self.count {
            let key = self.key(number, true);
            self.family.get(&key)?;
        }
        let mut after = files_read(&self.family.stats());
        for (level, (probes, reads)) in &mut after {
            let (probes_before, reads_before) = before.get(level).copied().unwrap_or_default();
            (*probes, *reads) = (*probes - probes_before, *reads - reads_before);
        }
        Ok(after)
    }

    /// Lookups of keys that are found, and the files that they read besides the one with the key.
    fn found(&mut self) -> Result<(u64, u64)> {
        let reads = |stats: &Stats| files_read(stats).values().map(|(_, it)| it).sum::<u64>();
        let before = reads(&self.family.stats());
        let mut found = 0;
        let count = self.count.min(self.keys.len() as u64);
        for number in 0..count {
            let key = self.key(number * self.keys.len() as u64 / count, false);
            self.family.get(&key)?;
            found += 1;
        }
        let after = reads(&self.family.stats());
        Ok((found, (after - before).saturating_sub(found)))
    }

    /// Seeks to prefixes without keys, and the data blocks that they read.
    fn seeks(&mut self) -> Result<(u64, u64)> {
        let (mut seeks, mut found) = (0, 0);
        let before = data_blocks(&self.family.stats());
        for number in 0..self.count {
            let Some(prefix) = self.prefix(number) else { continue };
            seeks += 1;
            found += u64::from(self.family.prefix(&prefix).next().transpose()?.is_some());
        }
        // A few prefixes may have keys; the block with them is not wasted.
        let reads = data_blocks(&self.family.stats()) - before;
        Ok((seeks, reads.saturating_sub(found)))
    }

    /// A sampled key, or one that is not found.
    fn key(&mut self, number: u64, is_new: bool) -> Vec<u8> {
        let mut key = self.keys[(number % self.keys.len() as u64) as usize].clone();
        if is_new {
            let end = key.len();
            key.resize(end + RANDOM_BYTES, 0);
            self.random.fill(&mut key[end..]);
        }
        key
    }

    /// A prefix that no key has, probably.
    fn prefix(&mut self, number: u64) -> Option<Vec<u8>> {
        let Some(extractor) = self.family.prefix_extractor() else {
            return Some(self.key(number, true));
        };
        let key = self.key(number, false);
        let mut prefix = extractor.prefix(&key)?.to_vec();
        let start = prefix.len().saturating_sub(RANDOM_BYTES).max(prefix.len() / 2);
        self.random.fill(&mut prefix[start..]);
        Some(prefix)
    }
}

/// For each level the files in whose range keys were, and those that a filter did not rule out.
fn files_read(stats: &Stats) -> BTreeMap<u32, (u64, u64)> {
    let of_level = |level: &sstkit_db::LevelStats| {
        let probes: u64 = level.files.iter().map(|file| file.lookups).sum();
        let ruled_out = [Ticker::BloomFilterUseful, Ticker::BloomFilterPrefixUseful];
        let ruled_out: u64 = ruled_out.iter().map(|&ticker| level.tickers.get(ticker)).sum();
        (level.level, (probes, probes.saturating_sub(ruled_out)))
    };
    stats.levels.iter().map(of_level).collect()
}

/// Data blocks that were needed, in the cache or not.
fn data_blocks(stats: &Stats) -> u64 {
    let tickers = stats.tickers();
    tickers.get(Ticker::BlockCacheDataHit) + tickers.get(Ticker::BlockCacheDataMiss)
}
