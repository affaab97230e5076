//! Reads a table in all ways, and compares the results with the model.

use std::ops::Bound;

use arbitrary::{Result, Unstructured};
use sstkit_table::explain::LookupAnswer;
use sstkit_table::raw::EntryKind;
use sstkit_table::{ReadOptions, Table, TableFilter};

use super::entries::{Contents, Visible, draw_key};
use super::open;

/// Every entry is stored as it was written, and passes the filter.
pub(super) fn check_stored(table: &Table, contents: &Contents) {
    let mut stored = table.entries();
    for point in &contents.points {
        let entry = stored.next().expect("an entry is missing").expect("an entry can be read");
        assert_eq!((&entry.user_key, entry.sequence), (&point.user_key, point.sequence));
        if entry.kind == point.kind && entry.value == point.value[..] {
            continue;
        }
        // Values and columns may have become blobs between the data blocks.
        if entry.kind == EntryKind::BlobIndex {
            let value = table.resolve(entry.kind, &entry.value).expect("a blob in this file");
            assert_eq!((point.kind, &*value), (EntryKind::Value, &point.value[..]));
        } else {
            assert_eq!((entry.kind, point.kind), (EntryKind::WideColumnEntity, entry.kind));
            let found = table.resolve_columns(&entry.value).expect("columns of this file");
            let written = table.resolve_columns(&point.value.clone().into()).expect("columns");
            assert_eq!(found, written);
        }
    }
    assert!(stored.next().is_none(), "an entry too many");
    let ranges = contents.ranges.iter().filter(|range| range.begin != range.end).count();
    assert_eq!(table.range_deletions().len(), ranges);
    let Some(filter) = table.filter().filter(TableFilter::whole_key_filtering) else { return };
    for point in &contents.points {
        let key = contents.bare(&point.user_key);
        assert!(filter.may_contain(key).expect("a filter"), "denied: {}", key.escape_ascii());
    }
}

/// Lookups and scans show what is visible, and nothing else.
pub(super) fn check_visible(table: &Table, contents: &Contents, visible: &Visible) {
    let keys = keys_to_ask(contents);
    let many = table.get_many(&keys).expect("lookups");
    for (key, value) in keys.iter().zip(many) {
        let expected = visible.get(key).map(Vec::as_slice);
        assert_eq!(value.as_deref(), expected, "of {} in a batch", key.escape_ascii());
        let value = table.get(key).expect("a lookup");
        assert_eq!(value.as_deref(), expected, "of {}", key.escape_ascii());
        let explained = table.explain(key).expect("an explanation").answer;
        let explained = match &explained {
            LookupAnswer::Value(value) => Some(&value[..]),
            _ => None,
        };
        assert_eq!(explained, expected, "explained: {}", key.escape_ascii());
    }
    let all = contents.between(visible, (Bound::Unbounded, Bound::Unbounded));
    compare(table.iter(), &all);
    compare(table.iter().rev(), &reversed(&all));
}

/// A range, and the keys of a prefix, from both ends.
pub(super) fn check_range(
    table: &Table,
    contents: &Contents,
    visible: &Visible,
    input: &mut Unstructured<'_>,
) -> Result<()> {
    let (one, other) = (draw_key(input)?, draw_key(input)?);
    let mut bound = |key| {
        Ok(match input.int_in_range(0u8..=3)? {
            0 => Bound::Unbounded,
            1 => Bound::Excluded(key),
            _ => Bound::Included(key),
        })
    };
    let bounds = (bound(&one[..])?, bound(&other[..])?);
    let expected = contents.between(visible, bounds);
    compare(table.range(bounds), &expected);
    compare(table.range(bounds).rev(), &reversed(&expected));

    let start = &one[..one.len().min(input.int_in_range(0..=5)?)];
    let mut expected = contents.between(visible, (Bound::Unbounded, Bound::Unbounded));
    expected.retain(|(key, _)| key.starts_with(start));
    compare(table.prefix(start), &expected);
    compare(table.prefix(start).rev(), &reversed(&expected));
    Ok(())
}

