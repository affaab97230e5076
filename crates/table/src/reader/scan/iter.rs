//! The visible keys and values of a table as an iterator, from both ends.

use std::fmt;
use std::iter::FusedIterator;
use std::sync::Arc;

use crate::error::Result;
use crate::reader::open::core::Core;
use crate::reader::scan::cursor::Cursor;
use crate::reader::scan::options::ScanOptions;
use crate::reader::value::Value;

/// Iterates over keys and values of a [`Table`](crate::Table), in both directions.
///
/// An error ends it. It holds on to what it needs of the table, and may outlive it.
pub struct Iter {
    core: Arc<Core>,
    options: ScanOptions,
    front: Option<Cursor>,
    back: Option<Cursor>,
    ended: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Front,
    Back,
}

impl Iter {
    pub(crate) fn new(core: &Arc<Core>, options: ScanOptions) -> Self {
        Self { core: Arc::clone(core), options, front: None, back: None, ended: false }
    }

    fn take(&mut self, end: End) -> Result<Option<(Vec<u8>, Value)>> {
        let (this, other) = match end {
            End::Front => (&mut self.front, &self.back),
            End::Back => (&mut self.back, &self.front),
        };
        let more = match (&mut *this, end) {
            (Some(cursor), End::Front) => cursor.next()?,
            (Some(cursor), End::Back) => cursor.prev()?,
            (none, End::Front) => {
                none.insert(Cursor::new(&self.core, self.options.clone())).seek_to_first()?
            }
            (none, End::Back) => {
                none.insert(Cursor::new(&self.core, self.options.clone())).seek_to_last()?
            }
        };
        let Some(cursor) = this else { return Ok(None) };
        let keys = &self.core.keys;
        let is_at =
            |other: &Cursor, key: &[u8]| other.is_valid() && keys.compare(other.key(), key).is_eq();
        // Both ends pass the same keys, so they meet at one: the other end has had it.
        if !more || other.as_ref().is_some_and(|other| is_at(other, cursor.key())) {
            return Ok(None);
        }
        Ok(Some((cursor.key().to_vec(), cursor.value()?)))
    }

    fn take_fused(&mut self, end: End) -> Option<Result<(Vec<u8>, Value)>> {
        if self.ended {
            return None;
        }
        let taken = self.take(end).transpose();
        self.ended = !matches!(taken, Some(Ok(_)));
        taken
    }
}

impl Iterator for Iter {
    type Item = Result<(Vec<u8>, Value)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.take_fused(End::Front)
    }
}

impl DoubleEndedIterator for Iter {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.take_fused(End::Back)
    }
}

impl FusedIterator for Iter {}

impl fmt::Debug for Iter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Iter")
            .field("options", &self.options)
            .field("front", &self.front)
            .field("back", &self.back)
            .finish_non_exhaustive()
    }
}
