//! What the user sees of a column family, in order: the newest state of each key.
//!
//! ```text
//! entries    a@5 value   b@7 deletion   b@4 value   c@9 merge   c@2 value
//! cursor     a                                      c
//!
//! forward    the entries stand at the current key, or at the one after it
//! backward   the entries stand before the current key: all of it has been passed, oldest first
//! ```
//!
//! Where range deletions cover one key after the other, the sources that are older than the
//! deletion go to its end at once, as in RocksDB.

use std::fmt;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sstkit_table::{EmbeddedBlobBudget, ScanOptions, Value};

use super::history::History;
use super::range_tombstone_aggregator::RangeTombstoneAggregator;
use super::record::{Column, Record};
use super::source::{self, Source};
use super::versions::{Seen, Versions};
use crate::column_family_data::ColumnFamilyData;
use crate::error::Result;
use crate::merging_iterator::{EntrySource, MergingIterator, SortedEntries};
use crate::read_view::ReadView;

/// Moves about in the visible keys of a column family, in both directions.
///
/// A new cursor stands nowhere. All moves say whether there is a key where they lead; after an
/// error there is none.
///
/// ```no_run
/// # use sstkit_db::Database;
/// let db = Database::open("path/to/db")?;
/// let mut cursor = db.cursor()?;
/// let mut more = cursor.seek(b"m")?;
/// while more {
///     println!("{} = {:?}", cursor.key().escape_ascii(), cursor.value()?);
///     more = cursor.next()?;
/// }
/// # Ok::<(), sstkit_db::Error>(())
/// ```
pub struct Cursor {
    family: Arc<ColumnFamilyData>,
    view: ReadView,
    scan: Arc<ScanOptions>,
    entries: MergingIterator<Source>,
    covering: RangeTombstoneAggregator,
    direction: Direction,
    /// The current key, if `valid`.
    key: Vec<u8>,
    versions: Versions,
    /// The entries of the current key so far, going backwards.
    history: History,
    valid: bool,
    /// Entries under range deletions since a key was visible, or since they were skipped.
    covered: u32,
    /// Embedded blobs on the way in one direction.
    blobs: EmbeddedBlobBudget,
    /// Whether those of the current key have been counted.
    blobs_are_counted: AtomicBool,
}

/// So many entries under range deletions, and the rest of them is looked for an end. A seek costs
/// more than some steps.
const SKIP_AFTER: u32 = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Forward,
    Backward,
}

impl Cursor {
    pub(crate) fn new(
        family: &Arc<ColumnFamilyData>,
        view: &ReadView,
        scan: &ScanOptions,
    ) -> Result<Self> {
        let family = family.readable()?.unwrap_or(family);
        let scan = Arc::new(scan.clone());
        let table_bytes = family.version.files().map(|file| file.meta.size).sum();
        Ok(Self {
            entries: source::all(family, &scan),
            covering: RangeTombstoneAggregator::new(family, view),
            family: Arc::clone(family),
            view: view.clone(),
            scan,
            direction: Direction::Forward,
            key: Vec::new(),
            versions: Versions::default(),
            history: History::default(),
            valid: false,
            covered: 0,
            blobs: EmbeddedBlobBudget::new(table_bytes),
            blobs_are_counted: AtomicBool::new(false),
        })
    }

    /// Whether it stands at a key.
    pub fn is_valid(&self) -> bool {
        self.valid
    }

    /// The current key, without its timestamp if it has one; empty where there is none.
    pub fn key(&self) -> &[u8] {
        if self.valid { &self.key } else { &[] }
    }

    /// The timestamp of the version that is shown; empty where keys have none.
    pub fn timestamp(&self) -> &[u8] {
        if self.valid { &self.versions.timestamp } else { &[] }
    }

    /// The value of the current key, of an entity its default column; empty where there is none.
    pub fn value(&self) -> Result<Value> {
        match self.valid {
            true => {
                self.count_blobs()?;
                self.family.value(&self.key, &self.versions)
            }
            false => Ok(Value::default()),
        }
    }

    /// The columns of the current key: of a plain value the default one alone; none where there is
    /// no key.
    pub fn columns(&self) -> Result<Vec<Column>> {
        match self.valid {
            true => {
                self.count_blobs()?;
                self.family.entity(&self.key, &self.versions)
            }
            false => Ok(Vec::new()),
        }
    }

    /// All there is to know about the current key; `None` where there is none.
    pub fn record(&self) -> Result<Option<Record>> {
        self.valid.then(|| self.known_record()).transpose()
    }

    /// The record of the current key, which there is.
    pub(super) fn known_record(&self) -> Result<Record> {
        self.count_blobs()?;
        self.family.record(&self.key, &self.versions)
    }

