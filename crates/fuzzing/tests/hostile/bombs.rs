//! Small blocks that decompress to gigabytes, of each codec: in tables, blob files and logs.

use std::io::{self, Read, Write};

use bytes::Bytes;
use sstkit_coding::checksum::mask_crc;
use sstkit_coding::varint::put_varint32;
use sstkit_db::raw::{BlobFile, LogReader};
use sstkit_table::raw::{BlobIndex, Codec, Engine, FormatVersion, decompress};
use sstkit_table::{SalvageOptions, TableSalvage};

use crate::Case;
use crate::forged_table::{first_error, with_data_block};
use crate::memory::MIB;

/// What a bomb decompresses to.
const BOMB: u64 = 64 * MIB as u64;

/// What is allowed: less than a bomb, and what the cases may take is little more.
const LIMIT: usize = 8 * MIB;

fn zeros(out: &mut impl Write) {
    io::copy(&mut io::repeat(0).take(BOMB), out).expect("memory");
}

/// The bomb of a codec, as its compressor makes it; no size before it.
fn bomb(codec: Codec) -> Vec<u8> {
    match codec {
        Codec::Zlib => {
            let level = flate2::Compression::fast();
            let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), level);
            zeros(&mut encoder);
            encoder.finish().expect("memory")
        }
        Codec::Bzip2 => {
            let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
            zeros(&mut encoder);
            encoder.finish().expect("memory")
        }
        Codec::Zstd => {
            let mut encoder = zstd::stream::Encoder::new(Vec::new(), 1).expect("memory");
            zeros(&mut encoder);
            encoder.finish().expect("memory")
        }
        Codec::Snappy => {
            let contents = vec![0; BOMB as usize];
            snap::raw::Encoder::new().compress_vec(&contents).expect("memory")
        }
        _ => lz4_flex::block::compress(&vec![0; BOMB as usize]),
    }
}

/// A block as format version 2 stores it, with a size of one's choice.
fn stored(codec: Codec, size: u32, compressed: &[u8]) -> Vec<u8> {
    let mut block = Vec::new();
    if codec != Codec::Snappy {
        put_varint32(&mut block, size);
    }
    block.extend_from_slice(compressed);
    block
}

const CODECS: [(Codec, [&str; 3]); 5] = [
    (Codec::Snappy, ["snappy that says 4 GiB", "a snappy bomb", "a snappy bomb that lies"]),
    (Codec::Zlib, ["deflate that says 4 GiB", "a deflate bomb", "a deflate bomb that lies"]),
    (Codec::Bzip2, ["bzip2 that says 4 GiB", "a bzip2 bomb", "a bzip2 bomb that lies"]),
    (Codec::Lz4, ["lz4 that says 4 GiB", "an lz4 bomb", "an lz4 bomb that lies"]),
    (Codec::Zstd, ["zstd that says 4 GiB", "a zstd bomb", "a zstd bomb that lies"]),
];

/// A snappy block names its own size.
fn snappy_of_4_gib() -> Vec<u8> {
    vec![0xff, 0xff, 0xff, 0xff, 0x0f, 0x00, 0x00]
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = in_tables();
    cases.extend(without_sizes());
    cases.extend(in_blob_files());
    cases.extend(in_logs());
    cases
}

fn in_tables() -> Vec<Case> {
    let refused = |codec: Codec, block: &[u8]| {
        let table = with_data_block(block, codec as u8);
        // By its index, and without a footer by carving, where anything may pass for a block that has no
        // checksum.
        for kept in [table.len(), table.len() - 40] {
            let mut options = SalvageOptions::default();
            options.max_block_size = LIMIT;
            let salvage = TableSalvage::from_source(table[..kept].to_vec(), &options);
            let report = salvage.expect("any bytes").report().clone();
            assert!(!report.sound && (report.entries == 0 || kept < table.len()), "{report:?}");
        }
        let error = first_error(table).expect("a bomb went off");
        assert!(error.to_string().contains("data block"), "{error}");
    };
    let mut cases = Vec::new();
    for (codec, [huge, honest, lying]) in CODECS {
        let compressed = bomb(codec);
        let honest_block = stored(codec, BOMB as u32, &compressed);
        let lying_block = match codec {
            Codec::Snappy => [&[100], &compressed[4..]].concat(),
            _ => stored(codec, 100, &compressed),
        };
        let huge_block = match codec {
            Codec::Snappy => snappy_of_4_gib(),
            _ => stored(codec, u32::MAX, &compressed[..compressed.len().min(100)]),
        };
        cases.push(Case::of(huge, 2 * LIMIT, move || refused(codec, &huge_block)));
        cases.push(Case::of(honest, 3 * LIMIT, move || refused(codec, &honest_block)));
        cases.push(Case::of(lying, 3 * LIMIT, move || refused(codec, &lying_block)));
    }
    cases
}

