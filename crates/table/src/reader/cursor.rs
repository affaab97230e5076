//! What the user sees of a table, in order: the newest state of each key.
//!
//! ```text
//! entries    a@5 value   b@7 deletion   b@4 value   c@9 merge   c@2 value
//! cursor     a                                      c
//!
//! forward    the entries stand at the current key: next skips what is left of it
//! backward   the entries stand before the current key: all of it has been passed, oldest first
//! ```

use std::cmp::Ordering;
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

use super::core::Core;
use super::filter::PrefixMode;
use super::point_cursor::PointCursor;
use super::scan_options::ScanOptions;
use super::seek_filter;
use super::seek_stats::SeekStats;
use super::value::Value;
use super::versions::Versions;
use crate::error::Result;
use crate::raw::EntryKind;

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
    direction: Direction,
    /// The current key, if `valid`.
    key: Vec<u8>,
    versions: Versions,
    valid: bool,
    /// With [`PrefixMode::SamePrefix`], the prefix of the last seek key.
    prefix: Option<Vec<u8>>,
    seek: SeekStats,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Forward,
    Backward,
}

impl Cursor {
    pub(super) fn new(core: &Arc<Core>, options: ScanOptions) -> Self {
        Self {
            points: PointCursor::new(core),
            options,
            direction: Direction::Forward,
            key: Vec::new(),
            versions: Versions::default(),
            valid: false,
            prefix: None,
            seek: SeekStats::default(),
        }
    }

    /// Whether it stands at a key.
    pub fn is_valid(&self) -> bool {
        self.valid
    }

    /// The current key, without its timestamp if it has one; empty where there is none.
    pub fn key(&self) -> &[u8] {
        if self.valid { &self.key } else { &[] }
    }

    /// The value of the current key; empty where there is none.
    pub fn value(&self) -> Result<Value> {
        if !self.valid {
            return Ok(Value::default());
        }
        let core = self.points.core();
        self.seek.count_value(core);
        self.versions.value(core, &self.key).map_err(|error| core.blocks.in_file(error))
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
    #[expect(clippy::should_implement_trait, reason = "a cursor lends its keys, an iterator gives")]
    pub fn next(&mut self) -> Result<bool> {
        if !self.valid {
            return Ok(false);
        }
        self.valid = false;
        if self.direction == Direction::Backward {
            // The entries stand before those of the current key.
            if self.points.is_valid() {
                self.points.next()?;
            } else {
                self.points.first()?;
            }
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
            // The entries stand at the current key or one after it. (By equality alone, because the
            // order may not be known.)
            if !self.points.is_valid() {
                self.points.last()?;
            }
            while self.points.is_valid() && self.compare_to_current()?.is_ne() {
                self.points.prev()?;
            }
            while self.points.is_valid() && self.compare_to_current()?.is_eq() {
                self.points.prev()?;
            }
        }
        self.settle_backward()
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
            self.key.clear();
            self.key.extend_from_slice(key);
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
        self.valid = false;
        self.prefix = None;
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
        let answer = seek_filter::ask(core, &self.options, key, backward)?;
        if let Some(may) = answer {
            self.seek.count_filter(core, may);
        }
        Ok(answer.unwrap_or(true))
    }

    /// From where the entries stand to the first visible key at or after it.
    fn settle_forward(&mut self) -> Result<bool> {
        self.direction = Direction::Forward;
        while self.points.is_valid() {
            self.take_key()?;
            if !self.is_in_range() {
                break;
            }
            self.versions.clear();
            loop {
                let (kind, is_covered) = self.entry_state()?;
                let value = self.points.value_handle();
                if !self.versions.add(kind, is_covered, value)
                    || !self.points.next()?
                    || self.compare_to_current()?.is_ne()
                {
                    break;
                }
            }
            if self.versions.is_visible() {
                return self.arrive(true);
            }
            self.skip_current()?;
        }
        self.arrive(false)
    }

    /// From where the entries stand to the last visible key at or before it.
    fn settle_backward(&mut self) -> Result<bool> {
        self.direction = Direction::Backward;
        while self.points.is_valid() {
            self.take_key()?;
            if !self.is_in_range() {
                break;
            }
            // The oldest come first. What is newer and no operand hides all that came before.
            let mut oldest_first: Vec<(EntryKind, bool, Value)> = Vec::new();
            loop {
                let (kind, is_covered) = self.entry_state()?;
                if kind != EntryKind::Merge || is_covered {
                    oldest_first.clear();
                }
                oldest_first.push((kind, is_covered, self.points.value_handle()));
                if !self.points.prev()? || self.compare_to_current()?.is_ne() {
                    break;
                }
            }
            self.versions.clear();
            for (kind, is_covered, value) in oldest_first.into_iter().rev() {
                self.versions.add(kind, is_covered, value);
            }
            if self.versions.is_visible() {
                return self.arrive(true);
            }
        }
        self.arrive(false)
    }

    fn arrive(&mut self, valid: bool) -> Result<bool> {
        self.valid = valid;
        self.seek.count_data(self.points.core(), self.points.blocks_entered);
        Ok(valid)
    }

    /// Past what is left of the current key.
    fn skip_current(&mut self) -> Result<()> {
        while self.points.is_valid() && self.compare_to_current()?.is_eq() {
            self.points.next()?;
        }
        Ok(())
    }

    /// Makes the key of the current entry the current key.
    fn take_key(&mut self) -> Result<()> {
        let core = self.points.core();
        let key = core.keys.bare(self.points.key()?.user_key);
        self.key.clear();
        self.key.extend_from_slice(key);
        Ok(())
    }

    /// The user's key of the current entry.
    fn entry_key(&self) -> Result<&[u8]> {
        Ok(self.points.core().keys.bare(self.points.key()?.user_key))
    }

    fn compare_to_current(&self) -> Result<Ordering> {
        Ok(self.points.core().keys.compare(self.entry_key()?, &self.key))
    }

    /// Kind of the current entry, and whether a range deletion covers it.
    fn entry_state(&self) -> Result<(EntryKind, bool)> {
        let key = self.points.key()?;
        let core = self.points.core();
        Ok((key.kind, core.range_deletions.covers(&key, &core.keys)))
    }

    /// Whether the current key is one to be shown. Keys are met in order, so that the first one
    /// that is not ends the scan.
    fn is_in_range(&self) -> bool {
        let core = self.points.core();
        let compare = |bound: &[u8]| core.keys.compare(&self.key, bound);
        let in_bounds = match self.direction {
            Direction::Forward => match &self.options.upper {
                Bound::Included(bound) => compare(bound).is_le(),
                Bound::Excluded(bound) => compare(bound).is_lt(),
                Bound::Unbounded => true,
            },
            Direction::Backward => match &self.options.lower {
                Bound::Included(bound) => compare(bound).is_ge(),
                Bound::Excluded(bound) => compare(bound).is_gt(),
                Bound::Unbounded => true,
            },
        };
        in_bounds
            && self.prefix.as_deref().is_none_or(|prefix| {
                let extractor = core.prefix_extractor.as_ref();
                extractor.and_then(|it| it.prefix(&self.key)) == Some(prefix)
            })
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
