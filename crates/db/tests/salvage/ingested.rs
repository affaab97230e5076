//! Ingested tables, whose sequence numbers are in the MANIFEST.

use sstkit_db::Database;
use sstkit_testkit::goldens::golden_databases;

use crate::contents::{Damaged, contents};

/// A table without its tail does not say any more that it was ingested; its entries keep their number.
#[test]
fn a_table_without_properties_keeps_its_sequence_number() {
    let path = golden_databases().into_iter().find(|it| it.ends_with("rocksdb-ingested")).unwrap();
    let original = Database::open(&path).unwrap();
    let all = contents(&original);
    let mut cut = 0;
    let files = original.column_families().flat_map(|family| family.levels());
    for file in files.flat_map(|level| level.files) {
        let meta = file.metadata();
        let is_ingested =
            meta.largest_sequence > Some(0) && meta.smallest_sequence == meta.largest_sequence;
        if !is_ingested {
            continue;
        }
        let name = file.path().file_name().unwrap().to_str().unwrap().to_owned();
        let damaged = Damaged::copy_of(&path);
        let bytes = damaged.bytes(&name);
        damaged.write(&name, &bytes[..bytes.len() / 2]);
        let (_, db) = damaged.salvage(false, &name);
        assert!(contents(&db).is_subset(&all), "{name}");
        cut += 1;
    }
    assert!(cut > 0);
}
