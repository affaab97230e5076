//! Splits the key range of the inputs into parts of about equal size.
//!
//! The index tells how many bytes of a table are before a key: a seek finds the block. A key in the
//! middle is found by bisecting the *key range*: keys are treated as numbers, after their common
//! prefix. With a custom comparator this is not possible, and there is one part.
//!
//! Of the files of a level only the one that contains the key is opened, so their number is not
//! limited.

use sstkit_table::Comparator;

use super::clip::Clip;
use super::input::{Input, InputFile};
use crate::error::Result;

/// The number of bisection steps for a key: enough for all significant bytes.
const HALVINGS: usize = 32;

/// The minimum size of a part, since threads have a cost.
const MIN_PART: u64 = 64 << 10;

/// The start keys of the parts, without timestamps and in order; the first part has none.
pub(super) fn split(
    inputs: &[Input],
    comparator: &Comparator,
    parts: usize,
    clip: &Clip,
) -> Result<Vec<Vec<u8>>> {
    let size: u64 = inputs.iter().map(|input| input.size).sum();
    if parts < 2 || size / MIN_PART < 2 || matches!(comparator.order(), Comparator::User(_)) {
        return Ok(Vec::new());
    }
    let files: Vec<&InputFile> = inputs.iter().flat_map(Input::files).collect();
    let range = key_range(&files, comparator)?;
    let range = range.and_then(|range| clip.narrow(range, comparator));
    let Some((low, high)) = range else { return Ok(Vec::new()) };
    let (before, total) = match clip.is_everything() {
        true => (0, size),
        false => {
            let before = all_bytes_before(&files, &low)?;
            (before, all_bytes_before(&files, &high)?.saturating_sub(before))
        }
    };
    let parts = parts.min(usize::try_from(total / MIN_PART).unwrap_or(usize::MAX));
    let mut starts: Vec<Vec<u8>> = Vec::new();
    for part in 1..parts {
        let wanted = before + (u128::from(total) * part as u128 / parts as u128) as u64;
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

/// A key with about `wanted` bytes of the files before it.
fn key_at(wanted: u64, files: &[&InputFile], low: &[u8], high: &[u8]) -> Result<Vec<u8>> {
    let (mut low, mut high) = (low.to_vec(), high.to_vec());
    for _ in 0..HALVINGS {
        let middle = middle(&low, &high);
        if middle == low || middle == high {
            break;
        }
        if all_bytes_before(files, &middle)? < wanted { low = middle } else { high = middle }
    }
    Ok(high)
}

fn all_bytes_before(files: &[&InputFile], key: &[u8]) -> Result<u64> {
    files.iter().map(|file| bytes_before(file, key)).sum()
}

/// The bytes of the file before the block of the first entry at or after `key`.
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

/// A key about half way between two, in any order: the bytes after their common prefix are treated
/// as a number.
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
    // Trailing zeros would only make it longer.
    let length = half.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    [&a[..common], &half[..length]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_between_both() {
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
