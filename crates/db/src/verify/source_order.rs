//! Sequence numbers against the order of the sources: the log is newer than level 0, a newer file of
//! level 0 than an older one, and a level than the next one.
//!
//! ```text
//! log        a@101                      the entries of a key in a newer source have larger numbers
//! level 0    a@90   b@95
//! level 1    a@97   b@12                a@97 contradicts: readers see a@90, which is older
//! ```
//!
//! An engine stops at the first source that has the key, so a log or table that was restored from an
//! old copy brings old values back.
//!
//! The pass over each table has found the [key spans](KeySpan) of its data blocks with their sequence
//! numbers, and they prove the order of most keys:
//!
//! ```text
//! keys       a        f        k        p        z
//! level 0    [ 90 … 99         ]                      newer and larger: no key can contradict
//! level 1    [ 20 … 70         ][ 30 … 95        ]
//! level 2    [ 0  … 0  ][ 5 … 9 ][ 10 … 60       ]    from k to z the numbers overlap: merged
//! ```
//!
//! Only the segments of the key space that remain are merged, on several threads.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;

use sstkit_table::raw::EntryKind;
use sstkit_table::visibility::{InternalIterator, MergingIterator, UserKeys};
use sstkit_table::{KeyExcerpt, KeySpan, Value};

use super::report::{FileVerification, VerifyProblem};
use crate::column_family_data::ColumnFamilyData;
use crate::error::Result;
use crate::file_kind::FileKind;
use crate::memtable::MemtableCursor;
use crate::read::{SourceIterator, entries_of_runs, source_file};
use crate::version::{Run, TableFile};

/// The longest key of a span that is kept, so that the keys of hostile tables do not add up.
const MAX_KEY: usize = 1 << 10;

/// The spans of all sources of a column family.
pub(super) struct SourceOrder<'d> {
    family: &'d Arc<ColumnFamilyData>,
    spans: Vec<SourceSpan>,
}

/// A stretch of the entries of a source.
struct SourceSpan {
    /// How old the source is: 0 for the log, then the runs of the version, newest first.
    age: usize,
    /// The file; `None` for the log.
    file: Option<Arc<TableFile>>,
    /// The first and last key, without timestamps; `None` for a key that is too long to be kept, which
    /// leaves the span open at that end.
    first: Option<Vec<u8>>,
    last: Option<Vec<u8>>,
    smallest_sequence: u64,
    largest_sequence: u64,
}

/// A part of the key space, and the spans with keys in it.
struct Segment {
    /// `None` for the first one.
    start: Option<Vec<u8>>,
    /// Excluded; `None` for the last one.
    end: Option<Vec<u8>>,
    spans: Vec<usize>,
}

impl<'d> SourceOrder<'d> {
    pub(super) fn new(family: &'d Arc<ColumnFamilyData>) -> Self {
        let spans = SourceSpan::of_log(family).into_iter().collect();
        Self { family, spans }
    }

    pub(super) fn add(&mut self, run: usize, file: &Arc<TableFile>, spans: &[KeySpan]) {
        self.spans.extend(spans.iter().map(|span| SourceSpan::of_table(run, file, span)));
    }

