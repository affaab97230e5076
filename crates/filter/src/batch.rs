//! Hiding memory latency.
//!
//! A query of a filter outside the cache waits a hundred nanoseconds for one cache line. Many such
//! waits can overlap, if the lines are asked for early enough: queries of a batch are answered in
//! order, while the lines of the ones ahead are on their way.

/// How far ahead: enough for the misses that a core can have under way, and few enough for their
/// lines to stay in the first-level cache until used.
pub(crate) const LOOK_AHEAD: usize = 16;

/// Answers each hash in order, with the prefetches going ahead of the questions.
///
/// Always inlined: kernels use it within functions compiled for their own instruction set.
#[inline(always)]
pub(crate) fn answer_ahead<H: Copy>(
    hashes: &[H],
    answers: &mut [bool],
    prefetch: impl Fn(H),
    may_contain: impl Fn(H) -> bool,
) {
    for &hash in hashes.iter().take(LOOK_AHEAD) {
        prefetch(hash);
    }
    for (i, (&hash, answer)) in hashes.iter().zip(answers).enumerate() {
        if let Some(&ahead) = hashes.get(i + LOOK_AHEAD) {
            prefetch(ahead);
        }
        *answer = may_contain(hash);
    }
}
