//! Writes sorted entries as they arrive.

use std::cmp::Ordering;

use sstkit_table::raw::EntryKind;
use sstkit_table::{KeyExcerpt, RangeTombstone};

use super::arena::RawEntry;
use super::uniqueness::duplicate;
use super::{BulkOptions, Duplicates, check_length};
use crate::error::{Error, Result};
use crate::output::{
    FileNumbers, FinishedTable, PendingTombstones, Phase, Reporter, TableSet, TempFiles,
};

/// Writes entries as they arrive. Holds back the last one, since the next may have the same key.
#[derive(Debug)]
pub(super) struct Streaming {
    set: TableSet,
    duplicates: Duplicates,
    progress: Reporter,
    held: Option<Held>,
    entries: u64,
    dropped: u64,
}

/// A key without a timestamp, and its value.
pub(super) type KeyValue<'r> = (&'r [u8], &'r [u8]);

#[derive(Debug)]
struct Held {
    key: Vec<u8>,
    kind: EntryKind,
    value: Vec<u8>,
}

impl Streaming {
    pub(super) fn new(options: &BulkOptions, temp_files: TempFiles) -> Self {
        Self {
            set: TableSet::new(
                temp_files,
                options.set_options(true),
                FileNumbers::ALL,
                PendingTombstones::default(),
            ),
            duplicates: options.duplicates,
            progress: Reporter::new(options.progress.clone(), Phase::Writing, None),
            held: None,
            entries: 0,
            dropped: 0,
        }
    }

    pub(super) fn entries(&self) -> u64 {
        self.entries
    }

    pub(super) fn add(&mut self, entry: &RawEntry<'_>) -> Result<()> {
        let Some(held) = &mut self.held else {
            self.held =
                Some(Held { key: entry.key.into(), kind: entry.kind, value: entry.value.into() });
            self.entries += 1;
            return Ok(());
        };
        match self.set.comparator().compare(&held.key, entry.key) {
            Ordering::Greater => return Err(disorder(self.entries + 1, entry.key, &held.key)),
            Ordering::Equal if self.duplicates == Duplicates::Error => {
                return Err(duplicate(entry.key));
            }
            Ordering::Equal => {
                self.dropped += 1;
                if self.duplicates == Duplicates::Last {
                    held.hold(entry);
                }
            }
            Ordering::Less => {
                self.set.add(&held.entry().internal_key(), &held.value)?;
                held.hold(entry);
            }
        }
        self.entries += 1;
        self.progress.step()
    }

    /// Sets keys without timestamps to values. Of a run only the first and the last are copied to be
    /// held back: the others stay where they are until the next one has arrived.
    pub(super) fn put_run<'r>(&mut self, run: impl Iterator<Item = KeyValue<'r>>) -> Result<()> {
        let mut last = None;
        let put = self.put_entries(run, &mut last);
        if let (Some(entry), Some(held)) = (last, &mut self.held) {
            held.hold(&value_entry(entry));
        }
        put
    }

    /// Writes all entries but `last`, which is held back in place of what `held` has.
    #[inline]
    fn put_entries<'r>(
        &mut self,
        run: impl Iterator<Item = KeyValue<'r>>,
        last: &mut Option<KeyValue<'r>>,
    ) -> Result<()> {
        let mut counted = self.entries;
        for (key, value) in run {
            check_length(key, value)?;
            let Some((last_key, last_value)) = *last else {
                let dropped = self.dropped;
                self.add(&value_entry((key, value)))?;
                counted = self.entries;
                let is_held = self.dropped == dropped || self.duplicates == Duplicates::Last;
                *last = is_held.then_some((key, value));
                continue;
            };
            match self.set.comparator().compare(last_key, key) {
                Ordering::Less => {
                    self.set.put(last_key, last_value)?;
                    *last = Some((key, value));
                }
                Ordering::Greater => return Err(disorder(self.entries + 1, key, last_key)),
                Ordering::Equal => {
                    match self.duplicates {
                        Duplicates::Error => return Err(duplicate(key)),
                        Duplicates::Last => *last = Some((key, value)),
                        Duplicates::First => {}
                    }
                    self.dropped += 1;
                }
            }
            self.entries += 1;
        }
        self.progress.steps(self.entries - counted)
    }

    pub(super) fn add_range(&mut self, range: RangeTombstone) -> Result<()> {
        self.set.add_range(range)
    }

    /// The tables, and the number of dropped entries.
    pub(super) fn finish(mut self) -> Result<(Vec<FinishedTable>, u64)> {
        if let Some(held) = self.held.take() {
            self.set.add(&held.entry().internal_key(), &held.value)?;
        }
        self.progress.report()?;
        Ok((self.set.finish()?, self.dropped))
    }
}

impl Held {
    fn hold(&mut self, entry: &RawEntry<'_>) {
        self.key.clear();
        self.key.extend_from_slice(entry.key);
        self.kind = entry.kind;
        self.value.clear();
        self.value.extend_from_slice(entry.value);
    }

    fn entry(&self) -> RawEntry<'_> {
        RawEntry { key: &self.key, sequence: 0, kind: self.kind, value: &self.value }
    }
}

/// An entry of a run.
fn value_entry<'r>((key, value): KeyValue<'r>) -> RawEntry<'r> {
    RawEntry { key, sequence: 0, kind: EntryKind::Value, value }
}

#[cold]
fn disorder(ordinal: u64, key: &[u8], last: &[u8]) -> Error {
    let (key, last) = (KeyExcerpt(key), KeyExcerpt(last));
    Error::invalid_input(format!(
        "entry {ordinal} is out of order: {key} sorts before {last} (the input must be sorted)"
    ))
}
