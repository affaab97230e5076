//! Makes a compression dictionary from samples of the first data blocks.
//!
//! Of *n* buffered blocks, samples are taken from block *n*/2, then in steps of a large prime, modulo
//! *n*: each block at most once, spread over all of them. Without training, the concatenated samples
//! are the dictionary.

use std::sync::Arc;

use crate::options::TableOptions;
use crate::raw::Codec;

/// RocksDB's step, a prime, so that it has no divisor in common with any number of blocks.
const STEP: u64 = 545_055_921_143;

/// The dictionary of these blocks; `None` if there is none.
pub(crate) fn make_dictionary<'a>(
    options: &TableOptions,
    blocks: impl ExactSizeIterator<Item = &'a [u8]>,
) -> Option<Arc<[u8]>> {
    let trains =
        options.compression.codec == Codec::Zstd && options.compression.zstd_max_train_bytes > 0;
    let max_bytes = if trains {
        options.compression.zstd_max_train_bytes
    } else {
        options.compression.max_dict_bytes
    };
    let blocks: Vec<&[u8]> = blocks.collect();
    let (samples, lengths) = sample(&blocks, max_bytes);
    let dictionary = if trains {
        trained(&samples, &lengths, options.compression.max_dict_bytes)?
    } else {
        samples
    };
    (!dictionary.is_empty()).then(|| dictionary.into())
}

/// Too few samples to train on are no error: the table has no dictionary then.
#[cfg(feature = "zstd")]
fn trained(samples: &[u8], lengths: &[usize], max_bytes: usize) -> Option<Vec<u8>> {
    zstd::dict::from_continuous(samples, lengths, max_bytes).ok()
}

/// Without zstd, no table gets this far.
#[cfg(not(feature = "zstd"))]
fn trained(_: &[u8], _: &[usize], _: usize) -> Option<Vec<u8>> {
    None
}

/// Concatenated samples of up to `max_bytes`, and the length of each.
fn sample(blocks: &[&[u8]], max_bytes: usize) -> (Vec<u8>, Vec<usize>) {
    let (mut samples, mut lengths) = (Vec::new(), Vec::new());
    let Some(step) = STEP.checked_rem(blocks.len() as u64) else { return (samples, lengths) };
    let mut next = blocks.len() / 2;
    for _ in 0..blocks.len() {
        if samples.len() >= max_bytes {
            break;
        }
        let block = blocks[next];
        let length = block.len().min(max_bytes - samples.len());
        samples.extend_from_slice(&block[..length]);
        lengths.push(length);
        next = (next + step as usize) % blocks.len();
    }
    (samples, lengths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_go_around_from_the_middle() {
        let blocks: Vec<Vec<u8>> = (0..7u8).map(|i| vec![b'a' + i; 2]).collect();
        let blocks: Vec<&[u8]> = blocks.iter().map(Vec::as_slice).collect();
        // Six forward, of seven, is one back: blocks 3, 2, 1, 0, 6, 5, 4.
        assert_eq!(STEP % 7, 6);
        assert_eq!(sample(&blocks, 7), (b"ddccbba".to_vec(), vec![2, 2, 2, 1]));
        let (all, lengths) = sample(&blocks, 1000);
        assert_eq!((all.len(), lengths.len()), (14, 7));
        assert_eq!(sample(&[], 10), (vec![], vec![]));
    }
}
