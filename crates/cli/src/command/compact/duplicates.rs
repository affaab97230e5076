//! Detects keys that two inputs have with the same sequence number, so that nothing tells which is
//! newer.
//!
//! ```text
//! old.sst   alice @0        carol @0
//! new.sst            bob @0 carol @0      the key "carol" is in both
//! ```
//!
//! Merges all inputs: always advances the one with the smallest key.

use std::cmp::Ordering;

use anyhow::{Result, bail};
use sstkit_inspect::Encoding;
use sstkit_table::Comparator;

use super::Input;
use crate::interrupt;

/// A key as stored, and its sequence number.
type Version = (Vec<u8>, u64);

/// A position in an input.
struct Walk<'i> {
    rest: Box<dyn Iterator<Item = Result<Version>> + 'i>,
    current: Version,
}

/// Fails if two entries have the same key and sequence number.
pub(super) fn refuse(inputs: &[Input], encoding: Encoding) -> Result<()> {
    let Some(order) = inputs.first().map(order).transpose()? else { return Ok(()) };
    let mut walks = Vec::new();
    for input in inputs {
        let mut rest = versions(input);
        if let Some(current) = rest.next().transpose()? {
            walks.push(Walk { rest, current });
        }
    }
    let mut last: Option<Version> = None;
    while let Some(first) = first(&walks, &order) {
        interrupt::check()?;
        let walk = &mut walks[first];
        let version = match walk.rest.next().transpose()? {
            Some(next) => std::mem::replace(&mut walk.current, next),
            None => walks.swap_remove(first).current,
        };
        if last.as_ref() == Some(&version) {
            let (key, sequence) = version;
            let key = encoding.encode(&key);
            bail!(
                "the key {key} occurs twice with sequence number {sequence}: use --duplicates \
                 last or first, or omit one of the inputs"
            );
        }
        last = Some(version);
    }
    Ok(())
}

fn order(input: &Input) -> Result<Comparator> {
    Ok(match input {
        Input::Table(table) => table.comparator()?.clone(),
        Input::ColumnFamily(family) => family.comparator()?.clone(),
    })
}

fn versions(input: &Input) -> Box<dyn Iterator<Item = Result<Version>> + '_> {
    match input {
        Input::Table(table) => Box::new(table.entries().map(|entry| {
            let entry = entry?;
            Ok((entry.user_key, entry.sequence))
        })),
        Input::ColumnFamily(family) => Box::new(family.entries().map(|entry| {
            let entry = entry?;
            Ok(([entry.key, entry.timestamp].concat(), entry.sequence))
        })),
    }
}

/// The input at the smallest internal key: for one user key, the newest version.
fn first(walks: &[Walk<'_>], order: &Comparator) -> Option<usize> {
    let compare = |a: &usize, b: &usize| -> Ordering {
        let ((key_a, sequence_a), (key_b, sequence_b)) = (&walks[*a].current, &walks[*b].current);
        order.compare(key_a, key_b).then(sequence_b.cmp(sequence_a))
    };
    (0..walks.len()).min_by(compare)
}
