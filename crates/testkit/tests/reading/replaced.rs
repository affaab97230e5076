//! A file that is replaced by another one between two reads.
//!
//! From version 6 on, checksums depend on the file and the place: blocks of another file are found
//! out. Older versions and LevelDB cannot tell one file from another that has a block of the same
//! size at the same place; there, an answer is that of one of both files, never a mixture within an
//! entry.

use std::sync::Arc;

use bytes::Bytes;
use sstkit_table::raw::FormatVersion;
use sstkit_table::{Table, TableOptions, TableReadOptions, TableWriter};
use sstkit_testkit::faults::{Fault, FaultySource};

const COUNT: u32 = 400;

fn key(number: u32) -> Vec<u8> {
    format!("key{number:06}").into_bytes()
}

fn value(number: u32, file: u8) -> Vec<u8> {
    [b"a value of file ", &[file][..], b" and number ", &number.to_le_bytes()].concat()
}

/// RocksDB draws a number for each file, which context checksums depend on.
fn rocksdb(version: FormatVersion, file: u8) -> TableOptions {
    let options = TableOptions::rocksdb().block_size(300).format_version(version);
    options.context_seed(u64::from(file))
}

/// Two files of one shape: same keys, same sizes, other values.
fn write(options: &dyn Fn(u8) -> TableOptions, file: u8) -> Bytes {
    let mut bytes = Vec::new();
    let mut writer = TableWriter::to_sink(&mut bytes, &options(file)).unwrap();
    for number in 0..COUNT {
        writer.put(&key(number), &value(number, file)).unwrap();
    }
    writer.finish().unwrap();
    bytes.into()
}

/// How many answers are of the first file, of the second one, and errors; for a replacement at
/// every read.
fn replace(options: &dyn Fn(u8) -> TableOptions) -> (usize, usize, usize) {
    let read_options = TableReadOptions::default().no_block_cache();
    let (first, second) = (write(options, 1), write(options, 2));
    assert_eq!(first.len(), second.len(), "files of one shape");
    let (mut of_first, mut of_second, mut errors) = (0, 0, 0);
    for at in 0.. {
        let source = Arc::new(FaultySource::new(first.clone()));
        source.plan(Fault::Replaced(second.clone()), at..u64::MAX);
        let Ok(table) = Table::from_source(Arc::clone(&source), &read_options) else {
            errors += 1;
            continue;
        };
        for number in (0..COUNT).step_by(7) {
            match table.get(&key(number)) {
                Ok(found) if found.as_deref() == Some(&value(number, 1)[..]) => of_first += 1,
                Ok(found) if found.as_deref() == Some(&value(number, 2)[..]) => of_second += 1,
                Ok(found) => panic!("{found:?} is in no file"),
                Err(_) => errors += 1,
            }
        }
        let _ = table.iter().count();
        let _ = table.verify();
        if source.faults() == 0 {
            break;
        }
        // Before it is replaced, all is well; from the first read on, it is the other file.
        assert!(at > 0 || errors == 0, "all of it is the second file");
    }
    (of_first, of_second, errors)
}

#[test]
fn blocks_of_another_file_are_found_out_from_version_6_on() {
    for version in [6, 7] {
        let version = FormatVersion::from_number(version).unwrap();
        let (of_first, of_second, errors) = replace(&|file| rocksdb(version, file));
        let whole = (0..COUNT).step_by(7).count();
        assert_eq!(of_second, whole, "only where all of it is the second file");
        assert!(of_first > 0 && errors > 0, "{of_first} {errors}");
    }
}

#[test]
fn before_version_6_an_answer_is_of_one_of_both_files() {
    let old = FormatVersion::from_number(5).unwrap();
    let leveldb = |_| TableOptions::leveldb().block_size(300);
    for (of_first, of_second, _) in [replace(&|file| rocksdb(old, file)), replace(&leveldb)] {
        assert!(of_first > 0 && of_second > 0, "{of_first} {of_second}");
    }
}
