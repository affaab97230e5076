//! Every dump in `docs/formats/database.md` is what the golden databases hold.
//!
//! Run with `UPDATE_GOLDENS=1` this test rewrites the dumps instead of comparing them. The bytes are
//! read twice: here, by the drawings of the page, and by `sstkit_db::raw`; where the two readings
//! differ the test fails, before any text is compared.

mod blob;
mod dump;
mod log;
mod version_edit;

use std::path::Path;

#[test]
fn the_dumps_are_up_to_date() {
    sstkit_testkit::page::check_page(
        "database.md",
        &[
            ("version-edit", version_edit::version_edit),
            ("write-batch", log::write_batch),
            ("blob-file", blob::blob_file),
        ],
    );
}

/// The bytes of a file of the golden databases.
fn golden(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/databases").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
