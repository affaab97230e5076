//! Counters of lookups and scans, per level and file.

use std::collections::BTreeMap;

use sstkit_table::{Ticker, Tickers};

use crate::column_family_data::ColumnFamilyData;

/// Statistics of a column family since the database was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// The number of lookups.
    pub lookups: u64,
    /// The number of lookups that the write-ahead log did not resolve.
    pub table_lookups: u64,
    /// Per level, top level first. Levels without files are omitted.
    pub levels: Vec<LevelStats>,
}

/// Statistics of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LevelStats {
    /// The level.
    pub level: u32,
    /// Lookups that reached this level: no newer source has resolved them. In level 0 each file
    /// counts separately.
    pub lookups: u64,
    /// Files that these lookups skipped by key range, in total.
    pub out_of_range: u64,
    /// The total of the counters of all files.
    pub tickers: TickerCounts,
    /// The files, in the order they are read.
    pub files: Vec<FileStats>,
}

/// Statistics of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileStats {
    /// The file number.
    pub number: u64,
    /// Lookups of keys in its range.
    pub lookups: u64,
    /// The counters.
    pub tickers: TickerCounts,
}

/// A snapshot of the counters of the read path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TickerCounts {
    counts: BTreeMap<Ticker, u64>,
}

impl TickerCounts {
    /// The value of `ticker`.
    pub fn get(&self, ticker: Ticker) -> u64 {
        self.counts.get(&ticker).copied().unwrap_or(0)
    }

    /// All counters that are not 0.
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
    /// The total of the counters of all levels.
    pub fn tickers(&self) -> TickerCounts {
        let mut sum = TickerCounts::default();
        self.levels.iter().for_each(|level| sum.add(&level.tickers));
        sum
    }
}

/// Takes a snapshot of the counters.
pub(crate) fn stats(family: &ColumnFamilyData) -> Stats {
    let mut levels: BTreeMap<u32, LevelStats> = BTreeMap::new();
    for run in &family.version.runs {
        let level = levels.entry(run.level).or_default();
        level.level = run.level;
        level.lookups += run.lookups();
        level.out_of_range += run.out_of_range();
        for file in &run.files {
            let tickers = TickerCounts::of(&file.tickers);
            level.tickers.add(&tickers);
            let lookups = file.lookups.get(0);
            level.files.push(FileStats { number: file.meta.number, lookups, tickers });
        }
    }
    let lookups = family.lookups.get(0);
    let table_lookups = family.version.runs.first().map_or(0, |run| run.lookups());
    Stats { lookups, table_lookups, levels: levels.into_values().collect() }
}
