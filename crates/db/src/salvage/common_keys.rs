//! What the keys that several tables have say about the age of the tables.
//!
//! ```text
//! table 1    a@9   b@4                table 1 is newer, by a and b
//! table 2    a@7   b@2   c@0 -> blob
//! table 3                c@5 -> blob  the same write as in table 2: they are merged
//! ```

use std::cmp::Ordering;
use std::collections::HashMap;

use sstkit_table::raw::EntryKind;
use sstkit_table::visibility::{Fragments, ReadView, UserKeys};
use sstkit_table::{EntryCursor, Table};

use super::age_graph::AgeGraph;
use super::level_order::Candidate;
use crate::database_writer::each_blob_reference;
use crate::error::Result;

/// Goes over the keys of tables and notes, for each key, which of them has the newer versions. Only the
/// tables that have keys around the current one are open.
pub(super) fn compare(
    contested: &[usize],
    candidates: &[Candidate],
    keys: &UserKeys,
    open: impl Fn(usize) -> Result<Table>,
    graph: &mut AgeGraph,
) -> Result<()> {
    // The next one last.
    let mut waiting = contested.to_vec();
    waiting.sort_by(|&a, &b| keys.compare(&candidates[b].smallest, &candidates[a].smallest));
    let mut cursors: Vec<(usize, EntryCursor)> = Vec::new();
    let mut tombstones: Vec<TableTombstones> = Vec::new();
    let (mut key, mut versions) = (Vec::new(), Vec::new());
    loop {
        let bare = cursors.iter().map(|(_, it)| keys.bare(it.user_key()));
        let next = bare.min_by(|a, b| keys.compare(a, b));
        let is_due =
            |&at: &usize| next.is_none_or(|it| keys.compare(&candidates[at].smallest, it).is_le());
        if waiting.last().is_some_and(is_due) {
            let Some(at) = waiting.pop() else { break };
            let table = open(at)?;
            tombstones.extend(TableTombstones::new(at, &table, keys));
            let mut cursor = table.entry_cursor();
            if cursor.seek_to_first()? {
                cursors.push((at, cursor));
            }
            continue;
        }
        let Some(next) = next else { break };
        key.clear();
        key.extend_from_slice(next);
        versions.clear();
        for (table, cursor) in &mut cursors {
            while cursor.is_valid() && keys.compare(keys.bare(cursor.user_key()), &key).is_eq() {
                let blobs = blob_references(cursor.kind(), cursor.value());
                versions.push(Version { table: *table, sequence: cursor.sequence(), blobs });
                cursor.next()?;
            }
        }
        cursors.retain(|(_, cursor)| cursor.is_valid());
        tombstones.retain(|it| keys.compare(&it.end, &key).is_gt());
        let is_applied =
            |it: &&TableTombstones| candidates[it.table].key_bounds().contains(&key, keys);
        let covering: Vec<(usize, u64)> = tombstones
            .iter()
            .filter(is_applied)
            .filter_map(|it| Some((it.table, it.newest.over(&key, keys)?.age)))
            .collect();
        add_key(graph, &mut versions, &covering);
    }
    Ok(())
}

/// The range tombstones of a table.
struct TableTombstones {
    table: usize,
    /// Of several over a key the newest one counts.
    newest: Fragments,
    /// The largest end.
    end: Vec<u8>,
}

impl TableTombstones {
    /// `None` if there are none.
    fn new(at: usize, table: &Table, keys: &UserKeys) -> Option<Self> {
        let newest = Fragments::seen(table.range_deletions(), &ReadView::default(), keys);
        let end = newest.iter().last()?.end.clone();
        Some(Self { table: at, newest, end })
    }
}

/// A version of a key.
struct Version {
    table: usize,
    sequence: u64,
    /// The value, if it refers to blob files.
    blobs: Option<Vec<u8>>,
}

/// The value of an entry, if it refers to blob files: no two writes have the same one.
pub(super) fn blob_references(kind: EntryKind, value: &[u8]) -> Option<Vec<u8>> {
    let mut has_some = false;
    // An entry that makes no sense is the engine's to report.
    each_blob_reference(kind, value, |_, _| has_some = true).ok()?;
    has_some.then(|| value.to_vec())
}

