//! Cutting the key range of the inputs into parts of about the same size.
//!
//! Which bytes of a table lie before a key is known from its index: a seek tells the block. So a
//! key in the middle is found by halving the *key range*: keys are taken for numbers, after what
//! they have in common. In a user-made order that is not possible, and there is one part.
//!
//! Of the files of a level only the one that has the key is opened, so that there may be any number
//! of them.

use sstkit_table::Comparator;

use super::input::{Input, InputFile};
use crate::error::Result;

/// Halvings for a key: more than bytes of a key need that differ at all.
const HALVINGS: usize = 32;

/// Parts are not smaller than this: threads cost something, too.
const MIN_PART: u64 = 64 << 10;

/// The keys, without timestamps and in order, where parts begin; the first one has none.
pub(super) fn split(
    inputs: &[Input],
    comparator: &Comparator,
    parts: usize,
) -> Result<Vec<Vec<u8>>> {
    let total: u64 = inputs.iter().map(|input| input.size).sum();
    let parts = parts.min(usize::try_from(total / MIN_PART).unwrap_or(usize::MAX));
    if parts < 2 || matches!(comparator, Comparator::User(_)) {
        return Ok(Vec::new());
    }
    let files: Vec<&InputFile> = inputs.iter().flat_map(Input::files).collect();
    let Some((low, high)) = key_range(&files, comparator)? else { return Ok(Vec::new()) };
    let mut starts: Vec<Vec<u8>> = Vec::new();
    for part in 1..parts {
        let wanted = (u128::from(total) * part as u128 / parts as u128) as u64;
        let key = key_at(wanted, &files, &low, &high)?;
        let after = |last: &[u8]| comparator.compare_without_timestamp(last, &key).is_lt();
        if after(starts.last().unwrap_or(&low)) {
            starts.push(key);
        }
    }
    Ok(starts)
}

/// The first and the last key of all files.
fn key_range(files: &[&InputFile], comparator: &Comparator) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
    let mut range: Option<(Vec<u8>, Vec<u8>)> = None;
    let less = |a: &[u8], b: &[u8]| comparator.compare_without_timestamp(a, b).is_lt();
    for file in files {
        let Some((first, last)) = file.key_range(comparator.timestamp_size())? else { continue };
        range = Some(match range {
            None => (first, last),
            Some((low, high)) => (
                if less(&first, &low) { first } else { low },
                if less(&high, &last) { last } else { high },
            ),
        });
    }
    Ok(range)
}

/// A key before which about so many bytes of the files lie.
fn key_at(wanted: u64, files: &[&InputFile], low: &[u8], high: &[u8]) -> Result<Vec<u8>> {
    let (mut low, mut high) = (low.to_vec(), high.to_vec());
    for _ in 0..HALVINGS {
        let middle = middle(&low, &high);
        if middle == low || middle == high {
            break;
        }
        let mut before = 0;
        for file in files {
            before += bytes_before(file, &middle)?;
        }
        if before < wanted { low = middle } else { high = middle }
    }
    Ok(high)
}

/// Bytes of the file before the block of the first entry from `key` on.
fn bytes_before(file: &InputFile, key: &[u8]) -> Result<u64> {
    if file.is_before(key) {
        return Ok(file.size());
    }
    if file.is_after(key) {
        return Ok(0);
    }
    let mut cursor = file.open()?.entry_cursor();
    cursor.seek(key)?;
    Ok(cursor.block().map_or(file.size(), |block| block.offset))
}

/// A key about half way between two, whichever is the larger: the bytes after what they have in
/// common are taken for a number.
fn middle(a: &[u8], b: &[u8]) -> Vec<u8> {
    let common = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let number = |key: &[u8]| {
        let mut bytes = [0; 8];
        let rest = &key[common..];
        let length = rest.len().min(bytes.len());
        bytes[..length].copy_from_slice(&rest[..length]);
        u64::from_be_bytes(bytes)
    };
    let (a_number, b_number) = (number(a), number(b));
    let half = a_number.midpoint(b_number).to_be_bytes();
    // Zeros at the end would only make it longer.
    let length = half.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    [&a[..common], &half[..length]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_lies_between() {
        for (a, b) in [
            (&b"a"[..], &b"c"[..]),
            (b"key000", b"key999"),
            (b"", b"\xff\xff"),
            (b"same-start-1", b"same-start-2"),
            (b"x", b"x\0\0\0\0\0\0\0\x10"),
        ] {
            for (a, b) in [(a, b), (b, a)] {
                let middle = middle(a, b);
                let (low, high) = if a < b { (a, b) } else { (b, a) };
                assert!(low <= &middle[..] && &middle[..] <= high, "{a:?} {b:?} {middle:?}");
            }
        }
        assert_eq!(middle(b"a", b"c"), b"b");
    }
}
