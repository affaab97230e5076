//! Hiding memory latency.
//!
//! Probing a filter that is not in the cache waits a hundred nanoseconds for one cache line. Many such
//! misses can overlap if the lines are prefetched early enough. So batches take two passes: the first
//! hashes the keys and prefetches their lines, the second probes the filter.

/// Keys per batch: more than the number of outstanding misses of a core, and few enough for their
/// lines to stay in the L1 cache until they are used.
pub(crate) const BATCH: usize = 64;

/// The prefetch distance where there are no batches.
pub(crate) const LOOK_AHEAD: usize = 16;

/// Hashes keys in batches, and calls `probe` with the hashes and answers of each batch.
#[inline]
pub(crate) fn in_batches<K, H: Copy + Default>(
    keys: &[K],
    answers: &mut [bool],
    hash_each: impl Fn(&[K], &mut [H]),
    probe: impl Fn(&[H], &mut [bool]),
) {
    let mut hashes = [H::default(); BATCH];
    for (keys, answers) in keys.chunks(BATCH).zip(answers.chunks_mut(BATCH)) {
        let hashes = &mut hashes[..keys.len()];
        hash_each(keys, hashes);
        probe(hashes, answers);
    }
}

/// Prefetches what the probe for each hash reads, then probes.
///
/// Always inlined, because kernels call it in functions compiled for their instruction set.
#[inline(always)]
pub(crate) fn answer_each<H: Copy>(
    hashes: &[H],
    answers: &mut [bool],
    prefetch: impl Fn(H),
    may_contain: impl Fn(H) -> bool,
) {
    for &hash in hashes {
        prefetch(hash);
    }
    for (answer, &hash) in answers.iter_mut().zip(hashes) {
        *answer = may_contain(hash);
    }
}
