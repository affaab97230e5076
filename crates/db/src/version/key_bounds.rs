//! Range tombstones, truncated to the bounds of their file.
//!
//! The range tombstones of a file apply only within the bounds of the file: the rest was written to
//! adjacent files, or was compacted away with the entries it covered.
//!
//! ```text
//! file            | c . . . . . k |          bounds, the last key included
//! range tombstone       [e ============= z)
//! becomes               [e ==== k)  and a deletion of the key k
//! ```
//!
//! In general there is no key directly after k at which the range could end instead.

use sstkit_table::RangeTombstone;
use sstkit_table::raw::EntryKind;
use sstkit_table::visibility::UserKeys;

/// The bounds of a file, without timestamps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableKeyBounds<'b> {
    pub(crate) smallest: &'b [u8],
    pub(crate) largest: &'b [u8],
    /// `largest` is not in the file.
    pub(crate) is_exclusive: bool,
}

/// The part of a range tombstone within the bounds of its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Truncated {
    pub(crate) range: Option<RangeTombstone>,
    /// The last key of the file is deleted.
    pub(crate) end: Option<EndDeletion>,
}

/// The deletion of a single key, at the end of a truncated range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EndDeletion {
    /// With its timestamp.
    pub(crate) key: Vec<u8>,
    pub(crate) sequence: u64,
    pub(crate) kind: EntryKind,
}

impl TableKeyBounds<'_> {
    pub(crate) fn contains(&self, key: &[u8], keys: &UserKeys) -> bool {
        let end = keys.compare(key, self.largest);
        keys.compare(self.smallest, key).is_le()
            && (end.is_lt() || end.is_eq() && !self.is_exclusive)
    }

    pub(crate) fn truncate(&self, mut range: RangeTombstone, keys: &UserKeys) -> Truncated {
        let mut end = None;
        if keys.compare(&range.start, self.smallest).is_lt() {
            range.start = self.smallest.to_vec();
        }
        if keys.compare(&range.end, self.largest).is_gt() {
            if !self.is_exclusive && keys.compare(&range.start, self.largest).is_le() {
                let kind = match range.timestamp.is_empty() {
                    true => EntryKind::Deletion,
                    false => EntryKind::DeletionWithTimestamp,
                };
                let key = [self.largest, &range.timestamp].concat();
                end = Some(EndDeletion { key, sequence: range.sequence, kind });
            }
            range.end = self.largest.to_vec();
        }
        let is_empty = keys.compare(&range.start, &range.end).is_ge();
        Truncated { range: Some(range).filter(|_| !is_empty), end }
    }
}

#[cfg(test)]
mod tests {
    use sstkit_table::Comparator;

    use super::*;

    #[test]
    fn the_last_key_is_deleted_on_its_own() {
        let keys = UserKeys::new(Comparator::Bytewise);
        let tombstone =
            |start: &str, end: &str| RangeTombstone::new(start.as_bytes(), end.as_bytes(), 7, []);
        let bounds = TableKeyBounds { smallest: b"c", largest: b"k", is_exclusive: false };
        let deletion = EndDeletion { key: b"k".into(), sequence: 7, kind: EntryKind::Deletion };
        for (given, range, end) in [
            (("a", "d"), Some(("c", "d")), false),
            (("e", "k"), Some(("e", "k")), false),
            (("e", "z"), Some(("e", "k")), true),
            (("k", "z"), None, true),
            (("m", "z"), None, false),
            (("a", "b"), None, false),
        ] {
            let truncated = bounds.truncate(tombstone(given.0, given.1), &keys);
            assert_eq!(truncated.range, range.map(|it| tombstone(it.0, it.1)), "{given:?}");
            assert_eq!(truncated.end, Some(deletion.clone()).filter(|_| end), "{given:?}");
        }
        let exclusive = TableKeyBounds { is_exclusive: true, ..bounds };
        let truncated = exclusive.truncate(tombstone("e", "z"), &keys);
        assert_eq!(truncated, Truncated { range: Some(tombstone("e", "k")), end: None });
    }
}
