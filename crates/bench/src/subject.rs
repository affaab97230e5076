//! One filter, or hundreds, and the ways to query them.
//!
//! A *pass* asks all queries of a set and counts the answers "may contain". The count is compared with what it should
//! be before the clock runs ([`Queries::check`]), and keeps the compiler from leaving the queries out.

use std::fmt;

use sstkit_testkit::random::mix;

use crate::candidate::Candidate;
use crate::keys::Keys;

/// Keys probed at once in [`Mode::Batch`] of one filter.
const BATCH: usize = 128;

/// Keys probed at once in [`Mode::Batch`] of many filters: lines on their way to the cache must stay there until
/// used, and of a Ribbon filter there are four per key.
const MANY_BATCH: usize = 32;

/// Far fewer false positives than expected are as wrong as far more. Small filters stray by a third either way, and
/// LevelDB's probes are not independent.
const PLAUSIBLE: std::ops::Range<f64> = 0.5..2.0;

/// The mode of queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// One after another, from the bytes of the key.
    Single,
    /// One after another, hashed before.
    Hashed,
    /// Many at once, from the bytes of the key.
    Batch,
}

impl Mode {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Single, Self::Hashed, Self::Batch];

    /// What the tables call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Hashed => "hashed",
            Self::Batch => "batch",
        }
    }
}

/// Whether the queried keys were added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// They were.
    Present,
    /// They were not.
    Absent,
}

impl Presence {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Present, Self::Absent];

    /// What the tables call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Present => "present",
            Self::Absent => "absent",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for Presence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Keys to query, in query order.
#[derive(Clone, Debug)]
pub struct Queries {
    presence: Presence,
    keys: Keys,
    /// The filter of each key, if there are many filters.
    filters: Vec<u32>,
}

impl Queries {
    /// `count` queries of `keys`, in random order.
    pub fn present(keys: &Keys, count: usize) -> Self {
        let picked = random(count).map(|number| keys.get(below(number, keys.len())));
        Self { presence: Presence::Present, keys: picked.collect(), filters: Vec::new() }
    }

    /// `count` queries of keys that were never added.
    pub fn absent(count: usize) -> Self {
        Self { presence: Presence::Absent, keys: Keys::absent(count), filters: Vec::new() }
    }

    /// `count` queries, each for a random one of `filters` filters made by
    /// [`Entrant::build_many`](crate::Entrant::build_many) of the same sets.
    pub fn of_many(presence: Presence, sets: &[Keys], filters: usize, count: usize) -> Self {
        let filters: Vec<u32> = random(count).map(|number| below(number, filters) as u32).collect();
        let keys = match presence {
            Presence::Absent => Keys::absent(count),
            Presence::Present => filters
                .iter()
                .zip(random(count))
                .map(|(&filter, number)| {
                    let set = &sets[filter as usize % sets.len()];
                    set.get(below(mix(number), set.len()))
                })
                .collect(),
        };
        Self { presence, keys, filters }
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Looks at the count of a pass.
    ///
    /// # Panics
    ///
    /// If a key that was added is denied, or if the rate of false positives is far from the expected one.
    pub fn check(&self, found: usize, expected_fpr: f64) {
        match self.presence {
            Presence::Present => assert_eq!(found, self.len(), "a key that was added is denied"),
            Presence::Absent => {
                let rate = found as f64 / self.len() as f64;
                assert!(
                    PLAUSIBLE.contains(&(rate / expected_fpr)),
                    "a rate of false positives of {rate} where {expected_fpr} is expected"
                );
            }
        }
    }

    fn slices(&self) -> Vec<&[u8]> {
        self.keys.iter().collect()
    }
}

/// Asks all queries and counts the answers "may contain".
pub type Pass<'a> = Box<dyn Fn() -> usize + 'a>;

/// Filters of one kind, built and ready.
pub trait Subject {
    /// A pass over `queries`, with everything prepared that `mode` wants prepared.
    fn pass<'a>(&'a self, mode: Mode, queries: &'a Queries) -> Pass<'a>;

    /// Bytes of all filters together.
    fn length(&self) -> usize;

    /// The rate of false positives that theory expects.
    fn expected_fpr(&self) -> f64;
}

/// One filter.
#[derive(Clone, Debug)]
pub struct One<C> {
    filter: C,
    num_keys: usize,
}

impl<C: Candidate> One<C> {
    /// The filter of `keys`.
    pub fn build(keys: &Keys) -> Self {
        Self { filter: C::build(keys), num_keys: keys.len() }
    }
}

impl<C: Candidate> Subject for One<C> {
    fn pass<'a>(&'a self, mode: Mode, queries: &'a Queries) -> Pass<'a> {
        let filter = &self.filter;
        let keys = queries.slices();
        match mode {
            Mode::Single => {
                Box::new(move || keys.iter().filter(|key| filter.may_contain(key)).count())
            }
            Mode::Hashed => {
                let keys: Vec<_> = keys.iter().map(|key| filter.hash(key)).collect();
                Box::new(move || keys.iter().filter(|key| filter.may_contain_hashed(key)).count())
            }
            Mode::Batch => Box::new(move || {
                let mut answers = [false; BATCH];
                let batches = keys.chunks(BATCH).map(|keys| {
                    let answers = &mut answers[..keys.len()];
                    filter.may_contain_batch(keys, answers);
                    answers.iter().filter(|answer| **answer).count()
                });
                batches.sum()
            }),
        }
    }

