//! Blocks of names: metaindex and properties.

use super::block::Block;
use crate::error::{Error, Result};
use crate::key_excerpt::KeyExcerpt;

/// How far the names may expand by sharing prefixes. In a forged block a few bytes could stand for a name
/// as long as the block, many times.
const MAX_EXPANSION: usize = 16;
/// What the smallest block may expand to.
const MIN_BUDGET: usize = 4096;

/// All entries of `contents`. Names must be strictly ascending.
pub(super) fn decode(contents: &[u8]) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut budget = contents.len().saturating_mul(MAX_EXPANSION).max(MIN_BUDGET);
    let mut entries = Block::parse(contents)?.into_entries();
    let mut named: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    while entries.advance()? {
        let name = entries.key();
        if let Some((last, _)) = named.last()
            && last.as_slice() >= name
        {
            return Err(Error::mismatch(
                "the names are not in order",
                format_args!("more than {}", KeyExcerpt(last)),
                KeyExcerpt(name),
            ));
        }
        budget = budget
            .checked_sub(name.len() + entries.value().len())
            .ok_or_else(|| Error::corrupt("the names expand too far by sharing prefixes"))?;
        named.push((name.to_vec(), entries.value().to_vec()));
    }
    Ok(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_checked() {
        for (second, ok) in [(b'b', true), (b'a', false), (b'A', false)] {
            let block = [0, 1, 0, b'a', 0, 1, 0, second, 0, 0, 0, 0, 1, 0, 0, 0];
            assert_eq!(decode(&block).is_ok(), ok);
        }
    }

    #[test]
    fn a_long_shared_name_is_an_error() {
        // A name of 16 KiB, and thousands that share it and take seven bytes each.
        let mut block = vec![0x00, 0x80, 0x80, 0x01, 0x00];
        block.resize(block.len() + (1 << 14), b'a');
        for i in 0..10_000u16 {
            block.extend_from_slice(&[0x80, 0x80, 0x01, 0x02, 0x00]);
            block.extend_from_slice(&i.to_be_bytes());
        }
        block.extend_from_slice(&[0, 0, 0, 0, 1, 0, 0, 0]);
        let error = decode(&block).unwrap_err();
        assert!(error.to_string().contains("sharing prefixes"), "{error}");
    }
}
