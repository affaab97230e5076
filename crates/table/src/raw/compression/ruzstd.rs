//! Zstandard frames, decoded in Rust: for targets without a C compiler.
//!
//! It reads what `zstd.rs` reads, more slowly. Nothing is compressed with it.

use std::io::Read;
use std::sync::{Mutex, PoisonError};

use ruzstd::decoding::errors::FrameDecoderError;
use ruzstd::decoding::{BlockDecodingStrategy, Dictionary as ParsedDictionary, FrameDecoder};

use super::dictionary::Dictionary;
use super::size::{self, DeclaredSize};
use crate::error::{Error, Result};

/// A block of a frame has a header of three bytes and at least one more, and yields at most
/// 128 KiB.
const MAX_EXPANSION: u64 = 128 * 1024 / 4;

/// Windows up to this size are always accepted, larger ones if the contents are.
const MIN_WINDOW_LIMIT: u64 = 8 << 20;

/// How a trained dictionary starts.
const DICTIONARY_MAGIC: [u8; 4] = [0x37, 0xa4, 0x30, 0xec];

/// The smallest trained dictionary: magic number and id, a Huffman code of two symbols, codes of one
/// symbol for offsets, match lengths and literal lengths, three offsets, no content. A dictionary that
/// is not trained has content only, but the decoder needs the tables, which frames then do not use.
const EMPTY_DICTIONARY: [u8; 28] = [
    0x37, 0xa4, 0x30, 0xec, 1, 0, 0, 0, 0x80, 0x10, 0xf0, 0x03, 0xf0, 0x03, 0xf0, 0x03, 1, 0, 0, 0,
    4, 0, 0, 0, 8, 0, 0, 0,
];

/// A decoder with a dictionary, used by one thread at a time.
pub(super) struct SharedDecoder {
    decoder: Mutex<FrameDecoder>,
    dictionary_id: u32,
}

impl SharedDecoder {
    /// `None` if the dictionary is invalid.
    pub(super) fn with_dictionary(bytes: &[u8]) -> Option<Self> {
        let dictionary = if bytes.starts_with(&DICTIONARY_MAGIC) {
            ParsedDictionary::decode_dict(bytes).ok()?
        } else {
            let mut raw = ParsedDictionary::decode_dict(&EMPTY_DICTIONARY).ok()?;
            raw.dict_content = bytes.to_vec();
            raw
        };
        let dictionary_id = dictionary.id;
        let mut decoder = FrameDecoder::new();
        decoder.add_dict(dictionary).ok()?;
        Some(Self { decoder: Mutex::new(decoder), dictionary_id })
    }
}

pub(super) fn decompress(
    mut stored: &[u8],
    declared: DeclaredSize,
    dictionary: Option<&Dictionary>,
    max_size: usize,
) -> Result<Vec<u8>> {
    let declared = match declared.take(&mut stored)? {
        Some(declared) => declared,
        None => frame_content_size(stored)
            .ok_or_else(|| Error::corrupt("the zstd frame has no content size"))?,
    };
    let size = size::check(declared, stored.len(), MAX_EXPANSION, max_size)?;
    match dictionary {
        Some(dictionary) => {
            let shared = dictionary.for_ruzstd()?;
            let mut decoder = shared.decoder.lock().unwrap_or_else(PoisonError::into_inner);
            let window = (size + dictionary.bytes().len()) as u64;
            decode(&mut decoder, stored, size, window, Some(shared.dictionary_id))
        }
        None => decode(&mut FrameDecoder::new(), stored, size, size as u64, None),
    }
}

/// Decodes a frame of exactly `size` bytes.
fn decode(
    decoder: &mut FrameDecoder,
    frame: &[u8],
    size: usize,
    window: u64,
    dictionary_id: Option<u32>,
) -> Result<Vec<u8>> {
    decoder.set_max_window_size(MIN_WINDOW_LIMIT.max(window.next_power_of_two()));
    let mut input = frame;
    decoder.init(&mut input).map_err(corrupt)?;
    if let Some(id) = dictionary_id {
        // Frames need not name their dictionary.
        decoder.force_dict(id).map_err(corrupt)?;
    }
    let mut contents = size::allocate_zeroed(size)?;
    let mut written = 0;
    while !decoder.is_finished() {
        // Each step yields a block, of 128 KiB at most.
        decoder.decode_blocks(&mut input, BlockDecodingStrategy::UptoBlocks(1)).map_err(corrupt)?;
        written += decoder.read(&mut contents[written..])?;
        if written == size && decoder.can_collect() > 0 {
            return Err(Error::mismatch("the decompressed contents are too long", size, "more"));
        }
    }
    written += decoder.read(&mut contents[written..])?;
    if decoder.can_collect() > 0 {
        return Err(Error::mismatch("the decompressed contents are too long", size, "more"));
    }
    if !input.is_empty() {
        return Err(Error::corrupt("bytes follow the end of the zstd frame"));
    }
    let sums = (decoder.get_checksum_from_data(), decoder.get_calculated_checksum());
    if let (Some(stored), Some(computed)) = sums
        && stored != computed
    {
        return Err(Error::mismatch("the checksum of the zstd frame", computed, stored));
    }
    size::check_output(size, written)?;
    Ok(contents)
}

