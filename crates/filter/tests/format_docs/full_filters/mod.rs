//! `full-filters.md`: one filter for a whole table.

mod fast_local_bloom;
mod legacy_bloom;
mod memory_sizing;
mod ribbon;
mod ribbon_formulas;
mod size_formulas;
mod sizes;
mod trailers;

use sstkit_testkit::page::check_page;

/// The keys of both Bloom filters.
const TWO_WORDS: [&[u8]; 2] = [b"hello", b"world"];

#[test]
fn dumps_are_current() {
    check_page(
        "full-filters.md",
        &[
            ("trailers", trailers::readings),
            ("legacy-bloom", legacy_bloom::example),
            ("fast-local-bloom", fast_local_bloom::example),
            ("fast-local-bloom-probes", fast_local_bloom::probes_by_bits),
            ("ribbon", ribbon::example),
            ("ribbon-fallback", ribbon::fallback),
            ("sizes", sizes::table),
            ("optimize-filters-for-memory", memory_sizing::tables),
        ],
    );
}
