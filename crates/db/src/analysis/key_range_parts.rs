//! From a table or column family to parts of its key range, and back to one result.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use sstkit_table::visibility::{ReadView, UserKeys};
use sstkit_table::{Comparator, KeyRange, PrefixMode, ReadOptions, Table};

use super::analysis_options::AnalysisOptions;
use super::density::{self, DenseRange};
use super::entry_source::{FamilyEntries, TableEntries};
use super::pass::{PartResult, Pass};
use super::prefixes::PrefixPart;
use super::skips::Skips;
use super::survey::{FileSurvey, SplitPoint, SurveyOptions};
use super::totals::Totals;
use super::{Analysis, Contents, FileAnalysis};
use crate::column_family::LevelTombstone;
use crate::column_family_data::ColumnFamilyData;
use crate::error::{Error, Result};
use crate::read::{entries_of_each_source, entries_of_runs};
use crate::version::TableFile;

/// The results of parts wait for those before them, in memory.
const MAX_PARTS: u64 = 1024;
/// Split keys are sampled more densely than they are used.
const SPLIT_POINTS_PER_PART: u64 = 8;
/// Limits on the number of problems that are kept.
const MAX_PROBLEMS: usize = 100;

/// What is analyzed.
pub(super) enum Subject<'a> {
    Table(&'a Table),
    ColumnFamily(&'a Arc<ColumnFamilyData>),
}

/// What all parts share.
pub(super) struct Shared<'a> {
    pub(super) options: &'a AnalysisOptions,
    pub(super) keys: UserKeys,
    view: ReadView,
    /// Whether the order of the keys is known.
    pub(super) is_ordered: bool,
    /// Of each file: see [`FileProperties::stored_per_byte`](super::FileProperties).
    pub(super) stored_per_byte: Vec<u64>,
    files: Vec<FileAnalysis>,
    has_tombstones: bool,
}

/// A part of the key range, and the bytes of data blocks in it.
struct Part {
    start: Bound<Vec<u8>>,
    end: Bound<Vec<u8>>,
    bytes: u64,
}

impl Subject<'_> {
    /// The tables, by the numbers of their files.
    fn tables(&self) -> Vec<Option<&Arc<TableFile>>> {
        match self {
            Self::Table(_) => Vec::new(),
            Self::ColumnFamily(family) => {
                let memtable = std::iter::once(None);
                memtable.chain(family.version.files().map(Some)).collect()
            }
        }
    }
}

impl<'a> Shared<'a> {
    pub(super) fn new(
        options: &'a AnalysisOptions,
        keys: UserKeys,
        view: ReadView,
        is_ordered: bool,
    ) -> Self {
        Self {
            options,
            keys,
            view,
            is_ordered,
            stored_per_byte: Vec::new(),
            files: Vec::new(),
            has_tombstones: false,
        }
    }

    /// The order of the keys, if it is known.
    pub(super) fn order(&self) -> Option<&Comparator> {
        self.is_ordered.then(|| self.keys.comparator())
    }

    /// Whether keys with the same beginning follow one another.
    pub(super) fn is_prefix_sorted(&self) -> bool {
        self.is_ordered && !self.keys.is_user_made()
    }

    /// Whether an entry is visible at all.
    #[inline]
    pub(super) fn sees(&self, user_key: &[u8], sequence: u64) -> bool {
        self.view.sees(sequence, self.keys.timestamp(user_key), &self.keys)
    }

    /// The path of a file.
    pub(super) fn path(&self, file: usize) -> Option<&Path> {
        self.files.get(file).and_then(|file| file.path.as_deref())
    }

