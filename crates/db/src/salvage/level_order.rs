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

use std::cmp::Ordering;
use std::collections::BTreeSet;

use sstkit_table::visibility::UserKeys;
use sstkit_table::{EntryCursor, RangeTombstone, Table};

use crate::error::Result;
use crate::version::KeyBounds;

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
    /// Decides where nothing else does.
    pub(super) number: u64,
}

impl Candidate {
    /// The bounds within which its range tombstones apply.
    pub(super) fn key_bounds(&self) -> KeyBounds<'_> {
        let (smallest, largest) = (&self.smallest, &self.largest);
        KeyBounds { smallest, largest, is_exclusive: self.is_exclusive }
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

/// Tables that belong together, oldest group first. A group of several has to be merged.
pub(super) type Groups = Vec<Vec<usize>>;

/// Puts tables in order, oldest first. `open` opens one of them.
pub(super) fn order(
    candidates: &[Candidate],
    keys: &UserKeys,
    open: impl Fn(usize) -> Result<Table>,
) -> Result<Groups> {
    let mut graph = Graph::new(candidates.len());
    let mut contested = BTreeSet::new();
    // In the order of their first keys, so that only tables that may overlap are compared.
    let mut by_key: Vec<usize> = (0..candidates.len()).collect();
    by_key.sort_by(|&a, &b| keys.compare(&candidates[a].smallest, &candidates[b].smallest));
    let mut active: Vec<usize> = Vec::new();
    for &b in &by_key {
        active.retain(|&a| !candidates[a].ends_before(&candidates[b], keys));
        for &a in active.iter().filter(|&&a| candidates[a].overlaps(&candidates[b], keys)) {
            match (candidates[a].is_newer(&candidates[b]), candidates[b].is_newer(&candidates[a])) {
                (true, _) => graph.newer(a, b),
                (_, true) => graph.newer(b, a),
                (false, false) => {
                    contested.extend([a, b]);
                }
            }
        }
        active.push(b);
    }
    let contested: Vec<usize> = contested.into_iter().collect();
    if !contested.is_empty() {
        compare_keys(&contested, candidates, keys, open, &mut graph)?;
    }
    Ok(graph.groups(|at| {
        (candidates[at].sequences.1, candidates[at].sequences.0, candidates[at].number)
    }))
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

/// Goes over the keys of tables and notes, for each key, which of them has the newer versions. Only the
/// tables that have keys around the current one are open.
fn compare_keys(
    contested: &[usize],
    candidates: &[Candidate],
    keys: &UserKeys,
    open: impl Fn(usize) -> Result<Table>,
    graph: &mut Graph,
) -> Result<()> {
    // The next one last.
    let mut waiting = contested.to_vec();
    waiting.sort_by(|&a, &b| keys.compare(&candidates[b].smallest, &candidates[a].smallest));
    let mut cursors: Vec<(usize, EntryCursor)> = Vec::new();
    let mut tombstones: Vec<(usize, RangeTombstone)> = Vec::new();
    let (mut key, mut versions) = (Vec::new(), Vec::new());
    loop {
        let bare = |cursor: &EntryCursor| keys.bare(cursor.user_key()).to_vec();
        let next = cursors.iter().map(|(_, it)| bare(it)).min_by(|a, b| keys.compare(a, b));
        let is_due = |&at: &usize| {
            next.as_ref().is_none_or(|it| keys.compare(&candidates[at].smallest, it).is_le())
        };
        if waiting.last().is_some_and(is_due) {
            let Some(at) = waiting.pop() else { break };
            let table = open(at)?;
            tombstones.extend(table.range_deletions().iter().map(|it| (at, it.clone())));
            let mut cursor = table.entry_cursor();
            if cursor.seek_to_first()? {
                cursors.push((at, cursor));
            }
            continue;
        }
        let Some(next) = next else { break };
        key.clone_from(&next);
        versions.clear();
        for (table, cursor) in &mut cursors {
            while cursor.is_valid() && keys.compare(keys.bare(cursor.user_key()), &key).is_eq() {
                versions.push(Version { table: *table, sequence: cursor.sequence() });
                cursor.next()?;
            }
        }
        cursors.retain(|(_, cursor)| cursor.is_valid());
        versions.sort_by_key(|it| std::cmp::Reverse(it.sequence));
        tombstones.retain(|it| keys.compare(&it.1.end, &key).is_gt());
        let covering = tombstones.iter().filter(|(at, range)| {
            keys.compare(&range.start, &key).is_le()
                && candidates[*at].key_bounds().contains(&key, keys)
        });
        graph.add_key(&versions, covering);
    }
    Ok(())
}

/// A version of a key.
struct Version {
    table: usize,
    sequence: u64,
}

/// Each of some versions with each of others, of different tables.
fn pairs<'v>(
    some: &'v [Version],
    others: &'v [Version],
) -> impl Iterator<Item = (&'v Version, &'v Version)> {
    let all = some.iter().flat_map(move |one| others.iter().map(move |other| (one, other)));
    all.filter(|(one, other)| one.table != other.table)
}

/// Which tables must be newer than which.
struct Graph {
    /// For each table those that are older.
    older: Vec<BTreeSet<usize>>,
}

impl Graph {
    fn new(tables: usize) -> Self {
        Self { older: vec![BTreeSet::new(); tables] }
    }

    fn newer(&mut self, newer: usize, older: usize) {
        self.older[newer].insert(older);
    }