    fn length(&self) -> usize {
        self.filter.length()
    }

    fn expected_fpr(&self) -> f64 {
        self.filter.expected_fpr(self.num_keys)
    }
}

/// Filters of several tables, as a database has them: more than any cache holds.
#[derive(Clone, Debug)]
pub struct Many<C> {
    filters: Vec<C>,
    num_keys: usize,
}

impl<C: Candidate> Many<C> {
    /// This number of filters: those of `sets`, repeated. A copy has the same bits in other memory, and it is the memory
    /// that matters here.
    pub fn build(sets: &[Keys], filters: usize) -> Self {
        let originals: Vec<C> = sets.iter().map(C::build).collect();
        Self {
            filters: originals.iter().cycle().take(filters).cloned().collect(),
            num_keys: sets[0].len(),
        }
    }
}

impl<C: Candidate> Subject for Many<C> {
    fn pass<'a>(&'a self, mode: Mode, queries: &'a Queries) -> Pass<'a> {
        let keys = queries.slices();
        let filters = || queries.filters.iter().map(|&filter| &self.filters[filter as usize]);
        match mode {
            Mode::Single => Box::new(move || {
                filters().zip(&keys).filter(|(filter, key)| filter.may_contain(key)).count()
            }),
            Mode::Hashed => {
                let keys: Vec<_> = keys.iter().map(|key| self.filters[0].hash(key)).collect();
                Box::new(move || {
                    let answers = filters().zip(&keys);
                    answers.filter(|(filter, key)| filter.may_contain_hashed(key)).count()
                })
            }
            Mode::Batch => Box::new(move || {
                let mut window = Vec::with_capacity(MANY_BATCH);
                let places = queries.filters.chunks(MANY_BATCH).zip(keys.chunks(MANY_BATCH));
                let batches = places.map(|(places, keys)| {
                    window.extend(places.iter().zip(keys).map(|(&place, key)| {
                        let filter = &self.filters[place as usize];
                        let key = filter.hash(key);
                        filter.prefetch(&key);
                        (filter, key)
                    }));
                    window.drain(..).filter(|(filter, key)| filter.may_contain_hashed(key)).count()
                });
                batches.sum()
            }),
        }
    }

    fn length(&self) -> usize {
        self.filters.iter().map(C::length).sum()
    }

    fn expected_fpr(&self) -> f64 {
        self.filters[0].expected_fpr(self.num_keys)
    }
}

/// The same random numbers every time.
fn random(count: usize) -> impl ExactSizeIterator<Item = u64> {
    (0..count).map(|i| mix(i as u64))
}

fn below(number: u64, bound: usize) -> usize {
    (number % bound as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LINEUP;

    const KEYS: usize = 5_000;
    const QUERIES: usize = 20_000;

    /// Every entrant answers soundly, and the same in every mode.
    fn check_all(queries: &[Queries], subject: &dyn Subject, name: &str) {
        for queries in queries {
            let counts = Mode::ALL.map(|mode| subject.pass(mode, queries)());
            assert!(counts.iter().all(|count| *count == counts[0]), "{name}: {counts:?}");
            queries.check(counts[0], subject.expected_fpr());
        }
    }

    #[test]
    fn one_filter() {
        let keys = Keys::present(KEYS);
        let queries = [Queries::present(&keys, QUERIES), Queries::absent(QUERIES)];
        for entrant in &LINEUP {
            check_all(&queries, &*(entrant.build)(&keys), entrant.name);
        }
    }

    #[test]
    fn many_filters() {
        let sets = [0, 1, 2].map(|number| Keys::present_set(number, KEYS));
        let queries = Presence::ALL.map(|presence| Queries::of_many(presence, &sets, 10, QUERIES));
        for entrant in &LINEUP {
            let subject = (entrant.build_many)(&sets, 10);
            check_all(&queries, &*subject, entrant.name);
            let bits_per_key = 8.0 * subject.length() as f64 / (10 * KEYS) as f64;
            assert!((6.0..12.0).contains(&bits_per_key), "{}: {bits_per_key}", entrant.name);
        }
    }

    #[test]
    #[should_panic(expected = "a key that was added is denied")]
    fn a_forgotten_key_is_noticed() {
        Queries::present(&Keys::present(10), 100).check(99, 0.01);
    }

    #[test]
    #[should_panic(expected = "a rate of false positives of 0.03")]
    fn too_many_false_positives_are_noticed() {
        Queries::absent(100).check(3, 0.01);
    }

    #[test]
    #[should_panic(expected = "a rate of false positives of 0 ")]
    fn a_filter_that_denies_all_is_noticed() {
        Queries::absent(100).check(0, 0.01);
    }
}
