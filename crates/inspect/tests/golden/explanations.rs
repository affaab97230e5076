//! The way of a lookup, in tables and in databases.

use sstkit_db::Database;
use sstkit_inspect::{Encoding, Explanation, InspectedTable, LookupStep, TableStep};
use sstkit_table::raw::{EntryKind, InternalKey};
use sstkit_table::{TableOptions, TableReadOptions, TableWriter};

use crate::files::{databases, open, tables};

fn table_step(explanation: &Explanation) -> &TableStep {
    match &explanation.steps[..] {
        [LookupStep::Table(step)] => step,
        steps => panic!("{steps:?}"),
    }
}

#[test]
fn in_every_table() {
    let (mut explained, mut refusing) = (0, 0);
    for path in tables() {
        let file = open(&path);
        let Some(entry) = file.table().entries().nth(7).map(Result::unwrap) else {
            let few = file.table().entries().count();
            assert!(few < 8, "{}: {few} entries", path.display());
            continue;
        };
        explained += 1;
        let key = file.bare(&entry.user_key).to_vec();
        let explanation = Explanation::in_table(&file, &key, Encoding::Hex).unwrap();
        let step = table_step(&explanation);
        let entries: usize = step
            .blocks
            .iter()
            .filter_map(|block| block.search.as_ref())
            .map(|search| search.entries.len())
            .sum();
        assert!(entries > 0, "{}: {explanation:?}", path.display());
        match file.table().get(&key) {
            Ok(value) => {
                let value = value.map(|value| Encoding::Hex.encode(&value));
                assert_eq!(explanation.value, value, "{}", path.display());
                assert_eq!(explanation.found, value.is_some());
            }
            Err(_) => assert_eq!(explanation.answer, "unresolved", "{}", path.display()),
        }
        let mut is_probed = false;
        if let Some(filter) = &step.filter {
            assert!(filter.may_contain, "{}", path.display());
            assert!(filter.probes.iter().all(|probe| probe.expected == probe.found));
            is_probed = filter.question == Some("whole_key");
        }
        // A prefix is the same for the keys that are tried, and so is the answer.
        let refused = check_absent(&file, &key);
        assert_eq!(refused > 0, is_probed, "{}: {refused} of 200 refused", path.display());
        refusing += u32::from(refused > 0);
    }
    // Most of the tables have enough entries, and many a filter of whole keys.
    assert!(explained > 100 && refusing > 50, "{explained} tables, {refusing} with refusals");
}

/// Keys that the filter refuses: its last probe has failed, and no block was read. How many there
/// were, of 200.
fn check_absent(file: &InspectedTable, key: &[u8]) -> u32 {
    let mut count = 0;
    for tail in 0..200u8 {
        let absent = [key, &[tail, 0xfe]].concat();
        let explanation = Explanation::in_table(file, &absent, Encoding::Hex).unwrap();
        assert!(!explanation.found);
        let step = table_step(&explanation);
        if explanation.answer == "filtered" {
            let mut filters =
                step.filter.iter().chain(step.blocks.iter().filter_map(|b| b.filter.as_ref()));
            let refused = filters.find(|filter| !filter.may_contain).unwrap();
            let last = refused.probes.last().expect("a probe that has failed");
            assert_ne!(last.expected, last.found, "{refused:?}");
            assert!(step.blocks.iter().all(|block| block.search.is_none()));
            count += 1;
        }
    }
    count
}

#[test]
fn in_every_database() {
    let mut explained = 0;
    for path in databases() {
        let database = Database::open(&path).unwrap();
        let family = database.default_column_family();
        let Some(record) = family.records().nth(11) else { continue };
        explained += 1;
        let key = record.unwrap().key;
        let explanation = family.explain(&key).unwrap();
        let explanation = Explanation::in_database(&explanation, Encoding::Escape);
        assert!(explanation.found, "{}", path.display());
        let json = serde_json::to_value(&explanation).unwrap();
        assert_eq!(json["steps"][0]["source"], "memtable");
        assert_eq!(json["column_family"], "default");
        let absent = family.explain(b"~absent").unwrap();
        let absent = Explanation::in_database(&absent, Encoding::Escape);
        assert_eq!((absent.found, absent.answer), (false, "absent"), "{}", path.display());
    }
    assert!(explained > 15, "{explained} databases have twelve keys");
}

/// A table with an entry and a range tombstone over it, explained: what it answers, whether the
/// tombstone covers the key, and whether the entry is covered.
fn under_tombstone(kind: EntryKind, entry: u64, tombstone: u64) -> (&'static str, bool, bool) {
    let options = TableOptions::rocksdb().external_file(false);
    let mut bytes = Vec::new();
    let mut writer = TableWriter::to_sink(&mut bytes, &options).unwrap();
    writer.add(&InternalKey { user_key: b"k", sequence: entry, kind }, b"value").unwrap();
    let key = InternalKey { user_key: b"a", sequence: tombstone, kind: EntryKind::RangeDeletion };
    writer.add(&key, b"z").unwrap();
    writer.finish().unwrap();
    let file = InspectedTable::from_bytes(bytes, &TableReadOptions::default()).unwrap();
    let explanation = Explanation::in_table(&file, b"k", Encoding::Escape).unwrap();
    let step = table_step(&explanation);
    assert_eq!(step.range_deletion, Some(tombstone));
    let entries = &step.blocks[0].search.as_ref().unwrap().entries;
    (explanation.answer, step.range_deletion_covers.unwrap(), entries[0].covered)
}

#[test]
fn a_tombstone_that_is_not_newer_does_not_cover_the_entry() {
    use EntryKind::{Merge, Value};
    assert_eq!(under_tombstone(Value, 9, 5), ("found", false, false));
    assert_eq!(under_tombstone(Value, 5, 5), ("found", false, false));
    assert_eq!(under_tombstone(Merge, 5, 5), ("unresolved", false, false));
    assert_eq!(under_tombstone(Value, 3, 5), ("deleted", true, true));
}
