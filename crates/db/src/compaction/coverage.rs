//! The range tombstones of all inputs: the points they cover, and the fragments that remain.
//!
//! ```text
//! inputs        a ======== e @3, older table          fragments   [a, c) @3
//!                   c ======== g @7, newer table                  [c, g) @7
//!
//! a point is covered if its fragment is newer: by the sequence number, or if that is the same, by
//! the table
//! ```
//!
//! For a column family, newer sources take precedence over larger sequence numbers (see
//! [`Recency`]). The output is one table, which has only sequence numbers: a point for which
//! sources and numbers disagree cannot be written.
//!
//! With timestamps, no point is covered for good: it is still visible at an earlier time.
//! Everything is then kept.

use sstkit_table::visibility::{Fragments, Recency, UserKeys};
use sstkit_table::{Comparator, RangeTombstone};

use super::input::Input;

/// The age of an entry or tombstone: sequence number, then recency of the input.
pub(super) type Age = (u64, usize);

/// The age by source: recency of the source, then sequence number.
type SourceAge = (usize, u64);

/// The range tombstones of all inputs.
#[derive(Debug)]
pub(super) struct Coverage {
    keys: UserKeys,
    fragments: Fragments<Age>,
    /// Whether sources take precedence over sequence numbers.
    by_source: Option<Fragments<SourceAge>>,
    /// Whether covered points are dropped.
    hides: bool,
}

/// The range tombstones over a key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Over {
    newest: Option<Age>,
    by_source: Option<Option<SourceAge>>,
    hides: bool,
}

/// Sources and sequence numbers disagree; contains the sequence number of the range tombstone.
#[derive(Debug)]
pub(super) struct Contradiction(pub(super) u64);

impl Over {
    /// Whether a point is covered and dropped. `age` is the recency of its source.
    pub(super) fn covers(
        &self,
        sequence: u64,
        rank: usize,
        age: usize,
    ) -> Result<bool, Contradiction> {
        let is_covered = match self.by_source {
            None => self.newest > Some((sequence, rank)),
            Some(deletion) => {
                let by_number = self.newest.filter(|&(number, _)| number > sequence);
                let by_source = deletion.filter(|&it| it > (age, sequence));
                match (by_number, by_source) {
                    (Some((number, _)), None) | (None, Some((_, number))) => {
                        return Err(Contradiction(number));
                    }
                    _ => by_source.is_some(),
                }
            }
        };
        Ok(is_covered && self.hides)
    }
}

impl Coverage {
    /// Oldest input first.
    pub(super) fn new(
        inputs: &[Input],
        comparator: &Comparator,
        recency: Recency,
        hides: bool,
    ) -> Self {
        let ranges = inputs.iter().enumerate().flat_map(|(rank, input)| {
            let ranges = input.ranges.iter();
            ranges.map(move |it| (&it.start[..], &it.end[..], (it.sequence, rank)))
        });
        let keys = UserKeys::new(comparator.clone());
        let fragments = Fragments::new(ranges, &keys);
        let by_source = (recency == Recency::BySource).then(|| {
            let ranges = inputs.iter().flat_map(|input| {
                let ranges = input.ranges.iter();
                ranges.map(move |it| (&it.start[..], &it.end[..], (input.age, it.sequence)))
            });
            Fragments::new(ranges, &keys)
        });
        Self { keys, fragments, by_source, hides }
    }

    /// The fragment over `key`, which is without timestamp.
    pub(super) fn over(&self, key: &[u8]) -> Over {
        let (keys, hides) = (&self.keys, self.hides);
        Over {
            newest: self.fragments.over(key, keys).map(|fragment| fragment.age),
            by_source: self.by_source.as_ref().map(|it| it.over(key, keys).map(|it| it.age)),
            hides,
        }
    }

    /// The fragments to write.
    pub(super) fn ranges(&self) -> Vec<RangeTombstone> {
        let fragments = self.fragments.iter();
        fragments.map(|it| RangeTombstone::new(&it.start[..], &it.end[..], it.age.0, [])).collect()
    }
}
