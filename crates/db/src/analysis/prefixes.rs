//! Totals by prefix: keys with the same beginning, as a tree like that of directories.
//!
//! ```text
//! keys           users/7/name  users/7/post/1  users/8/name  zip
//!
//! by / , depth 2                 by length 3
//! (all)    4 keys                (all)  4 keys
//!   users/   3                     use    3
//!     users/7/ 2                   zip    1
//!     users/8/ 1
//! ```
//!
//! In an order where keys with the same beginning follow one another, the groups of one key are
//! counted at a time and closed when the next key is in another group. Of the closed ones the largest
//! are kept; a group is never larger than the one around it, so that what is kept is a tree. Where
//! keys with the same beginning may be anywhere, groups that were dropped may come back: the tree then
//! says that it is not complete.

use std::collections::HashMap;
use std::ops::AddAssign;

use super::analysis_options::GroupBy;

/// How many groups are kept.
const MAX_GROUPS: usize = 16 << 10;
/// Bytes of the prefixes of all groups that are kept.
const MAX_PREFIX_BYTES: usize = 16 << 20;
/// The largest number of components of a key that make groups.
const MAX_DEPTH: usize = 64;
/// Stored bytes are counted in fractions, since an entry may take less than one.
pub(super) const STORED_FRACTIONS: u64 = 1 << 12;

/// What the keys of a group add up to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PrefixTotals {
    /// Entries.
    pub entries: u64,
    /// Tombstones among them.
    pub tombstones: u64,
    /// Bytes of user keys.
    pub key_bytes: u64,
    /// Bytes of values as stored in the table, before compression.
    pub value_bytes: u64,
    /// About how many bytes of data blocks they take; 0 if it is not known how well each file is
    /// compressed, as in tables of LevelDB.
    pub stored_bytes: u64,
    /// Groups directly below.
    pub children: u64,
}

impl PrefixTotals {
    /// Bytes of keys and values.
    pub fn bytes(&self) -> u64 {
        self.key_bytes + self.value_bytes
    }

    /// Groups are sorted by this. No group exceeds one that contains it.
    fn rank(&self) -> (u64, u64, u64) {
        (self.bytes(), self.stored_bytes, self.entries)
    }
}

impl AddAssign for PrefixTotals {
    fn add_assign(&mut self, other: Self) {
        self.entries += other.entries;
        self.tombstones += other.tombstones;
        self.key_bytes += other.key_bytes;
        self.value_bytes += other.value_bytes;
        self.stored_bytes += other.stored_bytes;
        self.children += other.children;
    }
}

/// A group of keys.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PrefixNode {
    /// What its keys start with.
    pub prefix: Vec<u8>,
    /// The number of its components.
    pub depth: usize,
    /// What they add up to.
    pub totals: PrefixTotals,
}

sstkit_coding::debug_struct!(PrefixNode { prefix: bytes, depth, totals });

/// The largest groups.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct PrefixTree {
    /// All keys.
    pub total: PrefixTotals,
    /// Groups, by prefix. Each one that has a group around it comes after that one.
    pub nodes: Vec<PrefixNode>,
    /// Whether all numbers are exact. If not, groups were dropped that may have been large together
    /// with keys elsewhere, which happens in user-made orders only.
    pub is_exact: bool,
}

type Groups = HashMap<Vec<u8>, Group>;

#[derive(Clone, Copy, Debug, Default)]
struct Group {
    depth: usize,
    totals: PrefixTotals,
}

/// Where the components of a key end that make groups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct KeyPath {
    /// The beginning of the key, up to the end of the last component.
    prefix: Vec<u8>,
    ends: Vec<usize>,
}

impl KeyPath {
    /// The number of components that are also those of `key`, which end at `ends`.
    fn common(&self, key: &[u8], ends: &[usize]) -> usize {
        let is_same = |&(&a, &b): &(&usize, &usize)| a == b && self.prefix[..a] == key[..a];
        self.ends.iter().zip(ends).take_while(is_same).count()
    }

    fn component(&self, depth: usize) -> &[u8] {
        &self.prefix[..self.ends[depth - 1]]
    }
}

/// Counts the groups of a part of the key range.
pub(super) struct PrefixCounter<'o> {
    group_by: &'o GroupBy,
    /// Of the last key.
    path: KeyPath,
    /// Totals of all keys, and of the groups of the last key: what was not added to the one around it.
    open: Vec<PrefixTotals>,
    /// How many of the open groups contain the first key.
    first_open: usize,
    result: PrefixPart,
    /// Room for the ends of a key.
    ends: Vec<usize>,
}

