//! Logs that are damaged: up to the damage by default, past it on request.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use sstkit_coding::checksum::ChecksumType;
use sstkit_db::raw::{FileName, LogEvent, LogReader, RecoveryMode, WriteBatch, WriteRecord};
use sstkit_db::{
    Database, DatabaseOptions, DatabaseSalvageReport, DatabaseUncertainty, FileKind, FileOutcome,
    SalvagedFile,
};
use sstkit_table::raw::Engine;
use sstkit_testkit::Random;
use sstkit_testkit::goldens::golden_databases;

use crate::contents::{Contents, Damaged, assert_same, by_file, contents};
use crate::small_database::{PUT, database, without_manifest};

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

/// Whether something uncertain is about this file.
fn is_uncertain(report: &DatabaseSalvageReport, name: &str) -> bool {
    report.uncertain.iter().any(|it| it.file().is_some_and(|file| file.ends_with(name)))
}

/// Whether verification finds it sound, and what it mentions.
fn verified(db: &Database) -> (bool, Vec<String>) {
    let (mut is_sound, mut notes) = (true, Vec::new());
    db.verify(|file| {
        is_sound &= file.is_sound();
        notes.extend(file.notes);
    });
    (is_sound, notes)
}

/// The loss is reported, and that of no other file.
#[test]
fn each_log_deleted_and_cut() {
    // Reported as lost, and as uncertain.
    let mut cases = [0; 2];
    for path in golden_databases() {
        let original = Database::open(&path).unwrap();
        let all = contents(&original);
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
                let (report, db) = damaged.salvage(false, &what);
                assert_same(&contents(&db), &expected, &what);
                for file in report.files.iter().filter(|it| !it.path.ends_with(&name)) {
                    // A log that does not continue a damaged one is not used.
                    let is_newer =
                        file.kind == FileKind::Log && file.path > damaged.path.join(&name);
                    assert!(!file.has_losses() || is_newer, "{what}: {report:#?}");
                }
                let file = report.files.iter().find(|it| it.path.ends_with(&name));
                let has_losses = file.is_some_and(SalvagedFile::has_losses);
                let is_missed = expected != all;
                match cut {
                    // Even if its writes are in tables.
                    None => assert!(has_losses || !is_missed, "{what}: {report:#?}"),
                    Some(0) => {
                        assert!(!has_losses, "{what}: {report:#?}");
                        assert!(is_uncertain(&report, &name) || !is_missed, "{what}: {report:#?}");
                    }
                    Some(_) => assert!(has_losses, "{what}: {report:#?}"),
                }
                assert_eq!(file.is_none_or(|it| it.entries_lost == Some(0)), !has_losses, "{what}");
                cases[usize::from(!has_losses)] += u32::from(is_missed);
            }
        }
    }
    assert!(cases.iter().all(|&it| it > 15), "{cases:?}");
}

/// The log of a database that has nothing else, and verification, which says the same.
#[test]
fn a_deleted_log_is_missed() {
    let mut cases = 0;
    for path in golden_databases() {
        let original = Database::open(&path).unwrap();
        let damaged = Damaged::copy_of(&path);
        for log in original.logs() {
            fs::remove_file(damaged.path.join(log.file_name().unwrap())).unwrap();
        }
        let what = path.display().to_string();
        let (report, _) = damaged.salvage(false, &what);
        assert!(report.has_losses(), "{what}: {report:#?}");
        let db = Database::open(&damaged.path).unwrap();
        assert!(!verified(&db).0, "{what}");
        assert!(verified(&original).0, "{what}");
        cases += 1;
    }
    assert!(cases > 15, "{cases}");
}

