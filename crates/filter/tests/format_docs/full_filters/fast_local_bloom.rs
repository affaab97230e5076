//! The cache-local Bloom filter, and its number of probes.

use std::collections::BTreeMap;
use std::fmt::Write;

use sstkit_coding::range_map::fast_range32;
use sstkit_coding::xxph3::xxph3;
use sstkit_filter::BuildContext;
use sstkit_filter::fast_local_bloom::num_probes;

use super::TWO_WORDS;
use crate::building::{bloom_parameters, build};
use crate::hex_dump::Dump;
use crate::probes::{name_bits, probes_in_a_block};
use crate::runs::runs;
use crate::wording::{key_text, list};

pub(super) fn example() -> String {
    let bytes = build("bloomfilter:10", &BuildContext::default(), TWO_WORDS);
    let (k, block_length) = bloom_parameters(&bytes);
    let data = bytes.len() - 5;
    let num_blocks = (data / block_length) as u32;
    let mut dump = Dump::new(&bytes);
    dump.note("bloomfilter:10, format version 5 and later: hello, world");
    let mut names = BTreeMap::new();
    for key in TWO_WORDS {
        let hash = xxph3(key);
        let block = fast_range32(hash as u32, num_blocks);
        let bits = probes_in_a_block((hash >> 32) as u32, k);
        name_bits(&mut names, key, &bits, block as usize * 8 * block_length);
        let (key, bits) = (key_text(key), list(&bits));
        dump.note(format!("      {key}  h = {hash:016x}: block {block}, bits {bits}"));
    }
    dump.bits(data, &names);
    dump.bytes(1, "newer Bloom");
    dump.bytes(1, "sub-implementation 0: cache-local");
    dump.bytes(1, format!("k = {k}; blocks of 2^6 bytes"));
    dump.bytes(2, "reserved");
    dump.finish()
}

/// The number of probes for every number of thousandths of a bit per key.
pub(super) fn probes_by_bits() -> String {
    /// The number of probes is constant beyond this.
    const END: u32 = 51_000;

    let mut out = String::new();
    for row in runs(1000..=END, num_probes).chunks(4) {
        for run in row {
            let range = match run.last {
                END => format!("{} and up", run.first),
                last => format!("{} to {last}", run.first),
            };
            let _ = write!(out, "{range:<14}  {:>3}      ", run.value);
        }
        out.push('\n');
    }
    out
}
