//! One part of the key range, from the inputs to finished tables.

use std::cmp::Ordering;
use std::sync::Arc;

use sstkit_table::raw::{
    BlobIndex, ColumnValue, EntryKind, InternalKey, WideColumn, decode_wide_columns,
    encode_wide_columns, split_preferred_seqno,
};
use sstkit_table::visibility::{InternalIterator, MergingIterator, Recency, UserKeys};
use sstkit_table::{Comparator, EmbeddedBlobBudget, MergeOperator, Value};

use super::boundaries::{Extent, positions};
use super::compaction_options::{CompactionOptions, SequenceNumbers};
use super::coverage::{Contradiction, Coverage, Over};
use super::input::{Input, InputCursor};
use super::retained_versions::{RetainedVersion, RetainedVersions, is_deletion};
use super::summary::CompactionCounts;
use crate::error::{Error, Result};
use crate::output::{FinishedTable, Reporter, TableSet, shown, without_timestamp};

pub(super) struct Shared<'a> {
    pub(super) options: &'a CompactionOptions,
    pub(super) comparator: &'a Comparator,
    pub(super) operator: Option<Arc<dyn MergeOperator>>,
    /// What combines operands, if it had been found.
    pub(super) operator_name: Option<String>,
    /// The oldest first.
    pub(super) inputs: &'a [Input],
    /// There are inputs of a column family, in several of which the same write may be.
    pub(super) repeats_writes: bool,
    pub(super) recency: Recency,
    pub(super) coverage: &'a Coverage,
    pub(super) progress: &'a Reporter,
}

/// What became of a part.
pub(super) struct Merged {
    pub(super) tables: Vec<FinishedTable>,
    pub(super) counts: CompactionCounts,
    pub(super) extent: Extent,
}

/// Merges one part of the key range.
pub(super) struct Part<'a> {
    shared: &'a Shared<'a>,
    /// The keys from here on are those of the next part.
    end: Option<&'a [u8]>,
    set: TableSet,
    counts: CompactionCounts,
    versions: RetainedVersions,
    /// The user key whose versions are looked at.
    key: Vec<u8>,
    /// Whether the current entry is of that key.
    is_same_key: bool,
    /// The sequence number of the last version of it that was written.
    last_written: Option<u64>,
    blobs: EmbeddedBlobBudget,
}

impl<'a> Part<'a> {
    /// Of the keys before `end`, which is without timestamp.
    pub(super) fn new(shared: &'a Shared<'a>, end: Option<&'a [u8]>, set: TableSet) -> Self {
        Self {
            shared,
            end,
            set,
            counts: CompactionCounts::default(),
            versions: RetainedVersions::default(),
            key: Vec::new(),
            is_same_key: false,
            last_written: None,
            blobs: EmbeddedBlobBudget::new(shared.inputs.iter().map(|input| input.size).sum()),
        }
    }

    /// Merges the keys from `start` on, which is without timestamp.
    pub(super) fn run(mut self, start: Option<&[u8]>) -> Result<Merged> {
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
        Ok(Merged { tables: self.set.finish()?, counts: self.counts, extent })
    }

