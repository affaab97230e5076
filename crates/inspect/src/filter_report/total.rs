//! What several filters do together.

use std::collections::BTreeMap;

use serde::Serialize;

use super::FilterReport;

/// The filters of several files together.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FilterTotal {
    /// Files.
    pub files: u64,
    /// Files without a filter.
    pub without_filter: u64,
    /// Bytes of all filters.
    pub bytes: u64,
    /// Keys and prefixes in all filters that tell.
    pub keys: u64,
    /// Bits for each of them.
    pub bits_per_key: Option<f64>,
    /// How many files would be looked into in vain for a key that is in none, if every file had to
    /// be asked: the sum of the expected rates, 1 for a file without a filter.
    pub expected_false_positives: f64,
    /// The same of the measured rates; `None` if they were not measured.
    pub measured_false_positives: Option<f64>,
    /// How many files a lookup of a key that is in none reads for nothing: of each sorted run one
    /// file at most, that whose range the key is in. The key is drawn like the keys there are, so that
    /// the rate of a run is that of its files, weighted by their entries (by their bytes, where the
    /// entries of one are not known). A file of level 0, and a table by itself, is a run of its own.
    /// Of several column families the mean, weighted in the same way.
    pub expected_files_per_lookup: f64,
    /// The same of the measured rates; `None` if they were not measured.
    pub measured_files_per_lookup: Option<f64>,
    /// Keys and prefixes denied.
    pub false_negatives: u64,
}

impl FilterTotal {
    /// The sum of some reports.
    pub fn of(reports: &[FilterReport]) -> Self {
        let mut total = Self { files: reports.len() as u64, ..Self::default() };
        let mut bytes_of_keys = 0;
        for report in reports {
            total.without_filter += u64::from(report.kind == "none");
            total.bytes += report.bytes;
            total.keys += report.keys.unwrap_or(0);
            bytes_of_keys += report.keys.map_or(0, |_| report.bytes);
            total.expected_false_positives += report.expected_fpr.unwrap_or(1.0);
            total.false_negatives += report.false_negatives.unwrap_or(0);
        }
        if reports.iter().any(|report| report.measured_fpr.is_some()) {
            let rates = reports.iter().map(|report| report.measured_fpr.unwrap_or(1.0));
            total.measured_false_positives = Some(rates.sum());
            total.measured_files_per_lookup = Some(per_lookup(reports, |it| it.measured_fpr));
        }
        total.expected_files_per_lookup = per_lookup(reports, |report| report.expected_fpr);
        if total.keys > 0 {
            total.bits_per_key = Some(8.0 * bytes_of_keys as f64 / total.keys as f64);
        }
        total
    }
}

/// The files that a lookup of an absent key reads for nothing.
fn per_lookup(reports: &[FilterReport], rate: impl Fn(&FilterReport) -> Option<f64>) -> f64 {
    let rate = |report: &FilterReport| rate(report).unwrap_or(1.0);
    let alone = reports.iter().filter(|report| report.place.is_none()).map(rate).sum::<f64>();
    let mut families: BTreeMap<&str, BTreeMap<usize, Vec<&FilterReport>>> = BTreeMap::new();
    for report in reports {
        if let Some(place) = &report.place {
            let runs = families.entry(place.column_family.as_str()).or_default();
            runs.entry(place.run).or_default().push(report);
        }
    }
    let by_entries =
        reports.iter().filter_map(|it| it.place.as_ref()).all(|it| it.entries.is_some());
    let of_family = |runs: &BTreeMap<usize, Vec<&FilterReport>>| {
        let of_run = |files: &Vec<&FilterReport>| {
            mean(files.iter().map(|file| (weight(file, by_entries), rate(file))))
        };
        let total: f64 = runs.values().flatten().map(|file| weight(file, by_entries)).sum();
        (total, runs.values().map(of_run).sum::<f64>())
    };
    alone + mean(families.values().map(of_family))
}

/// How many of the keys of its run are in a file.
fn weight(report: &FilterReport, by_entries: bool) -> f64 {
    let Some(place) = &report.place else { return 1.0 };
    let weight = if by_entries { place.entries.unwrap_or(0) } else { place.size };
    weight.max(1) as f64
}

/// The mean of values with weights; 0 without any.
fn mean(values: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (weights, sum) = values.fold((0.0, 0.0), |(weights, sum), (weight, value)| {
        (weights + weight, sum + weight * value)
    });
    if weights > 0.0 { sum / weights } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter_report::RunPlace;

    fn report(family: &str, run: usize, entries: Option<u64>, rate: f64) -> FilterReport {
        let (column_family, size) = (family.to_owned(), 1000);
        FilterReport {
            expected_fpr: Some(rate),
            place: Some(RunPlace { column_family, run, entries, size }),
            ..FilterReport::empty("file".into(), "ribbon128")
        }
    }

    fn expected(reports: &[FilterReport]) -> f64 {
        FilterTotal::of(reports).expected_files_per_lookup
    }

    #[test]
    fn a_lookup_reads_one_file_of_a_run_and_not_all() {
        // Two files of level 0, then a level of a hundred.
        let mut reports = vec![report("a", 0, Some(10), 0.02), report("a", 1, Some(10), 0.03)];
        reports.extend((0..100).map(|_| report("a", 2, Some(1000), 0.01)));
        assert!((expected(&reports) - 0.06).abs() < 1e-12);
        assert!((FilterTotal::of(&reports).expected_false_positives - 1.05).abs() < 1e-12);
    }

    #[test]
    fn a_file_counts_by_its_share_of_the_run() {
        let large = [report("a", 0, Some(900), 0.01), report("a", 0, Some(100), 1.0)];
        assert!((expected(&large) - 0.109).abs() < 1e-12);
        // By their sizes, which are the same, where the entries of one are not known.
        let unknown = [report("a", 0, Some(900), 0.01), report("a", 0, None, 1.0)];
        assert!((expected(&unknown) - 0.505).abs() < 1e-12);
    }

    #[test]
    fn a_lookup_is_in_one_column_family() {
        let reports = [report("a", 0, Some(300), 0.01), report("b", 0, Some(100), 0.05)];
        assert!((expected(&reports) - 0.02).abs() < 1e-12);
    }

    #[test]
    fn tables_by_themselves_are_all_read() {
        let mut reports = [report("a", 0, None, 0.01), report("a", 0, None, 0.02)];
        reports.iter_mut().for_each(|report| report.place = None);
        assert!((expected(&reports) - 0.03).abs() < 1e-12);
    }
}
