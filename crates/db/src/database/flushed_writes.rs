//! Which writes of logs are in tables already, where no MANIFEST says it.
//!
//! Memtables are flushed in order: what is not newer than the newest entry of the tables was flushed.
//! It is in the tables, unless it is lost with a part of one, which the log makes good:
//!
//! ```text
//! table          a@11  b@12  [ lost: from b to f ]  f@10  g@15
//! log            a@11  b@12  c@13  d@14  g@15  g@16
//! left out       a                       g              they are in the table
//! used                 b     c     d           g        may be lost with the table; newer than it
//! ```
//!
//! A value would be the same if it were written again. A merge operand would be merged twice.

use sstkit_table::raw::EntryKind;
use sstkit_table::visibility::UserKeys;

/// Keys from one to another, both inclusive; `None` for no bound.
pub(crate) type Interval = (Option<Vec<u8>>, Option<Vec<u8>>);

/// The writes of a column family that are in tables.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlushedWrites {
    /// Those up to this sequence number,
    sequence: u64,
    /// but not those of these keys, which are without timestamps.
    lost: Vec<Interval>,
    /// Range tombstones may be lost.
    lacks_tombstones: bool,
}

impl FlushedWrites {
    pub(crate) fn new(sequence: u64, lost: Vec<Interval>, lacks_tombstones: bool) -> Self {
        Self { sequence, lost, lacks_tombstones }
    }

    /// Whether a write is in a table.
    pub(crate) fn contains(
        &self,
        keys: &UserKeys,
        (key, sequence, kind): (&[u8], u64, EntryKind),
    ) -> bool {
        let key = keys.bare(key);
        let is_lost = |(after, before): &Interval| {
            after.as_ref().is_none_or(|after| keys.compare(after, key).is_le())
                && before.as_ref().is_none_or(|before| keys.compare(key, before).is_le())
        };
        sequence <= self.sequence
            && match kind {
                // One that is written twice deletes the same.
                EntryKind::RangeDeletion => !self.lacks_tombstones,
                _ => !self.lost.iter().any(is_lost),
            }
    }
}

#[cfg(test)]
mod tests {
    use sstkit_table::Comparator;

    use super::*;

    /// The drawing at the top of this file.
    #[test]
    fn lost_keys_are_not_in_tables() {
        let keys = UserKeys::new(Comparator::Bytewise);
        let lost = vec![(Some(b"b".to_vec()), Some(b"f".to_vec()))];
        let flushed = FlushedWrites::new(15, lost, true);
        let is_left_out =
            |key: &str, sequence, kind| flushed.contains(&keys, (key.as_bytes(), sequence, kind));
        let writes = [("a", 11), ("b", 12), ("c", 13), ("d", 14), ("g", 15), ("g", 16)];
        let found = writes.map(|(key, sequence)| is_left_out(key, sequence, EntryKind::Merge));
        // The bounds of the loss may have older versions in it.
        assert_eq!(found, [true, false, false, false, true, false]);
        assert!(!is_left_out("a", 11, EntryKind::RangeDeletion));
        let complete = FlushedWrites::new(15, Vec::new(), false);
        assert!(complete.contains(&keys, (b"a", 11, EntryKind::RangeDeletion)));
    }
}
