//! Levels for tables whose own are not recorded any more: by overlap and sequence numbers.
//!
//! ```text
//! keys      a ------------ m ------------ z
//! level 0   [ 90 … 99                     ]       newer than all that it overlaps
//! level 5   [ 40 … 70      ]  [ 30 … 60   ]       of each key, larger numbers than below
//! level 6   [ 0  …  20     ]  [ 0 … 50    ]       the oldest
//! ```
//!
//! The engine stops at the first table that has a key, so of each key a table in a higher level must
//! have larger sequence numbers. Where the numbers of two overlapping tables are apart, that decides.
//! Otherwise their common keys do. Tables for which there is no order at all, or which have the same
//! version of a key, are merged into one run.
//!
//! Two entries that refer to the same blob are the same version, too: the sequence number of one was set
//! to 0 in the last level. The engine would count that blob as garbage twice.

use std::collections::BTreeSet;

use sstkit_table::Table;
use sstkit_table::visibility::UserKeys;

use super::age_graph::{AgeGraph, Groups};
use super::common_keys;
use crate::error::Result;
use crate::version::TableKeyBounds;

/// A table to be put in a level.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    /// Without timestamps.
    pub(super) smallest: Vec<u8>,
    pub(super) largest: Vec<u8>,
    /// `largest` is not in the table: a range tombstone ends there.
    pub(super) is_exclusive: bool,
    /// The smallest and the largest sequence number.
    pub(super) sequences: (u64, u64),
    /// The blob files that it refers to.
    pub(super) blob_files: BTreeSet<u64>,
    /// Decides where nothing else does.
    pub(super) number: u64,
}

impl Candidate {
    /// The bounds within which its range tombstones apply.
    pub(super) fn key_bounds(&self) -> TableKeyBounds<'_> {
        let (smallest, largest) = (&self.smallest, &self.largest);
        TableKeyBounds { smallest, largest, is_exclusive: self.is_exclusive }
    }

    fn overlaps(&self, other: &Self, keys: &UserKeys) -> bool {
        !self.ends_before(other, keys) && !other.ends_before(self, keys)
    }

    fn ends_before(&self, other: &Self, keys: &UserKeys) -> bool {
        let order = keys.compare(&self.largest, &other.smallest);
        order.is_lt() || order.is_eq() && self.is_exclusive
    }

    /// The range of both.
    fn joined(self, other: Self, keys: &UserKeys) -> Self {
        let smallest = match keys.compare(&other.smallest, &self.smallest).is_lt() {
            true => other.smallest,
            false => self.smallest,
        };
        let order = keys.compare(&other.largest, &self.largest);
        let is_larger = order.is_gt() || order.is_eq() && !other.is_exclusive;
        let (largest, is_exclusive) = match is_larger {
            true => (other.largest, other.is_exclusive),
            false => (self.largest, self.is_exclusive),
        };
        Self { smallest, largest, is_exclusive, ..self }
    }

    /// Whether every sequence number is larger than all of the other table.
    fn is_newer(&self, other: &Self) -> bool {
        self.sequences.0 > other.sequences.1
    }
}

/// Puts tables in order, oldest first. `open` opens one of them.
pub(super) fn order(
    candidates: &[Candidate],
    keys: &UserKeys,
    open: impl Fn(usize) -> Result<Table>,
) -> Result<Groups> {
    let mut graph = AgeGraph::new(candidates.len());
    let mut contested = BTreeSet::new();
    each_overlap(candidates, keys, |a, b| {
        match (candidates[a].is_newer(&candidates[b]), candidates[b].is_newer(&candidates[a])) {
            (true, _) => graph.newer(a, b),
            (_, true) => graph.newer(b, a),
            (false, false) => contested.extend([a, b]),
        }
        if !candidates[a].blob_files.is_disjoint(&candidates[b].blob_files) {
            contested.extend([a, b]);
        }
    });
    let contested: Vec<usize> = contested.into_iter().collect();
    common_keys::compare(&contested, candidates, keys, open, &mut graph)?;
    Ok(graph.groups(|at| {
        (candidates[at].sequences.1, candidates[at].sequences.0, candidates[at].number)
    }))
}

