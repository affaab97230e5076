use std::io::Write;

use flate2::write::{DeflateEncoder, ZlibEncoder};
use flate2::{Compress, Compression, FlushCompress};
use proptest::prelude::*;
use sstkit_coding::fixed::put_fixed64;
use sstkit_coding::varint::put_varint32;

use super::*;
use crate::ErrorKind;

const MAX: usize = 1 << 20;
const V1: (Engine, FormatVersion) = (Engine::RocksDb, FormatVersion::V1);
const V2: (Engine, FormatVersion) = (Engine::RocksDb, FormatVersion::V2);
const LEVELDB: (Engine, FormatVersion) = (Engine::LevelDb, FormatVersion::V0);

fn text() -> Vec<u8> {
    (0..500u32).flat_map(|i| format!("entry {} of a block; ", i * i).into_bytes()).collect()
}

fn varint(size: usize) -> Vec<u8> {
    let mut out = Vec::new();
    put_varint32(&mut out, size as u32);
    out
}

fn size_t(size: usize) -> Vec<u8> {
    let mut out = Vec::new();
    put_fixed64(&mut out, size as u64);
    out
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn bzip2(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ::bzip2::write::BzEncoder::new(Vec::new(), ::bzip2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ::zstd::bulk::compress(bytes, 3).unwrap()
}

fn snappy(bytes: &[u8]) -> Vec<u8> {
    snap::raw::Encoder::new().compress_vec(bytes).unwrap()
}

fn decode(
    (engine, version): (Engine, FormatVersion),
    codec: u8,
    stored: &[u8],
    max_size: usize,
) -> Result<Vec<u8>> {
    decompress(engine, version, codec, stored, None, max_size).map(Cow::into_owned)
}

/// Every row and column of the table at the top of the module.
fn every_encoding(bytes: &[u8]) -> Vec<((Engine, FormatVersion), u8, Vec<u8>)> {
    let lz4 = lz4_flex::block::compress(bytes);
    let prefixed = |stream: Vec<u8>| [varint(bytes.len()), stream].concat();
    vec![
        (V2, 0, bytes.to_vec()),
        (V2, 1, snappy(bytes)),
        (V2, 2, prefixed(deflate(bytes))),
        (V2, 3, prefixed(bzip2(bytes))),
        (V2, 4, prefixed(lz4.clone())),
        (V2, 5, prefixed(lz4.clone())),
        (V2, 7, prefixed(zstd(bytes))),
        (V2, 0x40, prefixed(zstd(bytes))),
        (V1, 1, snappy(bytes)),
        (V1, 2, deflate(bytes)),
        (V1, 3, bzip2(bytes)),
        (V1, 4, [size_t(bytes.len()), lz4.clone()].concat()),
        (V1, 5, [size_t(bytes.len()), lz4].concat()),
        (V1, 7, prefixed(zstd(bytes))),
        (LEVELDB, 0, bytes.to_vec()),
        (LEVELDB, 1, snappy(bytes)),
        (LEVELDB, 2, zstd(bytes)),
        (LEVELDB, 2, zlib(bytes)),
        (LEVELDB, 4, deflate(bytes)),
    ]
}

#[test]
fn every_encoding_is_read() {
    for bytes in [text(), b"x".to_vec(), vec![], vec![0; 100_000]] {
        for (dialect, codec, stored) in every_encoding(&bytes) {
            let contents = decode(dialect, codec, &stored, MAX).unwrap();
            assert!(contents == bytes, "{dialect:?} {codec:#04x}");
        }
    }
}

#[test]
fn truncated_blocks_are_errors() {
    for (dialect, codec, stored) in every_encoding(&text()) {
        if codec == 0 {
            continue;
        }
        for length in 0..stored.len() {
            let result = decode(dialect, codec, &stored[..length], MAX);
            assert!(result.is_err(), "{dialect:?} {codec:#04x} cut to {length}");
        }
    }
}

#[test]
fn trailing_bytes_are_errors() {
    for (dialect, codec, mut stored) in every_encoding(&text()) {
        if codec != 0 {
            stored.push(0);
            let result = decode(dialect, codec, &stored, MAX);
            assert!(result.is_err(), "{dialect:?} {codec:#04x}");
        }
    }
}

#[test]
fn the_declared_size_must_be_exact() {
    let bytes = text();
    for (codec, stream) in [
        (2, deflate(&bytes)),
        (3, bzip2(&bytes)),
        (4, lz4_flex::block::compress(&bytes)),
        (7, zstd(&bytes)),
    ] {
        for size in [bytes.len() - 1, bytes.len() + 1, 0] {
            let stored = [varint(size), stream.clone()].concat();
            let error = decode(V2, codec, &stored, MAX).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{codec:#04x} {size}: {error}");
        }
    }
}

#[test]
fn impossible_sizes_are_errors() {
    for codec in [2, 4, 5, 7] {
        let stored = [varint(u32::MAX as usize), vec![0; 100]].concat();
        let error = decode(V2, codec, &stored, usize::MAX).unwrap_err();
        assert!(error.to_string().contains("can expand to"), "{codec:#04x}: {error}");
    }
    let snappy = [varint(1 << 30), vec![0; 100]].concat();
    assert!(decode(V2, 1, &snappy, usize::MAX).unwrap_err().to_string().contains("can expand to"));
    let lz4 = [size_t(1 << 30), vec![0; 100]].concat();
    assert!(decode(V1, 4, &lz4, usize::MAX).unwrap_err().to_string().contains("can expand to"));
}

#[test]
fn decompression_bombs_hit_the_limit() {
    let bytes = vec![0; 1 << 20];
    for (dialect, codec, stored) in every_encoding(&bytes) {
        if codec == 0 {
            continue;
        }
        assert!(decode(dialect, codec, &stored, 1 << 20).is_ok(), "{dialect:?} {codec:#04x}");
        let error = decode(dialect, codec, &stored, (1 << 20) - 1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{dialect:?} {codec:#04x}: {error}");
    }
    // The declared size is small, the output is not.
    for (codec, stream) in [(2, deflate(&bytes)), (3, bzip2(&bytes)), (7, zstd(&bytes))] {
        let stored = [varint(100), stream].concat();
        assert_eq!(decode(V2, codec, &stored, MAX).unwrap_err().kind(), ErrorKind::Corrupt);
    }
}

#[test]
fn dictionaries() {
    let bytes = text();
    // Half of the contents are in the dictionary.
    let dictionary = Dictionary::new(&bytes[bytes.len() / 2..]).unwrap();
    let mut deflater = Compress::new(Compression::default(), false);
    deflater.set_dictionary(dictionary.bytes()).unwrap();
    let mut deflated = Vec::with_capacity(bytes.len());
    deflater.compress_vec(&bytes, &mut deflated, FlushCompress::Finish).unwrap();
    let zstd = ::zstd::bulk::Compressor::with_dictionary(3, dictionary.bytes())
        .unwrap()
        .compress(&bytes)
        .unwrap();
    let lz4 = lz4_flex::block::compress_with_dict(&bytes, dictionary.bytes());

    for (codec, stream, alone) in [
        (2, deflated, deflate(&bytes)),
        (4, lz4.clone(), lz4_flex::block::compress(&bytes)),
        (5, lz4, lz4_flex::block::compress(&bytes)),
        (7, zstd, self::zstd(&bytes)),
    ] {
        assert!(stream.len() < alone.len(), "{codec:#04x} does not use the dictionary");
        let stored = [varint(bytes.len()), stream].concat();
        let (engine, version) = V2;
        let with = decompress(engine, version, codec, &stored, Some(&dictionary), MAX);
        assert!(*with.unwrap() == bytes, "{codec:#04x}");
        // Without the dictionary the output differs, if there is any.
        let without = decompress(engine, version, codec, &stored, None, MAX);
        assert!(without.is_err() || *without.unwrap() != bytes, "{codec:#04x}");
    }

    // snappy and bzip2 ignore dictionaries.
    for (codec, stored) in [(1, snappy(&bytes)), (3, [varint(bytes.len()), bzip2(&bytes)].concat())]
    {
        let with = decompress(V2.0, V2.1, codec, &stored, Some(&dictionary), MAX);
        assert!(*with.unwrap() == bytes);
    }
}

#[test]
fn damaged_dictionaries_are_errors() {
    assert!(Dictionary::new([]).is_err());
    // The magic number of a trained dictionary without its tables.
    let dictionary = Dictionary::new([0x37, 0xa4, 0x30, 0xec, 1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
    let stored = [varint(1), zstd(b"x")].concat();
    let error = decompress(V2.0, V2.1, 7, &stored, Some(&dictionary), MAX).unwrap_err();
    assert!(error.to_string().contains("dictionary"), "{error}");
}

#[test]
fn a_zstd_frame_needs_a_content_size_without_prefix() {
    let mut encoder = ::zstd::stream::write::Encoder::new(Vec::new(), 3).unwrap();
    encoder.write_all(&text()).unwrap();
    let frame = encoder.finish().unwrap();
    let error = decode(LEVELDB, 2, &frame, MAX).unwrap_err();
    assert!(error.to_string().contains("has no content size"), "{error}");
    let prefixed = [varint(text().len()), frame].concat();
    assert!(decode(V2, 7, &prefixed, MAX).unwrap() == text());
}

#[test]
fn leveldb_codec_2_must_be_zstd_or_zlib() {
    for stored in [&b"neither"[..], b"", b"\x78"] {
        let error = decode(LEVELDB, 2, stored, MAX).unwrap_err();
        assert!(error.to_string().contains("neither zstd nor zlib"), "{error}");
    }
}

proptest! {
    #[test]
    fn no_bytes_panic(
        codec in 0u8..8,
        version in 0usize..8,
        leveldb: bool,
        size in 0usize..5000,
        bytes in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let engine = if leveldb { Engine::LevelDb } else { Engine::RocksDb };
        let dialect = (engine, FormatVersion::ALL[version]);
        let _ = decode(dialect, codec, &bytes, MAX);
        let _ = decode(dialect, codec, &[varint(size), bytes.clone()].concat(), MAX);
        let _ = decode(dialect, codec, &[size_t(size), bytes].concat(), MAX);
    }

    #[test]
    fn no_flipped_bit_panics(choice in 0usize..19, bit: prop::sample::Index) {
        let (dialect, codec, mut stored) = every_encoding(&text()).swap_remove(choice);
        let bit = bit.index(stored.len() * 8);
        stored[bit / 8] ^= 1 << (bit % 8);
        let _ = decode(dialect, codec, &stored, MAX);
    }
}
