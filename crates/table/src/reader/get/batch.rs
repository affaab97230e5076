//! Filter probes for several keys.

use sstkit_filter::{FilterLayout, HashedKey};

use crate::filter::{FilterProbe, FilterReader};
use crate::reader::get::probe::count_probes;
use crate::reader::open::core::Core;
use crate::reader::open::key_space::SearchKey;

/// The indices of the keys that pass the filter. Counts like RocksDB's MultiGet. `sorted` has the
/// indices of all keys in table order, and so has the result.
pub(crate) fn probe_filter<K: AsRef<[u8]>>(
    core: &Core,
    keys: &[K],
    sorted: Vec<usize>,
) -> Vec<usize> {
    let Some(filter) = core.filter().filter(|filter| filter.layout() != FilterLayout::Block) else {
        return sorted;
    };
    let (mut numbers, mut queries) = (Vec::new(), Vec::new());
    for &number in &sorted {
        if let Some(probe) = filter.lookup_probe(keys[number].as_ref(), &core.keys) {
            numbers.push(number);
            let query = HashedKey::new(probe.bytes());
            // Here rather than during the probes, where it would not be inlined.
            query.hash64();
            queries.push(query);
        }
    }

    let mut answers = vec![true; queries.len()];
    let probes = queries.len() as u64;
    match filter.layout() {
        _ if queries.is_empty() => {}
        FilterLayout::Full => filter.may_contain_batch(&core.blocks, &queries, &mut answers),
        _ => probe_partitions(core, filter, keys, &numbers, queries, &mut answers),
    }
    let negative = answers.iter().filter(|&&may| !may).count() as u64;
    // With prefixes, RocksDB counts all keys of the batch, including those without a probe.
    match filter.lookups_probe_prefixes(&core.keys) {
        true => count_probes(core, FilterProbe::Prefix(&[]), keys.len() as u64, negative),
        false => count_probes(core, FilterProbe::WholeKey(&[]), probes, negative),
    }
    let mut passes = vec![true; keys.len()];
    numbers.iter().zip(answers).for_each(|(&number, may)| passes[number] = may);
    let mut wanted = sorted;
    wanted.retain(|&number| passes[number]);
    wanted
}

/// Each key is probed in its own partition.
fn probe_partitions<K: AsRef<[u8]>>(
    core: &Core,
    filter: &FilterReader,
    keys: &[K],
    numbers: &[usize],
    queries: Vec<HashedKey<'_>>,
    answers: &mut [bool],
) {
    let searches: Vec<_> =
        numbers.iter().map(|&number| core.keys.newest(keys[number].as_ref())).collect();
    let queries: Vec<_> = queries.into_iter().zip(searches.iter().map(SearchKey::before)).collect();
    filter.may_contain_by_partition(&core.blocks, &core.keys, &queries, answers);
}
