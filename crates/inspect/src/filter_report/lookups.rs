//! The files that a lookup considers.
//!
//! ```text
//! sampled keys  .  .  . .. ...... .. .  .   .   .   .     a sample of the keys of all files
//! run 0                [=====]                            half of them
//! run 1              [===]                                a third
//! run 2         [=========][=============][=======]       all of them, in one file or another
//! ```
//!
//! At most one file of each run is read, the one whose range includes the key. For each file it
//! thus suffices to know the fraction of keys in its range.

use std::collections::HashMap;
use std::sync::Arc;

use sstkit_table::Comparator;

use super::FilterReport;
use super::place::RunPlace;

/// For each report, the fraction of lookups that consider its file, for keys distributed like the
/// entries. It is 1 for single tables, all of which are read, and for the files of a column family
/// whose comparator is unknown.
pub(crate) fn shares(reports: &[FilterReport]) -> Vec<f64> {
    let placed = || reports.iter().filter_map(|report| report.place.as_ref());
    let by_entries = placed().all(|place| place.entries.is_some());
    let total: f64 = placed().map(|place| place.weight(by_entries)).sum();
    let mut shares = vec![1.0; reports.len()];
    for files in families(reports) {
        let weight: f64 = files.iter().map(|(_, place)| place.weight(by_entries)).sum();
        let in_family = match files.first().and_then(|(_, place)| place.family.comparator()) {
            Some(comparator) => shares_in_family(&files, comparator, by_entries),
            None => vec![1.0; files.len()],
        };
        for ((report, _), share) in files.iter().zip(in_family) {
            shares[*report] = share * weight / total;
        }
    }
    shares
}

/// The files of a column family, with the indexes of their reports.
type Files<'a> = Vec<(usize, &'a RunPlace)>;

/// The files of each column family.
fn families(reports: &[FilterReport]) -> Vec<Files<'_>> {
    let mut families: Vec<Files<'_>> = Vec::new();
    let mut numbers = HashMap::new();
    for (number, report) in reports.iter().enumerate() {
        let Some(place) = &report.place else { continue };
        let family = *numbers.entry(Arc::as_ptr(&place.family)).or_insert(families.len());
        if family == families.len() {
            families.push(Vec::new());
        }
        families[family].push((number, place));
    }
    families
}

/// For each file, the fraction of the keys of its column family that are in its range, and not in
/// that of a preceding file in its run.
fn shares_in_family(files: &Files<'_>, comparator: &Comparator, by_entries: bool) -> Vec<f64> {
    let keys = DrawnKeys::new(files, comparator, by_entries);
    let mut ranges: Vec<_> = files
        .iter()
        .enumerate()
        .map(|(number, (_, place))| {
            let (start, end) = keys.range(place);
            (place.run, start, end, number)
        })
        .collect();
    ranges.sort_unstable();
    let mut shares = vec![0.0; files.len()];
    let mut taken = (0, 0);
    for (run, start, end, number) in ranges {
        let start = if taken.0 == run { start.max(taken.1) } else { start };
        let end = end.max(start);
        shares[number] = keys.share(start, end);
        taken = (run, end);
    }
    shares
}

/// The samples of all files, in order.
struct DrawnKeys<'a> {
    comparator: &'a Comparator,
    keys: Vec<&'a [u8]>,
    /// The total weight of all keys before each, and of all.
    before: Vec<f64>,
}

impl<'a> DrawnKeys<'a> {
    fn new(files: &Files<'a>, comparator: &'a Comparator, by_entries: bool) -> Self {
        let mut weighted: Vec<(&[u8], f64)> = Vec::new();
        for (_, place) in files {
            let weight = place.weight(by_entries) / place.samples.len() as f64;
            weighted.extend(place.samples.iter().map(|key| (key.as_slice(), weight)));
        }
        weighted.sort_by(|(a, _), (b, _)| comparator.compare_without_timestamp(a, b));
        let mut before = vec![0.0];
        let mut sum = 0.0;
        before.extend(weighted.iter().map(|(_, weight)| {
            sum += weight;
            sum
        }));
        Self { comparator, keys: weighted.into_iter().map(|(key, _)| key).collect(), before }
    }

    /// The keys in the range of a file.
    fn range(&self, place: &RunPlace) -> (usize, usize) {
        let compare =
            |key: &[u8], bound: &[u8]| self.comparator.compare_without_timestamp(key, bound);
        let bounds = &place.bounds;
        let start = self.keys.partition_point(|key| compare(key, &bounds.smallest).is_lt());
        let end = self.keys.partition_point(|key| !bounds.is_before(compare(key, &bounds.largest)));
        (start, end)
    }

    /// The fraction of a range of keys.
    fn share(&self, start: usize, end: usize) -> f64 {
        let all = self.before[self.keys.len()];
        if all > 0.0 { (self.before[end] - self.before[start]) / all } else { 0.0 }
    }
}
