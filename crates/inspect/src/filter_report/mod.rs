//! Filter reports: kind, size, false-positive rate and false negatives.

mod absent_keys;
mod key_probes;
mod lookups;
mod new_keys;
mod place;
mod sampling;
mod total;

use std::sync::Arc;

use serde::Serialize;
use sstkit_db::LevelFile;
use sstkit_filter::{FilterKind, FilterLayout};
use sstkit_table::raw::property_names;
use sstkit_table::{Result, TableFilter};

use self::key_probes::KeyProbes;
pub(crate) use self::lookups::shares;
pub(crate) use self::new_keys::NewKeys;
pub(crate) use self::place::LookupSpace;
use self::place::RunPlace;
use self::sampling::SampleBudget;
pub use self::total::FilterTotal;
use crate::encoding::Encoding;
use crate::inspected_table::InspectedTable;

/// The filter of a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FilterReport {
    /// The file.
    pub file: String,
    /// The level of the file in its database; `None` for a single table.
    pub level: Option<u32>,
    /// The actual kind: `leveldb_bloom`, `block_based_bloom`, `legacy_bloom`, `fast_local_bloom`,
    /// `ribbon128`, `always_true`, `always_false`, `none` or `unknown`. If a filter has parts of
    /// several kinds, the kind with most bytes.
    pub kind: &'static str,
    /// The name of the policy in the file; `None` if there is no filter.
    pub policy: Option<String>,
    /// Whether it is partitioned.
    pub partitioned: bool,
    /// The number of partitions; 0 if it is not partitioned.
    pub partitions: u64,
    /// The size in bytes, without block trailers.
    pub bytes: u64,
    /// The number of keys and prefixes: from the properties, or else counted, or else estimated
    /// from its bits.
    pub keys: Option<u64>,
    /// Bits per key or prefix.
    pub bits_per_key: Option<f64>,
    /// Bits probed per key; `None` if it is not a Bloom filter.
    pub probes: Option<u8>,
    /// The fraction of bits set; `None` if it is not a Bloom filter.
    pub fill: Option<f64>,
    /// The expected false-positive rate, from its bits.
    pub expected_fpr: Option<f64>,
    /// The false-positive rate measured with absent keys; `None` if not requested.
    pub measured_fpr: Option<f64>,
    /// The number of absent keys used for the measurement.
    pub measured_keys: Option<u64>,
    /// The number of keys and prefixes of the table that the filter does not match; `None` if not
    /// checked. Anything but 0 means lost data.
    pub false_negatives: Option<u64>,
    /// Whether it contains whole keys.
    pub whole_key: bool,
    /// The prefix extractor whose prefixes it contains, if any.
    pub prefix_extractor: Option<String>,
    /// The number of parts of each kind.
    pub kinds: Vec<(&'static str, u64)>,
    /// The bits per key of each part that has them, for a histogram.
    #[serde(skip)]
    pub part_bits_per_key: Vec<f64>,
    /// The place in a database.
    #[serde(skip)]
    place: Option<RunPlace>,
}

impl FilterReport {
    /// Reports the filter of a table. Probes it for all keys and prefixes of the table, and for
    /// `measure` absent keys.
    pub fn of(name: impl Into<String>, file: &InspectedTable, measure: u64) -> Result<Self> {
        let mut report = Self::without_probes(name.into(), file)?;
        if let Some(filter) = file.table().filter()
            && let Some(probed) = KeyProbes::of_all_keys(file, &filter)?
        {
            report.false_negatives = Some(probed.denied);
            if report.counted_keys(file).is_none() && filter.prefix_extractor().is_none() {
                report.set_keys(Some(probed.keys));
            }
            if measure > 0 {
                report.set_measured(file, &filter, &probed.samples, measure, &|| true)?;
            }
        }
        Ok(report)
    }

