//! The result of giving tables other filters, or the plan of it.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use sstkit_db::RefilterSummary;
use sstkit_filter::FilterPolicy;

use super::{FilterLevels, FilterPlan, FilteredFile};

/// The result of `sst refilter`, or with `--dry-run` the plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RefilterReport {
    /// The output; `None` if there is none.
    pub output: Option<String>,
    /// Whether this is only a plan.
    pub dry_run: bool,
    /// The share of lookups that find their key, which wasted reads are given for.
    pub hit_rate: f64,
    /// Bytes of all tables before.
    pub bytes_before: u64,
    /// Bytes of all tables after; `None` in a plan.
    pub bytes_after: Option<u64>,
    /// Write-ahead logs that were copied.
    pub logs: u64,
    /// Blob files that were taken over.
    pub blob_files: u64,
    /// How long it took.
    pub seconds: f64,
    /// Sizes and rates by level.
    #[serde(flatten)]
    pub plan: FilterPlan,
    /// The tables.
    pub files: Vec<RefilterFile>,
}

/// A table of a [`RefilterReport`].
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RefilterFile {
    /// The source.
    pub file: String,
    /// The file name in the output; `None` in a plan.
    pub output: Option<String>,
    /// The column family; `None` for single tables.
    pub column_family: Option<String>,
    /// The level; `None` for single tables.
    pub level: Option<u32>,
    /// The new policy; `None` if the file stays as it is.
    pub policy: Option<String>,
    /// The size of the source.
    pub bytes_before: u64,
    /// The size of the output; `None` in a plan.
    pub bytes_after: Option<u64>,
    /// The size of its filter before.
    pub filter_bytes_before: u64,
    /// The size of its filter after; `None` in a plan.
    pub filter_bytes_after: Option<u64>,
    /// The expected false-positive rate before; 1 without a filter.
    pub fpr_before: f64,
    /// The same after; `None` in a plan.
    pub fpr_after: Option<f64>,
}

impl RefilterFile {
    fn planned(before: &FilteredFile, policy: Option<&FilterPolicy>) -> Self {
        Self {
            file: before.report.file.clone(),
            output: None,
            column_family: before.column_family.clone(),
            level: before.report.level.filter(|_| before.column_family.is_some()),
            policy: policy.map(ToString::to_string),
            bytes_before: before.size,
            bytes_after: None,
            filter_bytes_before: before.report.bytes,
            filter_bytes_after: None,
            fpr_before: before.report.expected_fpr.unwrap_or(1.0),
            fpr_after: None,
        }
    }
}

impl RefilterReport {
    /// A plan: `policies` has one for each level, `None` for those that stay as they are.
    pub fn planned(
        before: &FilterLevels,
        policies: &[Option<FilterPolicy>],
        hit_rate: f64,
    ) -> Self {
        let files = before.files.iter().map(|file| {
            RefilterFile::planned(file, policies.get(file.group).and_then(Option::as_ref))
        });
        let files: Vec<RefilterFile> = files.collect();
        Self {
            output: None,
            dry_run: true,
            hit_rate,
            bytes_before: files.iter().map(|file| file.bytes_before).sum(),
            bytes_after: None,
            logs: 0,
            blob_files: 0,
            seconds: 0.0,
            plan: before.plan(policies, hit_rate),
            files,
        }
    }

    /// The result at `output`, with the filters as they are there.
    #[must_use]
    pub fn done(
        mut self,
        output: &Path,
        summary: &RefilterSummary,
        (before, after): (&FilterLevels, &FilterLevels),
        policies: &[Option<FilterPolicy>],
        time: Duration,
    ) -> Self {
        let by_name = |file: &FilteredFile| {
            let name = Path::new(&file.report.file).file_name();
            Some((name?.to_string_lossy().into_owned(), file.clone()))
        };
        let after_by_name: HashMap<String, FilteredFile> =
            after.files.iter().filter_map(by_name).collect();
        let written: HashMap<String, &sstkit_db::RefilteredFile> =
            summary.files.iter().map(|file| (file.source.display().to_string(), file)).collect();
        for file in &mut self.files {
            let Some(written) = written.get(&file.file) else { continue };
            file.output = Some(written.name.clone());
            file.bytes_after = Some(written.bytes_after);
            let after = after_by_name.get(&written.name);
            file.filter_bytes_after = after.map(|it| it.report.bytes);
            file.fpr_after = after.map(|it| it.report.expected_fpr.unwrap_or(1.0));
        }
        Self {
            output: Some(output.display().to_string()),
            dry_run: false,
            bytes_after: Some(summary.files.iter().map(|file| file.bytes_after).sum()),
            logs: summary.logs,
            blob_files: summary.blob_files,
            seconds: time.as_secs_f64(),
            plan: before.compare(after, policies, self.hit_rate),
            ..self
        }
    }
}