/// After RocksDB has replayed its logs, its MANIFEST names the one behind the last of them, which need not
/// exist: the next log has another number.
#[test]
fn a_log_that_never_was() {
    let (path, bytes, records) = one_block_log();
    let known = Database::open(&path).unwrap().manifest().unwrap().last_sequence;
    let first_after = |sequence: u64| {
        records.iter().position(|(_, numbers)| *numbers.first().unwrap() > sequence).unwrap()
    };
    let continued = first_after(known);
    assert_eq!(records[continued].1.first(), Some(&(known + 1)));
    for (record, is_gap) in [(continued, false), (continued + 3, true)] {
        let damaged = Damaged::copy_of(&path);
        let manifest = damaged.bytes("MANIFEST-000005");
        damaged.remove("MANIFEST-000005");
        damaged.remove("000045.log");
        damaged.write("MANIFEST-000060", &manifest);
        damaged.write("CURRENT", b"MANIFEST-000060\n");
        damaged.write("000059.log", &bytes[records[record].0 as usize..]);
        let what = format!("a log from record {record} on");
        let (report, db) = damaged.salvage(false, &what);
        assert!(!report.has_losses(), "{what}: {report:#?}");
        assert_eq!(report.is_complete(), !is_gap, "{what}: {report:#?}");
        assert_eq!(is_uncertain(&report, "000059.log"), is_gap, "{what}: {report:#?}");
        assert!(!contents(&db).is_empty());
        assert!(verified(&Database::open(&damaged.path).unwrap()).0);
        // Without any log, it may have been lost.
        let without = Damaged::copy_of(&damaged.path);
        without.remove("000059.log");
        let (report, _) = without.salvage(false, "no log");
        assert!(!report.has_losses() && !report.is_complete(), "{report:#?}");
        let (is_sound, notes) = verified(&Database::open(&without.path).unwrap());
        assert!(is_sound && notes.iter().any(|it| it.contains("no write-ahead log")), "{notes:?}");
    }
}

/// Zeros where records were look like the end of the log.
#[test]
fn zeros_in_place_of_records() {
    let mut cases = 0;
    for path in golden_databases() {
        let original = Database::open(&path).unwrap();
        for log in original.logs() {
            let name = log.file_name().unwrap().to_str().unwrap().to_owned();
            let FileName::Log(number) = FileName::parse(&name) else { panic!("{name}") };
            let bytes = fs::read(log).unwrap();
            let records = records(&bytes, original.engine(), number);
            let middle = records.iter().find(|it| it.0 > bytes.len() as u64 * 2 / 5);
            for from in [0, middle.map_or(0, |it| it.0 as usize)] {
                let what = format!("{}: zeros in {name} from {from} on", path.display());
                let mut bytes = bytes.clone();
                bytes[from..].fill(0);
                let damaged = Damaged::copy_of(&path);
                damaged.write(&name, &bytes);
                let (report, _) = damaged.salvage(false, &what);
                assert!(is_uncertain(&report, &name), "{what}: {report:#?}");
                let file = report.files.iter().find(|it| it.path.ends_with(&name)).unwrap();
                assert!(!file.has_losses(), "{what}: {file:#?}");
                let said = report.uncertain.iter().find(|it| it.to_string().contains("zeros"));
                let zeros = format!("{} bytes of zeros at offset {from}", bytes.len() - from);
                assert!(said.unwrap().to_string().contains(&zeros), "{what}: {said:?}");
                let (is_sound, notes) = verified(&Database::open(&damaged.path).unwrap());
                assert!(
                    is_sound && notes.iter().any(|it| it.contains(&zeros)),
                    "{what}: {notes:?}"
                );
                cases += 1;
            }
        }
    }
    assert!(cases > 30, "{cases}");
}