    /// Counts the embedded blobs of the current key, once.
    fn count_blobs(&self) -> Result<()> {
        match &self.versions.base {
            Some(base) if !self.blobs_are_counted.swap(true, Ordering::Relaxed) => {
                Ok(self.blobs.spend(base.kind, &base.value)?)
            }
            _ => Ok(()),
        }
    }

    /// Goes to the first key.
    pub fn seek_to_first(&mut self) -> Result<bool> {
        let scan = Arc::clone(&self.scan);
        match scan.lower_bound() {
            Bound::Included(key) => self.seek_from(key, true),
            Bound::Excluded(key) => self.seek_from(key, false),
            Bound::Unbounded => {
                self.start(None);
                self.entries.seek_to_first()?;
                self.settle_forward()
            }
        }
    }

    /// Goes to the last key.
    pub fn seek_to_last(&mut self) -> Result<bool> {
        let scan = Arc::clone(&self.scan);
        match scan.upper_bound() {
            Bound::Included(key) => self.seek_back_from(key, true),
            Bound::Excluded(key) => self.seek_back_from(key, false),
            Bound::Unbounded => {
                self.start(None);
                self.entries.seek_to_last()?;
                self.settle_backward()
            }
        }
    }

    /// Goes to `key`, or if it is not there to the next one after it.
    pub fn seek(&mut self, key: &[u8]) -> Result<bool> {
        let compare = |bound: &[u8]| self.family.keys.compare(bound, key);
        let below = match self.scan.lower_bound() {
            Bound::Included(bound) => compare(bound).is_gt(),
            Bound::Excluded(bound) => compare(bound).is_ge(),
            Bound::Unbounded => false,
        };
        if below { self.seek_to_first() } else { self.seek_from(key, true) }
    }

    /// Goes to `key`, or if it is not there to the last one before it.
    pub fn seek_for_prev(&mut self, key: &[u8]) -> Result<bool> {
        let compare = |bound: &[u8]| self.family.keys.compare(bound, key);
        let above = match self.scan.upper_bound() {
            Bound::Included(bound) => compare(bound).is_lt(),
            Bound::Excluded(bound) => compare(bound).is_le(),
            Bound::Unbounded => false,
        };
        if above { self.seek_to_last() } else { self.seek_back_from(key, true) }
    }

    /// Goes to the next key.
    #[expect(clippy::should_implement_trait, reason = "a cursor lends its keys, an iterator gives")]
    pub fn next(&mut self) -> Result<bool> {
        if !self.valid {
            return Ok(false);
        }
        self.valid = false;
        if self.direction == Direction::Backward {
            self.blobs.restart();
            self.entries.seek(&self.key)?;
        }
        self.skip_current()?;
        self.settle_forward()
    }

    /// Goes to the key before.
    pub fn prev(&mut self) -> Result<bool> {
        if !self.valid {
            return Ok(false);
        }
        self.valid = false;
        if self.direction == Direction::Forward {
            self.blobs.restart();
            self.entries.seek_for_prev(&self.key)?;
            self.skip_current_back()?;
        }
        self.settle_backward()
    }

    fn seek_from(&mut self, key: &[u8], inclusive: bool) -> Result<bool> {
        self.start(Some(key));
        self.entries.seek(key)?;
        if !inclusive {
            self.skip_current()?;
        }
        self.settle_forward()
    }

    fn seek_back_from(&mut self, key: &[u8], inclusive: bool) -> Result<bool> {
        self.start(Some(key));
        self.entries.seek_for_prev(key)?;
        if !inclusive {
            self.skip_current_back()?;
        }
        self.settle_backward()
    }

    /// Forgets where it was. The current key is the one that is sought, if there is one.
    fn start(&mut self, key: Option<&[u8]>) {
        self.valid = false;
        self.blobs.restart();
        if let Some(key) = key {
            self.key.clear();
            self.key.extend_from_slice(key);
        }
    }

    /// From where the entries stand to the first visible key at or after it.
    fn settle_forward(&mut self) -> Result<bool> {
        self.direction = Direction::Forward;
        while self.entries.is_valid() {
            self.take_key();
            if !self.is_in_range() {
                break;
            }
            self.take_versions()?;
            if self.versions.is_visible() {
                return Ok(self.arrive());
            }
            self.skip_current()?;
            self.skip_covered()?;
        }
        self.family.require_all_tables()?;
        Ok(false)
    }

    /// Takes the entries of the current key, the newest of which is the current one.
    fn take_versions(&mut self) -> Result<()> {
        self.versions.clear();
        while self.is_at_current() && self.take_entry(Direction::Forward)? {
            self.entries.next()?;
        }
        Ok(())
    }

