//! Scans every entry of a table as stored.

use sstkit_table::{EmbeddedBlobBudget, EntryCursor, RangeTombstone, Result};

use crate::encoding::Encoding;
use crate::inspected_table::InspectedTable;
use crate::record::JsonRecord;

/// All entries of a table in file order, followed by its range deletions.
pub struct InternalScan<'f> {
    file: &'f InspectedTable,
    encoding: Encoding,
    cursor: EntryCursor,
    state: State,
    ranges: std::slice::Iter<'f, RangeTombstone>,
    blobs: EmbeddedBlobBudget,
}

enum State {
    New,
    Moving,
    Ended,
}

impl<'f> InternalScan<'f> {
    /// Scans all entries.
    pub fn new(file: &'f InspectedTable, encoding: Encoding) -> Self {
        Self {
            file,
            encoding,
            cursor: file.table().entry_cursor(),
            state: State::New,
            ranges: file.table().range_deletions().iter(),
            blobs: EmbeddedBlobBudget::new(file.table().size()),
        }
    }

    /// Skips to the next entry without building a record; false at the end.
    pub fn skip_record(&mut self) -> Result<bool> {
        Ok(self.move_on()? || self.ranges.next().is_some())
    }

    fn move_on(&mut self) -> Result<bool> {
        let more = match self.state {
            State::New => self.cursor.seek_to_first()?,
            State::Moving => self.cursor.next()?,
            State::Ended => false,
        };
        self.state = if more { State::Moving } else { State::Ended };
        Ok(more)
    }

    fn next_point(&mut self) -> Result<Option<JsonRecord>> {
        if !self.move_on()? {
            return Ok(None);
        }
        let value = self.cursor.value_handle();
        if let Err(error) = self.blobs.spend(self.cursor.kind(), &value) {
            // An undecodable value is an error of this entry alone.
            let is_shared = error.expected().is_some();
            self.state = if is_shared { State::Ended } else { State::Moving };
            return Err(error);
        }
        JsonRecord::of_entry(self.file, &self.cursor.key(), &value, self.encoding).map(Some)
    }
}

/// An entry whose value cannot be resolved is an error, and iteration continues with the next one;
/// a read error ends the point entries.
impl Iterator for InternalScan<'_> {
    type Item = Result<JsonRecord>;

    fn next(&mut self) -> Option<Result<JsonRecord>> {
        match self.next_point() {
            Ok(None) => {
                let range = self.ranges.next()?;
                Some(Ok(JsonRecord::of_range_deletion(range, self.encoding)))
            }
            Ok(Some(record)) => Some(Ok(record)),
            Err(error) => {
                if !self.cursor.is_valid() {
                    self.state = State::Ended;
                }
                Some(Err(error))
            }
        }
    }
}
