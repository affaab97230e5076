//! Merges one part of the key range into finished tables.

use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;

use sstkit_table::raw::{EntryKind, InternalKey, split_preferred_seqno};
use sstkit_table::visibility::{InternalIterator, MergingIterator, Recency, UserKeys};
use sstkit_table::{Comparator, EmbeddedBlobBudget, KeyExcerpt, MergeOperator};

use super::boundaries::{Extent, positions};
use super::clip::{Clip, PartBounds};
use super::compaction_filter::CompactionDecision;
use super::compaction_options::{CompactionOptions, SequenceNumbers};
use super::compaction_output::CompactionOutput;
use super::coverage::{Contradiction, Coverage, Over};
use super::input::{Input, InputCursor};
use super::retained_versions::{RetainedVersion, RetainedVersions};
use super::summary::CompactionCounts;
use crate::error::{Error, Result};
use crate::output::{FinishedTable, Reporter, TableSet, without_timestamp};

pub(super) struct Shared<'a> {
    pub(super) options: &'a CompactionOptions,
    pub(super) comparator: &'a Comparator,
    pub(super) operator: Option<Arc<dyn MergeOperator>>,
    /// The merge operator, if known.
    pub(super) operator_name: Option<String>,
    /// Oldest first.
    pub(super) inputs: &'a [Input],
    /// Whether inputs of a column family may contain the same write twice.
    pub(super) repeats_writes: bool,
    pub(super) recency: Recency,
    pub(super) coverage: &'a Coverage,
    pub(super) clip: &'a Clip,
    pub(super) progress: &'a Reporter,
}

/// The result of a part.
pub(super) struct Merged {
    pub(super) tables: Vec<FinishedTable>,
    pub(super) counts: CompactionCounts,
    pub(super) extent: Extent,
}

/// Where the entries of a part go.
pub(super) enum PartOutput<'a> {
    Tables(Box<TableSet>),
    Caller(&'a mut dyn CompactionOutput),
}

impl PartOutput<'_> {
    fn add(&mut self, key: &InternalKey<'_>, value: &[u8]) -> Result<()> {
        match self {
            Self::Tables(set) => set.add(key, value),
            Self::Caller(output) => output.entry(key, value),
        }
    }

    fn finish(self) -> Result<Vec<FinishedTable>> {
        match self {
            Self::Tables(set) => set.finish(),
            Self::Caller(_) => Ok(Vec::new()),
        }
    }
}

/// Merges one part of the key range.
pub(super) struct Part<'a> {
    pub(super) shared: &'a Shared<'a>,
    /// Of its keys, without timestamps. The keys behind are those of the next part.
    bounds: PartBounds<'a>,
    output: PartOutput<'a>,
    counts: CompactionCounts,
    pub(super) versions: RetainedVersions,
    /// The user key whose versions are looked at.
    pub(super) key: Vec<u8>,
    /// Whether the current entry is of that key.
    is_same_key: bool,
    /// The sequence number of its last version that was written.
    last_written: Option<u64>,
    pub(super) blobs: EmbeddedBlobBudget,
}

impl<'a> Part<'a> {
    pub(super) fn new(
        shared: &'a Shared<'a>,
        bounds: PartBounds<'a>,
        output: PartOutput<'a>,
    ) -> Self {
        Self {
            shared,
            bounds,
            output,
            counts: CompactionCounts::default(),
            versions: RetainedVersions::default(),
            key: Vec::new(),
            is_same_key: false,
            last_written: None,
            blobs: EmbeddedBlobBudget::new(shared.inputs.iter().map(|input| input.size).sum()),
        }
    }