/// A walk of seeks and steps.
pub(super) fn check_cursor(
    table: &Table,
    contents: &Contents,
    visible: &Visible,
    input: &mut Unstructured<'_>,
) -> Result<()> {
    let all = contents.between(visible, (Bound::Unbounded, Bound::Unbounded));
    let before = |a: &[u8], b: &[u8]| if contents.is_reversed { a > b } else { a < b };
    let mut cursor = table.cursor_with(&ReadOptions::default());
    // Where the cursor should be; `None` is nowhere.
    let mut place: Option<usize> = None;
    for _ in 0..12 {
        let moved = match input.int_in_range(0u8..=7)? {
            0 => {
                place = Some(0);
                cursor.seek_to_first()
            }
            1 => {
                place = all.len().checked_sub(1);
                cursor.seek_to_last()
            }
            2 => {
                let key = draw_key(input)?;
                place = Some(all.partition_point(|(k, _)| before(k, &key)));
                cursor.seek(&key)
            }
            3 => {
                let key = draw_key(input)?;
                place = all.partition_point(|(k, _)| !before(&key, k)).checked_sub(1);
                cursor.seek_for_prev(&key)
            }
            // Only from where there is something.
            step if cursor.is_valid() => {
                place = match step {
                    4 | 5 => place.map(|place| place + 1),
                    _ => place.and_then(|place| place.checked_sub(1)),
                };
                if step < 6 { cursor.next() } else { cursor.prev() }
            }
            _ => continue,
        };
        let expected = place.and_then(|place| all.get(place));
        assert_eq!(moved.expect("a move"), expected.is_some());
        assert_eq!(cursor.is_valid(), expected.is_some());
        if let Some((key, value)) = expected {
            assert_eq!((cursor.key(), &*cursor.value().expect("a value")), (*key, *value));
        }
    }
    Ok(())
}

/// A damaged table returns errors or the same results; before an error, scans show correct entries.
pub(super) fn check_damaged(bytes: &[u8], contents: &Contents, visible: &Visible) {
    let Ok(table) = open(bytes) else { return };
    for key in keys_to_ask(contents) {
        if let Ok(value) = table.get(&key) {
            let expected = visible.get(&key).map(Vec::as_slice);
            assert_eq!(value.as_deref(), expected, "damaged: {}", key.escape_ascii());
        }
        let _ = table.explain(&key);
    }
    let all = contents.between(visible, (Bound::Unbounded, Bound::Unbounded));
    compare_start(table.iter(), &all);
    compare_start(table.iter().rev(), &reversed(&all));
    let _ = table.layout();
    let _ = table.verify();
}

/// Existing keys, keys beside them, and random ones.
fn keys_to_ask(contents: &Contents) -> Vec<Vec<u8>> {
    let mut keys = vec![Vec::new(), b"k".to_vec(), vec![0xff; 9]];
    for (i, point) in contents.points.iter().enumerate() {
        let key = contents.bare(&point.user_key);
        keys.push(key.to_vec());
        if i % 4 == 0 {
            keys.push([key, b"\0"].concat());
            keys.push(key[..key.len().saturating_sub(1)].to_vec());
        }
    }
    keys
}

type Shown = sstkit_table::Result<(Vec<u8>, sstkit_table::Value)>;

fn compare(shown: impl Iterator<Item = Shown>, expected: &[(&[u8], &[u8])]) {
    let shown: Vec<_> = shown.map(|entry| entry.expect("a scan")).collect();
    let shown: Vec<_> = shown.iter().map(|(key, value)| (&key[..], &value[..])).collect();
    assert_eq!(shown, expected);
}

fn compare_start(shown: impl Iterator<Item = Shown>, expected: &[(&[u8], &[u8])]) {
    let mut expected = expected.iter();
    for entry in shown {
        let Ok((key, value)) = entry else { return };
        assert_eq!(Some(&(&key[..], &value[..])), expected.next(), "a damaged table");
    }
    assert_eq!(expected.next(), None, "a scan of a damaged table ends too soon");
}

fn reversed<'v>(entries: &[(&'v [u8], &'v [u8])]) -> Vec<(&'v [u8], &'v [u8])> {
    entries.iter().rev().copied().collect()
}