fn corrupt(source: FrameDecoderError) -> Error {
    Error::corrupt("zstd decompression failed").with_source(source.to_string())
}

/// The size in the header of a frame, which follows the window and the dictionary id.
fn frame_content_size(frame: &[u8]) -> Option<u64> {
    let descriptor = *frame.get(4)?;
    let is_single_segment = descriptor & 0x20 != 0;
    let id_length = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let length = match descriptor >> 6 {
        0 if is_single_segment => 1,
        0 => return None,
        log => 1 << log,
    };
    let start = 5 + usize::from(!is_single_segment) + id_length;
    let field = frame.get(start..start + length)?;
    let number = field.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte));
    // A field of two bytes counts from 256.
    Some(if length == 2 { number + 256 } else { number })
}

#[cfg(all(test, feature = "zstd"))]
mod tests {
    use proptest::prelude::*;

    use super::super::zstd;
    use super::*;

    const MAX: usize = 1 << 20;

    fn text(length: usize) -> Vec<u8> {
        (0..)
            .flat_map(|i: u32| format!("entry {} of a block; ", i * i).into_bytes())
            .take(length)
            .collect()
    }

    fn frame(contents: &[u8], level: i32, dictionary: &[u8]) -> Vec<u8> {
        ::zstd::bulk::Compressor::with_dictionary(level, dictionary)
            .unwrap()
            .compress(contents)
            .unwrap()
    }

    fn both(frame: &[u8], dictionary: Option<&Dictionary>) -> [Option<Vec<u8>>; 2] {
        [zstd::decompress, decompress]
            .map(|decompress| decompress(frame, DeclaredSize::InFrame, dictionary, MAX).ok())
    }

    #[test]
    fn frames_of_the_reference_implementation() {
        for length in [1, 7, 100, 255, 256, 4096, 70_000, 300_000] {
            for level in [-5, 1, 3, 19] {
                let contents = text(length);
                for contents in [contents, vec![7; length]] {
                    let frame = frame(&contents, level, &[]);
                    assert_eq!(both(&frame, None), [Some(contents.clone()), Some(contents)]);
                }
            }
        }
    }

    #[test]
    fn dictionaries_trained_and_not() {
        let samples: Vec<Vec<u8>> = (0..2000)
            .map(|i| format!("user {i}: name {}, group {}", i * i, i % 7).into_bytes())
            .collect();
        let trained = ::zstd::dict::from_samples(&samples, 4096).unwrap();
        assert!(trained.starts_with(&DICTIONARY_MAGIC));
        for bytes in [trained, text(2000), b"short".to_vec()] {
            let dictionary = Dictionary::new(bytes.clone()).unwrap();
            for contents in samples.iter().step_by(97).chain([&text(3000), &text(100_000)]) {
                let frame = frame(contents, 3, &bytes);
                let expected = Some(contents.clone());
                assert_eq!(both(&frame, Some(&dictionary)), [expected.clone(), expected]);
            }
        }
        let damaged = [&DICTIONARY_MAGIC[..], &[1, 2, 3, 4, 5, 6, 7, 8]].concat();
        let damaged = Dictionary::new(damaged).unwrap();
        assert_eq!(both(&frame(b"x", 3, &[]), Some(&damaged)), [None, None]);
    }

    #[test]
    fn wrong_sizes_are_errors() {
        let contents = text(5000);
        let frame = frame(&contents, 3, &[]);
        for size in [0, 1, 4999, 5001] {
            let stored = [DeclaredSize::Varint.encode(size), frame.clone()].concat();
            assert!(decompress(&stored, DeclaredSize::Varint, None, MAX).is_err(), "{size}");
        }
        assert!(decompress(&frame, DeclaredSize::InFrame, None, 4999).is_err());
        for end in 0..frame.len() {
            assert!(decompress(&frame[..end], DeclaredSize::InFrame, None, MAX).is_err(), "{end}");
        }
        let longer = [&frame[..], &[0]].concat();
        assert!(decompress(&longer, DeclaredSize::InFrame, None, MAX).is_err());
    }

    proptest! {
        #[test]
        fn no_flipped_bit_panics(bit: prop::sample::Index, with_dictionary: bool) {
            let dictionary = with_dictionary.then(|| Dictionary::new(text(1000)).unwrap());
            let bytes = dictionary.as_ref().map_or(&[][..], Dictionary::bytes);
            let mut frame = frame(&text(3000), 3, bytes);
            let bit = bit.index(frame.len() * 8);
            frame[bit / 8] ^= 1 << (bit % 8);
            let _ = decompress(&frame, DeclaredSize::InFrame, dictionary.as_ref(), MAX);
        }
    }
}
