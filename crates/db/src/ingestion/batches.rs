//! Tables that overlap one another: which of them are placed together.

use std::cmp::Ordering;

use sstkit_table::visibility::UserKeys;

use super::external_table::KeyBounds;

/// Compares the end of a range with the start of another: a range that ends before its largest key does
/// not reach a range that starts there.
fn compare_end(a: &KeyBounds, b: &KeyBounds, keys: &UserKeys) -> Ordering {
    let order = keys.compare(&a.largest, &b.smallest);
    order.then(if a.largest_is_exclusive { Ordering::Less } else { Ordering::Equal })
}

/// Whether any two ranges overlap.
pub(super) fn overlap(ranges: &[&KeyBounds], keys: &UserKeys) -> bool {
    let mut sorted = ranges.to_vec();
    sorted.sort_by(|a, b| keys.compare(&a.smallest, &b.smallest));
    sorted.windows(2).any(|pair| compare_end(pair[0], pair[1], keys).is_ge())
}

/// Divides ranges into batches without overlap. A range that overlaps the extent of its batch starts
/// the next one, which is placed above.
pub(super) fn divide<'r>(
    ranges: &[&'r KeyBounds],
    has_overlap: bool,
    keys: &UserKeys,
) -> Vec<Vec<&'r KeyBounds>> {
    if !has_overlap {
        return vec![ranges.to_vec()];
    }
    let mut batches: Vec<Vec<&KeyBounds>> = Vec::new();
    let mut extent: Option<KeyBounds> = None;
    for &range in ranges {
        let overlaps = |extent: &KeyBounds| {
            compare_end(extent, range, keys).is_ge() && compare_end(range, extent, keys).is_ge()
        };
        match &mut extent {
            Some(extent) if !overlaps(extent) => {
                extent.extend(range, keys);
                if let Some(batch) = batches.last_mut() {
                    batch.push(range);
                }
            }
            _ => {
                batches.push(vec![range]);
                extent = Some(range.clone());
            }
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use sstkit_table::Comparator;

    use super::*;

    fn bounds(smallest: &str, largest: &str, largest_is_exclusive: bool) -> KeyBounds {
        let [smallest, largest] = [smallest, largest].map(|key| key.as_bytes().to_vec());
        KeyBounds { smallest, largest, largest_is_exclusive }
    }

    #[test]
    fn overlapping_ranges_start_batches() {
        let keys = UserKeys::new(Comparator::Bytewise);
        let all = [
            bounds("a", "c", false),
            bounds("d", "f", true),
            bounds("f", "h", false),
            bounds("b", "d", false),
            bounds("x", "z", false),
        ];
        let ranges: Vec<&KeyBounds> = all.iter().collect();
        assert!(!overlap(&ranges[..3], &keys));
        assert!(overlap(&ranges, &keys));
        let sizes = |ranges: &[&KeyBounds], overlap| -> Vec<usize> {
            divide(ranges, overlap, &keys).iter().map(Vec::len).collect()
        };
        assert_eq!(sizes(&ranges[..3], false), [3]);
        assert_eq!(sizes(&ranges, true), [3, 2]);
    }
}
