//! The records of a table: what is visible of it.
//!
//! ```text
//! entries     bob @9 merge "+2" | bob @7 merge "+1" | bob @4 put "5" | bob @2 put "3" | carol …
//!             '----- operands ------------------'   '-- base ------'   '-- older ---'
//!             '------------------ one visible record ----------------------------------'
//! ```
//!
//! [`Table::cursor`](sstkit_table::Table::cursor) shows keys and values; here come columns,
//! timestamps and operands without an operator besides.

use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;

use sstkit_table::raw::EntryKind;
use sstkit_table::{
    Comparator, EmbeddedBlobBudget, EntryCursor, Error, MergeOperator, Result, ScanOptions, Value,
};

use crate::encoding::Encoding;
use crate::record::Record;
use crate::table_file::TableFile;

/// The visible records of a table, in the order of its keys or backwards.
pub struct TableScan<'f> {
    file: &'f TableFile,
    options: ScanOptions,
    prefix: Option<Vec<u8>>,
    backward: bool,
    encoding: Encoding,
    operator: Option<Arc<dyn MergeOperator>>,
    cursor: EntryCursor,
    /// For finding the newest entry of a key while `cursor` goes backward.
    newest: EntryCursor,
    /// Without timestamp: of the entries at which the cursor stands.
    key: Vec<u8>,
    state: State,
    blobs: EmbeddedBlobBudget,
}

#[derive(PartialEq, Eq)]
enum State {
    New,
    /// The cursor stands at an entry that has not been looked at.
    Moving,
    /// It stands at one that was lent, and is still to be left.
    Lent,
    Ended,
}

/// What a scan comes by.
#[derive(Debug)]
pub enum Scanned<'s> {
    /// Nothing but a key and its value, as nearly always: lent, not copied.
    Pair {
        /// The key.
        key: &'s [u8],
        /// Its value.
        value: &'s [u8],
    },
    /// Anything else.
    Record(Record),
}

/// What is visible of a key.
enum Visible {
    Nothing,
    Value(EntryKind, Value),
    Operands {
        /// The newest first.
        operands: Vec<Value>,
        base: Option<(EntryKind, Value)>,
    },
}

impl<'f> TableScan<'f> {
    /// A scan over all keys.
    pub fn new(file: &'f TableFile, encoding: Encoding) -> Self {
        Self {
            file,
            options: ScanOptions::default(),
            prefix: None,
            backward: false,
            encoding,
            operator: None,
            cursor: file.table().entry_cursor(),
            newest: file.table().entry_cursor(),
            key: Vec::new(),
            state: State::New,
            blobs: EmbeddedBlobBudget::new(file.table().size()),
        }
    }