    /// What the versions of a key, the newest first, and the range tombstones over it say.
    fn add_key<'t>(
        &mut self,
        versions: &[Version],
        covering: impl Iterator<Item = &'t (usize, RangeTombstone)>,
    ) {
        let mut above: &[Version] = &[];
        // A version may be in several tables; each of them is newer than those with the next one.
        for same in versions.chunk_by(|a, b| a.sequence == b.sequence) {
            for (newer, older) in pairs(above, same) {
                self.newer(newer.table, older.table);
            }
            // The same operand in two tables would be applied twice; and two versions with number 0, as
            // the lowest level has them, may differ.
            for (one, other) in pairs(same, same) {
                self.newer(one.table, other.table);
            }
            above = same;
        }
        for (table, tombstone) in covering {
            for version in versions {
                if version.table == *table {
                    continue;
                }
                // The engine does not look at the keys of lower levels that a range tombstone covers, not
                // even at newer ones.
                match version.sequence.cmp(&tombstone.sequence) {
                    Ordering::Less => self.newer(*table, version.table),
                    Ordering::Greater => self.newer(version.table, *table),
                    Ordering::Equal => {}
                }
            }
        }
    }

    /// Tables that are older and newer than each other form a group; groups are in order, oldest first.
    /// Where several may be next, the one with the smallest `rank` is.
    fn groups<R: Ord + Copy>(&self, rank: impl Fn(usize) -> R) -> Groups {
        let (group_of, count) = self.components();
        let mut groups: Groups = vec![Vec::new(); count];
        for (table, &group) in group_of.iter().enumerate() {
            groups[group].push(table);
        }
        let ranks: Vec<Option<R>> =
            groups.iter().map(|group| group.iter().map(|&it| rank(it)).max()).collect();
        let mut newer: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); count];
        let mut waiting = vec![0; count];
        for (table, older) in self.older.iter().enumerate() {
            for &other in older {
                let (from, to) = (group_of[other], group_of[table]);
                if from != to && newer[from].insert(to) {
                    waiting[to] += 1;
                }
            }
        }
        let mut ready: BTreeSet<(Option<R>, usize)> = (0..count)
            .filter(|&group| waiting[group] == 0)
            .map(|group| (ranks[group], group))
            .collect();
        let mut ordered = Groups::new();
        while let Some((_, group)) = ready.pop_first() {
            ordered.push(std::mem::take(&mut groups[group]));
            for &next in &newer[group] {
                waiting[next] -= 1;
                if waiting[next] == 0 {
                    ready.insert((ranks[next], next));
                }
            }
        }
        ordered
    }

    /// Strongly connected components (Tarjan, without recursion): the component of each table, and how
    /// many there are.
    fn components(&self) -> (Vec<usize>, usize) {
        const UNSEEN: usize = usize::MAX;
        let count = self.older.len();
        let (mut index, mut low) = (vec![UNSEEN; count], vec![0; count]);
        let (mut group_of, mut groups) = (vec![UNSEEN; count], 0);
        let (mut stack, mut next_index) = (Vec::new(), 0);
        for root in 0..count {
            if index[root] != UNSEEN {
                continue;
            }
            let mut path = vec![(root, self.older[root].iter())];
            (index[root], low[root]) = (next_index, next_index);
            next_index += 1;
            stack.push(root);
            while let Some((node, edges)) = path.last_mut() {
                let node = *node;
                if let Some(&next) = edges.next() {
                    if index[next] == UNSEEN {
                        (index[next], low[next]) = (next_index, next_index);
                        next_index += 1;
                        stack.push(next);
                        path.push((next, self.older[next].iter()));
                    } else if group_of[next] == UNSEEN {
                        low[node] = low[node].min(index[next]);
                    }
                    continue;
                }
                path.pop();
                if let Some((parent, _)) = path.last() {
                    low[*parent] = low[*parent].min(low[node]);
                }
                if low[node] == index[node] {
                    while let Some(member) = stack.pop() {
                        group_of[member] = groups;
                        if member == node {
                            break;
                        }
                    }
                    groups += 1;
                }
            }
        }
        (group_of, groups)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_ordered_and_cycles_are_merged() {
        let mut graph = Graph::new(5);
        graph.newer(0, 1);
        graph.newer(1, 2);
        graph.newer(2, 1);
        graph.newer(3, 0);
        assert_eq!(graph.groups(|it| it), [vec![1, 2], vec![0], vec![3], vec![4]]);
        assert_eq!(graph.groups(|it| 9 - it), [vec![4], vec![1, 2], vec![0], vec![3]]);
    }

    /// Tables with the same version of a key are merged.
    #[test]
    fn versions_in_two_tables() {
        let version = |table, sequence| Version { table, sequence };
        let mut graph = Graph::new(2);
        graph.add_key(&[version(0, 9), version(1, 7)], [].iter());
        assert_eq!(graph.groups(|it| it), [vec![1], vec![0]]);
        graph.add_key(&[version(0, 5), version(1, 5)], [].iter());
        assert_eq!(graph.groups(|it| it), [vec![0, 1]]);
    }

    /// A table with a newer version than a range tombstone of another one is above it.
    #[test]
    fn versions_newer_than_a_range_tombstone() {
        let tombstone = [(1, RangeTombstone::new(b"a", b"z", 7, &[]))];
        for (sequence, order) in [(9, [[1], [0]]), (5, [[0], [1]])] {
            let mut graph = Graph::new(2);
            graph.add_key(&[Version { table: 0, sequence }], tombstone.iter());
            for rank in [|it| it, |it: usize| 9 - it] {
                assert_eq!(graph.groups(rank), order, "{sequence}");
            }
        }
    }

    #[test]
    fn levels_grow_from_the_bottom() {
        let keys = UserKeys::new(sstkit_table::Comparator::Bytewise);
        let candidate = |smallest: &str, largest: &str, low, high| Candidate {
            smallest: smallest.into(),
            largest: largest.into(),
            is_exclusive: false,
            sequences: (low, high),
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