    /// Reports each key whose sequence numbers contradict the order of the sources.
    pub(super) fn check(&mut self, threads: usize, report: &mut FileVerification) {
        let segments = unproven_segments(&self.family.keys, &mut self.spans);
        let threads = threads.clamp(1, segments.len().max(1));
        let part = |of: usize| of * segments.len() / threads;
        let parts = (0..threads).map(|thread| &segments[part(thread)..part(thread + 1)]);
        let parts: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> =
                parts.map(|part| scope.spawn(|| self.check_segments(part))).collect();
            let joined = threads.into_iter().map(thread::ScopedJoinHandle::join);
            joined.map(|part| part.unwrap_or_else(|panic| resume_unwind(panic))).collect()
        });
        for (found, checked) in parts {
            report.absorb(found);
            if let Err(error) = checked {
                let problem = VerifyProblem::from(&error);
                report.add(problem.prefixed("the order of logs and levels was not checked"));
                return;
            }
        }
    }

    fn check_segments(&self, segments: &[Segment]) -> (FileVerification, Result<()>) {
        let mut report = FileVerification::new("", FileKind::Database);
        let checked = segments.iter().try_for_each(|it| self.check_segment(it, &mut report));
        (report, checked)
    }

    /// Merges the entries of a segment.
    fn check_segment(&self, segment: &Segment, report: &mut FileVerification) -> Result<()> {
        let family = self.family;
        let mut entries = self.entries_of(segment);
        let mut more = match &segment.start {
            Some(start) => entries.seek(start)?,
            None => entries.seek_to_first()?,
        };
        let mut current: Option<KeyHistory> = None;
        while more {
            let key = family.keys.bare(entries.user_key());
            if segment.end.as_ref().is_some_and(|end| family.keys.compare(key, end).is_ge()) {
                break;
            }
            let write = Write::of(family, &entries);
            match current.as_mut().filter(|it| family.keys.compare(&it.key, key).is_eq()) {
                None => KeyHistory::start(&mut current, key, write, entries.source()),
                Some(history) => {
                    if let Some(above) = history.add(write, entries.source()) {
                        report
                            .add(VerifyProblem::damage(describe(family, key, &above.0, &above.1)));
                    }
                }
            }
            more = entries.next()?;
        }
        Ok(())
    }

    /// A merging iterator over the files of a segment.
    fn entries_of(&self, segment: &Segment) -> MergingIterator<SourceIterator> {
        let spans = || segment.spans.iter().map(|&span| &self.spans[span]);
        let has_log = spans().any(|span| span.file.is_none());
        let mut files: Vec<(usize, &Arc<TableFile>)> =
            spans().filter_map(|span| Some((span.age, span.file.as_ref()?))).collect();
        let keys = &self.family.keys;
        files.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| a.1.compare_smallest(b.1, keys)));
        files.dedup_by_key(|(_, file)| file.meta.number);
        let runs = files.chunk_by(|a, b| a.0 == b.0).map(|run| {
            let files: Vec<_> = run.iter().map(|(_, file)| Arc::clone(file)).collect();
            Run::new(files[0].level, files, keys)
        });
        entries_of_runs(self.family, has_log, &runs.collect::<Vec<_>>(), &Arc::default())
    }
}

/// Sorts spans by their first keys, and returns the segments between those keys in which an older source
/// may have a larger sequence number than a newer one.
fn unproven_segments(keys: &UserKeys, spans: &mut [SourceSpan]) -> Vec<Segment> {
    // A span that is open at its start comes first.
    let compare = |a: &SourceSpan, b: &SourceSpan| match (&a.first, &b.first) {
        (Some(a), Some(b)) => keys.compare(a, b),
        (a, b) => a.is_some().cmp(&b.is_some()),
    };
    spans.sort_by(compare);
    let mut segments = Vec::new();
    // The spans with keys in the current segment, newest first.
    let mut active: Vec<usize> = Vec::new();
    let mut end = 0;
    for starting in spans.chunk_by(|a, b| compare(a, b).is_eq()) {
        let start = starting[0].first.as_deref();
        active.retain(|&span| match (&spans[span].last, start) {
            (Some(last), Some(start)) => keys.compare(last, start).is_ge(),
            _ => true,
        });
        active.extend(end..end + starting.len());
        active.sort_by_key(|&span| spans[span].age);
        end += starting.len();
        if !is_proven(active.iter().map(|&span| &spans[span])) {
            segments.push(Segment {
                start: start.map(<[u8]>::to_vec),
                end: spans.get(end).and_then(|next| next.first.clone()),
                spans: active.clone(),
            });
        }
    }
    segments
}

/// Whether each source has larger sequence numbers than all older ones, in spans sorted by age.
fn is_proven<'s>(spans: impl Iterator<Item = &'s SourceSpan>) -> bool {
    let (mut age, mut smallest, mut smallest_above) = (0, u64::MAX, u64::MAX);
    for span in spans {
        if span.age != age {
            (age, smallest_above) = (span.age, smallest);
        }
        if span.largest_sequence >= smallest_above {
            return false;
        }
        smallest = smallest.min(span.smallest_sequence);
    }
    true
}

