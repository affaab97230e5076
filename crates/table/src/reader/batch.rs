//! Asking the filter about many keys at once.

use sstkit_filter::{FilterLayout, HashedKey};

use super::core::Core;
use super::filter::{FilterReader, Question};
use super::lookup::count_answers;

/// Which of the keys get past the filter, by their places. Counts as RocksDB's MultiGet does.
pub(super) fn ask_filter<K: AsRef<[u8]>>(core: &Core, keys: &[K]) -> Vec<usize> {
    let Some(filter) = core.filter().filter(|filter| filter.layout() != FilterLayout::Block) else {
        return (0..keys.len()).collect();
    };
    let (mut places, mut questions) = (Vec::new(), Vec::new());
    let mut wanted = Vec::new();
    for (place, key) in keys.iter().enumerate() {
        match filter.lookup_question(key.as_ref()) {
            Some(question) => {
                places.push(place);
                questions.push(question);
            }
            None => wanted.push(place),
        }
    }
    let Some(&first) = questions.first() else { return wanted };

    let mut answers = vec![true; questions.len()];
    let hashed: Vec<_> =
        questions.iter().map(|question| HashedKey::new(question.bytes())).collect();
    match filter.layout() {
        FilterLayout::Full => filter.may_contain_batch(&core.blocks, &hashed, &mut answers),
        _ => ask_partitions(core, filter, keys, &places, &hashed, &mut answers),
    }
    let passed = places.iter().zip(&answers).filter(|&(_, &may)| may).map(|(&place, _)| place);
    wanted.extend(passed);
    let no = answers.iter().filter(|&&may| !may).count() as u64;
    // With prefixes RocksDB counts all keys of the batch, also those that were not asked about.
    let asked = match first {
        Question::WholeKey(_) => questions.len(),
        Question::Prefix(_) => keys.len(),
    };
    count_answers(core, first, asked as u64, no);
    wanted
}

/// Each key has a partition of its own to ask.
fn ask_partitions<K: AsRef<[u8]>>(
    core: &Core,
    filter: &FilterReader,
    keys: &[K],
    places: &[usize],
    questions: &[HashedKey<'_>],
    answers: &mut [bool],
) {
    for ((&place, question), answer) in places.iter().zip(questions).zip(answers) {
        let search = core.keys.newest(keys[place].as_ref());
        *answer = filter.may_contain(&core.blocks, &core.keys, question, &search.before());
    }
}
