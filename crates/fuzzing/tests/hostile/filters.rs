//! Filters of no bits, one bit, and four billion.

use sstkit_filter::{Filter, FilterBlock, FilterKind, HashedKey};

use crate::Case;
use crate::memory::MIB;

/// Asks a filter in every way.
fn ask(bytes: &[u8]) {
    let filter = Filter::from_bytes(bytes);
    for key in [&b""[..], b"k", b"a longer key"] {
        let hashed = HashedKey::new(key);
        let may = filter.may_contain(key);
        assert_eq!(may, filter.may_contain_hashed(&hashed));
        assert_eq!(may, filter.trace(&hashed).may_contain);
    }
    let _ = (filter.stats(), filter.parameters());
    for keys in [0, 1, usize::MAX] {
        assert!(filter.expected_fpr(keys).is_none_or(|rate| (0.0..=1.0).contains(&rate)));
    }
}

fn ask_block(bytes: &[u8]) {
    for block in [FilterBlock::leveldb(bytes), FilterBlock::rocksdb(bytes)] {
        for offset in [0, 2048, u64::MAX] {
            let _ = block.may_contain(offset, b"k");
            let _ = block.trace(offset, &HashedKey::new(b"k"));
        }
        let _ = block.stats();
    }
}

/// Numbers of lines, blocks or filters.
const COUNTS: [u32; 8] = [0, 1, 2, 3, 0xffff, 0xff_ffff, 0x7fff_ffff, 0xffff_ffff];

pub(crate) fn cases() -> Vec<Case> {
    vec![
        Case::small("full filters of any number of lines in 0 to 64 bytes", || {
            for length in [0, 1, 2, 63, 64, 65, 128] {
                for first in 0..=255 {
                    for count in COUNTS {
                        let mut filter = vec![0xff; length];
                        filter.push(first);
                        filter.extend_from_slice(&count.to_le_bytes());
                        ask(&filter);
                    }
                }
            }
        }),
        Case::of("a full filter of four billion bits", 520 * MIB, || {
            let mut filter = vec![0xff; 512 * MIB];
            for trailer in [[0xff, 0, 6, 0, 0], [0xfe, 0, 0xff, 0xff, 0xff], [6, 0, 0, 0x80, 0]] {
                filter.extend_from_slice(&trailer);
                let read = Filter::from_bytes(filter.as_slice());
                let may = read.may_contain(b"k");
                assert_eq!(may, read.trace(&HashedKey::new(b"k")).may_contain);
                // All bits of a Bloom filter are set.
                let blooms = [FilterKind::FastLocalBloom, FilterKind::LegacyBloom];
                assert!(may || !blooms.contains(&read.kind()));
                filter.truncate(512 * MIB);
            }
        }),
        Case::small("filter blocks of any number of filters", || {
            for length in [0, 1, 4, 5, 64] {
                for offset in COUNTS {
                    for base_lg in [0, 11, 31, 63, 64, 255] {
                        let mut block = vec![0x01; length];
                        block.extend_from_slice(&offset.to_le_bytes());
                        block.push(base_lg);
                        ask_block(&block);
                    }
                }
            }
        }),
        Case::of(
            "a filter block of a million filters, each as long as the block",
            160 * MIB,
            || {
                // Offsets 0, end, 0, end …: each other filter would be all of the block.
                let data = vec![0xff; 100_000];
                let mut block = data.clone();
                for i in 0..1_000_000u32 {
                    let offset = if i % 2 == 0 { 0 } else { data.len() as u32 };
                    block.extend_from_slice(&offset.to_le_bytes());
                }
                block.extend_from_slice(&(data.len() as u32).to_le_bytes());
                block.push(11);
                ask_block(&block);
            },
        ),
    ]
}
