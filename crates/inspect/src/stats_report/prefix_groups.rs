//! Groups of keys with the same prefix, as a tree: the largest ones of each group, and the rest.

use serde::Serialize;
use sstkit_db::{PrefixNode, PrefixTotals, PrefixTree};

use crate::encoding::Encoding;

/// All groups of keys.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PrefixReport {
    /// Whether all numbers are exact. Not for keys in a user-made order with very many groups.
    pub exact: bool,
    /// All keys.
    #[serde(flatten)]
    pub all: PrefixGroup,
}

/// A group of keys.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PrefixGroup {
    /// What the keys start with; empty for all keys.
    pub prefix: String,
    /// Entries.
    pub entries: u64,
    /// Tombstones among them.
    pub tombstones: u64,
    /// Bytes of user keys.
    pub key_bytes: u64,
    /// Bytes of values before compression.
    pub value_bytes: u64,
    /// About how many stored bytes of data blocks they take: each file by its compression. `None` if
    /// that is not known.
    pub stored_bytes: Option<u64>,
    /// The fraction of all bytes (of keys and values, or as stored where these are not known).
    pub share: f64,
    /// The number of groups directly below.
    pub groups: u64,
    /// The largest of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<PrefixGroup>,
    /// What is in none of the listed groups, if there are any groups.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub others: Option<OtherGroups>,
}

/// What is in none of the listed groups: groups that are not listed, and keys in no group.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct OtherGroups {
    /// Groups that are not listed.
    pub groups: u64,
    /// Entries.
    pub entries: u64,
    /// Tombstones among them.
    pub tombstones: u64,
    /// Bytes of user keys.
    pub key_bytes: u64,
    /// Bytes of values before compression.
    pub value_bytes: u64,
    /// See [`PrefixGroup::stored_bytes`].
    pub stored_bytes: Option<u64>,
    /// See [`PrefixGroup::share`].
    pub share: f64,
}

impl PrefixReport {
    /// Lists at most `top` groups below each.
    pub(super) fn of(tree: &PrefixTree, encoding: Encoding, top: usize) -> Self {
        let builder = Builder { encoding, top, all: tree.total };
        let mut nodes = tree.nodes.iter().peekable();
        let all = builder.group(&[], 0, tree.total, &mut nodes);
        Self { exact: tree.is_exact, all }
    }
}

struct Builder {
    encoding: Encoding,
    top: usize,
    all: PrefixTotals,
}

impl Builder {
    /// A group and all below it, which follow it in `nodes`.
    fn group<'n>(
        &self,
        prefix: &[u8],
        depth: usize,
        totals: PrefixTotals,
        nodes: &mut std::iter::Peekable<impl Iterator<Item = &'n PrefixNode>>,
    ) -> PrefixGroup {
        let mut below: Vec<(PrefixTotals, PrefixGroup)> = Vec::new();
        while let Some(node) =
            nodes.next_if(|node| node.depth > depth && node.prefix.starts_with(prefix))
        {
            let group = self.group(&node.prefix, node.depth, node.totals, nodes);
            // A group whose parent was dropped belongs to none that is listed.
            if node.depth == depth + 1 {
                below.push((node.totals, group));
            }
        }
        let rank = |it: &PrefixTotals| (it.bytes(), it.stored_bytes, it.entries);
        below.sort_by_key(|(totals, _)| std::cmp::Reverse(rank(totals)));
        below.truncate(self.top);
        let others = (totals.children > 0).then(|| self.others(totals, &below));
        PrefixGroup {
            prefix: self.encoding.encode(prefix),
            entries: totals.entries,
            tombstones: totals.tombstones,
            key_bytes: totals.key_bytes,
            value_bytes: totals.value_bytes,
            stored_bytes: self.stored(totals.stored_bytes),
            share: self.share(totals.bytes(), totals.stored_bytes),
            groups: totals.children,
            others: others.filter(|others| others.entries > 0 || others.groups > 0),
            children: below.into_iter().map(|(_, group)| group).collect(),
        }
    }

    fn others(&self, totals: PrefixTotals, listed: &[(PrefixTotals, PrefixGroup)]) -> OtherGroups {
        let rest = |of: fn(&PrefixTotals) -> u64| {
            let sum: u64 = listed.iter().map(|(totals, _)| of(totals)).sum();
            of(&totals).saturating_sub(sum)
        };
        let (bytes, stored) = (rest(PrefixTotals::bytes), rest(|it| it.stored_bytes));
        OtherGroups {
            groups: totals.children.saturating_sub(listed.len() as u64),
            entries: rest(|it| it.entries),
            tombstones: rest(|it| it.tombstones),
            key_bytes: rest(|it| it.key_bytes),
            value_bytes: rest(|it| it.value_bytes),
            stored_bytes: self.stored(stored),
            share: self.share(bytes, stored),
        }
    }

    fn stored(&self, bytes: u64) -> Option<u64> {
        (self.all.stored_bytes > 0).then_some(bytes)
    }

    fn share(&self, bytes: u64, stored: u64) -> f64 {
        match (self.all.bytes(), self.all.stored_bytes) {
            (0, 0) => 0.0,
            (0, all) => stored as f64 / all as f64,
            (all, _) => bytes as f64 / all as f64,
        }
    }
}
