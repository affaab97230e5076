//! `hashes.md`: the hashes of filters and checksums.

mod checksums;
mod hash32;
mod range_mapping;
mod xxph3;
mod xxph3_formulas;

use sstkit_testkit::page::check_page;

#[test]
fn dumps_are_current() {
    check_page(
        "hashes.md",
        &[
            ("hash32-steps", hash32::steps),
            ("hash32-vectors", hash32::vectors),
            ("xxph3-constants", xxph3::constants),
            ("xxph3-vectors", xxph3::vectors),
            ("range-mapping", range_mapping::vectors),
            ("block-trailer", checksums::block_trailer),
            ("checksum-vectors", checksums::vectors),
        ],
    );
}