/// The groups of a part of the key range, or of several that follow one another.
#[derive(Debug, Default)]
pub(super) struct PrefixPart {
    total: PrefixTotals,
    closed: Groups,
    /// Bytes of the prefixes of closed groups.
    prefix_bytes: usize,
    /// Groups with the first or the last key: they may continue in the parts beside this one.
    edges: Groups,
    first: Option<KeyPath>,
    last: KeyPath,
    /// A closed group of less is not kept.
    floor: (u64, u64, u64),
    has_dropped: bool,
    is_sorted: bool,
}

impl<'o> PrefixCounter<'o> {
    /// `is_sorted`: whether keys with the same beginning follow one another.
    pub(super) fn new(group_by: &'o GroupBy, is_sorted: bool) -> Self {
        Self {
            group_by,
            path: KeyPath::default(),
            open: vec![PrefixTotals::default()],
            first_open: 0,
            result: PrefixPart::new(is_sorted),
            ends: Vec::new(),
        }
    }

    /// Adds what `totals` says about an entry of `key`.
    #[inline]
    pub(super) fn add(&mut self, key: &[u8], totals: PrefixTotals) {
        if self.result.first.is_none() || !self.is_in_last_group(key) {
            self.move_to(key);
        }
        if let Some(innermost) = self.open.last_mut() {
            *innermost += totals;
        }
    }

    #[inline]
    fn is_in_last_group(&self, key: &[u8]) -> bool {
        let prefix = &self.path.prefix;
        match self.group_by {
            GroupBy::Length(length) => key[..key.len().min(*length)] == prefix[..],
            GroupBy::Delimiter { depth, .. } => {
                self.path.ends.len() == (*depth).min(MAX_DEPTH) && key.starts_with(prefix)
            }
        }
    }

    #[cold]
    fn move_to(&mut self, key: &[u8]) {
        let mut ends = std::mem::take(&mut self.ends);
        find_ends(self.group_by, key, &mut ends);
        let common = self.path.common(key, &ends);
        self.close_to(common);
        self.path.prefix.clear();
        self.path.prefix.extend_from_slice(&key[..ends.last().copied().unwrap_or(0)]);
        std::mem::swap(&mut self.path.ends, &mut ends);
        self.ends = ends;
        for _ in common..self.path.ends.len() {
            if let Some(parent) = self.open.last_mut() {
                parent.children += 1;
            }
            self.open.push(PrefixTotals::default());
        }
        if self.result.first.is_none() {
            self.result.first = Some(self.path.clone());
            self.first_open = self.open.len();
        }
    }

    /// Closes all groups but this number of components.
    fn close_to(&mut self, depth: usize) {
        while self.open.len() > depth + 1 {
            let Some(mut totals) = self.open.pop() else { break };
            let depth = self.open.len();
            let prefix = self.path.component(depth);
            let is_first = self.first_open > depth;
            self.first_open = self.first_open.min(depth);
            match is_first {
                true => self.result.add_edge(prefix, depth, totals),
                false => self.result.close(prefix, depth, totals),
            }
            totals.children = 0;
            if let Some(parent) = self.open.last_mut() {
                *parent += totals;
            }
        }
    }

    pub(super) fn finish(mut self) -> PrefixPart {
        // The groups of the last key may continue.
        self.first_open = self.open.len();
        self.close_to(0);
        self.result.total = self.open[0];
        self.result.last = self.path;
        self.result
    }
}

fn find_ends(group_by: &GroupBy, key: &[u8], ends: &mut Vec<usize>) {
    ends.clear();
    match group_by {
        GroupBy::Length(length) => ends.push(key.len().min(*length)),
        GroupBy::Delimiter { delimiter, depth } => {
            let mut from = 0;
            while ends.len() < (*depth).min(MAX_DEPTH)
                && let Some(at) = find(&key[from..], delimiter)
            {
                from += at + delimiter.len();
                ends.push(from);
            }
        }
    }
}

fn find(bytes: &[u8], delimiter: &[u8]) -> Option<usize> {
    match delimiter {
        [] => None,
        [byte] => bytes.iter().position(|it| it == byte),
        _ => bytes.windows(delimiter.len()).position(|window| window == delimiter),
    }
}

impl PrefixPart {
    pub(super) fn new(is_sorted: bool) -> Self {
        Self { is_sorted, ..Self::default() }
    }

    fn add_edge(&mut self, prefix: &[u8], depth: usize, totals: PrefixTotals) {
        let group = self.edges.entry(prefix.to_vec()).or_default();
        group.depth = depth;
        group.totals += totals;
    }

