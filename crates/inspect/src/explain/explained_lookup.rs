//! A lookup and its tickers.

use std::collections::BTreeMap;

use serde::Serialize;
use sstkit_db::ColumnFamily;
use sstkit_table::{Ticker, Tickers};

use super::Explanation;
use crate::encoding::Encoding;
use crate::error::Result;
use crate::inspected_table::InspectedTable;

/// A lookup, and what it counted.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ExplainedLookup {
    /// The steps.
    #[serde(flatten)]
    pub explanation: Explanation,
    /// Tickers that the lookup has increased, by RocksDB's names.
    pub statistics: BTreeMap<&'static str, u64>,
}

impl ExplainedLookup {
    /// A lookup in a table that was opened with these tickers.
    pub fn in_table(
        file: &InspectedTable,
        tickers: &Tickers,
        key: &[u8],
        encoding: Encoding,
    ) -> Result<Self> {
        let before: Vec<(Ticker, u64)> = tickers.iter().collect();
        let explanation = Explanation::in_table(file, key, encoding)?;
        // Explaining counts nothing. A value that cannot be resolved was explained.
        let _ = file.table().get(key);
        Ok(Self { explanation, statistics: increases(before, tickers.iter()) })
    }

    /// A lookup in a column family.
    pub fn in_database(family: &ColumnFamily, key: &[u8], encoding: Encoding) -> Result<Self> {
        let before: Vec<(Ticker, u64)> = family.stats().tickers().iter().collect();
        let explanation = Explanation::in_database(&family.explain(key)?, encoding);
        Ok(Self { explanation, statistics: increases(before, family.stats().tickers().iter()) })
    }
}

fn increases(
    before: Vec<(Ticker, u64)>,
    after: impl Iterator<Item = (Ticker, u64)>,
) -> BTreeMap<&'static str, u64> {
    let before: BTreeMap<&str, u64> =
        before.into_iter().map(|(ticker, count)| (ticker.name(), count)).collect();
    after
        .map(|(ticker, count)| {
            (ticker.name(), count - before.get(ticker.name()).copied().unwrap_or(0))
        })
        .filter(|(_, count)| *count > 0)
        .collect()
}
