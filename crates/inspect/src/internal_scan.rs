//! Scans every entry of a table as stored.

use sstkit_table::visibility::{BoundedEntries, Direction};
use sstkit_table::{EmbeddedBlobBudget, EntryCursor, RangeTombstone, ReadOptions, Result};

use crate::encoding::Encoding;
use crate::inspected_table::InspectedTable;
use crate::record::JsonRecord;

/// Entries of a table in file order, or backward, followed by its range deletions.
pub struct InternalScan<'f> {
    file: &'f InspectedTable,
    encoding: Encoding,
    entries: BoundedEntries<EntryCursor>,
    /// No entry follows.
    has_ended: bool,
    ranges: std::vec::IntoIter<&'f RangeTombstone>,
    blobs: EmbeddedBlobBudget,
}

sstkit_coding::debug_opaque!(InternalScan<'_>);

impl<'f> InternalScan<'f> {
    /// Scans all entries.
    pub fn new(file: &'f InspectedTable, encoding: Encoding) -> Self {
        Self::within(file, encoding, &ReadOptions::default(), Direction::Forward)
    }

    /// Scans the entries and range deletions that `scan` selects.
    pub fn within(
        file: &'f InspectedTable,
        encoding: Encoding,
        scan: &ReadOptions,
        direction: Direction,
    ) -> Self {
        let (table, order) = (file.table(), file.table().comparator().ok());
        let ranges = table.range_deletions().iter().filter(|it| scan.selects(it, order));
        let mut ranges: Vec<_> = ranges.collect();
        if direction == Direction::Backward {
            ranges.reverse();
        }
        Self {
            file,
            encoding,
            entries: table.entries_with(scan, direction),
            has_ended: false,
            ranges: ranges.into_iter(),
            blobs: EmbeddedBlobBudget::new(table.size()),
        }
    }

    /// Skips to the next entry without building a record; false at the end.
    pub fn skip_record(&mut self) -> Result<bool> {
        Ok(self.move_on()? || self.ranges.next().is_some())
    }

    fn move_on(&mut self) -> Result<bool> {
        if !self.has_ended {
            self.has_ended = !self.entries.advance()?;
        }
        Ok(!self.has_ended)
    }

    fn next_point(&mut self) -> Result<Option<JsonRecord>> {
        if !self.move_on()? {
            return Ok(None);
        }
        let entry = self.entries.entries();
        let value = entry.value_handle();
        if let Err(error) = self.blobs.spend(entry.kind(), &value) {
            // An undecodable value is an error of this entry alone.
            self.has_ended = error.expected().is_some();
            return Err(error);
        }
        JsonRecord::of_entry(self.file, &entry.key(), &value, self.encoding).map(Some)
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
                self.has_ended |= !self.entries.entries().is_valid();
                Some(Err(error))
            }
        }
    }
}