    /// Merges its keys.
    pub(super) fn run(mut self) -> Result<Merged> {
        let start = match self.bounds.0 {
            Bound::Included(key) | Bound::Excluded(key) => Some(key),
            Bound::Unbounded => None,
        };
        // The newest first.
        let cursors: Result<Vec<_>> =
            self.shared.inputs.iter().rev().map(|input| input.cursor(start)).collect();
        let newest = self.shared.inputs.last().map_or(0, |input| input.age);
        let age = |input: &Input| match self.shared.recency {
            Recency::BySource => newest - input.age,
            Recency::BySequence => 0,
        };
        let ages = self.shared.inputs.iter().rev().map(age).collect();
        let mut entries = MergingIterator::with_ages(
            UserKeys::new(self.shared.comparator.clone()),
            ages,
            cursors?,
        );
        let first = positions(entries.sources());
        self.skip_unseen(&mut entries)?;
        if let Some(start) = start
            && entries.is_valid()
            && self.compare_bare(entries.user_key(), start).is_lt()
        {
            return Err(self.before_start(&entries, start));
        }
        if let Bound::Excluded(key) = self.bounds.0 {
            while entries.is_valid() && self.compare_bare(entries.user_key(), key).is_eq() {
                entries.next()?;
                self.skip_unseen(&mut entries)?;
            }
        }
        while entries.is_valid() && !self.is_behind(entries.user_key()) {
            self.key.clear();
            self.key.extend_from_slice(entries.user_key());
            self.is_same_key = true;
            self.last_written = None;
            match self.shared.options.keep_versions {
                true => self.keep_all(&mut entries)?,
                false => self.keep_newest(&mut entries)?,
            }
        }
        let extent = Extent { first, stop: positions(entries.sources()) };
        let Self { output, counts, .. } = self;
        Ok(Merged { tables: output.finish()?, counts, extent })
    }

    fn is_behind(&self, user_key: &[u8]) -> bool {
        match self.bounds.1 {
            Bound::Included(last) => self.compare_bare(user_key, last).is_gt(),
            Bound::Excluded(end) => self.compare_bare(user_key, end).is_ge(),
            Bound::Unbounded => false,
        }
    }

    /// Compares a key with one that has no timestamp.
    fn compare_bare(&self, user_key: &[u8], bare: &[u8]) -> Ordering {
        let comparator = self.shared.comparator;
        let user_key = without_timestamp(user_key, comparator.timestamp_size());
        comparator.compare_without_timestamp(user_key, bare)
    }

    /// Writes all versions of a key.
    fn keep_all(&mut self, entries: &mut MergingIterator<InputCursor>) -> Result<()> {
        let over = self.over();
        while self.is_same_key {
            self.is_covered(&over, entries)?;
            let version = self.version(entries)?;
            self.write(&version)?;
            self.next(entries)?;
        }
        Ok(())
    }

    /// Writes the versions of a key that are retained.
    fn keep_newest(&mut self, entries: &mut MergingIterator<InputCursor>) -> Result<()> {
        let over = self.over();
        if entries.kind() == EntryKind::Value && !self.is_covered(&over, entries)? {
            return self.keep_value(entries);
        }
        self.versions.clear();
        while self.is_same_key {
            if self.is_covered(&over, entries)? {
                self.versions.add_covered(&mut self.counts);
            } else if self.versions.wants_value() {
                let version = self.version(entries)?;
                self.versions.add(version, &mut self.counts);
            } else {
                self.versions.add_shadowed(&mut self.counts);
            }
            self.next(entries)?;
        }
        let versions = std::mem::take(&mut self.versions);
        self.write_versions(&versions)?;
        self.versions = versions;
        Ok(())
    }

    /// The range tombstones over the current key.
    fn over(&self) -> Over {
        let size = self.shared.comparator.timestamp_size();
        self.shared.coverage.over(without_timestamp(&self.key, size))
    }

    /// Whether a range tombstone covers the current entry, which is then dropped.
    fn is_covered(&self, over: &Over, entries: &MergingIterator<InputCursor>) -> Result<bool> {
        let (sequence, rank) = (entries.sequence(), self.rank(entries));
        over.covers(sequence, rank, self.shared.inputs[rank].age)
            .map_err(|Contradiction(by)| self.disorder(entries, by, EntryKind::RangeDeletion))
    }

