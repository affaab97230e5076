//! The golden tables, by name.

use std::path::Path;

use sstkit_table::raw::{BlockHandle, TableView};

/// The bytes of the table `name`.
pub(crate) fn bytes(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/tables").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What `show` makes of the table `name`.
pub(crate) fn with_table<T>(name: &str, show: impl FnOnce(&TableView<'_>) -> T) -> T {
    let bytes = bytes(name);
    let table = TableView::open(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
    show(&table)
}

/// The handle of the data block `number`.
pub(crate) fn data_block(table: &TableView<'_>, number: usize) -> BlockHandle {
    let mut index = table.index().expect("an index");
    for _ in 0..=number {
        assert!(index.advance().expect("an index entry"), "block {number}");
    }
    index.handle()
}