    pub(super) fn analyze(mut self, subject: &Subject<'_>) -> Result<Analysis> {
        if self.options.has_range() && !self.is_ordered {
            match subject {
                Subject::Table(table) => drop(table.comparator()?),
                Subject::ColumnFamily(family) => family.require_order()?,
            }
        }
        let range = self.options.key_range(self.order());
        let mut analysis = Analysis::default();
        let surveys = self.survey(subject, &range);
        let mut split_points = Vec::new();
        let mut prefixes = PrefixPart::new(false);
        for (mut file, survey) in self.describe_files(subject).into_iter().zip(surveys) {
            file.size = survey.size;
            file.data_bytes = survey.data_bytes;
            file.data_bytes_in_range = survey.data_bytes_in_range;
            file.properties = survey.properties;
            self.stored_per_byte.push(survey.properties.stored_per_byte());
            self.has_tombstones |= survey.has_tombstones;
            analysis.range_tombstone_count += survey.tombstone_count;
            let at = |tombstone| LevelTombstone { tombstone, level: file.level, file: file.number };
            analysis.range_tombstones.extend(survey.tombstones.into_iter().map(at));
            split_points.extend(survey.split_points);
            prefixes.append(survey.prefixes.unwrap_or_else(|| PrefixPart::new(false)));
            add_problem(&mut analysis.problems, survey.problem);
            self.files.push(file);
        }
        let by_start = |a: &LevelTombstone, b: &LevelTombstone| {
            self.keys.compare(&a.start, &b.start).then_with(|| b.sequence.cmp(&a.sequence))
        };
        analysis.range_tombstones.sort_by(by_start);
        analysis.range_tombstones.truncate(self.options.top);
        match self.options.estimate {
            true => {
                analysis.prefixes = self.options.group_by.as_ref().map(|_| prefixes.finish());
            }
            false => {
                let parts = self.split(split_points, range);
                self.read(subject, &parts, &mut analysis);
            }
        }
        analysis.files = self.files;
        Ok(analysis)
    }

    /// Names the files.
    fn describe_files(&self, subject: &Subject<'_>) -> Vec<FileAnalysis> {
        if let Subject::Table(table) = subject {
            let path = table.path().map(Path::to_owned);
            return vec![FileAnalysis { path, ..FileAnalysis::default() }];
        }
        let describe = |table: Option<&Arc<TableFile>>| FileAnalysis {
            level: table.map(|table| table.level),
            number: table.map(|table| table.meta.number),
            path: table.map(|table| table.path().to_owned()),
            ..FileAnalysis::default()
        };
        subject.tables().into_iter().map(describe).collect()
    }

    /// Reads the indexes and properties of all files, on several threads.
    fn survey(&self, subject: &Subject<'_>, range: &KeyRange) -> Vec<FileSurvey> {
        let tables = subject.tables();
        let bytes: u64 = match subject {
            Subject::Table(table) => table.size(),
            Subject::ColumnFamily(_) => tables.iter().flatten().map(|it| it.meta.size).sum(),
        };
        let options = SurveyOptions {
            keys: &self.keys,
            is_ordered: self.is_ordered,
            range,
            spacing: (bytes / MAX_PARTS).max(self.options.part_size) / SPLIT_POINTS_PER_PART,
            group_by: self.options.group_by.as_ref().filter(|_| self.options.estimate),
            top: self.options.top,
        };
        let family = match subject {
            Subject::Table(table) => return vec![FileSurvey::of(table, &options, true)],
            Subject::ColumnFamily(family) => family,
        };
        let survey = |file: usize| match tables[file] {
            None => memtable_survey(family, &options),
            Some(table) => match family.table(table) {
                Ok(opened) => FileSurvey::of(&opened, &options, self.may_be_in_range(table, range)),
                Err(error) => FileSurvey::failed(error),
            },
        };
        in_parallel(self.options.threads, tables.len(), || (), |(), file| survey(file)).0
    }

    /// Whether a table may have keys in the range, by its bounds.
    fn may_be_in_range(&self, table: &TableFile, (lower, upper): &KeyRange) -> bool {
        if !self.is_ordered {
            return true;
        }
        let ends_before = match lower {
            Bound::Included(lower) | Bound::Excluded(lower) => table.is_before(lower, &self.keys),
            Bound::Unbounded => false,
        };
        let starts_after = match upper {
            Bound::Included(upper) => table.is_after(upper, &self.keys),
            Bound::Excluded(upper) => self.keys.compare(table.smallest(), upper).is_ge(),
            Bound::Unbounded => false,
        };
        !ends_before && !starts_after
    }