    /// Writes the newest version of a key if it is a plain value, the most frequent case.
    fn keep_value(&mut self, entries: &mut MergingIterator<InputCursor>) -> Result<()> {
        self.write_entry(entries.sequence(), entries.kind(), entries.value())?;
        self.next(entries)?;
        while self.is_same_key {
            self.counts.shadowed += 1;
            self.next(entries)?;
        }
        Ok(())
    }

    /// The input that the current entry is from.
    pub(super) fn input(&self, entries: &MergingIterator<InputCursor>) -> &Input {
        &self.shared.inputs[self.rank(entries)]
    }

    /// The recency of that input.
    fn rank(&self, entries: &MergingIterator<InputCursor>) -> usize {
        let newest = self.shared.inputs.len() - 1;
        newest - entries.source().unwrap_or(newest)
    }

    fn next(&mut self, entries: &mut MergingIterator<InputCursor>) -> Result<()> {
        self.shared.progress.step()?;
        let (sequence, rank) = (entries.sequence(), self.rank(entries));
        self.advance(entries)?;
        // Of equal sequence numbers, the entry of the newest source counts.
        while self.shared.repeats_writes
            && self.is_same_key
            && entries.sequence() == sequence
            && self.shared.inputs[rank].shares_numbers(self.input(entries))
        {
            self.counts.shadowed += 1;
            self.advance(entries)?;
        }
        Ok(())
    }

    /// Moves to the next visible entry, which must be greater than the current one: merging an
    /// unsorted input would make older versions win and deleted keys reappear.
    fn advance(&mut self, entries: &mut MergingIterator<InputCursor>) -> Result<()> {
        self.counts.entries_in += 1;
        let (source, sequence, kind) = (entries.source(), entries.sequence(), entries.kind());
        entries.next()?;
        self.skip_unseen(entries)?;
        self.is_same_key = false;
        if !entries.is_valid() {
            return Ok(());
        }
        match self.shared.comparator.compare(&self.key, entries.user_key()) {
            Ordering::Less => return Ok(()),
            Ordering::Greater => return Err(self.disorder(entries, sequence, kind)),
            Ordering::Equal => self.is_same_key = true,
        }
        // The same sequence number twice in one table is an error, but not in two: ingested tables
        // have 0.
        let repeats = entries.sequence() == sequence
            && entries.source() == source
            && entries.kind() >= kind
            && self.input(entries).is_in_files();
        match entries.sequence() > sequence || repeats {
            true => Err(self.disorder(entries, sequence, kind)),
            false => Ok(()),
        }
    }

    /// The error for an entry that is out of order.
    #[cold]
    fn disorder(
        &self,
        entries: &MergingIterator<InputCursor>,
        sequence: u64,
        kind: EntryKind,
    ) -> Error {
        let error = Error::corrupt(format!(
            "entries are out of order: {} (sequence number {}, {:?}) comes after {} (sequence \
             number {sequence}, {kind:?})",
            KeyExcerpt(entries.user_key()),
            entries.sequence(),
            entries.kind(),
            KeyExcerpt(&self.key)
        ));
        self.in_file(error, entries)
    }

    /// The error for a seek to the start of the part that led to an entry before it.
    #[cold]
    fn before_start(&self, entries: &MergingIterator<InputCursor>, start: &[u8]) -> Error {
        let error = Error::corrupt(format!(
            "entries are out of order: a seek to {} lands on {}",
            KeyExcerpt(start),
            KeyExcerpt(entries.user_key())
        ));
        self.in_file(error, entries)
    }

    /// Adds the file of the current entry to an error.
    fn in_file(&self, error: Error, entries: &MergingIterator<InputCursor>) -> Error {
        let cursor = entries.source().and_then(|source| entries.sources().get(source));
        match cursor.and_then(|cursor| self.input(entries).file(cursor)) {
            Some(path) => error.in_file(path),
            None => error,
        }
    }

    /// Skips entries that are not visible, up to the end of the part.
    fn skip_unseen(&self, entries: &mut MergingIterator<InputCursor>) -> Result<()> {
        while entries.is_valid()
            && !self.input(entries).sees(entries.user_key(), entries.sequence())
            && !self.is_behind(entries.user_key())
        {
            entries.next()?;
        }
        Ok(())
    }

