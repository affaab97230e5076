//! Asking the filter about many keys at once.

use sstkit_filter::{FilterLayout, HashedKey};

use crate::filter::{FilterProbe, FilterReader};
use crate::reader::get::lookup::count_answers;
use crate::reader::open::core::Core;
use crate::reader::open::key_space::SearchKey;

/// Which of the keys get past the filter, by their places. Counts as RocksDB's MultiGet does.
/// `sorted` are the places of all keys, in the order of the table, and so are those returned.
pub(crate) fn ask_filter<K: AsRef<[u8]>>(
    core: &Core,
    keys: &[K],
    sorted: Vec<usize>,
) -> Vec<usize> {
    let Some(filter) = core.filter().filter(|filter| filter.layout() != FilterLayout::Block) else {
        return sorted;
    };
    let (mut places, mut questions) = (Vec::new(), Vec::new());
    for &place in &sorted {
        if let Some(question) = filter.lookup_probe(keys[place].as_ref(), &core.keys) {
            places.push(place);
            questions.push(question);
        }
    }

    let mut answers = vec![true; questions.len()];
    let hashed: Vec<_> =
        questions.iter().map(|question| HashedKey::new(question.bytes())).collect();
    match filter.layout() {
        _ if hashed.is_empty() => {}
        FilterLayout::Full => filter.may_contain_batch(&core.blocks, &hashed, &mut answers),
        _ => ask_partitions(core, filter, keys, &places, hashed, &mut answers),
    }
    let no = answers.iter().filter(|&&may| !may).count() as u64;
    // With prefixes RocksDB counts all keys of the batch, also those that were not asked about.
    match filter.lookups_make_prefix_probes(&core.keys) {
        true => count_answers(core, FilterProbe::Prefix(&[]), keys.len() as u64, no),
        false => count_answers(core, FilterProbe::WholeKey(&[]), questions.len() as u64, no),
    }
    let mut passes = vec![true; keys.len()];
    places.iter().zip(answers).for_each(|(&place, may)| passes[place] = may);
    let mut wanted = sorted;
    wanted.retain(|&place| passes[place]);
    wanted
}

/// Each key has a partition to ask.
fn ask_partitions<K: AsRef<[u8]>>(
    core: &Core,
    filter: &FilterReader,
    keys: &[K],
    places: &[usize],
    questions: Vec<HashedKey<'_>>,
    answers: &mut [bool],
) {
    let searches: Vec<_> =
        places.iter().map(|&place| core.keys.newest(keys[place].as_ref())).collect();
    let queries: Vec<_> =
        questions.into_iter().zip(searches.iter().map(SearchKey::before)).collect();
    filter.may_contain_by_partition(&core.blocks, &core.keys, &queries, answers);
}