impl SourceSpan {
    /// All entries of the log; `None` if there are none.
    fn of_log(family: &ColumnFamilyData) -> Option<Self> {
        let mut entries = MemtableCursor::new(&family.memtable);
        let mut more = entries.seek_to_first().ok().filter(|&more| more)?;
        let first = kept(family.keys.bare(entries.user_key()));
        let (mut smallest_sequence, mut largest_sequence) = (u64::MAX, 0);
        while more {
            smallest_sequence = smallest_sequence.min(entries.sequence());
            largest_sequence = largest_sequence.max(entries.sequence());
            more = entries.next().unwrap_or(false);
        }
        entries.seek_to_last().ok()?;
        let last = kept(family.keys.bare(entries.user_key()));
        Some(Self { age: 0, file: None, first, last, smallest_sequence, largest_sequence })
    }

    fn of_table(run: usize, file: &Arc<TableFile>, span: &KeySpan) -> Self {
        Self {
            age: run + 1,
            file: Some(Arc::clone(file)),
            first: kept(&span.first),
            last: kept(&span.last),
            smallest_sequence: span.smallest_sequence,
            largest_sequence: span.largest_sequence,
        }
    }
}

/// A key, unless it is too long to be kept.
fn kept(key: &[u8]) -> Option<Vec<u8>> {
    (key.len() <= MAX_KEY).then(|| key.to_vec())
}

/// An entry of the current key.
#[derive(Clone)]
struct Write {
    sequence: u64,
    kind: EntryKind,
    value: Value,
    timestamp: Vec<u8>,
    /// Level and number of its file; `None` for the log.
    place: Option<(u32, u64)>,
}

impl Write {
    fn of(family: &ColumnFamilyData, entries: &MergingIterator<SourceIterator>) -> Self {
        Self {
            sequence: entries.sequence(),
            kind: entries.kind(),
            value: entries.value_handle(),
            timestamp: family.keys.timestamp(entries.user_key()).to_vec(),
            place: source_file(entries).map(|file| (file.level, file.meta.number)),
        }
    }

    /// Whether an older source must not have this entry if a newer one has `above`: its number is
    /// larger, or the same and it is another write.
    fn contradicts(&self, above: &Self) -> bool {
        let is_same_write = || {
            self.kind != EntryKind::Merge
                && (self.kind, &self.value, &self.timestamp)
                    == (above.kind, &above.value, &above.timestamp)
        };
        self.sequence > above.sequence || self.sequence == above.sequence && !is_same_write()
    }

    fn place(&self) -> String {
        match self.place {
            Some((level, file)) => format!("table {file} of level {level}"),
            None => "the log".to_owned(),
        }
    }
}

/// The entries of a key so far; newer sources come first.
struct KeyHistory {
    key: Vec<u8>,
    /// The current source.
    source: Option<usize>,
    /// The entry of the current source with the smallest number.
    smallest: Write,
    /// The entry of all newer sources with the smallest number.
    smallest_above: Option<Write>,
    /// A key is reported once.
    is_reported: bool,
}

impl KeyHistory {
    /// Starts with the first entry of a key; reuses memory.
    fn start(current: &mut Option<Self>, key: &[u8], first: Write, source: Option<usize>) {
        let mut buffer = current.take().map(|it| it.key).unwrap_or_default();
        buffer.clear();
        buffer.extend_from_slice(key);
        *current = Some(Self {
            key: buffer,
            source,
            smallest: first,
            smallest_above: None,
            is_reported: false,
        });
    }

    /// Adds the next entry. Returns the entry of a newer source that it contradicts, and itself.
    fn add(&mut self, write: Write, source: Option<usize>) -> Option<(Write, Write)> {
        if self.source != source {
            self.source = source;
            let above = std::mem::replace(&mut self.smallest, write.clone());
            if self.smallest_above.as_ref().is_none_or(|it| above.sequence < it.sequence) {
                self.smallest_above = Some(above);
            }
        }
        let above = self.smallest_above.as_ref().filter(|above| write.contradicts(above));
        let problem = above.filter(|_| !self.is_reported).map(|it| (it.clone(), write.clone()));
        self.is_reported |= problem.is_some();
        if write.sequence < self.smallest.sequence {
            self.smallest = write;
        }
        problem
    }
}

fn describe(family: &ColumnFamilyData, key: &[u8], above: &Write, write: &Write) -> String {
    format!(
        "sequence numbers contradict the order of logs and levels: {} of column family {:?} has \
         sequence number {} in {} but {} in {}",
        KeyExcerpt(key),
        family.name,
        above.sequence,
        above.place(),
        write.sequence,
        write.place(),
    )
}