    fn is_behind(&self, user_key: &[u8]) -> bool {
        self.end.is_some_and(|end| self.compare_bare(user_key, end).is_ge())
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

    /// Writes what counts of the versions of a key.
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

    /// The range deletions over the current key.
    fn over(&self) -> Over {
        let size = self.shared.comparator.timestamp_size();
        self.shared.coverage.over(without_timestamp(&self.key, size))
    }

    /// Whether the current entry is under a range deletion, and to be left out.
    fn is_covered(&self, over: &Over, entries: &MergingIterator<InputCursor>) -> Result<bool> {
        let (sequence, rank) = (entries.sequence(), self.rank(entries));
        over.covers(sequence, rank, self.shared.inputs[rank].age)
            .map_err(|Contradiction(by)| self.disorder(entries, by, EntryKind::RangeDeletion))
    }

    /// Writes the newest version of a key, a plain value: most keys are like that.
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
    fn input(&self, entries: &MergingIterator<InputCursor>) -> &Input {
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
        // Of equal numbers that of the newest source counts.
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

    /// Goes to the next entry that counts, which must come after the current one: an input out of
    /// order, merged all the same, would let older versions win and deleted keys come back.
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
        // The same number twice in one table is a mistake, in two it is not: ingested tables have 0.
        let repeats = entries.sequence() == sequence
            && entries.source() == source
            && entries.kind() >= kind
            && self.input(entries).is_in_files();
        match entries.sequence() > sequence || repeats {
            true => Err(self.disorder(entries, sequence, kind)),
            false => Ok(()),
        }
    }

    /// The current entry comes after one that it should be before.
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
            shown(entries.user_key()),
            entries.sequence(),
            entries.kind(),
            shown(&self.key)
        ));
        self.in_file(error, entries)
    }

    /// A search for the start of the part has led to an entry before it.
    #[cold]
    fn before_start(&self, entries: &MergingIterator<InputCursor>, start: &[u8]) -> Error {
        let error = Error::corrupt(format!(
            "entries are out of order: a seek to {} lands on {}",
            shown(start),
            shown(entries.user_key())
        ));
        self.in_file(error, entries)
    }

    /// The error with the file that the current entry is from.
    fn in_file(&self, error: Error, entries: &MergingIterator<InputCursor>) -> Error {
        let cursor = entries.source().and_then(|source| entries.sources().get(source));
        match cursor.and_then(|cursor| self.input(entries).file(cursor)) {
            Some(path) => error.in_file(path),
            None => error,
        }
    }

    /// Past entries that do not count, up to those of the next part.
    fn skip_unseen(&self, entries: &mut MergingIterator<InputCursor>) -> Result<()> {
        while entries.is_valid()
            && !self.input(entries).sees(entries.user_key(), entries.sequence())
            && !self.is_behind(entries.user_key())
        {
            entries.next()?;
        }
        Ok(())
    }

    fn write_versions(&mut self, versions: &RetainedVersions) -> Result<()> {
        let options = self.shared.options;
        let bottommost = options.bottommost && self.shared.comparator.timestamp_size() == 0;
        let operands = versions.operands();
        let (merges, base) = versions.kept.split_at(operands);
        // Where it is known what lies below the operands. With timestamps an older value may be
        // that of an earlier time, which is another key to us.
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
            if bottommost && is_deletion(version.kind) {
                self.counts.tombstones += 1;
            } else {
                self.write(version)?;
            }
        }
        Ok(())
    }

    /// Whether one entry says it all.
    fn check_single(&self, versions: &RetainedVersions, bottommost: bool) -> Result<()> {
        let is_written = |version: &&RetainedVersion| !(bottommost && is_deletion(version.kind));
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
            shown(&self.key)
        )))
    }

    /// One value of operands, the newest first, and what lies below them.
    fn merge(
        &self,
        operator: &dyn MergeOperator,
        operands: &[RetainedVersion],
        base: Option<&RetainedVersion>,
    ) -> Result<RetainedVersion> {
        let key = without_timestamp(&self.key, self.shared.comparator.timestamp_size());
        let values: Vec<&[u8]> = operands.iter().rev().map(|version| &*version.value).collect();
        let merge = |base: Option<&[u8]>| {
            operator.merge(key, base, &values).ok_or_else(|| {
                let name = operator.name();
                Error::corrupt(format!("{name} failed to merge the operands of {}", shown(key)))
            })
        };
        let sequence = operands.first().map_or(0, |version| version.sequence);
        let version =
            |kind, value: Vec<u8>| RetainedVersion { sequence, kind, value: value.into() };
        let plain = |value: Option<&[u8]>| Ok(version(EntryKind::Value, merge(value)?));
        match base {
            Some(base) if base.kind == EntryKind::WideColumnEntity => {
                let mut columns = decode_wide_columns(&base.value)?;
                let default = columns.first().filter(|column| column.name.is_empty());
                let merged = merge(Some(match default.map(|column| column.value) {
                    Some(ColumnValue::Inline(value)) => value,
                    _ => &[],
                }))?;
                let has_default = default.is_some();
                let column = WideColumn { name: &[], value: ColumnValue::Inline(&merged) };
                columns.splice(..usize::from(has_default), [column]);
                let mut entity = Vec::new();
                encode_wide_columns(&columns, &mut entity)?;
                Ok(version(EntryKind::WideColumnEntity, entity))
            }
            Some(base) if base.kind == EntryKind::ValuePreferredSeqno => {
                plain(Some(split_preferred_seqno(&base.value).map_or(&[], |(value, _)| value)))
            }
            Some(base) if !is_deletion(base.kind) => plain(Some(&base.value)),
            _ => plain(None),
        }
    }

    /// The current entry, with the values that it refers to in it.
    fn version(&self, entries: &MergingIterator<InputCursor>) -> Result<RetainedVersion> {
        let (kind, value) = self.contained(entries)?;
        Ok(RetainedVersion { sequence: entries.sequence(), kind, value })
    }

    fn contained(&self, entries: &MergingIterator<InputCursor>) -> Result<(EntryKind, Value)> {
        let (kind, value) = (entries.kind(), entries.value_handle());
        self.blobs.spend(kind, &value)?;
        let blob = |index: &BlobIndex<'_>| match entries.source() {
            Some(source) => {
                self.input(entries).blob(&entries.sources()[source], index, &self.key, &value)
            }
            None => Ok(Value::default()),
        };
        match kind {
            EntryKind::BlobIndex => Ok((EntryKind::Value, blob(&BlobIndex::decode_from(&value)?)?)),
            EntryKind::WideColumnEntity => match inline_columns(&value, blob)? {
                Some(entity) => Ok((kind, entity.into())),
                None => Ok((kind, value)),
            },
            _ => Ok((kind, value)),
        }
    }

    fn write(&mut self, version: &RetainedVersion) -> Result<()> {
        self.write_entry(version.sequence, version.kind, &version.value)
    }

    fn write_entry(&mut self, number: u64, mut kind: EntryKind, mut value: &[u8]) -> Result<()> {
        if self.last_written.replace(number) == Some(number) {
            return Err(Error::unsupported(format!(
                "the key {} has several entries with sequence number {number}: provide a merge \
                 operator, or keep sequence numbers",
                shown(&self.key)
            )));
        }
        let mut sequence = number;
        if self.shared.options.sequence_numbers == SequenceNumbers::Zero {
            sequence = 0;
            // A number of its own means nothing outside of the database.
            if kind == EntryKind::ValuePreferredSeqno
                && let Some((plain, _)) = split_preferred_seqno(value)
            {
                (kind, value) = (EntryKind::Value, plain);
            }
        }
        self.counts.entries_out += 1;
        self.set.add(&InternalKey { user_key: &self.key, sequence, kind }, value)
    }
}

/// An entity with the values of all its columns in it, unless it is one already.
fn inline_columns(
    entity: &[u8],
    blob: impl Fn(&BlobIndex<'_>) -> Result<Value>,
) -> Result<Option<Vec<u8>>> {
    let columns = decode_wide_columns(entity)?;
    if columns.iter().all(|column| matches!(column.value, ColumnValue::Inline(_))) {
        return Ok(None);
    }
    let value = |column: &WideColumn<'_>| match &column.value {
        ColumnValue::Inline(bytes) => Ok(Value::from(bytes.to_vec())),
        ColumnValue::Blob(index) => blob(index),
    };
    let values: Vec<Value> = columns.iter().map(value).collect::<Result<_>>()?;
    let inline = columns
        .iter()
        .zip(&values)
        .map(|(column, value)| WideColumn { name: column.name, value: ColumnValue::Inline(value) });
    let mut entity = Vec::new();
    encode_wide_columns(&inline.collect::<Vec<_>>(), &mut entity)?;
    Ok(Some(entity))
}
