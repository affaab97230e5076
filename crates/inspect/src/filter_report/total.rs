//! The combined effect of several filters.

use serde::Serialize;

use super::FilterReport;
use super::lookups;

/// The totals of the filters of several files.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FilterTotal {
    /// Files.
    pub files: u64,
    /// Files without a filter.
    pub without_filter: u64,
    /// Bytes of all filters.
    pub bytes: u64,
    /// Keys and prefixes in all filters where the number is known.
    pub keys: u64,
    /// Bits per key or prefix.
    pub bits_per_key: Option<f64>,
    /// The expected number of wasted file reads for an absent key if every file is probed: the sum
    /// of the expected rates, 1 for a file without a filter.
    pub expected_false_positives: f64,
    /// The same with the measured rates; `None` if not measured.
    pub measured_false_positives: Option<f64>,
    /// The expected number of files that a lookup reads needlessly for a key that is in none of them:
    /// the mean over keys distributed like the entries of the column family. A lookup considers at
    /// most one file of each sorted run, the one whose range includes the key, and reads it with
    /// its expected false-positive rate, or always without a filter. Each file of level 0 is a run,
    /// each lower level is one.
    ///
    /// The keys are a sample from each file, weighted by its number of entries (by its size, if the
    /// number of entries of any file is unknown). For several column families it is the mean,
    /// weighted in the same way; single tables, and files with an unknown comparator, are all read.
    pub expected_files_per_lookup: f64,
    /// The same with the measured rates; `None` if not measured.
    pub measured_files_per_lookup: Option<f64>,
    /// Keys and prefixes that their filter does not match.
    pub false_negatives: u64,
}

impl FilterTotal {
    /// The totals of several reports.
    pub fn of(reports: &[FilterReport]) -> Self {
        let mut total = Self { files: reports.len() as u64, ..Self::default() };
        let mut bytes_of_keys = 0;
        let shares = lookups::shares(reports);
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
            let measured = |report: &FilterReport| report.measured_fpr;
            total.measured_files_per_lookup = Some(per_lookup(reports, &shares, measured));
        }
        total.expected_files_per_lookup = per_lookup(reports, &shares, |it| it.expected_fpr);
        if total.keys > 0 {
            total.bits_per_key = Some(8.0 * bytes_of_keys as f64 / total.keys as f64);
        }
        total
    }
}

/// The number of files that a lookup of an absent key reads needlessly.
fn per_lookup(
    reports: &[FilterReport],
    shares: &[f64],
    rate: impl Fn(&FilterReport) -> Option<f64>,
) -> f64 {
    reports.iter().zip(shares).map(|(report, share)| share * rate(report).unwrap_or(1.0)).sum()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sstkit_table::Comparator;

    use super::*;
    use crate::filter_report::place::{KeyBounds, LookupSpace, RunPlace};

    /// A file of a run with the keys of these numbers.
    fn report(
        family: &Arc<LookupSpace>,
        run: usize,
        keys: std::ops::Range<u64>,
        rate: f64,
    ) -> FilterReport {
        let key = |number: u64| format!("{number:08}").into_bytes();
        let (first, last) = (key(keys.start), key(keys.end - 1));
        let is_reversed = family.comparator() == Some(&Comparator::ReverseBytewise);
        let (smallest, largest) = if is_reversed { (last, first) } else { (first, last) };
        let mut place = RunPlace {
            family: Arc::clone(family),
            run,
            entries: Some(keys.end - keys.start),
            size: 1000,
            bounds: KeyBounds { smallest, largest, largest_is_exclusive: false },
            samples: keys.map(key).collect(),
        };
        place.settle();
        FilterReport {
            expected_fpr: Some(rate),
            place: Some(place),
            ..FilterReport::empty("file".into(), "ribbon128")
        }
    }

    fn bytewise() -> Arc<LookupSpace> {
        LookupSpace::new(Some(Comparator::Bytewise), 1)
    }

    fn assert_expected(reports: &[FilterReport], expected: f64) {
        let found = FilterTotal::of(reports).expected_files_per_lookup;
        assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
    }

    #[test]
    fn a_lookup_reads_one_file_of_a_run_and_not_all() {
        for comparator in [Comparator::Bytewise, Comparator::ReverseBytewise] {
            // Two files of level 0 with all keys, then a level of a hundred.
            let family = LookupSpace::new(Some(comparator), 1);
            let mut reports =
                vec![report(&family, 0, 0..1000, 0.02), report(&family, 1, 0..1000, 0.03)];
            reports.extend((0..100).map(|i| report(&family, 2, i * 10..i * 10 + 10, 0.01)));
            assert_expected(&reports, 0.06);
            let all = FilterTotal::of(&reports).expected_false_positives;
            assert!((all - 1.05).abs() < 1e-12);
        }
    }

    #[test]
    fn a_narrow_run_counts_by_its_share_of_the_keys() {
        for comparator in [Comparator::Bytewise, Comparator::ReverseBytewise] {
            let family = LookupSpace::new(Some(comparator), 1);
            let mut reports = vec![report(&family, 1, 0..990, 0.01)];
            reports.push(report(&family, 0, 500..510, 0.5));
            // Ten keys of its own and ten of the lower run, of a thousand.
            assert_expected(&reports, 0.01 + 0.5 * 20.0 / 1000.0);
            reports[1].expected_fpr = None;
            assert_expected(&reports, 0.01 + 1.0 * 20.0 / 1000.0);
        }
    }

    #[test]
    fn a_file_counts_by_its_share_of_the_run() {
        let family = bytewise();
        let mut reports = [report(&family, 0, 0..900, 0.01), report(&family, 0, 900..1000, 1.0)];
        assert_expected(&reports, 0.109);
        // By size, which is the same, if the number of entries of one is unknown.
        reports[1].place.as_mut().unwrap().entries = None;
        assert_expected(&reports, 0.505);
    }

    /// If files of a run share a key, it is read in the first of them.
    #[test]
    fn a_key_at_the_bounds_of_two_files_counts_once() {
        let family = bytewise();
        let mut reports = [report(&family, 0, 0..5, 0.1), report(&family, 0, 4..9, 0.2)];
        assert_expected(&reports, (6.0 * 0.1 + 4.0 * 0.2) / 10.0);
        let place = reports[0].place.as_mut().unwrap();
        place.bounds.largest_is_exclusive = true;
        place.settle();
        // Its five entries are now at the keys 0 to 3.
        assert_expected(&reports, (5.0 * 0.1 + 5.0 * 0.2) / 10.0);
    }

    #[test]
    fn a_lookup_is_in_one_column_family() {
        let reports = [report(&bytewise(), 0, 0..300, 0.01), report(&bytewise(), 0, 0..100, 0.05)];
        assert_expected(&reports, 0.02);
    }

    #[test]
    fn without_an_order_all_files_are_read() {
        let unknown = LookupSpace::new(None, 1);
        let mut reports = [report(&unknown, 0, 0..10, 0.01), report(&unknown, 0, 20..50, 0.02)];
        assert_expected(&reports, 0.03);
        reports.iter_mut().for_each(|report| report.place = None);
        assert_expected(&reports, 0.03);
    }
}