    /// Only keys in this range, in the table's order.
    #[must_use]
    pub fn range(mut self, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Self {
        self.options = ScanOptions::default().range::<&[u8]>((lower, upper));
        self
    }

    /// Only keys that start with `prefix`; instead of a range.
    #[must_use]
    pub fn prefix(mut self, prefix: &[u8]) -> Self {
        self.options = ScanOptions::starting_with(prefix, self.file.table().comparator().ok());
        self.prefix = Some(prefix.to_vec());
        self
    }

    /// From the last key to the first.
    #[must_use]
    pub fn backward(mut self, backward: bool) -> Self {
        self.backward = backward;
        self
    }

    /// What combines merge operands; without it they are shown.
    #[must_use]
    pub fn merge_operator(mut self, operator: Option<Arc<dyn MergeOperator>>) -> Self {
        self.operator = operator;
        self
    }

    /// The visible record of one key. Asks the filter first.
    pub fn get(&mut self, key: &[u8]) -> Result<Option<Record>> {
        let may_be_there = match self.file.table().filter() {
            Some(filter) => filter.may_contain(key)?,
            None => true,
        };
        let is_there = may_be_there && self.newest.seek(key)?;
        if !is_there || !self.file.is_same_key(self.bare(&self.newest), key) {
            return Ok(None);
        }
        self.key = key.to_vec();
        self.blobs.restart();
        self.record(true)
    }

    /// Goes on to the next record without making it; whether there is one. Values that records would
    /// resolve are not looked at.
    pub fn skip_record(&mut self) -> Result<bool> {
        let skipped = self.next_visible();
        if skipped.is_err() {
            self.state = State::Ended;
        }
        skipped
    }

    fn next_visible(&mut self) -> Result<bool> {
        while self.next_key()? {
            let newest = self.newest_entry();
            let is_visible = !is_deletion(newest.kind()) && !is_covered(self.file, newest)?;
            self.leave()?;
            if is_visible {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Goes on to the next record, and lends it if it is a plain one. An error ends the scan.
    pub fn next_scanned(&mut self) -> Result<Option<Scanned<'_>>> {
        match self.next_unless_plain() {
            Ok(Some(record)) => Ok(Some(Scanned::Record(record))),
            Ok(None) if self.state == State::Lent => {
                let value = self.newest_entry().value();
                Ok(Some(Scanned::Pair { key: &self.key, value }))
            }
            Ok(None) => Ok(None),
            Err(error) => {
                self.state = State::Ended;
                Err(error)
            }
        }
    }

    /// The next record, unless it is a plain one, which is left to be lent.
    fn next_unless_plain(&mut self) -> Result<Option<Record>> {
        while self.next_key()? {
            let newest = self.newest_entry();
            if newest.kind() == EntryKind::Value
                && self.file.timestamp_size() == 0
                && !is_covered(self.file, newest)?
            {
                self.state = State::Lent;
                return Ok(None);
            }
            let record = self.record(self.backward)?;
            self.leave()?;
            if record.is_some() {
                return Ok(record);
            }
        }
        Ok(None)
    }

    /// Stands at the newest entry of the current key.
    fn newest_entry(&self) -> &EntryCursor {
        if self.backward { &self.newest } else { &self.cursor }
    }

    /// Goes to the newest entry of the next key that is wanted.
    fn next_key(&mut self) -> Result<bool> {
        if self.state == State::New {
            self.state = if self.start()? { State::Moving } else { State::Ended };
        }
        if self.state == State::Lent {
            self.state = State::Moving;
            self.leave()?;
        }
        while self.state == State::Moving {
            self.key.clear();
            self.key.extend_from_slice(self.file.bare(self.cursor.user_key()));
            if self.is_beyond()? {
                self.state = State::Ended;
                break;
            }
            if self.backward {
                self.find_newest()?;
            }
            if self.prefix.as_deref().is_none_or(|prefix| self.key.starts_with(prefix)) {
                return Ok(true);
            }
            self.leave()?;
        }
        Ok(false)
    }

    /// On the way back, from the oldest entry of the key: `newest` goes to the newest one, and the cursor
    /// past it. No search for it: in a long restart interval each one would start from its beginning.
    fn find_newest(&mut self) -> Result<()> {
        // It stands at an entry of the key before, or ran off the end with the oldest of the last one.
        if !self.newest.is_valid() {
            self.newest.seek_to_last()?;
        }
        while !self.newest.is_at_same_entry(&self.cursor) && self.newest.prev()? {}
        let mut versions = 0;
        while self.is_at_key() {
            self.cursor.prev()?;
            versions += 1;
        }
        for _ in 1..versions {
            self.newest.prev()?;
        }
        let newest = self.file.bare(self.newest.user_key());
        if newest != self.key {
            // Of bytes that mean the same key, those of the newest entry are shown.
            self.key = newest.to_vec();
        }
        if !self.cursor.is_valid() {
            self.state = State::Ended;
        }
        Ok(())
    }

    fn is_at_key(&self) -> bool {
        self.cursor.is_valid() && self.file.is_same_key(self.bare(&self.cursor), &self.key)
    }

    /// Goes to the first entry of the range.
    fn start(&mut self) -> Result<bool> {
        let table = self.file.table();
        if table.comparator().is_ok() && !table.may_match(&self.options, None, self.backward)? {
            return Ok(false);
        }
        let bound = match self.backward {
            false => self.options.lower_bound(),
            true => self.options.upper_bound(),
        };
        let is_there = match (bound, self.backward) {
            (Bound::Unbounded, false) => self.cursor.seek_to_first()?,
            (Bound::Unbounded, true) => self.cursor.seek_to_last()?,
            (Bound::Included(key) | Bound::Excluded(key), false) => self.cursor.seek(key)?,
            (Bound::Included(key) | Bound::Excluded(key), true) => {
                self.cursor.seek_for_prev(key)?
            }
        };
        if let (true, Bound::Excluded(key)) = (is_there, bound) {
            self.key = key.to_vec();
            self.leave()?;
        }
        if self.backward && self.cursor.is_valid() {
            let key = self.file.bare(self.cursor.user_key());
            match self.options.upper_bound() {
                Bound::Unbounded => self.newest.seek_to_last()?,
                _ => self.newest.seek_for_prev(key)?,
            };
        }
        Ok(self.cursor.is_valid())
    }

    /// Whether the key lies behind the far end of the range.
    fn is_beyond(&self) -> Result<bool> {
        let (bound, ahead) = match self.backward {
            false => (self.options.upper_bound(), Ordering::Greater),
            true => (self.options.lower_bound(), Ordering::Less),
        };
        let compare = |bound: &[u8]| {
            let order: &Comparator = self.file.table().comparator()?;
            Ok::<_, Error>(order.compare_without_timestamp(&self.key, bound))
        };
        Ok(match bound {
            Bound::Unbounded => false,
            Bound::Included(bound) => compare(bound)? == ahead,
            Bound::Excluded(bound) => {
                let place = compare(bound)?;
                place == ahead || place == Ordering::Equal
            }
        })
    }

    /// Leaves all entries of the key behind.
    fn leave(&mut self) -> Result<()> {
        while self.is_at_key() {
            match self.backward {
                false => self.cursor.next()?,
                true => self.cursor.prev()?,
            };
        }
        if !self.cursor.is_valid() {
            self.state = State::Ended;
        }
        Ok(())
    }

    /// The visible record of the key, at whose newest entry one of the cursors stands.
    fn record(&mut self, at_newest: bool) -> Result<Option<Record>> {
        let (file, key) = (self.file, &self.key[..]);
        let cursor = if at_newest { &mut self.newest } else { &mut self.cursor };
        let timestamp = file.timestamp(cursor.user_key()).unwrap_or_default().to_vec();
        let visible = visible(file, key, cursor)?;
        let (table, encoding) = (file.table(), self.encoding);
        if let Visible::Value(kind, value) | Visible::Operands { base: Some((kind, value)), .. } =
            &visible
        {
            self.blobs.spend(*kind, value)?;
        }
        let record = match visible {
            Visible::Nothing => return Ok(None),
            Visible::Value(EntryKind::WideColumnEntity, entity) => Record::of_key(key, encoding)
                .with_columns(table.resolve_columns(&entity)?, encoding),
            Visible::Value(kind, value) => {
                Record::of_value(key, &table.resolve(kind, &value)?, encoding)
            }
            Visible::Operands { operands, base } => {
                let base = base.map(|(kind, value)| table.resolve(kind, &value)).transpose()?;
                let operands: Vec<&[u8]> = operands.iter().rev().map(|it| &it[..]).collect();
                let merged = self
                    .operator
                    .as_ref()
                    .and_then(|operator| operator.merge(key, base.as_deref(), &operands));
                match merged {
                    Some(value) => Record::of_value(key, &value, encoding),
                    None => Record::of_key(key, encoding).with_operands(
                        operands,
                        base.as_deref(),
                        encoding,
                    ),
                }
            }
        };
        Ok(Some(record.with_timestamp(&timestamp, encoding)))
    }

    fn bare<'c>(&self, cursor: &'c EntryCursor) -> &'c [u8] {
        self.file.bare(cursor.user_key())
    }
}

/// An error ends it.
impl Iterator for TableScan<'_> {
    type Item = Result<Record>;

