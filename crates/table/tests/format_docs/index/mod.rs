//! `index.md`: indexes, metaindex, properties.

mod hash_search;
mod index_blocks;
mod properties;
mod property_names;
mod separators;

use sstkit_testkit::page::check_page;

#[test]
fn the_dumps_are_up_to_date() {
    check_page(
        "index.md",
        &[
            ("separators", separators::separators),
            ("full-values", index_blocks::full_values),
            ("delta-values", index_blocks::delta_values),
            ("first-keys", index_blocks::first_keys),
            ("two-levels", index_blocks::two_levels),
            ("hash-search", hash_search::hash_search),
            ("metaindex", properties::metaindex),
            ("property-names", property_names::property_names),
            ("properties", properties::properties),
            ("compression-property", properties::compression),
        ],
    );
}
