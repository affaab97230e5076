//! Builds the full filters of the pages.

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
    builder.finish().expect("a built-in policy")
}

/// The keys `00000000`, `01000000` … of the size tables.
pub(crate) fn numbers(count: u32) -> impl Iterator<Item = [u8; 4]> {
    (0..count).map(u32::to_le_bytes)
}

/// The number of probes and the length of a block or line of a Bloom filter.
pub(crate) fn bloom_parameters(filter: &[u8]) -> (u8, usize) {
    match Filter::from_bytes(filter).parameters() {
        FilterParameters::Bloom { num_probes, block_length } => (num_probes, block_length),
        other => panic!("not a Bloom filter: {other:?}"),
    }
}

/// The expected rate of a filter with this number of entries.
pub(crate) fn expected_rate(filter: &[u8], entries: u32) -> String {
    percent(Filter::from_bytes(filter).expected_fpr(entries as usize).expect("built in"))
}
