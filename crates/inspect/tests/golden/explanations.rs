//! Lookups in all golden tables and databases, explained. The steps case by case: `explain_cases`.

use sstkit_db::Database;
use sstkit_inspect::{Encoding, Explanation, InspectedTable, LookupStep, TableStep};

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