    /// Measures the false-positive rate with this number of absent keys, similar to a sample of the
    /// keys; with fewer when `keep_going` returns false. Unlike [`of`](Self::of), does not read the
    /// whole table.
    pub fn measure(
        &mut self,
        file: &InspectedTable,
        absent: u64,
        keep_going: &dyn Fn() -> bool,
    ) -> Result<()> {
        match file.table().filter() {
            Some(filter) if file.table().comparator().is_ok() => {
                let samples = sampling::sample(file, SampleBudget::of_one_in(1));
                self.set_measured(file, &filter, &samples, absent, keep_going)
            }
            _ => Ok(()),
        }
    }

    fn set_measured(
        &mut self,
        file: &InspectedTable,
        filter: &TableFilter<'_>,
        samples: &[Vec<u8>],
        absent: u64,
        keep_going: &dyn Fn() -> bool,
    ) -> Result<()> {
        let measured = absent_keys::measure(file, filter, samples, absent, keep_going)?;
        self.measured_keys = Some(measured.probed);
        self.measured_fpr = measured.rate();
        Ok(())
    }

    /// Adds the level of a file in a database.
    #[must_use]
    pub fn at_level(mut self, level: u32) -> Self {
        self.level = Some(level);
        self
    }

    /// Adds the place of a file in a sorted run of a column family, with its number of entries.
    #[must_use]
    pub(crate) fn in_run(
        mut self,
        family: &Arc<LookupSpace>,
        file: &LevelFile,
        table: &InspectedTable,
        entries: Option<u64>,
    ) -> Self {
        let entries = entries.or(self.keys).filter(|&entries| entries > 0);
        self.place = Some(RunPlace::new(family, file, table, entries));
        self
    }

    /// Reports the filter without probing it; `None` if the table has no filter.
    pub fn of_existing(name: &str, file: &InspectedTable) -> Result<Option<Self>> {
        let report = Self::without_probes(name.to_owned(), file)?;
        Ok(Some(report).filter(|report| report.kind != "none"))
    }

    /// The report about a table without a filter.
    pub(crate) fn none(name: &str) -> Self {
        Self::empty(name.to_owned(), "none")
    }

    /// The report for a filter that cannot be read: an unknown policy, or damaged.
    pub(crate) fn unreadable(name: &str, file: &InspectedTable) -> Self {
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

    /// The report about a filter, or that there is none, without probing it.
    pub(crate) fn without_probes(name: String, file: &InspectedTable) -> Result<Self> {
        match file.table().filter() {
            Some(filter) => Self::of_known(name, file, &filter),
            None => Ok(Self::unreadable(&name, file)),
        }
    }

    fn of_known(name: String, file: &InspectedTable, filter: &TableFilter<'_>) -> Result<Self> {
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

    /// The number of keys in the properties.
    fn counted_keys(&self, file: &InspectedTable) -> Option<u64> {
        file.table().properties().number(property_names::NUM_FILTER_ENTRIES)
    }

    fn set_keys(&mut self, keys: Option<u64>) {
        self.keys = keys;
        let keys = keys.filter(|&keys| keys > 0);
        self.bits_per_key = keys.map(|keys| 8.0 * self.bytes as f64 / keys as f64);
    }

    fn empty(file: String, kind: &'static str) -> Self {
        Self { file, kind, ..Self::default() }
    }
}

/// The name of a kind; only the policy knows the kind of a custom filter.
fn kind_name(kind: FilterKind) -> &'static str {
    match kind {
        FilterKind::User => "unknown",
        kind => kind.name(),
    }
}

/// The name of the prefix extractor whose prefixes are in the filter, even if it is unknown.
fn prefix_extractor(file: &InspectedTable, filter: &TableFilter<'_>) -> Option<String> {
    let properties = file.table().properties();
    let known = filter.prefix_extractor().map(|extractor| extractor.name().into_owned());
    known.or_else(|| {
        let has_prefixes = properties.number(property_names::PREFIX_FILTERING) == Some(1);
        let name = properties.get(property_names::PREFIX_EXTRACTOR_NAME);
        name.filter(|name| has_prefixes && *name != b"nullptr")
            .map(|name| Encoding::Escape.encode(name))
    })
}
