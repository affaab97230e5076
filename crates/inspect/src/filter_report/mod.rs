//! A filter's X-ray: what it is, what it costs, what it catches, and whether it lies.

mod absent_keys;
mod asking;
mod lookups;
mod place;
mod sampling;
mod total;

use std::sync::Arc;

use serde::Serialize;
use sstkit_db::LevelFile;
use sstkit_filter::{FilterKind, FilterLayout};
use sstkit_table::raw::property_names;
use sstkit_table::{Result, TableFilter};

use self::asking::Asked;
pub(crate) use self::place::LookupSpace;
use self::place::RunPlace;
pub use self::total::FilterTotal;
use crate::encoding::Encoding;
use crate::table_file::TableFile;

/// The filter of a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FilterReport {
    /// The file.
    pub file: String,
    /// The level of the file in its database; `None` for a table by itself.
    pub level: Option<u32>,
    /// What it really is: `leveldb_bloom`, `block_based_bloom`, `legacy_bloom`,
    /// `fast_local_bloom`, `ribbon128`, `always_true`, `always_false`, `none` or `unknown`. Of
    /// several kinds in one filter, that of most bytes.
    pub kind: &'static str,
    /// The name of its policy in the file; `None` if there is no filter.
    pub policy: Option<String>,
    /// Whether it is cut into partitions.
    pub partitioned: bool,
    /// How many partitions; 0 if it has none.
    pub partitions: u64,
    /// Bytes of all of it, without the trailers of blocks.
    pub bytes: u64,
    /// Keys and prefixes in it: as the properties say, or else as counted, or else as its bits
    /// let guess.
    pub keys: Option<u64>,
    /// Bits for each of them.
    pub bits_per_key: Option<f64>,
    /// Bits looked at for a key; `None` for filters that are not Bloom filters.
    pub probes: Option<u8>,
    /// The share of bits that are set; `None` for filters that are not Bloom filters.
    pub fill: Option<f64>,
    /// The rate of false positives to be expected of its bits.
    pub expected_fpr: Option<f64>,
    /// The rate measured with absent keys; `None` if that was not asked for.
    pub measured_fpr: Option<f64>,
    /// How many absent keys it was measured with.
    pub measured_keys: Option<u64>,
    /// Keys and prefixes of the table that the filter denies; `None` if that was not looked into.
    /// Anything but 0 means lost data.
    pub false_negatives: Option<u64>,
    /// Whether whole keys are in it.
    pub whole_key: bool,
    /// The extractor whose prefixes are in it, if there is one.
    pub prefix_extractor: Option<String>,
    /// Its parts by kind, with their numbers.
    pub kinds: Vec<(&'static str, u64)>,
    /// Bits per key of each part that tells: for a histogram.
    #[serde(skip)]
    pub part_bits_per_key: Vec<f64>,
    /// Where it is in a database.
    #[serde(skip)]
    place: Option<RunPlace>,
}

impl FilterReport {
    /// The X-ray of a table's filter. Asks it for all keys and prefixes of the table, and for
    /// `measure` absent keys.
    pub fn of(name: impl Into<String>, file: &TableFile, measure: u64) -> Result<Self> {
        let mut report = Self::without_asking(name.into(), file)?;
        if let Some(filter) = file.table().filter()
            && let Some(asked) = Asked::about_everything(file, &filter)?
        {
            report.false_negatives = Some(asked.denied);
            if report.counted_keys(file).is_none() && filter.prefix_extractor().is_none() {
                report.set_keys(Some(asked.keys));
            }
            if measure > 0 {
                let absent = absent_keys::measure(file, &filter, &asked.samples, measure)?;
                report.measured_keys = Some(absent.asked);
                report.measured_fpr = absent.rate();
            }
        }
        Ok(report)
    }

    /// The same for a file of a database.
    #[must_use]
    pub fn at_level(mut self, level: u32) -> Self {
        self.level = Some(level);
        self
    }

    /// The same for a file in a sorted run of a column family, with its number of entries.
    #[must_use]
    pub(crate) fn in_run(
        mut self,
        family: &Arc<LookupSpace>,
        file: &LevelFile,
        table: &TableFile,
        entries: Option<u64>,
    ) -> Self {
        let entries = entries.or(self.keys).filter(|&entries| entries > 0);
        self.place = Some(RunPlace::new(family, file, table, entries));
        self
    }

