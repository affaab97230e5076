//! Hiding memory latency.
//!
//! A query of a filter outside the cache waits a hundred nanoseconds for one cache line. Many such
//! waits can overlap, if the lines are asked for early enough. So a batch is gone through twice:
//! first its keys are hashed and the lines of each are asked for, then the questions are answered,
//! by which time the lines have come or are on their way.

/// Keys of a batch: more than the misses that a core can have under way, and few enough for their
/// lines to stay in the first-level cache until they are used.
const BATCH: usize = 64;

/// How far ahead of its use memory is asked for, where no batches are made.
pub(crate) const LOOK_AHEAD: usize = 16;

/// Hands the hashes of keys to `ask`, a batch at a time, with the answers that belong to them.
#[inline]
pub(crate) fn in_batches<K, H: Copy + Default>(
    keys: &[K],
    answers: &mut [bool],
    hash: impl Fn(&K) -> H,
    prefetch: impl Fn(H),
    ask: impl Fn(&[H], &mut [bool]),
) {
    let mut hashes = [H::default(); BATCH];
    for (keys, answers) in keys.chunks(BATCH).zip(answers.chunks_mut(BATCH)) {
        let hashes = &mut hashes[..keys.len()];
        for (place, key) in hashes.iter_mut().zip(keys) {
            *place = hash(key);
            prefetch(*place);
        }
        ask(hashes, answers);
    }
}

/// Answers each.
///
/// Always inlined: kernels use it within functions compiled for their own instruction set.
#[inline(always)]
pub(crate) fn answer_each<H: Copy>(
    hashes: &[H],
    answers: &mut [bool],
    may_contain: impl Fn(H) -> bool,
) {
    for (answer, &hash) in answers.iter_mut().zip(hashes) {
        *answer = may_contain(hash);
    }
}