/// What the versions of a key, and of each table the newest range tombstone over it, say.
fn add_key(graph: &mut AgeGraph, versions: &mut [Version], covering: &[(usize, u64)]) {
    versions.sort_by_key(|it| std::cmp::Reverse(it.sequence));
    let mut above: Option<usize> = None;
    for same in versions.chunk_by(|a, b| a.sequence == b.sequence) {
        // The same operand in two tables would be applied twice; and two versions with number 0, as the
        // lowest level has them, may differ.
        for pair in same.windows(2) {
            graph.join(pair[0].table, pair[1].table);
        }
        // One edge is enough: all tables with the same version end up in one group.
        if let Some(newer) = above {
            graph.newer(newer, same[0].table);
        }
        above = Some(same[0].table);
    }
    let mut with_blobs: HashMap<&[u8], usize> = HashMap::new();
    for version in versions.iter() {
        let Some(blobs) = &version.blobs else { continue };
        graph.join(*with_blobs.entry(blobs).or_insert(version.table), version.table);
    }
    for &(table, sequence) in covering {
        for version in versions.iter().filter(|it| it.table != table) {
            // The engine does not look at the keys of lower levels that a range tombstone covers, not
            // even at newer ones.
            match version.sequence.cmp(&sequence) {
                Ordering::Less => graph.newer(table, version.table),
                Ordering::Greater => graph.newer(version.table, table),
                Ordering::Equal => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(table: usize, sequence: u64) -> Version {
        Version { table, sequence, blobs: None }
    }

    /// Tables with the same version of a key are merged.
    #[test]
    fn versions_in_two_tables() {
        let mut graph = AgeGraph::new(2);
        add_key(&mut graph, &mut [version(1, 7), version(0, 9)], &[]);
        assert_eq!(graph.groups(|it| it), [vec![1], vec![0]]);
        add_key(&mut graph, &mut [version(0, 5), version(1, 5)], &[]);
        assert_eq!(graph.groups(|it| it), [vec![0, 1]]);
    }

    /// Two tables that refer to the same blob have the same write, whatever its number is.
    #[test]
    fn one_blob_of_two_tables() {
        let blob =
            |table, sequence, blob: &[u8]| Version { table, sequence, blobs: Some(blob.to_vec()) };
        let mut graph = AgeGraph::new(3);
        add_key(&mut graph, &mut [blob(0, 9, b"x"), version(2, 8), blob(1, 0, b"y")], &[]);
        assert_eq!(graph.groups(|it| it), [vec![1], vec![2], vec![0]]);
        add_key(&mut graph, &mut [blob(0, 7, b"z"), blob(1, 0, b"z")], &[]);
        assert_eq!(graph.groups(|it| it), [vec![0, 1, 2]]);
    }

    /// Many versions of one key, with the same number or with the same blob, as only a hostile file has
    /// them. Were each compared with each, this would not end.
    #[test]
    fn many_versions_of_a_key() {
        let mut graph = AgeGraph::new(2);
        let blobs = Some(b"blob".to_vec());
        let mut versions: Vec<_> = (0..300_000)
            .map(|nth| Version { table: nth % 2, sequence: 7, blobs: blobs.clone() })
            .collect();
        add_key(&mut graph, &mut versions, &[]);
        assert_eq!(graph.groups(|it| it), [vec![0, 1]]);
    }

    /// A table with a newer version than a range tombstone of another one is above it.
    #[test]
    fn versions_newer_than_a_range_tombstone() {
        for (sequence, order) in [(9, [[1], [0]]), (5, [[0], [1]])] {
            let mut graph = AgeGraph::new(2);
            add_key(&mut graph, &mut [version(0, sequence)], &[(1, 7)]);
            for rank in [|it| it, |it: usize| 9 - it] {
                assert_eq!(graph.groups(rank), order, "{sequence}");
            }
        }
    }
}
