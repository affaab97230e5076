//! The engines' own files, cut and with flipped bits: an error, a problem, or a part of the same.

use std::fs;

use sstkit_db::raw::{BlobFile, FileName, ManifestState, OptionsFile, WriteBatch};
use sstkit_table::raw::Engine;

use crate::corpus::directories;
use crate::logs::{Event, events};

/// Offsets at regular distances; all offsets of small files.
fn step(length: usize) -> usize {
    (length / 400).max(1)
}

fn flips(bytes: &[u8]) -> impl Iterator<Item = (usize, Vec<u8>)> {
    (0..bytes.len()).step_by(step(bytes.len())).map(|at| {
        let mut damaged = bytes.to_vec();
        damaged[at] ^= 1 << (at % 8);
        (at, damaged)
    })
}

fn cuts(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    (0..bytes.len()).step_by(step(bytes.len())).map(|end| &bytes[..end])
}

/// Whether `part` can be made of `whole` by leaving records out.
fn is_part(part: &[Event], whole: &[Event]) -> bool {
    let mut rest = whole.iter();
    part.iter()
        .filter(|event| matches!(event, Event::Record(_)))
        .all(|record| rest.any(|other| other == record))
}

#[test]
fn logs_lose_records_but_make_none_up() {
    for directory in directories() {
        for (number, path) in directory.logs() {
            let bytes = fs::read(path).unwrap();
            let whole = events(&bytes, directory.engine, number);
            for cut in cuts(&bytes) {
                let read = events(cut, directory.engine, number);
                let records = read.iter().filter(|event| matches!(event, Event::Record(_)));
                assert!(records.eq(&whole[..read.len().min(whole.len())][..count(&read)]));
            }
            for (at, damaged) in flips(&bytes) {
                let read = events(&damaged, directory.engine, number);
                // Without its first record a compressed log seems to be plain; what follows in
                // the next blocks is then no batch.
                let is_compression_record = bytes[6] == 9 && at < 11;
                assert!(is_part(&read, &whole) || is_compression_record, "{at}");
            }
        }
    }
}

fn count(events: &[Event]) -> usize {
    events.iter().filter(|event| matches!(event, Event::Record(_))).count()
}

#[test]
fn manifests_are_refused_or_end_early() {
    for directory in directories() {
        let bytes = fs::read(directory.manifest_path()).unwrap();
        let whole = ManifestState::replay(bytes.as_slice(), directory.engine).unwrap();
        for cut in cuts(&bytes) {
            if let Ok(state) = ManifestState::replay(cut, directory.engine) {
                assert!(state.edits <= whole.edits);
            }
        }
        for (_, damaged) in flips(&bytes) {
            if let Ok(state) = ManifestState::replay(damaged.as_slice(), directory.engine) {
                assert!(state.edits < whole.edits, "a flipped bit went unseen");
            }
        }
    }
}

#[test]
fn batches_with_flipped_bits_do_not_panic() {
    for directory in directories() {
        for (number, path) in directory.logs() {
            let bytes = fs::read(path).unwrap();
            let whole = events(&bytes, directory.engine, number);
            for event in whole.iter().take(20) {
                let Event::Record(batch) = event else { continue };
                for (_, damaged) in flips(batch) {
                    if let Ok(batch) = WriteBatch::decode_from(&damaged, Engine::RocksDb) {
                        assert!(batch.records().count() >= batch.count() as usize);
                    }
                }
            }
        }
    }
}

#[test]
fn blob_files_are_whole_or_refused() {
    for directory in directories() {
        let blobs = directory.files.iter().filter(|(name, _)| matches!(name, FileName::Blob(_)));
        for (_, path) in blobs.take(2) {
            let bytes = fs::read(path).unwrap();
            let read = |bytes: Vec<u8>| -> sstkit_db::Result<Vec<_>> {
                BlobFile::open(bytes, 0)?.records().collect()
            };
            assert!(read(bytes.clone()).is_ok());
            for cut in cuts(&bytes) {
                assert!(read(cut.to_vec()).is_err());
            }
            for (at, damaged) in flips(&bytes) {
                // Flags and codec have no checksum; a wrong codec shows in the values.
                assert!(read(damaged).is_err() || matches!(at, 12 | 13), "{at}");
            }
        }
    }
}

#[test]
fn options_files_with_missing_parts_are_read() {
    for directory in directories() {
        for (name, path) in &directory.files {
            let FileName::Options(_) = name else { continue };
            let bytes = fs::read(path).unwrap();
            let flipped = flips(&bytes).map(|(_, damaged)| damaged);
            for damaged in flipped.chain(cuts(&bytes).map(<[u8]>::to_vec)) {
                let Ok(text) = String::from_utf8(damaged) else { continue };
                if let Ok(options) = OptionsFile::parse(&text) {
                    options.database().wal_recovery_mode();
                    options.table("default").filter_policy();
                }
            }
        }
    }
}