    /// From where the entries stand to the last visible key at or before it.
    fn settle_backward(&mut self) -> Result<bool> {
        self.direction = Direction::Backward;
        while self.entries.is_valid() {
            self.take_key();
            if !self.is_in_range() {
                break;
            }
            self.versions.clear();
            self.history.clear();
            while self.is_at_current() {
                self.take_entry(Direction::Backward)?;
                if self.family.keys.is_user_made() {
                    // Of bytes that mean the same key, those of the newest entry are shown.
                    self.take_key();
                }
                self.entries.prev()?;
            }
            if self.history.is_contradicted() {
                self.look_again()?;
            } else {
                self.history.tell(&mut self.versions, &self.family.keys);
            }
            if self.versions.is_visible() {
                return Ok(self.arrive());
            }
            self.skip_covered()?;
        }
        self.family.require_all_tables()?;
        Ok(false)
    }

    /// Takes the entries of the current key forwards, when all of them have been passed backwards.
    fn look_again(&mut self) -> Result<()> {
        self.entries.seek(&self.key)?;
        self.take_versions()?;
        self.entries.seek_for_prev(&self.key)?;
        self.skip_current_back()
    }

    fn arrive(&mut self) -> bool {
        (self.valid, self.covered) = (true, 0);
        *self.blobs_are_counted.get_mut() = false;
        true
    }

    /// After some entries under range deletions: past all that the one over the current key deletes
    /// in older sources.
    fn skip_covered(&mut self) -> Result<()> {
        if self.covered < SKIP_AFTER {
            return Ok(());
        }
        self.covered = 0;
        if let Some(reach) = self.covering.reach(&self.key)? {
            let bound = match self.direction {
                Direction::Forward => &reach.end,
                Direction::Backward => &reach.start,
            };
            self.entries.skip_to(reach.source + 1, bound)?;
        }
        Ok(())
    }

    /// Adds the current entry to the versions of the current key, if the view sees it. False if
    /// those that follow do not matter.
    fn take_entry(&mut self, direction: Direction) -> Result<bool> {
        let keys = &self.family.keys;
        let (entries, user_key) = (&self.entries, self.entries.user_key());
        let sequence = entries.sequence();
        if !self.view.sees(sequence, keys.timestamp(user_key), keys) {
            return Ok(true);
        }
        let source = entries.source().unwrap_or(0);
        let is_covered = self.covering.covers(&self.key, sequence, source)?;
        self.covered = self.covered.saturating_add(u32::from(is_covered));
        let (kind, file) = (entries.kind(), source::file(entries));
        let seen = Seen { user_key, sequence, kind, is_covered, file };
        Ok(match direction {
            Direction::Forward => self.versions.add(seen, || entries.value_handle(), keys),
            Direction::Backward => {
                self.history.add(seen, entries.value_handle(), keys);
                true
            }
        })
    }

    fn is_at_current(&self) -> bool {
        self.entries.is_valid() && self.family.keys.compare(self.entry_key(), &self.key).is_eq()
    }

    /// Past what is left of the current key.
    fn skip_current(&mut self) -> Result<()> {
        while self.is_at_current() {
            self.entries.next()?;
        }
        Ok(())
    }

    fn skip_current_back(&mut self) -> Result<()> {
        while self.is_at_current() {
            self.entries.prev()?;
        }
        Ok(())
    }

    /// The user's key of the current entry.
    fn entry_key(&self) -> &[u8] {
        self.family.keys.bare(self.entries.user_key())
    }

    /// Makes the key of the current entry the current key.
    fn take_key(&mut self) {
        self.key.clear();
        self.key.extend_from_slice(self.family.keys.bare(self.entries.user_key()));
    }

    /// Whether the current key is one to be shown. Keys are met in order, so that the first one
    /// that is not ends the scan.
    fn is_in_range(&self) -> bool {
        let compare = |bound: &[u8]| self.family.keys.compare(&self.key, bound);
        match self.direction {
            Direction::Forward => match self.scan.upper_bound() {
                Bound::Included(bound) => compare(bound).is_le(),
                Bound::Excluded(bound) => compare(bound).is_lt(),
                Bound::Unbounded => true,
            },
            Direction::Backward => match self.scan.lower_bound() {
                Bound::Included(bound) => compare(bound).is_ge(),
                Bound::Excluded(bound) => compare(bound).is_gt(),
                Bound::Unbounded => true,
            },
        }
    }
}

/// Without the value, which might have to be read.
impl fmt::Debug for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.valid {
            true => write!(f, "Cursor(\"{}\")", self.key.escape_ascii()),
            false => f.write_str("Cursor(nowhere)"),
        }
    }
}
