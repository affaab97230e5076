//! Comparing what a database shows with what the engine showed.

use serde_json::Value;
use sstkit_db::ColumnFamily;
use sstkit_testkit::engines::unhex;

use crate::life;

/// Keys and values, or names and values.
pub(crate) type Columns = Vec<(Vec<u8>, Vec<u8>)>;

/// What the engine showed of a column family.
pub(crate) struct ReadView {
    pub(crate) entries: Columns,
    /// The same with all columns; none if the engine has no entities.
    pub(crate) entities: Vec<(Vec<u8>, Columns)>,
}

pub(crate) fn read_entities(view: &Value, field: &str) -> Vec<(Vec<u8>, Columns)> {
    let pairs = |list: &Value| -> Vec<(Value, Value)> {
        let list = list.as_array().expect("a list of pairs");
        list.iter().map(|pair| (pair[0].clone(), pair[1].clone())).collect()
    };
    let columns = |list: &Value| -> Columns {
        pairs(list).iter().map(|(name, value)| (unhex(name), unhex(value))).collect()
    };
    pairs(&view[field]).iter().map(|(key, list)| (unhex(key), columns(list))).collect()
}

/// The first difference, if there is one, is what a person wants to see.
fn same(found: &Columns, expected: &Columns, what: &str) {
    for (found, expected) in found.iter().zip(expected) {
        let (key, value) = expected;
        assert!(
            found == expected,
            "{what}: found \"{}\" = \"{}\", expected \"{}\" = \"{}\"",
            found.0.escape_ascii(),
            found.1.escape_ascii(),
            key.escape_ascii(),
            value.escape_ascii()
        );
    }
    assert_eq!(found.len(), expected.len(), "{what}: entries");
}

/// Every way to read gives `view`.
pub(crate) fn compare(family: &ColumnFamily, view: &ReadView, what: &str) {
    let entries = |forwards: bool| -> Columns {
        let entry = |entry: sstkit_db::Result<(Vec<u8>, sstkit_table::Value)>| {
            let (key, value) = entry.unwrap_or_else(|error| panic!("{what}: {error}"));
            (key, value.to_vec())
        };
        match forwards {
            true => family.iter().map(entry).collect(),
            false => family.iter().rev().map(entry).collect(),
        }
    };
    same(&entries(true), &view.entries, what);
    let mut backwards = entries(false);
    backwards.reverse();
    same(&backwards, &view.entries, &format!("{what}, backwards"));

    let keys: Vec<_> = life::keys().chain(life::absent_keys()).collect();
    let expected: Vec<Option<&[u8]>> = keys
        .iter()
        .map(|key| {
            let place = view.entries.binary_search_by_key(&key, |(key, _)| key).ok()?;
            Some(view.entries[place].1.as_slice())
        })
        .collect();
    let many = family.get_many(&keys).unwrap_or_else(|error| panic!("{what}: {error}"));
    for ((key, expected), many) in keys.iter().zip(expected).zip(many) {
        let one = family.get(key).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(one.as_deref(), expected, "{what}: get {}", key.escape_ascii());
        assert_eq!(many.as_deref(), expected, "{what}: get_many {}", key.escape_ascii());
    }

    let start = life::key(0)[..7].to_vec();
    let prefix: Vec<_> = family.prefix(&start).map(|entry| entry.unwrap().0).collect();
    let expected = view.entries.iter().map(|(key, _)| key).filter(|key| key.starts_with(&start));
    assert!(prefix.iter().eq(expected), "{what}: other keys with a prefix");

    for (key, columns) in &view.entities {
        let found = family.get_entity(key).unwrap_or_else(|error| panic!("{what}: {error}"));
        let found: Option<Columns> = found.map(|columns| {
            columns.iter().map(|it| (it.name.to_vec(), it.value.to_vec())).collect()
        });
        assert!(found.as_ref() == Some(columns), "{what}: entity {}", key.escape_ascii());
    }
}
