//! The visible keys of a column family as iterators, from both ends.

use std::fmt;
use std::iter::FusedIterator;
use std::sync::Arc;

use sstkit_table::{ScanOptions, Value};

use super::cursor::Cursor;
use super::record::Record;
use crate::column_family_data::ColumnFamilyData;
use crate::error::Result;
use crate::read_view::ReadView;

/// What both iterators do: cursors that come from the two ends until they meet.
struct Ends {
    family: Arc<ColumnFamilyData>,
    view: ReadView,
    scan: ScanOptions,
    /// Only keys that start with this are shown.
    start: Option<Vec<u8>>,
    front: Option<Cursor>,
    back: Option<Cursor>,
    ended: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Front,
    Back,
}

impl Ends {
    /// Goes to the next key from one end; `None` if there is none.
    fn advance(&mut self, end: End) -> Result<Option<&Cursor>> {
        let (this, other) = match end {
            End::Front => (&mut self.front, &self.back),
            End::Back => (&mut self.back, &self.front),
        };
        let mut more = match (&mut *this, end) {
            (Some(cursor), End::Front) => cursor.next()?,
            (Some(cursor), End::Back) => cursor.prev()?,
            (none, _) => {
                let cursor = none.insert(Cursor::new(&self.family, &self.view, &self.scan)?);
                match end {
                    End::Front => cursor.seek_to_first()?,
                    End::Back => cursor.seek_to_last()?,
                }
            }
        };
        let Some(cursor) = this else { return Ok(None) };
        let keys = &self.family.keys;
        while more {
            // Both ends pass the same keys, so they meet at one: the other end has had it.
            if other.as_ref().is_some_and(|other| {
                other.is_valid() && keys.compare(other.key(), cursor.key()).is_eq()
            }) {
                self.family.require_all_tables()?;
                return Ok(None);
            }
            match &self.start {
                // In a user-made order such keys may be anywhere.
                Some(start) if !cursor.key().starts_with(start) => {
                    more = match end {
                        End::Front => cursor.next()?,
                        End::Back => cursor.prev()?,
                    };
                }
                _ => return Ok(Some(cursor)),
            }
        }
        Ok(None)
    }

    /// What `show` makes of the next key from one end. An error ends the iteration.
    fn take<T>(&mut self, end: End, show: impl FnOnce(&Cursor) -> Result<T>) -> Option<Result<T>> {
        if self.ended {
            return None;
        }
        let taken = match self.advance(end) {
            Ok(Some(cursor)) => Some(show(cursor)),
            Ok(None) => None,
            Err(error) => Some(Err(error)),
        };
        self.ended = !matches!(taken, Some(Ok(_)));
        taken
    }
}

/// Iterates over keys and values of a column family, in both directions.
///
/// An error ends it. It holds on to what it needs of the database, and may outlive it.
pub struct Iter {
    ends: Ends,
}

/// Iterates over [`Record`]s of a column family, in both directions: as [`Iter`], but with
/// timestamps, columns, and merges that no operator resolves.
pub struct Records {
    ends: Ends,
}

impl Iter {
    pub(crate) fn new(
        family: &Arc<ColumnFamilyData>,
        view: &ReadView,
        scan: ScanOptions,
        start: Option<&[u8]>,
    ) -> Self {
        let ends = Ends {
            family: Arc::clone(family),
            view: view.clone(),
            scan,
            start: start.map(<[u8]>::to_vec),
            front: None,
            back: None,
            ended: false,
        };
        Self { ends }
    }

    /// The same keys with everything there is about them. What has been iterated over stays so.
    pub fn records(self) -> Records {
        Records { ends: self.ends }
    }
}

fn pair(cursor: &Cursor) -> Result<(Vec<u8>, Value)> {
    Ok((cursor.key().to_vec(), cursor.value()?))
}

fn record(cursor: &Cursor) -> Result<Record> {
    cursor.known_record()
}

impl Iterator for Iter {
    type Item = Result<(Vec<u8>, Value)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.ends.take(End::Front, pair)
    }
}

impl DoubleEndedIterator for Iter {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.ends.take(End::Back, pair)
    }
}

impl FusedIterator for Iter {}

impl Iterator for Records {
    type Item = Result<Record>;

    fn next(&mut self) -> Option<Self::Item> {
        self.ends.take(End::Front, record)
    }
}

impl DoubleEndedIterator for Records {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.ends.take(End::Back, record)
    }
}

impl FusedIterator for Records {}

impl fmt::Debug for Iter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Iter").field("scan", &self.ends.scan).finish_non_exhaustive()
    }
}

impl fmt::Debug for Records {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Records").field("scan", &self.ends.scan).finish_non_exhaustive()
    }
}
