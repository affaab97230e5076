//! `filter-block.md`: filters for 2 KiB each, their offsets and their answers.

use std::collections::BTreeMap;
use std::fmt::Write;

use sstkit_coding::fixed::decode_fixed32;
use sstkit_filter::{BlockBloom, FilterBlock, FilterBlockBuilder, KeyFiltering, PrefixExtractor};
use sstkit_testkit::page::check_page;

use crate::building::policy;
use crate::hex_dump::Dump;
use crate::probes::{name_bits, probes_of_hash32};
use crate::wording::{answer, hex, key_list, key_text, list};

#[test]
fn dumps_are_current() {
    check_page(
        "filter-block.md",
        &[
            ("filter-block", example_dump),
            ("filter-block-answers", answers),
            ("filter-block-hashes", hashes),
            ("filter-block-prefixes", prefixes),
        ],
    );
}

/// The offset of each data block, and its keys.
const DATA_BLOCKS: [(u64, &[&[u8]]); 4] =
    [(0, &[b"foo"]), (2000, &[b"bar"]), (3100, &[b"box"]), (9000, &[b"box", b"hello"])];

fn example_bytes() -> Vec<u8> {
    let policy = policy("leveldb.BuiltinBloomFilter2:10");
    let mut builder = policy.block_builder().expect("builds filter blocks");
    for (offset, keys) in DATA_BLOCKS {
        builder.start_block(offset);
        keys.iter().for_each(|key| builder.add(key));
    }
    builder.finish().expect("a built-in policy")
}

fn example_dump() -> String {
    let bytes = example_bytes();
    let block = FilterBlock::leveldb(&bytes);
    let filters: Vec<&[u8]> =
        (0..block.num_filters()).map(|index| block.filter(index).expect("sound")).collect();
    let mut dump = Dump::new(&bytes);
    for (offset, keys) in DATA_BLOCKS {
        dump.note(format!("data block at {offset}: {}", key_list(keys)));
    }
    for (index, filter) in filters.iter().enumerate() {
        let covered = 2048 * index as u64..2048 * (index as u64 + 1);
        let blocks = DATA_BLOCKS.iter().filter(|(offset, _)| covered.contains(offset));
        let keys: Vec<&[u8]> = blocks.flat_map(|(_, keys)| keys.iter().copied()).collect();
        if filter.is_empty() {
            assert!(keys.is_empty());
            continue;
        }
        dump.note(format!("filter {index}: {} bits", 8 * (filter.len() - 1)));
        dump_filter(&mut dump, BlockBloom::LevelDb, filter, &keys);
    }
    let array = dump.position();
    dump.note("offset array");
    for (index, filter) in filters.iter().enumerate() {
        let start = decode_fixed32(*bytes[dump.position()..].first_chunk().expect("an offset"));
        let length = match filter.len() {
            0 => "empty".to_owned(),
            length => format!("{length} bytes"),
        };
        let (first, last) = (2048 * index, 2048 * index + 2047);
        dump.bytes(
            4,
            format!("filter {index} at {start:#x}, {length}: data blocks at {first} to {last}"),
        );
    }
    dump.bytes(4, format!("offset array at {array:#x}"));
    dump.bytes(1, format!("2^{} bytes per filter", bytes[bytes.len() - 1]));
    dump.finish()
}

/// Writes one filter of a filter block: its bits and the number of probes.
fn dump_filter(dump: &mut Dump<'_>, bloom: BlockBloom, filter: &[u8], keys: &[&[u8]]) {
    let (&num_probes, array) = filter.split_last().expect("not empty");
    let mut names = BTreeMap::new();
    for key in keys {
        let hash = bloom.hash(key);
        let (step, bits) = probes_of_hash32(hash, num_probes, 8 * array.len());
        name_bits(&mut names, key, &bits, 0);
        let (key, bits) = (key_text(key), list(&bits));
        dump.note(format!("      {key:<5}  h = {hash:08x}, step {step:08x}: bits {bits}"));
    }
    dump.bits(array.len(), &names);
    dump.bytes(1, format!("k = {num_probes}"));
}

fn answers() -> String {
    let bytes = example_bytes();
    let block = FilterBlock::leveldb(&bytes);
    let keys = ["foo", "bar", "box", "hello"];
    let mut out = String::from("data block at  filter ");
    for key in keys {
        let _ = write!(out, " {key:<6}");
    }
    out.push('\n');
    for offset in [0, 2000, 3100, 4100, 9000, 20_000] {
        let _ = write!(out, "{offset:>13}  {:<6} ", offset >> 11);
        for key in keys {
            let _ = write!(out, " {:<6}", answer(block.may_contain(offset, key.as_bytes())));
        }
        out.push('\n');
    }
    out
}

fn hashes() -> String {
    let keys: [&[u8]; 2] = [b"\xc3\x97", b"\xe2\x99\xa5"];
    let mut out = String::new();
    for (name, bloom) in [("LevelDB", BlockBloom::LevelDb), ("RocksDB", BlockBloom::RocksDb)] {
        let hashes = keys.map(|key| bloom.hash(key));
        let mut filter = Vec::new();
        bloom.create_filter(&hashes, 10, &mut filter);
        let mut dump = Dump::new(&filter);
        dump.note(format!(
            "{name}: {}",
            list(keys.iter().map(|key| format!("{} ({})", key_text(key), hex(key))))
        ));
        dump_filter(&mut dump, bloom, &filter, &keys);
        out.push_str(&dump.finish());
    }
    out
}

fn prefixes() -> String {
    let extractor: PrefixExtractor = "fixed:3".parse().expect("an extractor");
    let filtering = KeyFiltering::new(true, Some(extractor.clone()));
    let mut block = FilterBlockBuilder::bloom(BlockBloom::RocksDb, 10);
    let mut again = FilterBlockBuilder::bloom(BlockBloom::RocksDb, 10);
    let mut out = format!("prefix extractor {}\n", extractor.name());
    for (offset, keys) in [(0, ["ab", "abc1", "abc2"]), (5000, ["abc3", "abd1", "abd2"])] {
        let _ = writeln!(out, "data block at {offset}");
        block.start_block(offset);
        again.start_block(offset);
        let mut last = None;
        for key in keys {
            block.add_filtered(key.as_bytes(), &filtering);
            let prefix = extractor.prefix(key.as_bytes()).map(key_text);
            let added = match &prefix {
                Some(prefix) if last.as_ref() != Some(prefix) => {
                    vec![prefix.clone(), key.to_owned()]
                }
                _ => vec![key.to_owned()],
            };
            last = prefix.or(last);
            added.iter().for_each(|entry| again.add(entry.as_bytes()));
            let _ = writeln!(out, "  {key:<6} adds {}", added.join(", "));
        }
    }
    assert_eq!(block.finish().expect("built in"), again.finish().expect("built in"));
    out
}
