//! Where a scan steps over entries that nobody sees.
//!
//! ```text
//! entries   a@9  b@8 deletion  b@3  c@7 deletion  c@2  d@5
//! visible   a                                          d
//! skipped        '------- from b up to d: 4 entries, 2 of them tombstones
//! ```
//!
//! A part of the key range may end within such a stretch, which continues in the next part.

use std::cmp::{Ordering, Reverse};

use super::largest::Largest;

/// Entries that a scan steps over, from one visible key to the next.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkippedRange {
    /// The key of the first entry that is skipped.
    pub from: Vec<u8>,
    /// The next visible key; `None` if there is none.
    pub to: Option<Vec<u8>>,
    /// Tombstones among the entries.
    pub tombstones: u64,
    /// The other entries: older versions, and entries that range tombstones cover.
    pub hidden: u64,
}

sstkit_coding::debug_struct!(SkippedRange { from: bytes, to: bytes, tombstones, hidden });

impl SkippedRange {
    /// All entries.
    pub fn entries(&self) -> u64 {
        self.tombstones + self.hidden
    }

    fn is_empty(&self) -> bool {
        self.entries() == 0
    }

    /// Continues with a stretch that follows.
    fn append(&mut self, next: Self) {
        match self.is_empty() {
            true => *self = next,
            false => {
                self.tombstones += next.tombstones;
                self.hidden += next.hidden;
            }
        }
    }
}

/// By the number of entries; of equal ones, the one with the smaller key is greater.
impl Ord for SkippedRange {
    fn cmp(&self, other: &Self) -> Ordering {
        let rank = |it: &Self| (it.entries(), it.tombstones);
        rank(self).cmp(&rank(other)).then_with(|| Reverse(&self.from).cmp(&Reverse(&other.from)))
    }
}

impl PartialOrd for SkippedRange {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The longest stretches of a part of the key range, or of several that follow one another.
pub(super) struct Skips {
    longest: Largest<SkippedRange>,
    /// The stretch before the first visible key.
    leading: SkippedRange,
    first_visible: Option<Vec<u8>>,
    /// The stretch that has not ended.
    current: SkippedRange,
}

impl Skips {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            longest: Largest::new(limit),
            leading: SkippedRange::default(),
            first_visible: None,
            current: SkippedRange::default(),
        }
    }

    pub(super) fn add_tombstone(&mut self, key: &[u8]) {
        self.start(key);
        self.current.tombstones += 1;
    }

    pub(super) fn add_hidden(&mut self, key: &[u8]) {
        self.start(key);
        self.current.hidden += 1;
    }

    #[inline]
    fn start(&mut self, key: &[u8]) {
        if self.current.is_empty() {
            self.current.from.clear();
            self.current.from.extend_from_slice(key);
        }
    }

    /// A visible key ends the stretch.
    #[inline]
    pub(super) fn end(&mut self, key: &[u8]) {
        if self.first_visible.is_none() || !self.current.is_empty() {
            self.end_stretch(key);
        }
    }

    fn end_stretch(&mut self, key: &[u8]) {
        if self.first_visible.is_none() {
            self.first_visible = Some(key.to_vec());
            self.leading = std::mem::take(&mut self.current);
            return;
        }
        if self.longest.least().is_none_or(|least| least < &self.current) {
            let ended = SkippedRange { to: Some(key.to_vec()), ..self.current.clone() };
            self.longest.offer(ended);
        }
        (self.current.tombstones, self.current.hidden) = (0, 0);
    }

    /// Adds what was found in the part that follows.
    pub(super) fn append(&mut self, next: Self) {
        self.longest.merge(next.longest);
        let Some(first_visible) = next.first_visible else {
            self.current.append(next.current);
            return;
        };
        self.current.append(next.leading);
        self.end(&first_visible);
        self.current = next.current;
    }

    /// The longest stretches first.
    pub(super) fn finish(mut self) -> Vec<SkippedRange> {
        if !self.leading.is_empty() {
            self.longest.offer(SkippedRange { to: self.first_visible, ..self.leading });
        }
        if !self.current.is_empty() {
            self.longest.offer(self.current);
        }
        self.longest.into_sorted()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However the keys are split into parts, the stretches are the same.
    #[test]
    fn stretches_continue_across_parts() {
        // v: visible, t: tombstone, h: hidden.
        let entries = b"tthvvthvhvttthhttvhht";
        let apply = |skips: &mut Skips, at: usize| match entries[at] {
            b'v' => skips.end(&[at as u8]),
            b't' => skips.add_tombstone(&[at as u8]),
            _ => skips.add_hidden(&[at as u8]),
        };
        let whole = |mut skips: Skips, range: std::ops::Range<usize>| {
            range.for_each(|at| apply(&mut skips, at));
            skips
        };
        let found = |skips: Skips| -> Vec<_> {
            let ranges = skips.finish().into_iter();
            ranges.map(|it| (it.from[0], it.to.map(|to| to[0]), it.tombstones, it.hidden)).collect()
        };
        let expected = [
            (10, Some(17), 5, 2),
            (0, Some(3), 2, 1),
            (18, None, 1, 2),
            (5, Some(7), 1, 1),
            (8, Some(9), 0, 1),
        ];
        assert_eq!(found(whole(Skips::new(9), 0..entries.len())), expected);
        for a in 0..=entries.len() {
            for b in a..=entries.len() {
                let mut skips = whole(Skips::new(9), 0..a);
                skips.append(whole(Skips::new(9), a..b));
                skips.append(whole(Skips::new(9), b..entries.len()));
                assert_eq!(found(skips), expected, "{a} {b}");
            }
        }
        assert_eq!(found(whole(Skips::new(2), 0..entries.len())), expected[..2]);
    }
}
