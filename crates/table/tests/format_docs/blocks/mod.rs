//! `blocks.md`: blocks of entries, internal keys, special values, range deletions.

mod data_blocks;
mod hash_index;
mod kinds;
mod range_deletions;
mod separated;
mod values;

use sstkit_testkit::page::check_page;

#[test]
fn the_dumps_are_up_to_date() {
    check_page(
        "blocks.md",
        &[
            ("data-block", data_blocks::data_block),
            ("packed-words", data_blocks::packed_words),
            ("hash-index", hash_index::tail),
            ("hash-index-answers", hash_index::answers),
            ("separated", separated::separated),
            ("kinds", kinds::kinds),
            ("timestamp", kinds::timestamp),
            ("entity", values::entity),
            ("blob-index", values::blob_index),
            ("range-deletions", range_deletions::range_deletions),
        ],
    );
}