/// Of writes behind damage that are readable, number, column families and keys are known.
#[test]
fn writes_behind_damage_are_counted() {
    let path =
        golden_databases().into_iter().find(|it| it.ends_with("rocksdb-wal-plus-tables")).unwrap();
    let damaged = Damaged::copy_of(&path);
    let mut bytes = damaged.bytes("000012.log");
    bytes[100_000] ^= 1;
    damaged.write("000012.log", &bytes);
    let (report, up_to) = damaged.salvage(false, "up to the damage");
    let (_, past) = damaged.salvage(true, "past the damage");
    let mut expected: BTreeMap<String, (u64, Vec<u8>, Vec<u8>)> = BTreeMap::new();
    for (family, key, ..) in contents(&past).difference(&contents(&up_to)) {
        let new = || (0, key.clone(), key.clone());
        let (count, first, last) = expected.entry(family.clone()).or_insert_with(new);
        *count += 1;
        *first = key.min(first).clone();
        *last = key.max(last).clone();
    }
    assert_eq!(expected.len(), 3);
    let file = report.files.iter().find(|it| it.path.ends_with("000012.log")).unwrap();
    let unused: BTreeMap<_, _> = file.log_losses[0]
        .unused
        .iter()
        .map(|it| {
            let (first, last) = it.bounds.clone().unwrap();
            (it.column_family.clone(), (it.writes, first, last))
        })
        .collect();
    assert_eq!(unused, expected);
    let total = expected.values().map(|it| it.0).sum();
    assert_eq!(file.log_losses[0].writes, Some(total));
    assert_eq!((report.entries_lost(), report.entries_lost_at_least()), (None, total));
    for (family, (_, first, last)) in expected {
        let is_said = report.uncertain.iter().any(|it| match it {
            DatabaseUncertainty::Deletions { column_family, after, before, .. } => {
                *column_family == Some(family.clone())
                    && (after, before) == (&Some(first.clone()), &Some(last.clone()))
            }
            _ => false,
        });
        assert!(is_said, "{family}: {:#?}", report.uncertain);
    }
    assert!(report.uncertain.iter().all(|it| !it.to_string().contains("in the table")));
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

/// Of three logs the one in the middle is deleted. No file names it, but the numbers of the writes do not go on.
#[test]
fn a_deleted_log_between_two_others() {
    let (path, bytes, records) = one_block_log();
    let (end, start) = (records[5].0 as usize, records[9].0 as usize);
    for (rest, is_missing) in [(start, true), (end, false)] {
        let damaged = Damaged::copy_of(&path);
        damaged.write("000045.log", &bytes[..end]);
        damaged.write("000048.log", &bytes[rest..]);
        let (report, _) = damaged.salvage(false, "three logs");
        let said = report.uncertain.iter().map(ToString::to_string).collect::<Vec<_>>();
        let numbers = (records[5].1.first().unwrap(), records[8].1.last().unwrap());
        let what = format!("{} to {} are in no log", numbers.0, numbers.1);
        assert_eq!(said.iter().any(|it| it.contains(&what)), is_missing, "{said:?}");
        assert_eq!(report.is_complete(), !is_missing, "{report:#?}");
    }
}

/// Records as a recycled log of this number has them, in one block, and where each starts.
fn recycled(payloads: &[Vec<u8>], number: u32) -> (Vec<u8>, Vec<usize>) {
    let (mut log, mut starts) = (Vec::new(), Vec::new());
    for payload in payloads {
        starts.push(log.len());
        let mut sealed = vec![5];
        sealed.extend_from_slice(&number.to_le_bytes());
        sealed.extend_from_slice(payload);
        let (last, contents) = sealed.split_last().unwrap();
        log.extend_from_slice(&ChecksumType::Crc32c.compute(contents, *last).to_le_bytes());
        log.extend_from_slice(&u16::try_from(payload.len()).unwrap().to_le_bytes());
        log.extend_from_slice(&sealed);
    }
    assert!(log.len() < 32 * 1024);
    (log, starts)
}

fn payloads(bytes: &[u8], number: u64) -> Vec<Vec<u8>> {
    let mut log = LogReader::new(bytes, Engine::RocksDb, number);
    let mut payloads = Vec::new();
    while let Some(LogEvent::Record(record)) = log.next_record().unwrap() {
        payloads.push(record.payload.to_vec());
    }
    payloads
}

/// In a recycled log the records of the log before it follow. Damage must not be mistaken for these.
#[test]
fn damage_in_a_recycled_log() {
    let (path, bytes, records) = one_block_log();
    let original = Database::open(&path).unwrap();
    let payloads = payloads(&bytes, 45);
    let (sound, starts) = recycled(&payloads, 45);
    let (mut stale, _) = recycled(&payloads[..20], 44);
    // It need not start where a record does.
    stale.drain(..37);
    let left = |is_left: &dyn Fn(usize) -> bool| -> Contents {
        let nth = |it: u64| records.iter().position(|(_, numbers)| numbers.contains(&it));
        let files = by_file(&original);
        let entries = files.iter().flat_map(|(file, entries)| {
            let is_kept = move |it: u64| file.is_some() || nth(it).is_none_or(is_left);
            entries.iter().filter(move |it| is_kept(it.3)).cloned()
        });
        entries.collect()
    };
    let (middle, last) = (starts.len() / 2, starts.len() - 1);
    // The part of a record that is overwritten, from one byte of it to another.
    let damages = [
        ("nothing", None),
        ("number of the log", Some((middle, 7..11))),
        ("type", Some((middle, 6..7))),
        ("header", Some((middle, 0..11))),
        ("header of the first record", Some((0, 0..11))),
        ("payload", Some((middle, 15..18))),
        ("payload of the last record", Some((last, 15..18))),
    ];
    for tail in [Vec::new(), stale, vec![0; 500]] {
        for (what, damage) in &damages {
            let what = format!("{what}, {} bytes behind", tail.len());
            let mut bytes = sound.clone();
            let at = damage.as_ref().map(|(at, range)| {
                bytes[starts[*at] + range.start..starts[*at] + range.end].fill(0x5a);
                *at
            });
            bytes.extend_from_slice(&tail);
            let damaged = Damaged::copy_of(&path);
            damaged.write("000045.log", &bytes);
            let (report, db) = damaged.salvage(false, &what);
            assert_same(&contents(&db), &left(&|nth| at.is_none_or(|at| nth < at)), &what);
            assert_eq!(report.has_losses(), at.is_some(), "{what}: {report:#?}");
            // Zeros may have been written over records.
            let has_zeros = !tail.is_empty() && tail.iter().all(|&byte| byte == 0);
            let is_complete = at.is_none() && !has_zeros;
            assert_eq!(report.is_complete(), is_complete, "{what}: {report:#?}");
            let (report, db) = damaged.salvage(true, &what);
            assert_same(&contents(&db), &left(&|nth| Some(nth) != at), &what);
            assert_eq!(report.has_losses(), at.is_some(), "{what}: {report:#?}");
        }
    }
}

/// A recycled log ends with stale records. The next one is used, also if writes without a log, or an
/// ingested table, took sequence numbers between them.
#[test]
fn a_log_behind_a_recycled_one() {
    let (path, bytes, records) = one_block_log();
    let original = Database::open(&path).unwrap();
    let payloads = payloads(&bytes, 45);
    let (stale, _) = recycled(&payloads[..20], 44);
    let first = [recycled(&payloads[..5], 45).0, stale].concat();
    let (second, _) = recycled(&payloads[7..], 47);
    let damaged = Damaged::copy_of(&path);
    damaged.write("000045.log", &first);
    damaged.write("000047.log", &second);
    let (report, db) = damaged.salvage(false, "two logs");
    let is_left = |it: &crate::contents::Stored| {
        let nth = records.iter().position(|(_, numbers)| numbers.contains(&it.3));
        nth.is_none_or(|nth| !(5..7).contains(&nth))
    };
    let files = by_file(&original);
    let entries = files.iter().flat_map(|(file, entries)| {
        entries.iter().filter(move |it| file.is_some() || is_left(it)).cloned()
    });
    assert_same(&contents(&db), &entries.collect(), "two logs");
    assert!(!report.has_losses(), "{report:#?}");
}

/// Without a MANIFEST it is not known whether a log was flushed. A compaction may have set the sequence number of
/// a newer value to 0, which the log would hide.
#[test]
fn a_log_that_may_have_been_flushed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    database(&path, "default", &[(6, &[("a", 0, PUT, "new"), ("z", 0, PUT, "z")])]);
    // Sequence number 50, one record: put a.
    let mut batch = 50_u64.to_le_bytes().to_vec();
    batch.extend_from_slice(b"\x01\0\0\0\x01\x01a\x03old");
    let damaged = without_manifest(&path);
    damaged.write("000045.log", &recycled(&[batch], 45).0);
    let said = |report: &DatabaseSalvageReport| {
        report.uncertain.iter().find_map(|it| match it {
            DatabaseUncertainty::Assumed { file: Some(file), bounds: Some(bounds), .. } => {
                Some((file.clone(), bounds.clone()))
            }
            _ => None,
        })
    };
    // The last log is never flushed.
    let (report, _) = damaged.salvage(false, "one log");
    assert_eq!(said(&report), None, "{:#?}", report.uncertain);
    damaged.write("000047.log", b"");
    let (report, _) = Damaged::copy_of(&damaged.path).salvage(false, "two logs");
    let (file, bounds) = said(&report).unwrap_or_else(|| panic!("{:#?}", report.uncertain));
    assert!(file.ends_with("000045.log"), "{}", file.display());
    assert_eq!(bounds, (b"a".to_vec(), b"a".to_vec()));
}