    fn next(&mut self) -> Option<Result<Record>> {
        let encoding = self.encoding;
        let record = |scanned| match scanned {
            Scanned::Pair { key, value } => Record::of_value(key, value, encoding),
            Scanned::Record(record) => record,
        };
        self.next_scanned().map(|scanned| scanned.map(record)).transpose()
    }
}

/// What is visible of `key`, from its newest entry on, where the cursor stands.
fn visible(file: &TableFile, key: &[u8], cursor: &mut EntryCursor) -> Result<Visible> {
    let mut operands = Vec::new();
    let mut base = None;
    loop {
        let is_covered = is_covered(file, cursor)?;
        match cursor.kind() {
            _ if is_covered => break,
            EntryKind::Merge => operands.push(cursor.value_handle()),
            kind if is_deletion(kind) => break,
            kind => {
                base = Some((kind, cursor.value_handle()));
                break;
            }
        }
        if !cursor.next()? || !file.is_same_key(file.bare(cursor.user_key()), key) {
            break;
        }
    }
    Ok(match (operands.is_empty(), base) {
        (true, None) => Visible::Nothing,
        (true, Some((kind, value))) => Visible::Value(kind, value),
        (false, base) => Visible::Operands { operands, base },
    })
}

fn is_deletion(kind: EntryKind) -> bool {
    matches!(
        kind,
        EntryKind::Deletion
            | EntryKind::SingleDeletion
            | EntryKind::DeletionWithTimestamp
            | EntryKind::RangeDeletion
    )
}

/// Whether a range deletion has deleted the entry at the cursor.
fn is_covered(file: &TableFile, cursor: &EntryCursor) -> Result<bool> {
    let table = file.table();
    Ok(!table.range_deletions().is_empty() && table.is_range_deleted(&cursor.key())?)
}