/// Whether sequence numbers contradict a recorded order, in which each table has the rank of its run, the
/// oldest the smallest: the engine would find old versions before new ones.
pub(super) fn contradicts(
    rank: &[usize],
    candidates: &[Candidate],
    keys: &UserKeys,
    open: impl Fn(usize) -> Result<Table>,
) -> Result<bool> {
    let mut contested = BTreeSet::new();
    each_overlap(candidates, keys, |a, b| {
        let (older, newer) = if rank[a] < rank[b] { (a, b) } else { (b, a) };
        if rank[a] != rank[b] && !candidates[newer].is_newer(&candidates[older]) {
            contested.extend([a, b]);
        }
    });
    let contested: Vec<usize> = contested.into_iter().collect();
    let mut graph = AgeGraph::new(candidates.len());
    common_keys::compare(&contested, candidates, keys, open, &mut graph)?;
    Ok(graph.contradicts(rank))
}

/// Calls `found` with each pair of tables that overlap.
fn each_overlap(candidates: &[Candidate], keys: &UserKeys, mut found: impl FnMut(usize, usize)) {
    // In the order of their first keys, so that only tables that may overlap are compared.
    let mut by_key: Vec<usize> = (0..candidates.len()).collect();
    by_key.sort_by(|&a, &b| keys.compare(&candidates[a].smallest, &candidates[b].smallest));
    let mut active: Vec<usize> = Vec::new();
    for &b in &by_key {
        active.retain(|&a| !candidates[a].ends_before(&candidates[b], keys));
        for &a in active.iter().filter(|&&a| candidates[a].overlaps(&candidates[b], keys)) {
            found(a, b);
        }
        active.push(b);
    }
}

/// The level of each group, which are oldest first: as low as possible, the last one being `bottom`.
pub(super) fn levels(
    groups: &Groups,
    candidates: &[Candidate],
    keys: &UserKeys,
    bottom: u32,
) -> Vec<u32> {
    // How many levels from the bottom, and which tables are there.
    let mut layers: Vec<Vec<Candidate>> = Vec::new();
    let mut levels = Vec::with_capacity(groups.len());
    for group in groups {
        let members = group.iter().map(|&it| candidates[it].clone());
        let Some(run) = members.reduce(|a, b| a.joined(b, keys)) else { continue };
        let overlaps = |layer: &Vec<Candidate>| layer.iter().any(|it| it.overlaps(&run, keys));
        let above = layers.iter().rposition(overlaps).map_or(0, |layer| layer + 1);
        if layers.len() <= above {
            layers.push(Vec::new());
        }
        layers[above].push(run);
        levels.push(bottom.saturating_sub(u32::try_from(above).unwrap_or(u32::MAX)));
    }
    levels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_grow_from_the_bottom() {
        let keys = UserKeys::new(sstkit_table::Comparator::Bytewise);
        let candidate = |smallest: &str, largest: &str, low, high| Candidate {
            smallest: smallest.into(),
            largest: largest.into(),
            is_exclusive: false,
            sequences: (low, high),
            blob_files: BTreeSet::new(),
            number: 0,
        };
        let candidates = [
            candidate("a", "z", 90, 99),
            candidate("a", "m", 0, 20),
            candidate("n", "z", 0, 50),
            candidate("a", "f", 40, 70),
            candidate("g", "m", 30, 60),
        ];
        let groups = order(&candidates, &keys, |_| unreachable!()).unwrap();
        let level = levels(&groups, &candidates, &keys, 6);
        let of = |table: usize| level[groups.iter().position(|it| it.contains(&table)).unwrap()];
        assert_eq!([0, 1, 2, 3, 4].map(of), [4, 6, 6, 5, 5]);
        assert_eq!(levels(&groups, &candidates, &keys, 1).iter().min(), Some(&0));
    }
}
