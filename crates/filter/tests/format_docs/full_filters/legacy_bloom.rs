//! The legacy Bloom filter.

use std::collections::BTreeMap;

use sstkit_coding::fixed::decode_fixed32;
use sstkit_coding::hash32::{BLOOM_HASH_SEED, hash32_rocksdb};
use sstkit_filter::BuildContext;

use super::TWO_WORDS;
use crate::building::{bloom_parameters, build};
use crate::hex_dump::Dump;
use crate::probes::{name_bits, probes_of_hash32};
use crate::wording::{key_text, list};

pub(super) fn example() -> String {
    let bytes = build("bloomfilter:10", &BuildContext::default().format_version(4), TWO_WORDS);
    let (k, line_length) = bloom_parameters(&bytes);
    let data = bytes.len() - 5;
    let num_lines = decode_fixed32(*bytes.last_chunk().expect("a word"));
    let mut dump = Dump::new(&bytes);
    dump.note("bloomfilter:10, format version 4: hello, world");
    let mut names = BTreeMap::new();
    for key in TWO_WORDS {
        let hash = hash32_rocksdb(key, BLOOM_HASH_SEED);
        let line = hash % num_lines;
        let (step, bits) = probes_of_hash32(hash, k, 8 * line_length);
        name_bits(&mut names, key, &bits, line as usize * 8 * line_length);
        let (key, bits) = (key_text(key), list(&bits));
        dump.note(format!(
            "      {key}  h = {hash:08x}, step {step:08x}: line {line}, bits {bits}"
        ));
    }
    dump.bits(data, &names);
    dump.bytes(1, format!("k = {k}"));
    dump.bytes(4, format!("lines: {num_lines}, so {} bytes each", data / num_lines as usize));
    dump.finish()
}
