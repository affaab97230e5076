//! Comparing tables by the stored bytes of their blocks.

use super::Table;
use crate::error::Result;
use crate::reader::KeyRange;
use crate::reader::unequal_ranges::{UnequalRanges, are_comparable};

impl Table {
    /// The key ranges within `range` in which the entries of this table and `other` may differ:
    /// every version, with sequence number and kind. Range tombstones are not compared. Data blocks
    /// are compared by their stored bytes; identical ones are not decompressed.
    ///
    /// `None` if blocks with the same bytes could have different entries: the tables have different
    /// formats, comparators, compression dictionaries or global sequence numbers, or embedded
    /// blobs.
    pub fn unequal_ranges(&self, other: &Self, range: KeyRange) -> Result<Option<UnequalRanges>> {
        let (a, b) = (&self.core, &other.core);
        if a.keys.global_sequence_number != b.keys.global_sequence_number || !are_comparable(a, b)?
        {
            return Ok(None);
        }
        UnequalRanges::new(a, b, range).map(Some)
    }

    /// The key ranges within `range` in which a [cursor](Self::cursor) may show different results
    /// for this table and `other`. Like [`unequal_ranges`](Self::unequal_ranges), but also `None`
    /// if the tables have different range tombstones or merge operators. Global sequence numbers
    /// may differ if there are no range tombstones.
    pub fn unequal_visible_ranges(
        &self,
        other: &Self,
        range: KeyRange,
    ) -> Result<Option<UnequalRanges>> {
        let (a, b) = (&self.core, &other.core);
        let tombstones = a.range_deletions.stored();
        // With different sequence numbers, tombstones may cover entries of only one table.
        let is_same_coverage = tombstones == b.range_deletions.stored()
            && (tombstones.is_empty()
                || a.keys.global_sequence_number == b.keys.global_sequence_number);
        let operator = |table: &Self| table.merge_operator().map(|it| it.name().to_owned());
        let is_same_merge = operator(self) == operator(other);
        if !is_same_coverage || !is_same_merge || !are_comparable(a, b)? {
            return Ok(None);
        }
        UnequalRanges::new(a, b, range).map(Some)
    }
}