/// The dialects in which a block does not tell its size: only the limit ends it.
fn without_sizes() -> Vec<Case> {
    [
        ("a deflate bomb of version 1", Engine::RocksDb, Codec::Zlib, Codec::Zlib as u8, "limit"),
        ("a bzip2 bomb of version 1", Engine::RocksDb, Codec::Bzip2, Codec::Bzip2 as u8, "limit"),
        ("a zstd bomb of LevelDB's", Engine::LevelDb, Codec::Zstd, 2, "no content size"),
    ]
    .into_iter()
    .map(|(name, engine, codec, byte, words)| {
        let block = bomb(codec);
        Case::of(name, 3 * LIMIT, move || {
            let version = FormatVersion::V1;
            let error = decompress(engine, version, byte, &block, None, LIMIT).unwrap_err();
            assert!(error.to_string().contains(words), "{error}");
        })
    })
    .collect()
}

fn crc(bytes: &[u8]) -> [u8; 4] {
    mask_crc(crc32c::crc32c(bytes)).to_le_bytes()
}

/// A blob file with one record of the key `k`.
fn blob_file(codec: Codec, value: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    file.extend_from_slice(&0x0024_8f37u32.to_le_bytes());
    file.extend_from_slice(&1u32.to_le_bytes());
    file.extend_from_slice(&0u32.to_le_bytes());
    file.extend_from_slice(&[0, codec as u8]);
    file.extend_from_slice(&[0; 16]);
    let mut lengths = Vec::new();
    lengths.extend_from_slice(&1u64.to_le_bytes());
    lengths.extend_from_slice(&(value.len() as u64).to_le_bytes());
    lengths.extend_from_slice(&0u64.to_le_bytes());
    let blob = [b"k", value].concat();
    file.extend_from_slice(&[&lengths[..], &crc(&lengths), &crc(&blob), &blob].concat());
    let mut footer = 0x0024_8f37u32.to_le_bytes().to_vec();
    footer.extend_from_slice(&1u64.to_le_bytes());
    footer.extend_from_slice(&[0; 16]);
    file.extend_from_slice(&[&footer[..], &crc(&footer)].concat());
    file
}

/// Blobs may have a gigabyte, so that only what lies is refused; and nothing is believed before it
/// is there.
fn in_blob_files() -> Vec<Case> {
    [
        (Codec::Snappy, "a blob of snappy that says 4 GiB"),
        (Codec::Zlib, "a blob of deflate that says 4 GiB"),
        (Codec::Bzip2, "a blob of bzip2 that says 4 GiB"),
        (Codec::Lz4, "a blob of lz4 that says 4 GiB"),
        (Codec::Zstd, "a blob of zstd that says 4 GiB"),
    ]
    .into_iter()
    .map(|(codec, name)| {
        let block = match codec {
            Codec::Snappy => snappy_of_4_gib(),
            _ => stored(codec, u32::MAX, &bomb(codec)[..40]),
        };
        let file = blob_file(codec, &block);
        Case::of(name, LIMIT, move || {
            let file = BlobFile::open(Bytes::from(file), 0).expect("a header and a footer");
            let error = file.records().next().expect("a record").unwrap_err();
            assert_eq!(error.offset(), Some(30), "{error}");
            let (offset, size) = (30 + 32 + 1, block.len() as u64);
            let codec = codec as u8;
            let index = BlobIndex::Stored { expiration: None, file: 1, offset, size, codec };
            file.get(b"k", &index).unwrap_err();
        })
    })
    .collect()
}

/// A record of a compressed log.
fn in_logs() -> Vec<Case> {
    let mut log = Vec::new();
    let mut physical = |kind: u8, payload: &[u8]| {
        let start = log.len();
        log.extend_from_slice(&[0; 4]);
        log.extend_from_slice(&(payload.len() as u16).to_le_bytes());
        log.push(kind);
        log.extend_from_slice(payload);
        let sum = crc(&log[start + 6..]);
        log[start..start + 4].copy_from_slice(&sum);
    };
    const COMPRESSION: u8 = 9;
    const FULL: u8 = 1;
    physical(COMPRESSION, &(Codec::Zstd as u32).to_le_bytes());
    physical(FULL, &bomb(Codec::Zstd));
    vec![Case::of("a bomb in a compressed log", 4 * LIMIT, move || {
        let reader = LogReader::new(&log[..], Engine::RocksDb, 0);
        let error = reader.with_max_record_size(LIMIT).next_record().unwrap_err();
        assert!(error.to_string().contains("record"), "{error}");
    })]
}
