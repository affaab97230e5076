//! Logs that are damaged: up to the damage by default, past it on request.

use std::collections::BTreeSet;
use std::fs;

use sstkit_db::raw::{FileName, LogEvent, LogReader, RecoveryMode, WriteBatch, WriteRecord};
use sstkit_db::{Database, DatabaseOptions, FileOutcome};
use sstkit_table::raw::Engine;
use sstkit_testkit::Random;
use sstkit_testkit::goldens::golden_databases;

use crate::contents::{Contents, Damaged, assert_same, by_file, contents};

/// The records of a log: offset, and the sequence numbers of its writes.
fn records(bytes: &[u8], engine: Engine, number: u64) -> Vec<(u64, BTreeSet<u64>)> {
    let mut log = LogReader::new(bytes, engine, number);
    let mut records = Vec::new();
    while let Some(event) = log.next_record().unwrap() {
        let LogEvent::Record(record) = event else { break };
        let batch = WriteBatch::decode_from(record.payload, engine).unwrap();
        let writes = batch.records().filter(|it| matches!(it, WriteRecord::Write(_))).count();
        let sequences = (batch.sequence()..).take(writes).collect();
        records.push((record.offset, sequences));
    }
    records
}

#[test]
fn a_record_of_each_log_damaged() {
    let mut random = Random::new(21);
    let mut cases = 0;
    for path in golden_databases() {
        let original = Database::open(&path).unwrap();
        let all = contents(&original);
        for log in original.logs() {
            let name = log.file_name().unwrap().to_str().unwrap().to_owned();
            let FileName::Log(number) = FileName::parse(&name) else { panic!("{name}") };
            let mut bytes = fs::read(log).unwrap();
            let records = records(&bytes, original.engine(), number);
            if records.len() < 3 {
                continue;
            }
            let at = 1 + random.index(records.len() - 2);
            let (start, end) = (records[at].0 as usize, records[at + 1].0 as usize);
            // Behind the header of its first fragment.
            bytes[start + 12 + random.index(end - start - 12) / 2] ^= 0x04;
            let what = format!("{}: record {at} of {} in {name}", path.display(), records.len());
            let damaged = Damaged::copy_of(&path);
            damaged.write(&name, &bytes);

            // The engine's own recovery, up to the damage.
            let options =
                DatabaseOptions::default().recovery_mode(RecoveryMode::PointInTimeRecovery);
            let expected = contents(&Database::open_with(&damaged.path, &options).unwrap());
            let (report, db) = damaged.salvage(false, &what);
            assert_same(&contents(&db), &expected, &what);
            assert!(report.has_losses(), "{what}");
            let file = report.files.iter().find(|it| it.path.ends_with(&name)).unwrap();
            assert_eq!(file.outcome, FileOutcome::Salvaged, "{what}");
            let loss = &file.log_losses[0];
            assert!(loss.offset >= start as u64 && loss.offset < end as u64, "{what}: {loss:?}");
            assert_eq!(loss.offset + loss.length, bytes.len() as u64, "{what}");

            // Only the damaged record is lost.
            let (report, db) = damaged.salvage(true, &what);
            let in_log = &by_file(&original)[&None];
            let lost: Contents =
                in_log.iter().filter(|it| records[at].1.contains(&it.3)).cloned().collect();
            let is_whole_block = report
                .files
                .iter()
                .flat_map(|it| &it.log_losses)
                .any(|it| it.length > (end - start) as u64);
            let found = contents(&db);
            if is_whole_block {
                // The length of a record is not credible, or it starts in the block before.
                assert!(found.is_subset(&all) && found.is_superset(&expected), "{what}");
            } else {
                let expected: Contents = all.difference(&lost).cloned().collect();
                assert_same(&found, &expected, &what);
            }
            cases += 1;
        }
    }
    assert!(cases > 10, "{cases}");
}

#[test]
fn each_log_deleted_and_cut() {
    for path in golden_databases() {
        let original = Database::open(&path).unwrap();
        for log in original.logs() {
            let name = log.file_name().unwrap().to_str().unwrap().to_owned();
            let damaged = Damaged::copy_of(&path);
            let bytes = damaged.bytes(&name);
            let mode = DatabaseOptions::default().recovery_mode(RecoveryMode::PointInTimeRecovery);
            for cut in [None, Some(0), Some(1), Some(bytes.len() / 3), Some(bytes.len() - 1)] {
                let what = format!("{}: {name} cut at {cut:?}", path.display());
                let damaged = Damaged::copy_of(&path);
                match cut {
                    None => damaged.remove(&name),
                    Some(length) => damaged.write(&name, &bytes[..length]),
                }
                let expected = contents(&Database::open_with(&damaged.path, &mode).unwrap());
                let (_, db) = damaged.salvage(false, &what);
                assert_same(&contents(&db), &expected, &what);
            }
        }
    }
}
