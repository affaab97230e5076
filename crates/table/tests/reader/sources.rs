//! Sources that fail, and the ways to open a table.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use sstkit_table::{ErrorKind, Source, Table};
use sstkit_testkit::goldens::{Golden, Model, golden_tables, options};

fn some_tables() -> Vec<Golden> {
    golden_tables().into_iter().step_by(9).collect()
}

#[test]
fn every_way_of_opening_shows_the_same() {
    for golden in some_tables() {
        let visible = Model::of(&golden).visible;
        let shared: Arc<[u8]> = golden.bytes.clone().into();
        let leaked: &'static [u8] = golden.bytes.clone().leak();
        let boxed: Box<dyn Source> = Box::new(golden.bytes.clone());
        for table in [
            Table::open_with(&golden.path, &options()),
            Table::from_source(Bytes::from(golden.bytes.clone()), &options()),
            Table::from_source(golden.bytes.clone(), &options()),
            Table::from_source(shared, &options()),
            Table::from_source(leaked, &options()),
            Table::from_source(boxed, &options()),
        ] {
            let table = table.unwrap();
            let found: Vec<_> = table
                .iter()
                .map(|entry| entry.map(|(key, value)| (key, value.to_vec())).unwrap())
                .collect();
            assert!(found == visible, "{}", golden.path.display());
        }
        Table::open(&golden.path).unwrap();
        Table::from_bytes(golden.bytes.clone()).unwrap();
    }
}

/// What progress bars show: reading everything counts about the size of the file.
#[test]
fn bytes_that_are_read_are_counted() {
    for golden in some_tables().into_iter().filter(|golden| golden.bytes.len() > 20_000) {
        let counter = Arc::new(AtomicU64::new(0));
        let counting = options().no_block_cache().count_bytes_read(&counter);
        let table = Table::open_with(&golden.path, &counting).unwrap();
        let tail = counter.load(Ordering::Relaxed);
        assert!(tail > 0);
        assert!(table.iter().all(|entry| entry.is_ok()));
        let read = counter.load(Ordering::Relaxed);
        let size = golden.bytes.len() as u64;
        assert!(read - tail > size / 3 && read < 3 * size, "{:?}: {read}, {size}", golden.path);
    }
}

#[test]
fn a_missing_file_is_named() {
    let error = Table::open("no/such/table.sst").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains("table.sst"), "{error}");
}

#[test]
fn damage_in_a_file_names_the_file() {
    let path = std::env::temp_dir().join(format!("sstkit-reader-{}.sst", std::process::id()));
    std::fs::write(&path, b"not a table, but long enough to have had a footer at its end").unwrap();
    let error = Table::open(&path).unwrap_err();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert_eq!(error.file(), Some(path.as_path()));
}

/// Works a number of times, then fails in one way or another.
struct Failing {
    bytes: Vec<u8>,
    reads_left: AtomicU64,
    short: bool,
}

impl Source for Failing {
    fn size(&self) -> io::Result<u64> {
        self.bytes.size()
    }

    fn read_at(&self, offset: u64, length: usize) -> io::Result<Bytes> {
        let left = self.reads_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            Some(left.saturating_sub(1))
        });
        let bytes = self.bytes.read_at(offset, length)?;
        match left {
            Ok(0) if self.short => Ok(bytes.slice(..length / 2)),
            Ok(0) => Err(io::Error::other("the cable is out")),
            _ => Ok(bytes),
        }
    }
}

/// Whenever the source fails, what fails with it is an I/O error, and what does not is right.
#[test]
fn failing_sources_are_io_errors() {
    for golden in some_tables() {
        let model = Model::of(&golden);
        for short in [false, true] {
            for reads_left in 0..12 {
                let reads_left = AtomicU64::new(reads_left);
                let source = Failing { bytes: golden.bytes.clone(), reads_left, short };
                let table = match Table::from_source(source, &options().no_block_cache()) {
                    Ok(table) => table,
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::Io, "{error}");
                        continue;
                    }
                };
                for key in model.keys.iter().step_by(50) {
                    match table.get(key) {
                        Ok(value) => assert_eq!(value.as_deref(), model.get(key)),
                        Err(error) => assert_eq!(error.kind(), ErrorKind::Io, "{error}"),
                    }
                }
                for (entry, expected) in table.iter().zip(&model.visible) {
                    match entry {
                        Ok((key, value)) => {
                            assert_eq!((&key, &*value), (&expected.0, expected.1.as_slice()));
                        }
                        Err(error) => assert_eq!(error.kind(), ErrorKind::Io, "{error}"),
                    }
                }
                let found = table.verify();
                assert!(found.problems().iter().all(|error| error.kind() == ErrorKind::Io));
            }
        }
    }
}