    /// The same without asking the filter anything; `None` if the table has no filter.
    pub fn of_existing(name: &str, file: &TableFile) -> Result<Option<Self>> {
        let report = Self::without_asking(name.to_owned(), file)?;
        Ok(Some(report).filter(|report| report.kind != "none"))
    }

    /// The report about a table without a filter.
    pub(crate) fn none(name: &str) -> Self {
        Self::empty(name.to_owned(), "none")
    }

    /// The report about a filter that cannot be looked into: of a policy that is not known, or
    /// damaged.
    pub(crate) fn unreadable(name: &str, file: &TableFile) -> Self {
        let name = name.to_owned();
        let Some((layout, policy, handle)) = file.table().metaindex().filters().next() else {
            return Self::empty(name, "none");
        };
        Self {
            policy: Some(policy.to_owned()),
            partitioned: layout == FilterLayout::Partitioned,
            bytes: handle.size,
            ..Self::empty(name, "unknown")
        }
    }

    fn without_asking(name: String, file: &TableFile) -> Result<Self> {
        match file.table().filter() {
            Some(filter) => Self::of_known(name, file, &filter),
            None => Ok(Self::unreadable(&name, file)),
        }
    }

    fn of_known(name: String, file: &TableFile, filter: &TableFilter<'_>) -> Result<Self> {
        let stats = filter.stats()?;
        let partitioned = stats.layout == FilterLayout::Partitioned;
        let parts = stats.parts.iter().map(|part| &part.filter);
        let part_bits_per_key = parts
            .filter_map(|part| {
                let keys = part.estimated_keys.filter(|&keys| keys > 0.0)?;
                Some(8.0 * part.bytes as f64 / keys)
            })
            .collect();
        let kinds = stats.kinds().into_iter();
        let mut report = Self {
            policy: Some(stats.policy.clone()),
            partitioned,
            partitions: if partitioned { stats.parts.len() as u64 } else { 0 },
            bytes: stats.bytes,
            probes: stats.num_probes(),
            fill: stats.fill(),
            expected_fpr: stats.expected_fpr(),
            whole_key: filter.whole_key_filtering(),
            prefix_extractor: prefix_extractor(file, filter),
            kinds: kinds.map(|(kind, count)| (kind_name(kind), count as u64)).collect(),
            part_bits_per_key,
            ..Self::empty(name, stats.main_kind().map_or("unknown", kind_name))
        };
        let guessed = stats.estimated_keys().map(|keys| keys.round() as u64);
        report.set_keys(report.counted_keys(file).or(guessed));
        Ok(report)
    }

    /// What the properties say.
    fn counted_keys(&self, file: &TableFile) -> Option<u64> {
        file.table().properties().number(property_names::NUM_FILTER_ENTRIES)
    }

    fn set_keys(&mut self, keys: Option<u64>) {
        self.keys = keys;
        let keys = keys.filter(|&keys| keys > 0);
        self.bits_per_key = keys.map(|keys| 8.0 * self.bytes as f64 / keys as f64);
    }

    fn empty(file: String, kind: &'static str) -> Self {
        Self {
            file,
            level: None,
            kind,
            policy: None,
            partitioned: false,
            partitions: 0,
            bytes: 0,
            keys: None,
            bits_per_key: None,
            probes: None,
            fill: None,
            expected_fpr: None,
            measured_fpr: None,
            measured_keys: None,
            false_negatives: None,
            whole_key: false,
            prefix_extractor: None,
            kinds: Vec::new(),
            part_bits_per_key: Vec::new(),
            place: None,
        }
    }
}

/// The name of a kind; only the policy knows what a user-made filter is.
fn kind_name(kind: FilterKind) -> &'static str {
    match kind {
        FilterKind::User => "unknown",
        kind => kind.name(),
    }
}

/// The extractor whose prefixes are in the filter: by its name, even if that is not known here.
fn prefix_extractor(file: &TableFile, filter: &TableFilter<'_>) -> Option<String> {
    let properties = file.table().properties();
    let known = filter.prefix_extractor().map(|extractor| extractor.name().into_owned());
    known.or_else(|| {
        let has_prefixes = properties.number(property_names::PREFIX_FILTERING) == Some(1);
        let name = properties.get(property_names::PREFIX_EXTRACTOR_NAME);
        name.filter(|name| has_prefixes && *name != b"nullptr")
            .map(|name| Encoding::Escape.encode(name))
    })
}
