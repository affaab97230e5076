//! Full filters to show: built from a policy's text, and read back.

use sstkit_filter::{BuildContext, Filter, FilterBuilder, FilterParameters, FilterPolicy};

use crate::wording::percent;

pub(crate) fn policy(text: &str) -> FilterPolicy {
    text.parse().expect("a policy")
}

pub(crate) fn builder(text: &str, context: &BuildContext) -> FilterBuilder {
    policy(text).builder(context).expect("builds full filters")
}

pub(crate) fn build<K: AsRef<[u8]>>(
    policy: &str,
    context: &BuildContext,
    keys: impl IntoIterator<Item = K>,
) -> Vec<u8> {
    let mut builder = builder(policy, context);
    keys.into_iter().for_each(|key| builder.add(key.as_ref()));
    builder.finish().expect("no user-made policy")
}

/// The keys `00000000`, `01000000` … of the tables of sizes.
pub(crate) fn numbers(count: u32) -> impl Iterator<Item = [u8; 4]> {
    (0..count).map(u32::to_le_bytes)
}

/// Probes and length of a block, or line, of a Bloom filter.
pub(crate) fn bloom_parameters(filter: &[u8]) -> (u8, usize) {
    match Filter::from_bytes(filter).parameters() {
        FilterParameters::Bloom { num_probes, block_length } => (num_probes, block_length),
        other => panic!("not a Bloom filter: {other:?}"),
    }
}

/// The rate that a filter of so many entries should have.
pub(crate) fn expected_rate(filter: &[u8], entries: u32) -> String {
    percent(Filter::from_bytes(filter).expected_fpr(entries as usize).expect("built in"))
}
