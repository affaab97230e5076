//! What differs in the range tombstones of two sides.
//!
//! ```text
//! a   [a, c)@7 [c, f)@7          one deletion, cut by two files     [a, f)@7
//! b   [a, f)@7 [d, h)@9          in one file                        [a, f)@7 [d, h)@9
//! ```

use std::cmp::Ordering;

use sstkit_table::{Comparator, RangeTombstone, ReadOptions};

use super::{DiffSide, Difference, missing_timestamp};
use crate::error::Result;

/// The range tombstones within a scan that only one side has, by their starts and then newest first.
pub(super) fn differences(
    (a, b): (&DiffSide, &DiffSide),
    scan: &ReadOptions,
    order: &Comparator,
) -> Result<Vec<Difference<RangeTombstone>>> {
    let (a, b) = (joined(a, scan, order)?, joined(b, scan, order)?);
    let (mut a, mut b) = (a.into_iter().peekable(), b.into_iter().peekable());
    let mut differences = Vec::new();
    loop {
        let next = match (a.peek(), b.peek()) {
            (Some(a), Some(b)) => compare(a, b, order),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return Ok(differences),
        };
        let (a, b) = (a.next_if(|_| next.is_le()), b.next_if(|_| next.is_ge()));
        match (a, b) {
            (Some(a), None) => differences.push(Difference::Removed(a)),
            (None, Some(b)) => differences.push(Difference::Added(b)),
            _ => {}
        }
    }
}

/// The range tombstones of a side that overlap the scan. Those of one write are joined again.
fn joined(side: &DiffSide, scan: &ReadOptions, order: &Comparator) -> Result<Vec<RangeTombstone>> {
    let mut all = match side {
        DiffSide::Table(table) => table.range_deletions().to_vec(),
        DiffSide::ColumnFamily(family) => {
            let of_files = family.range_deletions()?.into_iter();
            of_files.map(|it| RangeTombstone::clone(&it)).collect()
        }
        DiffSide::Empty => Vec::new(),
    };
    all.retain(|it| scan.overlaps(it, Some(order)));
    let missing = missing_timestamp(side, order);
    for tombstone in &mut all {
        tombstone.timestamp.resize(tombstone.timestamp.len() + missing, 0);
    }
    let of_write = |it: &RangeTombstone| (it.sequence, it.timestamp.clone());
    all.sort_by(|a, b| {
        let starts = || order.compare_without_timestamp(&a.start, &b.start);
        of_write(a).cmp(&of_write(b)).then_with(starts)
    });
    let mut joined: Vec<RangeTombstone> = Vec::new();
    for tombstone in all {
        match joined.last_mut() {
            Some(last)
                if of_write(last) == of_write(&tombstone)
                    && order.compare_without_timestamp(&tombstone.start, &last.end).is_le() =>
            {
                if order.compare_without_timestamp(&tombstone.end, &last.end).is_gt() {
                    last.end = tombstone.end;
                }
            }
            _ => joined.push(tombstone),
        }
    }
    joined.sort_by(|a, b| compare(a, b, order));
    Ok(joined)
}

/// By start, then newest first.
fn compare(a: &RangeTombstone, b: &RangeTombstone, order: &Comparator) -> Ordering {
    let keys = |a: &[u8], b: &[u8]| order.compare_without_timestamp(a, b);
    keys(&a.start, &b.start)
        .then_with(|| b.sequence.cmp(&a.sequence))
        .then_with(|| b.timestamp.cmp(&a.timestamp))
        .then_with(|| keys(&a.end, &b.end))
}
