//! Range deletions of all inputs: which points they cover, and what is left of them.
//!
//! ```text
//! inputs        a ======== e @3, older table          fragments   [a, c) @3
//!                   c ======== g @7, newer table                  [c, g) @7
//!
//! a point is covered if its fragment is newer: by the sequence number, or if that is the same, by
//! the table
//! ```
//!
//! Of a column family the newer source counts before the sequence number (see
//! [`Recency`]). What is written is in one table, where numbers are all there
//! is: a point of which sources and numbers say different things cannot be written.
//!
//! Where keys have timestamps nothing is covered for good: as of an earlier time a deleted point is
//! still there. Everything is then kept as it is.

use sstkit_table::visibility::{Fragments, Recency, UserKeys};
use sstkit_table::{Comparator, RangeTombstone};

use super::input::Input;

/// When something was written: the sequence number, and the recency of the input.
pub(super) type Age = (u64, usize);

/// The same by sources: the recency of the source, and the sequence number.
type SourceAge = (usize, u64);

/// The range deletions of all inputs.
#[derive(Debug)]
pub(super) struct Coverage {
    keys: UserKeys,
    fragments: Fragments<Age>,
    /// If sources count before numbers.
    by_source: Option<Fragments<SourceAge>>,
    /// Whether points that are covered are left out.
    hides: bool,
}

/// The range deletions over a key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Over {
    newest: Option<Age>,
    by_source: Option<Option<SourceAge>>,
    hides: bool,
}

/// The sources say one thing and the sequence numbers another: the number of the range deletion.
#[derive(Debug)]
pub(super) struct Contradiction(pub(super) u64);

impl Over {
    /// Whether a point is covered and left out. `age` is how new its source is.
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
    /// The oldest input comes first.
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

    /// What is over `key`, which is without timestamp.
    pub(super) fn over(&self, key: &[u8]) -> Over {
        let (keys, hides) = (&self.keys, self.hides);
        Over {
            newest: self.fragments.over(key, keys).map(|fragment| fragment.age),
            by_source: self.by_source.as_ref().map(|it| it.over(key, keys).map(|it| it.age)),
            hides,
        }
    }

    /// The fragments, to be written.
    pub(super) fn ranges(&self) -> Vec<RangeTombstone> {
        let fragments = self.fragments.iter();
        fragments.map(|it| RangeTombstone::new(&it.start[..], &it.end[..], it.age.0, [])).collect()
    }
}
