//! Lookups and seeks that are counted.
//!
//! ```text
//! a sampled key   user0042/post0017
//! not found       user0042/post0017\x9f\x02…   eight random bytes appended: in the range of the
//!                                              same files
//!                 user\x9f\x02…/post0017      if filters have only prefixes: a prefix with a random end
//! found           user0042/post0017
//! seek            user0042/post0017\x9f\x02…   or, with a prefix extractor, a prefix with a random end
//! ```

use std::collections::BTreeMap;

use serde::Serialize;
use sstkit_db::{ColumnFamily, Database, Stats};
use sstkit_table::Ticker;

use crate::error::Result;
use crate::filter_plan::FilteredFile;
use crate::filter_plan::key_sample::{self, SampledKey};
use crate::filter_report::Random;

/// The random bytes of a key that is not found.
const RANDOM_BYTES: usize = 8;

/// The random bytes at the end of a prefix, as many of them as possible.
const RANDOM_PREFIX_BYTES: [usize; 5] = [8, 4, 3, 2, 1];
/// Keys that lookups are derived from.
const MIN_KEYS: u64 = 4096;
const MAX_KEYS: u64 = 1 << 17;

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
pub(super) fn measure(
    database: &Database,
    files: &[FilteredFile],
    lookups: u64,
    hit_rate: f64,
) -> Result<MeasuredReads> {
    let samples = key_sample::keys(database, files, lookups.clamp(MIN_KEYS, MAX_KEYS))?;
    let all = samples.iter().map(|(_, keys)| keys.len()).sum::<usize>().max(1) as u64;
    let mut measured = MeasuredReads::default();
    let (mut found, mut reads_found, mut reads, mut seek_reads) = (0, 0, 0, 0);
    for (family, keys) in samples.iter().filter(|(_, keys)| !keys.is_empty()) {
        let count = lookups.saturating_mul(keys.len() as u64).div_ceil(all).max(1);
        let in_family = |file: &&FilteredFile| file.column_family.as_deref() == Some(family.name());
        let has_only_prefixes =
            |file: &FilteredFile| !file.report.whole_key && file.report.prefix_extractor.is_some();
        let only_prefixes = family.prefix_extractor().is_some()
            && files.iter().filter(in_family).any(has_only_prefixes);
        let range = TableRange::of(family);
        let mut pass = Pass { family, keys, count, only_prefixes, range, random: Random::new() };
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
    keys: &'p [SampledKey],
    count: u64,
    /// Lookups probe filters for prefixes.
    only_prefixes: bool,
    range: TableRange,
    random: Random,
}

impl Pass<'_> {
    /// For each level the files in whose range the keys were, and those that were read.
    fn not_found(&mut self) -> Result<BTreeMap<u32, (u64, u64)>> {
        let before = files_read(&self.family.stats());
        for number in 0..self.count {
            let key = match self.only_prefixes {
                true => self.key_with_absent_prefix(number)?,
                false => self.key(number, true),
            };
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
        let before = self.family.stats();
        let count = self.count.min(self.keys.len() as u64);
        for number in 0..count {
            let key = self.key(number * self.keys.len() as u64 / count, false);
            self.family.get(&key)?;
        }
        let after = self.family.stats();
        // Those that were written again since, and are in the log, read no table.
        let found = after.table_lookups - before.table_lookups;
        Ok((found, (reads(&after) - reads(&before)).saturating_sub(found)))
    }

    /// Seeks to prefixes without keys, and the data blocks that they read.
    fn seeks(&mut self) -> Result<(u64, u64)> {
        let mut prefixes = Vec::new();
        for number in 0..self.count {
            prefixes.extend(self.absent_prefix(number)?);
        }
        let before = data_blocks(&self.family.stats());
        for prefix in &prefixes {
            self.family.prefix(prefix).next().transpose()?;
        }
        Ok((prefixes.len() as u64, data_blocks(&self.family.stats()) - before))
    }

    /// A sampled key, or one that is not found.
    fn key(&mut self, number: u64, is_new: bool) -> Vec<u8> {
        let mut key = self.keys[(number % self.keys.len() as u64) as usize].key.clone();
        if is_new {
            let end = key.len();
            key.resize(end + RANDOM_BYTES, 0);
            self.random.fill(&mut key[end..]);
        }
        key
    }

    /// A key whose prefix no key has.
    fn key_with_absent_prefix(&mut self, number: u64) -> Result<Vec<u8>> {
        let mut key = self.key(number, false);
        match self.absent_prefix(number)? {
            Some(prefix) if prefix.len() <= key.len() => {
                key[..prefix.len()].copy_from_slice(&prefix);
                Ok(key)
            }
            _ => Ok(self.key(number, true)),
        }
    }

    /// A prefix that no key has, in the range of the keys: as different from that of a sampled key as
    /// possible. There may be none, if prefixes are short.
    fn absent_prefix(&mut self, number: u64) -> Result<Option<Vec<u8>>> {
        let Some(extractor) = self.family.prefix_extractor() else {
            return Ok(Some(self.key(number, true)));
        };
        let key = self.key(number, false);
        let Some(prefix) = extractor.prefix(&key) else { return Ok(None) };
        for random_bytes in RANDOM_PREFIX_BYTES {
            let mut prefix = prefix.to_vec();
            let start = prefix.len().saturating_sub(random_bytes).max(prefix.len() / 2);
            self.random.fill(&mut prefix[start..]);
            if self.range.includes(&prefix, self.family)
                && self.family.prefix(&prefix).next().transpose()?.is_none()
            {
                return Ok(Some(prefix));
            }
        }
        Ok(None)
    }
}

/// The key range of all tables of a column family.
struct TableRange {
    smallest: Vec<u8>,
    largest: Vec<u8>,
}

impl TableRange {
    fn of(family: &ColumnFamily) -> Self {
        let mut range = Self { smallest: Vec::new(), largest: Vec::new() };
        let Ok(order) = family.comparator() else { return range };
        let files = family.levels().into_iter().flat_map(|level| level.files);
        for (number, file) in files.enumerate() {
            let is_before = |a: &[u8], b: &[u8]| order.compare_without_timestamp(a, b).is_lt();
            if number == 0 || is_before(file.smallest(), &range.smallest) {
                range.smallest = file.smallest().to_vec();
            }
            if number == 0 || is_before(&range.largest, file.largest()) {
                range.largest = file.largest().to_vec();
            }
        }
        range
    }

    fn includes(&self, key: &[u8], family: &ColumnFamily) -> bool {
        family.comparator().is_ok_and(|order| {
            order.compare_without_timestamp(&self.smallest, key).is_le()
                && order.compare_without_timestamp(key, &self.largest).is_le()
        })
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
