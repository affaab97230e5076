//! Logs that are damaged: up to the damage by default, past it on request.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use sstkit_db::raw::{FileName, LogEvent, LogReader, RecoveryMode, WriteBatch, WriteRecord};
use sstkit_db::{
    Database, DatabaseOptions, DatabaseSalvageReport, DatabaseUncertainty, FileOutcome,
};
use sstkit_table::raw::Engine;
use sstkit_testkit::Random;
use sstkit_testkit::goldens::golden_databases;

use crate::contents::{Contents, Damaged, assert_same, by_file, contents};

/// The records of a log: offset, and the sequence numbers of its writes.
type Records = Vec<(u64, BTreeSet<u64>)>;

fn records(bytes: &[u8], engine: Engine, number: u64) -> Records {
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

/// A log of one block, and where its records start.
fn one_block_log() -> (PathBuf, Vec<u8>, Records) {
    let path =
        golden_databases().into_iter().find(|it| it.ends_with("rocksdb-leveled-bloom")).unwrap();
    let bytes = fs::read(path.join("000045.log")).unwrap();
    assert!(bytes.len() < 32 * 1024);
    let records = records(&bytes, Engine::RocksDb, 45);
    (path, bytes, records)
}

/// Zeros in front of other bytes are damage, and not the end of the log; and so is a wrong length.
#[test]
fn a_damaged_header() {
    let (path, bytes, records) = one_block_log();
    let original = Database::open(&path).unwrap();
    let at = records.len() / 2;
    let start = records[at].0 as usize;
    for (what, header) in [("zeros", [0; 7]), ("a length", [1, 2, 3, 4, 0xff, 0xff, 1])] {
        let damaged = Damaged::copy_of(&path);
        let mut bytes = bytes.clone();
        bytes[start..start + 7].copy_from_slice(&header);
        damaged.write("000045.log", &bytes);
        let left = |is_left: &dyn Fn(usize) -> bool| -> Contents {
            let nth = |it: u64| records.iter().position(|(_, numbers)| numbers.contains(&it));
            let is_left = |it: u64| nth(it).is_none_or(is_left);
            let files = by_file(&original);
            let entries = files.iter().flat_map(|(file, entries)| {
                entries.iter().filter(move |it| file.is_some() || is_left(it.3)).cloned()
            });
            entries.collect()
        };
        let (report, db) = damaged.salvage(false, what);
        assert_same(&contents(&db), &left(&|nth| nth < at), what);
        assert!(report.has_losses(), "{what}: {report:#?}");
        let (report, db) = damaged.salvage(true, what);
        assert_same(&contents(&db), &left(&|nth| nth != at), what);
        assert!(report.has_losses(), "{what}: {report:#?}");
    }
}

fn has_lost_deletions(report: &DatabaseSalvageReport, name: &str) -> bool {
    report.uncertain.iter().any(|it| match it {
        DatabaseUncertainty::Deletions { file, .. } => file.ends_with(name),
        _ => false,
    })
}

#[test]
fn missing_and_obsolete_logs() {
    let (path, bytes, _) = one_block_log();
    let damaged = Damaged::copy_of(&path);
    damaged.remove("000045.log");
    damaged.write("000003.log", &bytes);
    let (report, _) = damaged.salvage(false, "another log");
    let outcome =
        |name: &str| report.files.iter().find(|it| it.path.ends_with(name)).map(|it| it.outcome);
    assert_eq!(outcome("000045.log"), Some(FileOutcome::Lost));
    assert!(has_lost_deletions(&report, "000045.log"), "{report:#?}");
    assert_eq!(outcome("000003.log"), Some(FileOutcome::Obsolete));
}

/// Nothing is wrong with an empty log, but the numbers of the writes around it tell that it had some.
#[test]
fn an_emptied_log() {
    let (path, bytes, records) = one_block_log();
    let (end, start) = (records[5].0 as usize, records[9].0 as usize);
    let damaged = Damaged::copy_of(&path);
    damaged.write("000045.log", &bytes[..end]);
    damaged.write("000047.log", b"");
    damaged.write("000048.log", &bytes[start..]);
    let (report, _) = damaged.salvage(true, "an emptied log");
    let said =
        report.uncertain.iter().find(|it| it.file().is_some_and(|it| it.ends_with("000047.log")));
    let numbers = (records[5].1.first().unwrap(), records[8].1.last().unwrap());
    let said = said.unwrap_or_else(|| panic!("{report:#?}")).to_string();
    assert!(said.contains(&format!("{} to {}", numbers.0, numbers.1)), "{said}");
    damaged.write("000048.log", &bytes[end..]);
    let damaged = Damaged::copy_of(&damaged.path);
    let (report, _) = damaged.salvage(true, "an empty log");
    assert!(report.is_complete(), "{report:#?}");
}
