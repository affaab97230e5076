//! What the user sees of a table, in order: the newest state of each key.
//!
//! ```text
//! entries    a@5 value   b@7 deletion   b@4 value   c@9 merge   c@2 value
//! cursor     a                                      c
//!
//! at entry   the entries stand at the newest entry of the current key, a plain value, which is
//!            lent from there: almost always
//! forward    the entries stand at the current key: next skips what is left of it
//! backward   the entries stand before the current key: all of it has been passed, oldest first
//! ```

mod settle;

use std::borrow::Cow;
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::Result;
use crate::filter::PrefixMode;
use crate::filter::seek;
use crate::raw::{EntryKind, KeyBuffer};
use crate::reader::open::core::Core;
use crate::reader::scan::embedded_blob_budget::EmbeddedBlobBudget;
use crate::reader::scan::options::ScanOptions;
use crate::reader::scan::point_cursor::PointCursor;
use crate::reader::scan::seek_stats::SeekStats;
use crate::reader::scan::versions::Versions;
use crate::reader::value::Value;

/// Moves about in the visible keys of a table, in both directions.
///
/// A new cursor stands nowhere. All moves say whether there is a key where they lead; after an
/// error there is none.
///
/// ```no_run
/// # use sstkit_table::Table;
/// let table = Table::open("000011.sst")?;
/// let mut cursor = table.cursor();
/// let mut more = cursor.seek(b"m")?;
/// while more {
///     println!("{} = {:?}", cursor.key().escape_ascii(), cursor.value()?);
///     more = cursor.next()?;
/// }
/// # Ok::<(), sstkit_table::Error>(())
/// ```
pub struct Cursor {
    points: PointCursor,
    options: ScanOptions,
    state: CursorState,
    /// The current key, unless it stands at an entry, or the last one.
    key: KeyBuffer,
    /// What is known of its entries, unless it stands at one.
    versions: Versions,
    /// Room for the entries of a key, with kind and whether they are covered, on the way back.
    oldest_first: Vec<(EntryKind, bool, Value)>,
    /// With [`PrefixMode::SamePrefix`], the prefix of the last seek key.
    prefix: Option<Vec<u8>>,
    seek: SeekStats,
    blobs: BlobPass,
}

/// The embedded blobs on the way in one direction.
struct BlobPass {
    budget: EmbeddedBlobBudget,
    /// Whether those of the current key have been counted.
    is_counted: AtomicBool,
    backward: bool,
}

/// Where the entries are, as seen from the current key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CursorState {
    /// There is no current key.
    Unpositioned,
    /// At its newest entry, a plain value.
    AtEntry,
    /// At one of its entries, or after them.
    Forward,
    /// Before all of them.
    Backward,
}

impl Cursor {
    pub(crate) fn new(core: &Arc<Core>, options: ScanOptions) -> Self {
        Self {
            points: PointCursor::new(core, options.fill_cache),
            options: options.in_order(core.keys.order().ok()),
            state: CursorState::Unpositioned,
            key: KeyBuffer::default(),
            versions: Versions::default(),
            oldest_first: Vec::new(),
            prefix: None,
            seek: SeekStats::default(),
            blobs: BlobPass {
                budget: EmbeddedBlobBudget::new(core.size),
                is_counted: AtomicBool::new(false),
                backward: false,
            },
        }
    }

    /// Whether it stands at a key.
    #[inline]
    pub fn is_valid(&self) -> bool {
        self.state != CursorState::Unpositioned
    }

    /// The current key, without its timestamp if it has one; empty where there is none.
    #[inline]
    pub fn key(&self) -> &[u8] {
        match self.state {
            CursorState::Unpositioned => &[],
            CursorState::AtEntry => self.user_key(),
            CursorState::Forward | CursorState::Backward => self.key.bytes(),
        }
    }

    /// The value of the current key; empty where there is none.
    pub fn value(&self) -> Result<Value> {
        let core = self.points.core();
        match self.state {
            CursorState::Unpositioned => Ok(Value::default()),
            CursorState::AtEntry => {
                self.seek.count_value(core);
                Ok(self.points.value_handle())
            }
            CursorState::Forward | CursorState::Backward => {
                self.seek.count_value(core);
                let value =
                    self.count_blobs().and_then(|()| self.versions.value(core, self.key.bytes()));
                value.map_err(|error| core.blocks.in_file(error))
            }
        }
    }

