//! LevelDB's tables do not name the order of their keys.

use std::fs;
use std::path::Path;

use sstkit_inspect::{VerifyReport, VerifyStatus};
use sstkit_table::{Comparator, TableOptions, TableReadOptions, TableWriter};
use sstkit_testkit::orders::short_first_backwards;

fn verify(path: &Path, order: Option<Comparator>) -> VerifyReport {
    let options = TableReadOptions::default();
    let options = order.into_iter().fold(options, TableReadOptions::comparator);
    VerifyReport::of_table_file(path, &options, &Default::default()).unwrap()
}

#[test]
fn a_leveldb_table_in_an_order_of_its_own_is_unsupported_and_not_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.ldb");
    let order = short_first_backwards;
    let mut keys: Vec<String> = (0..2000).map(|i| format!("{i}")).collect();
    keys.sort_by(|a, b| order().compare(a.as_bytes(), b.as_bytes()));
    let mut writer =
        TableWriter::create(&path, &TableOptions::leveldb().comparator(order())).unwrap();
    for key in &keys {
        writer.put(key.as_bytes(), b"value").unwrap();
    }
    writer.finish().unwrap();

    assert!(verify(&path, Some(order())).sound);
    let report = verify(&path, None);
    assert_eq!((report.status, report.problem_count), (VerifyStatus::Unsupported, 1));
    let message = &report.problems[0].message;
    assert!(message.ends_with("unknown comparator (use --comparator)"), "{message}");
    // An order that was given is believed.
    assert_eq!(verify(&path, Some(Comparator::Bytewise)).status, VerifyStatus::Damaged);
    // Anything else that is wrong is damage.
    let mut bytes = fs::read(&path).unwrap();
    bytes[100] ^= 1;
    fs::write(&path, bytes).unwrap();
    assert_eq!(verify(&path, None).status, VerifyStatus::Damaged);
}
