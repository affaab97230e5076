//! What lookups and scans did, per level and file.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use sstkit_table::{Ticker, Tickers};

use crate::column_family_data::ColumnFamilyData;

/// Statistics of a column family since the database was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Keys looked up.
    pub lookups: u64,
    /// By level, the top one first. Levels without files are left out.
    pub levels: Vec<LevelStats>,
}

/// Statistics of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LevelStats {
    /// Which level.
    pub level: u32,
    /// Lookups that came to this level: those that no newer source has answered. In level 0 each
    /// file counts as a place of its own.
    pub lookups: u64,
    /// Files that such lookups left out because of their key ranges, in all lookups together.
    pub out_of_range: u64,
    /// The counters of all its files, added up.
    pub tickers: TickerCounts,
    /// Its files, in the order in which they are read.
    pub files: Vec<FileStats>,
}

/// Statistics of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileStats {
    /// Its number.
    pub number: u64,
    /// Lookups of keys within its range.
    pub lookups: u64,
    /// What was counted.
    pub tickers: TickerCounts,
}

/// Counters of the read path, as they were.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TickerCounts {
    counts: BTreeMap<Ticker, u64>,
}

impl TickerCounts {
    /// How often `ticker` has counted.
    pub fn get(&self, ticker: Ticker) -> u64 {
        self.counts.get(&ticker).copied().unwrap_or(0)
    }

    /// All that have counted.
    pub fn iter(&self) -> impl Iterator<Item = (Ticker, u64)> {
        self.counts.iter().map(|(&ticker, &count)| (ticker, count))
    }

    fn of(tickers: &Tickers) -> Self {
        Self { counts: tickers.iter().filter(|&(_, count)| count > 0).collect() }
    }

    fn add(&mut self, other: &Self) {
        for (ticker, count) in other.iter() {
            *self.counts.entry(ticker).or_default() += count;
        }
    }
}

impl Stats {
    /// The counters of all levels, added up.
    pub fn tickers(&self) -> TickerCounts {
        let mut sum = TickerCounts::default();
        self.levels.iter().for_each(|level| sum.add(&level.tickers));
        sum
    }
}

/// What has been counted so far.
pub(crate) fn stats(family: &ColumnFamilyData) -> Stats {
    let mut levels: BTreeMap<u32, LevelStats> = BTreeMap::new();
    for run in &family.version.runs {
        let level = levels.entry(run.level).or_default();
        level.level = run.level;
        level.lookups += run.lookups.load(Ordering::Relaxed);
        level.out_of_range += run.out_of_range.load(Ordering::Relaxed);
        for file in &run.files {
            let tickers = TickerCounts::of(&file.tickers);
            level.tickers.add(&tickers);
            let lookups = file.lookups.load(Ordering::Relaxed);
            level.files.push(FileStats { number: file.meta.number, lookups, tickers });
        }
    }
    let lookups = family.lookups.load(Ordering::Relaxed);
    Stats { lookups, levels: levels.into_values().collect() }
}