    fn close(&mut self, prefix: &[u8], depth: usize, totals: PrefixTotals) {
        // What is not as large as what was dropped is dropped, too.
        if self.is_sorted && totals.rank() < self.floor {
            return;
        }
        match self.closed.get_mut(prefix) {
            Some(group) => group.totals += totals,
            None => {
                self.prefix_bytes += prefix.len();
                self.closed.insert(prefix.to_vec(), Group { depth, totals });
            }
        }
        if self.closed.len() > 2 * MAX_GROUPS || self.prefix_bytes > 2 * MAX_PREFIX_BYTES {
            self.prune();
        }
    }

    /// Drops the smallest groups.
    fn prune(&mut self) {
        let mut groups: Vec<_> = self.closed.drain().collect();
        groups.sort_unstable_by(|(a, of_a), (b, of_b)| {
            of_b.totals.rank().cmp(&of_a.totals.rank()).then_with(|| a.cmp(b))
        });
        let (mut kept, mut bytes) = (0, 0);
        for (prefix, _) in groups.iter().take(MAX_GROUPS) {
            bytes += prefix.len();
            if bytes > MAX_PREFIX_BYTES {
                break;
            }
            kept += 1;
        }
        if let Some((_, dropped)) = groups.get(kept) {
            self.floor = self.floor.max(dropped.totals.rank());
            self.has_dropped = true;
        }
        groups.truncate(kept);
        self.prefix_bytes = groups.iter().map(|(prefix, _)| prefix.len()).sum();
        self.closed.extend(groups);
    }

    /// Adds the groups of the part that follows.
    pub(super) fn append(&mut self, next: Self) {
        let Some(first) = &next.first else { return };
        self.total += next.total;
        self.has_dropped |= next.has_dropped;
        for (prefix, group) in next.edges {
            self.add_edge(&prefix, group.depth, group.totals);
        }
        // Groups that continue were counted twice by the ones around them.
        let common =
            self.first.as_ref().map_or(0, |_| self.last.common(&first.prefix, &first.ends));
        for depth in 0..common {
            match depth {
                0 => self.total.children -= 1,
                _ => {
                    if let Some(parent) = self.edges.get_mut(self.last.component(depth)) {
                        parent.totals.children -= 1;
                    }
                }
            }
        }
        self.floor = self.floor.max(next.floor);
        for (prefix, group) in next.closed {
            self.close(&prefix, group.depth, group.totals);
        }
        self.last = next.last;
        if self.first.is_none() {
            self.first = next.first;
        }
        self.close_ended();
    }

    /// Closes the groups at the edges that the last key is not in.
    fn close_ended(&mut self) {
        let ends: Vec<_> = (1..=self.last.ends.len()).map(|it| self.last.component(it)).collect();
        let ended = self.edges.extract_if(|prefix, _| !ends.contains(&prefix.as_slice()));
        let ended: Vec<_> = ended.collect();
        for (prefix, group) in ended {
            self.close(&prefix, group.depth, group.totals);
        }
    }

    pub(super) fn finish(mut self) -> PrefixTree {
        for (prefix, group) in std::mem::take(&mut self.edges) {
            self.close(&prefix, group.depth, group.totals);
        }
        if self.closed.len() > MAX_GROUPS {
            self.prune();
        }
        self.total.stored_bytes /= STORED_FRACTIONS;
        let node = |(prefix, Group { depth, mut totals })| {
            totals.stored_bytes /= STORED_FRACTIONS;
            PrefixNode { prefix, depth, totals }
        };
        let mut nodes: Vec<PrefixNode> = self.closed.into_iter().map(node).collect();
        nodes.sort_unstable_by(|a, b| a.prefix.cmp(&b.prefix).then(a.depth.cmp(&b.depth)));
        let mut tree =
            PrefixTree { total: self.total, nodes, is_exact: self.is_sorted || !self.has_dropped };
        if !self.is_sorted {
            tree.count_children();
        }
        tree
    }
}

impl PrefixTree {
    /// Where groups came back they were counted as new ones.
    fn count_children(&mut self) {
        self.total.children = self.nodes.iter().filter(|node| node.depth == 1).count() as u64;
        let mut around: Vec<usize> = Vec::new();
        for at in 0..self.nodes.len() {
            self.nodes[at].totals.children = 0;
            while let Some(&last) = around.last()
                && (self.nodes[last].depth >= self.nodes[at].depth
                    || !self.nodes[at].prefix.starts_with(&self.nodes[last].prefix))
            {
                around.pop();
            }
            if let Some(&parent) = around.last()
                && self.nodes[parent].depth + 1 == self.nodes[at].depth
            {
                self.nodes[parent].totals.children += 1;
            }
            around.push(at);
        }
    }
}
