//! Lookups and seeks that are counted.

use std::collections::BTreeMap;

use serde::Serialize;
use sstkit_db::{ColumnFamily, Database, Stats};
use sstkit_table::Ticker;
use sstkit_table::visibility::Recency;

use crate::error::Result;
use crate::filter_plan::FilteredFile;
use crate::filter_plan::found_keys::FoundLookups;
use crate::filter_plan::key_sample::{self, SampledKey};
use crate::filter_plan::seek_targets::SeekTargets;

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
    /// What could not be measured, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
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
        let name = family.name();
        if family.comparator().is_err() {
            let note =
                format!("column family {name:?} is not measured: the order of its keys is unknown");
            measured.notes.push(note);
            continue;
        }
        let count = lookups.saturating_mul(keys.len() as u64).div_ceil(all).max(1);
        let in_family = |file: &&FilteredFile| file.column_family.as_deref() == Some(family.name());
        let has_only_prefixes =
            |file: &FilteredFile| !file.report.whole_key && file.report.prefix_extractor.is_some();
        let only_prefixes = family.prefix_extractor().is_some()
            && files.iter().filter(in_family).any(has_only_prefixes);
        let targets = SeekTargets::new(family, keys);
        let mut pass = Pass { family, keys, count, only_prefixes, targets };
        let (not_found, levels) = pass.not_found()?;
        measured.lookups += not_found;
        if not_found == 0 {
            measured.notes.push(format!(
                "column family {name:?}: no lookups of keys that are not found, since no such keys could be \
                 made that are valid in its order"
            ));
        }
        reads += levels.values().map(|(_, reads)| reads).sum::<u64>();
        measured.levels.extend(levels.into_iter().map(|(level, (probes, reads))| MeasuredLevel {
            column_family: name.to_owned(),
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

/// For each level the files in whose range keys were, and those that were read.
type FilesRead = BTreeMap<u32, (u64, u64)>;

/// Lookups in a column family.
struct Pass<'p> {
    family: &'p ColumnFamily,
    keys: &'p [SampledKey],
    count: u64,
    /// Lookups probe filters for prefixes.
    only_prefixes: bool,
    targets: SeekTargets<'p>,
}

impl Pass<'_> {
    /// The number of lookups; for each level the files in whose range the keys were, and those that were
    /// read.
    fn not_found(&mut self) -> Result<(u64, FilesRead)> {
        let before = files_read(&self.family.stats());
        let mut lookups = 0;
        for number in 0..self.count {
            let key = match self.only_prefixes {
                true => self.targets.key_with_new_prefix(number)?,
                false => self.targets.new_key(number)?,
            };
            if let Some(key) = key {
                self.family.get(&key)?;
                lookups += 1;
            }
        }
        let mut after = files_read(&self.family.stats());
        for (level, (probes, reads)) in &mut after {
            let (probes_before, reads_before) = before.get(level).copied().unwrap_or_default();
            (*probes, *reads) = (*probes - probes_before, *reads - reads_before);
        }
        Ok((lookups, after))
    }

    /// Lookups of keys that are found, and the files that they read besides those with the key.
    fn found(&mut self) -> Result<(u64, u64)> {
        let reads = |stats: &Stats| files_read(stats).values().map(|(_, it)| it).sum::<u64>();
        let before = self.family.stats();
        let count = self.count.min(self.keys.len() as u64);
        // Without an order of the files, all that have the key are needed.
        let is_unordered = self.family.recency() == Recency::BySequence;
        let mut needed = FoundLookups::new(self.family).filter(|_| is_unordered);
        for number in 0..count {
            let SampledKey { key, run } =
                self.targets.sampled(number * self.keys.len() as u64 / count);
            self.family.get(key)?;
            if let Some(lookups) = &mut needed {
                lookups.add(key, *run)?;
            }
        }
        let after = self.family.stats();
        // Those that were written again since, and are in the log, read no table.
        let found = after.table_lookups - before.table_lookups;
        let needed = found + needed.map_or(0, |lookups| lookups.other_entries);
        Ok((found, (reads(&after) - reads(&before)).saturating_sub(needed)))
    }

    /// Seeks to prefixes without keys, and the data blocks that they read.
    fn seeks(&mut self) -> Result<(u64, u64)> {
        let mut prefixes = Vec::new();
        for number in 0..self.count {
            prefixes.extend(self.targets.prefix(number)?);
        }
        let before = data_blocks(&self.family.stats());
        for prefix in &prefixes {
            self.targets.seek(prefix).next().transpose()?;
        }
        Ok((prefixes.len() as u64, data_blocks(&self.family.stats()) - before))
    }
}

/// For each level the files in whose range keys were, and those that a filter did not rule out.
fn files_read(stats: &Stats) -> FilesRead {
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
