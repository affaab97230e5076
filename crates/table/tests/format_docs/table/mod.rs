//! `table.md`: a table file as a whole.

mod checksums;
mod codecs;
mod footers;
mod layouts;
mod versions;
mod whole_file;

use sstkit_testkit::page::check_page;

#[test]
fn the_dumps_are_up_to_date() {
    check_page(
        "table.md",
        &[
            ("whole-table", whole_file::rocksdb),
            ("leveldb-end", whole_file::end_of_leveldb),
            ("layouts", layouts::layouts),
            ("versions", versions::versions),
            ("footers", footers::footers),
            ("checksums", checksums::checksums),
            ("codecs", codecs::codecs),
            ("dictionaries", codecs::dictionaries),
        ],
    );
}
