//! Which tables are newer than which, as a graph, and the order that follows from it.

use std::collections::BTreeSet;

/// Tables that belong together, oldest group first. A group of several has to be merged.
pub(super) type Groups = Vec<Vec<usize>>;

/// Which tables must be newer than which.
pub(super) struct AgeGraph {
    /// For each table those that are older.
    older: Vec<BTreeSet<usize>>,
}

impl AgeGraph {
    pub(super) fn new(tables: usize) -> Self {
        Self { older: vec![BTreeSet::new(); tables] }
    }

    /// One table must be newer than another.
    pub(super) fn newer(&mut self, newer: usize, older: usize) {
        if newer != older {
            self.older[newer].insert(older);
        }
    }

    /// Two tables must be merged.
    pub(super) fn join(&mut self, one: usize, other: usize) {
        self.newer(one, other);
        self.newer(other, one);
    }

    /// Whether an order, in which each table has a rank, has a newer table before an older one, or tables
    /// that must be merged.
    pub(super) fn contradicts(&self, rank: &[usize]) -> bool {
        let mut older = self.older.iter().enumerate();
        older.any(|(newer, older)| older.iter().any(|&it| rank[newer] < rank[it]))
    }

    /// Tables that are older and newer than each other form a group; groups are in order, oldest first.
    /// Where several may be next, the one with the smallest `rank` is.
    pub(super) fn groups<R: Ord + Copy>(&self, rank: impl Fn(usize) -> R) -> Groups {
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
        let mut graph = AgeGraph::new(5);
        graph.newer(0, 1);
        graph.join(1, 2);
        graph.newer(3, 0);
        assert_eq!(graph.groups(|it| it), [vec![1, 2], vec![0], vec![3], vec![4]]);
        assert_eq!(graph.groups(|it| 9 - it), [vec![4], vec![1, 2], vec![0], vec![3]]);
        assert!(graph.contradicts(&[2, 0, 1, 3, 4]), "1 and 2 must be merged");
        assert!(!graph.contradicts(&[2, 1, 1, 3, 0]));
        assert!(graph.contradicts(&[0, 1, 1, 2, 3]) && graph.contradicts(&[2, 1, 1, 0, 3]));
    }
}
