//! `partitioned-filters.md`: the entries of filters, partitions and their index.

mod capacities;
mod entry_rules;
mod example;
mod partitions;
mod top_level_index;

use sstkit_testkit::page::check_page;

#[test]
fn dumps_are_current() {
    check_page(
        "partitioned-filters.md",
        &[
            ("de-duplication", entry_rules::de_duplication),
            ("partition-capacities", capacities::table),
            ("partitions", partitions::entries),
            ("partition-answers", partitions::answers),
            ("top-level-index", top_level_index::example),
        ],
    );
}