    /// Splits the range into parts with about the same number of bytes.
    fn split(&self, mut points: Vec<SplitPoint>, (lower, upper): KeyRange) -> Vec<Part> {
        points.sort_by(|a, b| self.keys.compare(&a.key, &b.key));
        let bytes: u64 = points.iter().map(|point| point.bytes).sum();
        let size = (bytes / MAX_PARTS).max(self.options.part_size);
        let is_in_range = |key: &[u8]| {
            let after_start = match &lower {
                Bound::Included(lower) | Bound::Excluded(lower) => {
                    self.keys.compare(lower, key).is_lt()
                }
                Bound::Unbounded => true,
            };
            let before_end = match &upper {
                Bound::Included(upper) | Bound::Excluded(upper) => {
                    self.keys.compare(key, upper).is_lt()
                }
                Bound::Unbounded => true,
            };
            after_start && before_end
        };
        let mut parts: Vec<Part> = Vec::new();
        let mut start = lower.clone();
        let mut in_part = 0;
        for point in points {
            in_part += point.bytes;
            let is_after = match &start {
                Bound::Included(start) => self.keys.compare(start, &point.key).is_lt(),
                _ => true,
            };
            if in_part >= size && is_after && is_in_range(&point.key) {
                let end = Bound::Excluded(point.key.clone());
                let bytes = std::mem::take(&mut in_part);
                parts.push(Part { start, end, bytes });
                start = Bound::Included(point.key);
            }
        }
        parts.push(Part { start, end: upper, bytes: in_part });
        parts
    }

    /// Reads all parts, on several threads.
    fn read(&mut self, subject: &Subject<'_>, parts: &[Part], analysis: &mut Analysis) {
        let (options, done) = (self.options, AtomicU64::new(0));
        let all = parts.iter().map(|part| part.bytes).sum();
        let collected = Mutex::new(Collected::new(options.top));
        let new_totals = || Totals::new(self.files.len(), options.top);
        let read = |totals: &mut Totals, number: usize| {
            let part = &parts[number];
            let results = self.read_part(subject, part, totals);
            collected.lock().unwrap_or_else(PoisonError::into_inner).add(number, results);
            let done = done.fetch_add(part.bytes, Ordering::Relaxed) + part.bytes;
            if let Some(progress) = &options.progress {
                progress(done, all);
            }
        };
        let (_, totals) = in_parallel(options.threads, parts.len(), new_totals, read);
        let totals = totals.into_iter().fold(new_totals(), |mut sum, more| {
            sum += more;
            sum
        });
        let collected = collected.into_inner().unwrap_or_else(PoisonError::into_inner);
        for (file, counts) in self.files.iter_mut().zip(totals.files) {
            file.counts = counts;
        }
        analysis.contents = Some(Contents {
            is_ordered: self.is_ordered,
            keys: totals.keys,
            visible_keys: totals.visible_keys,
            key_sizes: totals.key_sizes,
            value_sizes: totals.value_sizes,
            largest_values: totals.largest_values.into_sorted(),
            most_versions: totals.most_versions.into_sorted(),
            skipped_ranges: collected.skips.finish(),
            dense_ranges: density::densest(&collected.windows, options.top),
        });
        analysis.prefixes = collected.prefixes.map(PrefixPart::finish);
        if !self.options.is_limited() && analysis.problems.is_empty() {
            self.files.iter().for_each(|it| add_problem(&mut analysis.problems, miscounted(it)));
        }
        for problem in collected.problems {
            add_problem(&mut analysis.problems, Some(problem));
        }
        if let Subject::ColumnFamily(family) = subject {
            add_problem(&mut analysis.problems, family.require_all_tables().err());
        }
    }

    fn read_part(
        &self,
        subject: &Subject<'_>,
        part: &Part,
        totals: &mut Totals,
    ) -> Vec<PartResult> {
        let (start, end) =
            (part.start.as_ref().map(Vec::as_slice), part.end.as_ref().map(Vec::as_slice));
        let family = match subject {
            Subject::Table(table) => {
                let mut source = TableEntries::new(table, &self.keys, self.has_tombstones);
                return vec![Pass::new(self, totals, end).run(&mut source, start)];
            }
            Subject::ColumnFamily(family) => family,
        };
        let runs = &family.version.runs;
        let mut first_files = vec![0];
        let mut next = 1;
        for run in runs {
            first_files.push(next);
            next += run.files.len();
        }
        if self.is_ordered {
            let scan = ReadOptions::default()
                .range((part.start.clone(), part.end.clone()))
                .prefix_mode(PrefixMode::TotalOrder);
            let entries = entries_of_runs(family, true, runs, &Arc::new(scan));
            let view = self.has_tombstones.then_some(&self.view);
            let mut source = FamilyEntries::new(family, entries, &first_files.into(), view);
            return vec![Pass::new(self, totals, end).run(&mut source, start)];
        }
        // The one to begin with comes last.
        let sources = entries_of_each_source(family).into_iter().rev();
        let run = |(entries, first_file)| {
            let mut source = FamilyEntries::new(family, entries, &[first_file].into(), None);
            Pass::new(self, totals, end).run(&mut source, start)
        };
        sources.zip(first_files).map(run).collect()
    }
}