    /// The value of the current key, lent for as long as the cursor stays there; empty where there is
    /// none. Cheaper than [`value`](Self::value) for those who do not keep it: mostly nothing is
    /// allocated or counted.
    ///
    /// ```no_run
    /// # use sstkit_table::Table;
    /// let mut cursor = Table::open("000011.sst")?.cursor();
    /// let (mut more, mut bytes) = (cursor.seek_to_first()?, 0);
    /// while more {
    ///     bytes += cursor.key().len() + cursor.value_bytes()?.len();
    ///     more = cursor.next()?;
    /// }
    /// # Ok::<(), sstkit_table::Error>(())
    /// ```
    #[inline]
    pub fn value_bytes(&self) -> Result<Cow<'_, [u8]>> {
        if self.state == CursorState::AtEntry {
            self.seek.count_value(self.points.core());
            return Ok(Cow::Borrowed(self.points.value()));
        }
        self.gathered_value_bytes()
    }

    /// The same where it does not stand at an entry.
    fn gathered_value_bytes(&self) -> Result<Cow<'_, [u8]>> {
        if self.state != CursorState::Unpositioned
            && let Some(value) = self.versions.plain_value()
        {
            self.seek.count_value(self.points.core());
            return Ok(Cow::Borrowed(value));
        }
        self.value().map(|value| Cow::Owned(value.to_vec()))
    }

    /// Counts the embedded blobs of the current key, once.
    fn count_blobs(&self) -> Result<()> {
        match self.versions.base() {
            Some((kind, value)) if !self.blobs.is_counted.swap(true, Ordering::Relaxed) => {
                self.blobs.budget.spend(kind, value)
            }
            _ => Ok(()),
        }
    }

    /// Goes to the first key.
    pub fn seek_to_first(&mut self) -> Result<bool> {
        match self.options.lower.clone() {
            Bound::Included(key) => self.seek_from(&key, true),
            Bound::Excluded(key) => self.seek_from(&key, false),
            Bound::Unbounded => {
                self.start(false)?;
                if !self.ask_filter(None, false)? {
                    return Ok(false);
                }
                self.points.first()?;
                self.settle_forward()
            }
        }
    }

    /// Goes to the last key.
    pub fn seek_to_last(&mut self) -> Result<bool> {
        match self.options.upper.clone() {
            Bound::Included(key) => self.seek_back_from(&key, true),
            Bound::Excluded(key) => self.seek_back_from(&key, false),
            Bound::Unbounded => {
                self.start(false)?;
                if !self.ask_filter(None, true)? {
                    return Ok(false);
                }
                self.points.last()?;
                self.settle_backward()
            }
        }
    }

    /// Goes to `key`, or if it is not there to the next one after it.
    pub fn seek(&mut self, key: &[u8]) -> Result<bool> {
        let compare = |bound: &[u8]| self.points.core().keys.compare(bound, key);
        let below = match &self.options.lower {
            Bound::Included(bound) => compare(bound).is_gt(),
            Bound::Excluded(bound) => compare(bound).is_ge(),
            Bound::Unbounded => false,
        };
        if below { self.seek_to_first() } else { self.seek_from(key, true) }
    }

    /// Goes to `key`, or if it is not there to the last one before it.
    pub fn seek_for_prev(&mut self, key: &[u8]) -> Result<bool> {
        let compare = |bound: &[u8]| self.points.core().keys.compare(bound, key);
        let above = match &self.options.upper {
            Bound::Included(bound) => compare(bound).is_lt(),
            Bound::Excluded(bound) => compare(bound).is_le(),
            Bound::Unbounded => false,
        };
        if above { self.seek_to_last() } else { self.seek_back_from(key, true) }
    }

    /// Goes to the next key.
    // All steps of the ordinary way are in this one function. If callers in other crates got it inline,
    // they would get some of the steps and call the others: four calls instead of one.
    #[expect(clippy::should_implement_trait, reason = "a cursor lends its keys, an iterator gives")]
    pub fn next(&mut self) -> Result<bool> {
        if self.state != CursorState::AtEntry || self.points.core().keys.is_user_made() {
            return self.next_by_key();
        }
        self.state = CursorState::Unpositioned;
        self.points.next_key()?;
        self.settle_forward()
    }

    /// The same where entries are compared with the current key.
    fn next_by_key(&mut self) -> Result<bool> {
        match std::mem::replace(&mut self.state, CursorState::Unpositioned) {
            CursorState::Unpositioned => return Ok(false),
            CursorState::AtEntry => {
                self.take_key();
                self.points.next()?;
            }
            CursorState::Forward => {}
            // The entries stand before those of the current key.
            CursorState::Backward if self.points.is_valid() => drop(self.points.next()?),
            CursorState::Backward => drop(self.points.first()?),
        }
        self.skip_current()?;
        self.settle_forward()
    }

    /// Goes to the key before.
    #[inline]
    pub fn prev(&mut self) -> Result<bool> {
        match std::mem::replace(&mut self.state, CursorState::Unpositioned) {
            CursorState::Unpositioned => return Ok(false),
            CursorState::AtEntry => drop(self.points.prev()?),
            CursorState::Forward => self.skip_back()?,
            CursorState::Backward => {}
        }
        self.settle_backward()
    }

    /// From the current key or one after it to the entry before those of the current key. (By
    /// equality alone, because the order may not be known.)
    fn skip_back(&mut self) -> Result<()> {
        if !self.points.is_valid() {
            self.points.last()?;
        }
        while self.points.is_valid() && !self.is_at_current()? {
            self.points.prev()?;
        }
        while self.points.is_valid() && self.is_at_current()? {
            self.points.prev()?;
        }
        Ok(())
    }

    fn seek_from(&mut self, key: &[u8], inclusive: bool) -> Result<bool> {
        self.start(true)?;
        if !self.ask_filter(Some(key), false)? {
            return Ok(false);
        }
        let core = Arc::clone(self.points.core());
        if inclusive {
            self.points.seek(&core.keys.newest(key).before())?;
        } else {
            self.points.seek(&core.keys.oldest(key).after())?;
            self.key.replace(0, key, key.len());
            self.skip_current()?;
        }
        self.settle_forward()
    }

    fn seek_back_from(&mut self, key: &[u8], inclusive: bool) -> Result<bool> {
        self.start(true)?;
        if !self.ask_filter(Some(key), true)? {
            return Ok(false);
        }
        let core = Arc::clone(self.points.core());
        if inclusive {
            self.points.seek_for_prev(&core.keys.oldest(key).after())?;
        } else {
            self.points.seek_for_prev(&core.keys.newest(key).before())?;
            while self.points.is_valid() && core.keys.compare(self.entry_key()?, key).is_ge() {
                self.points.prev()?;
            }
        }
        self.settle_backward()
    }

    /// Forgets where it was. Scans of tables whose order is not known are possible from their ends,
    /// unless range deletions are to be applied.
    fn start(&mut self, by_key: bool) -> Result<()> {
        self.state = CursorState::Unpositioned;
        self.prefix = None;
        self.blobs.budget.restart();
        self.points.reset();
        let blocks_before = self.points.blocks_entered;
        self.seek = SeekStats::new(blocks_before);
        let core = self.points.core();
        if by_key || !core.range_deletions.is_empty() {
            core.require_order()?;
        }
        Ok(())
    }

    /// Whether the filter lets a seek to `key` (or to an end of the range) pass; counts what it
    /// says.
    fn ask_filter(&mut self, key: Option<&[u8]>, backward: bool) -> Result<bool> {
        let core = self.points.core();
        if let (PrefixMode::SamePrefix, Some(key)) = (self.options.prefix_mode, key) {
            let extractor = core.prefix_extractor.as_ref();
            self.prefix = extractor.and_then(|it| it.prefix(key)).map(<[u8]>::to_vec);
        }
        let answer = seek::ask(core, &self.options, key, backward)?;
        if let Some(may) = answer {
            self.seek.count_filter(core, may);
        }
        Ok(answer.unwrap_or(true))
    }
}

/// Without the value, which might have to be read.
impl fmt::Debug for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.is_valid() {
            true => write!(f, "Cursor(\"{}\")", self.key().escape_ascii()),
            false => f.write_str("Cursor(nowhere)"),
        }
    }
}