    /// Whether nothing is below the output that a deletion could hide: with timestamps, reads at an
    /// earlier time need it.
    fn is_bottommost(&self) -> bool {
        self.shared.options.bottommost && self.shared.comparator.timestamp_size() == 0
    }

    fn write_versions(&mut self, versions: &RetainedVersions) -> Result<()> {
        let options = self.shared.options;
        let bottommost = self.is_bottommost();
        let operands = versions.operands();
        let (merges, base) = versions.kept.split_at(operands);
        // If it is known what is below the operands. With timestamps, an older value may be of an
        // earlier time, which counts as another key.
        let has_end = !base.is_empty() || versions.covered || bottommost;
        if let (true, true, Some(operator)) = (operands > 0, has_end, &self.shared.operator) {
            let merged = self.merge(&**operator, merges, base.first())?;
            self.counts.merged += (versions.kept.len() - 1) as u64;
            return self.write(&merged);
        }
        if options.sequence_numbers == SequenceNumbers::Zero && operands > 0 {
            self.check_single(versions, bottommost)?;
        }
        for version in &versions.kept {
            if bottommost && version.kind.is_point_deletion() {
                self.counts.tombstones += 1;
            } else {
                self.write(version)?;
            }
        }
        Ok(())
    }

    /// Whether a single entry is written for the key.
    fn check_single(&self, versions: &RetainedVersions, bottommost: bool) -> Result<()> {
        let is_written =
            |version: &&RetainedVersion| !(bottommost && version.kind.is_point_deletion());
        if versions.kept.iter().filter(is_written).count() <= 1 {
            return Ok(());
        }
        let needed = match (&self.shared.operator, &self.shared.operator_name) {
            (Some(_), _) => "they can only be merged into the bottommost level".into(),
            (None, Some(name)) => format!("provide the merge operator {name:?}"),
            (None, None) => "provide a merge operator".to_owned(),
        };
        Err(Error::unsupported(format!(
            "the key {} has several merge operands, but sequence_numbers = Zero allows one entry \
             per key: {needed}",
            KeyExcerpt(&self.key)
        )))
    }

    fn write(&mut self, version: &RetainedVersion) -> Result<()> {
        self.write_entry(version.sequence, version.kind, &version.value)
    }

    fn write_entry(&mut self, number: u64, mut kind: EntryKind, stored: &[u8]) -> Result<()> {
        let mut value = stored;
        let last_written = self.last_written.replace(number);
        if last_written == Some(number) {
            return Err(Error::unsupported(format!(
                "the key {} has several entries with sequence number {number}: provide a merge \
                 operator, or keep sequence numbers",
                KeyExcerpt(&self.key)
            )));
        }
        let changed;
        if kind == EntryKind::Value
            && last_written.is_none()
            && let Some(filter) = &self.shared.options.filter
        {
            let timestamp_size = self.shared.comparator.timestamp_size();
            match filter.filter(without_timestamp(&self.key, timestamp_size), value) {
                CompactionDecision::Keep => {}
                CompactionDecision::Change(new) => {
                    self.counts.filtered += 1;
                    changed = new;
                    value = &changed;
                }
                CompactionDecision::Remove => {
                    self.counts.filtered += 1;
                    if self.is_bottommost() {
                        return Ok(());
                    }
                    value = &[];
                    kind = match timestamp_size {
                        0 => EntryKind::Deletion,
                        _ => EntryKind::DeletionWithTimestamp,
                    };
                }
            }
        }
        let mut sequence = number;
        if self.shared.options.sequence_numbers == SequenceNumbers::Zero {
            sequence = 0;
            // Its preferred sequence number has no meaning outside of the database.
            if kind == EntryKind::ValuePreferredSeqno
                && let Some((plain, _)) = split_preferred_seqno(value)
            {
                (kind, value) = (EntryKind::Value, plain);
            }
        }
        self.counts.entries_out += 1;
        self.output.add(&InternalKey { user_key: &self.key, sequence, kind }, value)
    }
}