/// The write-ahead log.
fn memtable_survey(family: &ColumnFamilyData, options: &SurveyOptions<'_>) -> FileSurvey {
    let tombstones = family.memtable.range_deletions();
    FileSurvey {
        has_tombstones: !tombstones.is_empty(),
        tombstone_count: tombstones.len() as u64,
        tombstones: tombstones.iter().take(options.top).cloned().collect(),
        ..FileSurvey::default()
    }
}

/// The results of all parts so far, in order.
struct Collected {
    next: usize,
    /// Parts that were read before their turn.
    waiting: BTreeMap<usize, Vec<PartResult>>,
    skips: Skips,
    windows: Vec<DenseRange>,
    prefixes: Option<PrefixPart>,
    problems: Vec<Error>,
}

impl Collected {
    fn new(top: usize) -> Self {
        Self {
            next: 0,
            waiting: BTreeMap::new(),
            skips: Skips::new(top),
            windows: Vec::new(),
            prefixes: None,
            problems: Vec::new(),
        }
    }

    fn add(&mut self, number: usize, results: Vec<PartResult>) {
        self.waiting.insert(number, results);
        while let Some(results) = self.waiting.remove(&self.next) {
            self.next += 1;
            results.into_iter().for_each(|result| self.append(result));
        }
    }

    fn append(&mut self, result: PartResult) {
        self.skips.append(result.skips);
        self.windows.extend(result.windows);
        match (&mut self.prefixes, result.prefixes) {
            (Some(prefixes), Some(next)) => prefixes.append(next),
            (none, next) => *none = next,
        }
        add_problem(&mut self.problems, result.problem);
    }
}

/// In a damaged table, entries in the wrong place may be read by no part, or by two.
fn miscounted(file: &FileAnalysis) -> Option<Error> {
    let (path, properties) = (file.path.as_ref()?, &file.properties);
    let expected = properties.entries?.checked_sub(properties.range_tombstones.unwrap_or(0))?;
    let what = "the number of entries does not match the properties";
    let found = file.counts.entries();
    (expected != found).then(|| Error::mismatch(what, expected, found).in_file(path))
}

/// Adds a problem, unless it is known: a damaged file is read by several parts.
fn add_problem(problems: &mut Vec<Error>, problem: Option<Error>) {
    let Some(problem) = problem else { return };
    let text = problem.to_string();
    if problems.len() < MAX_PROBLEMS && problems.iter().all(|known| known.to_string() != text) {
        problems.push(problem);
    }
}

/// Does `count` pieces of work on several threads, each of which has a state. Returns the results in
/// order, and the states.
fn in_parallel<S: Send, T: Send>(
    threads: usize,
    count: usize,
    new_state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, usize) -> T + Sync,
) -> (Vec<T>, Vec<S>) {
    let next = AtomicUsize::new(0);
    let run = || {
        let (mut state, mut results) = (new_state(), Vec::new());
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return (state, results);
            }
            results.push((number, work(&mut state, number)));
        }
    };
    let done: Vec<(S, Vec<(usize, T)>)> = thread::scope(|scope| {
        let others: Vec<_> =
            (1..threads.clamp(1, count.max(1))).map(|_| scope.spawn(run)).collect();
        let mine = run();
        let joined = others.into_iter().map(thread::ScopedJoinHandle::join);
        let others = joined.map(|part| part.unwrap_or_else(|panic| resume_unwind(panic)));
        std::iter::once(mine).chain(others).collect()
    });
    let (mut states, mut results) = (Vec::new(), Vec::new());
    for (state, of_thread) in done {
        states.push(state);
        results.extend(of_thread);
    }
    results.sort_by_key(|&(number, _)| number);
    (results.into_iter().map(|(_, result)| result).collect(), states)
}