#[cfg(test)]
mod tests {
    use sstkit_table::Comparator;

    use super::*;

    fn span(age: usize, first: &str, last: &str, sequences: (u64, u64)) -> SourceSpan {
        let [first, last] = [first, last].map(|key| kept(key.as_bytes()));
        let (smallest_sequence, largest_sequence) = sequences;
        SourceSpan { age, file: None, first, last, smallest_sequence, largest_sequence }
    }

    fn bounds(mut spans: Vec<SourceSpan>) -> Vec<(String, Option<String>)> {
        let text = |key: Vec<u8>| String::from_utf8(key).unwrap();
        let segments = unproven_segments(&UserKeys::new(Comparator::Bytewise), &mut spans);
        let bounds = segments.into_iter().map(|it| (it.start.map(text), it.end.map(text)));
        bounds.map(|(start, end)| (start.unwrap_or_default(), end)).collect()
    }

    #[test]
    fn spans_prove_the_order_of_most_keys() {
        let spans = || {
            vec![
                span(1, "a", "k", (90, 99)),
                span(2, "a", "j", (20, 70)),
                span(2, "k", "z", (30, 89)),
                span(3, "a", "e", (0, 0)),
                span(3, "f", "j", (5, 9)),
                span(3, "k", "z", (10, 60)),
            ]
        };
        assert_eq!(bounds(spans()), [("k".into(), None)]);
        let mut proven = spans();
        proven[5].largest_sequence = 29;
        assert_eq!(bounds(proven), []);
        // The same number may be another write.
        let mut tied = spans();
        tied[1].largest_sequence = 90;
        tied[5].largest_sequence = 29;
        assert_eq!(bounds(tied), [("a".into(), Some("f".into())), ("f".into(), Some("k".into()))]);
        // A key that is too long to be kept leaves a span open.
        let mut open = spans();
        (open[0].last, open[2].largest_sequence) = (None, 95);
        assert_eq!(bounds(open), [("k".into(), None)]);
        assert_eq!(bounds(Vec::new()), []);
    }

    /// Each key of random sources whose numbers contradict their order is in a segment with the spans
    /// that have it.
    #[test]
    fn no_contradiction_is_missed() {
        let mut state = 1u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % below
        };
        for _ in 0..500 {
            let mut entries = Vec::new();
            let mut spans = Vec::new();
            for age in 0..4 {
                let mut key = 0;
                loop {
                    let mut of_span = Vec::new();
                    for _ in 0..=random(3) {
                        key += 1 + random(6) as usize;
                        // Mostly larger in newer sources.
                        let sequence = 20 * (4 - age as u64) + random(25);
                        of_span.push((format!("{key:03}"), sequence));
                    }
                    let sequences = of_span.iter().map(|(_, sequence)| *sequence);
                    let ends = (sequences.clone().min().unwrap(), sequences.max().unwrap());
                    let (first, last) = (&of_span[0].0, &of_span[of_span.len() - 1].0);
                    spans.push(span(age, first, last, ends));
                    entries.extend(of_span.into_iter().map(|(key, number)| (age, key, number)));
                    if key > 40 {
                        break;
                    }
                }
            }
            let segments = unproven_segments(&UserKeys::new(Comparator::Bytewise), &mut spans);
            for (newer, key, above) in &entries {
                let contradicts = |(age, other, number): &&(usize, String, u64)| {
                    age > newer && other == key && number >= above
                };
                for (older, ..) in entries.iter().filter(contradicts) {
                    let key = key.as_bytes();
                    let segment = segments.iter().find(|segment| {
                        segment.start.as_deref().is_none_or(|start| start <= key)
                            && segment.end.as_deref().is_none_or(|end| key < end)
                    });
                    let has = |age: usize| {
                        let mut spans = segment.unwrap().spans.iter().map(|&span| &spans[span]);
                        spans.any(|span| {
                            let (first, last) = (span.first.as_deref(), span.last.as_deref());
                            span.age == age && first <= Some(key) && last >= Some(key)
                        })
                    };
                    assert!(has(*newer) && has(*older));
                }
            }
        }
    }
}
