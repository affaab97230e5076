//! A difference between two tables or databases, as a line of JSON.
//!
//! ```text
//! {"change":"removed","key":"alice","a":{"key":"alice","value":"1"}}
//! {"change":"added","key":"bob","b":{"key":"bob","value":"2"}}
//! {"change":"changed","key":"carol","a":{"key":"carol","value":"3"},"b":{"key":"carol","value":"4"}}
//! {"change":"added","column_family":"meta"}
//! ```

use serde::Serialize;
use sstkit_db::Difference;

use crate::record::JsonRecord;

/// What differs between the first path, `a`, and the second, `b`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct DifferenceRecord {
    /// `removed`: only `a` has it; `added`: only `b` has it; `changed`: both have it.
    pub change: &'static str,
    /// The column family, if a side is a database.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column_family: Option<String>,
    /// The key. Without one, the column family itself is removed or added.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The record of `a`, as a scan shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub a: Option<JsonRecord>,
    /// The record of `b`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub b: Option<JsonRecord>,
}

impl DifferenceRecord {
    /// A difference between records.
    pub fn new(difference: Difference<JsonRecord>, column_family: Option<&str>) -> Self {
        let change = name(&difference);
        let (a, b) = match difference {
            Difference::Removed(record) => (Some(record), None),
            Difference::Added(record) => (None, Some(record)),
            Difference::Changed(a, b) => (Some(a), Some(b)),
        };
        let key = a.as_ref().or(b.as_ref()).map(|record| record.key.clone());
        Self { change, column_family: column_family.map(str::to_owned), key, a, b }
    }

    /// A column family that only one database has.
    pub fn of_column_family(difference: &Difference<()>, column_family: &str) -> Self {
        let column_family = Some(column_family.to_owned());
        Self { change: name(difference), column_family, ..Self::default() }
    }
}

fn name<T>(difference: &Difference<T>) -> &'static str {
    match difference {
        Difference::Removed(_) => "removed",
        Difference::Added(_) => "added",
        Difference::Changed(..) => "changed",
    }
}

/// How many differences there are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct DifferenceSummary {
    /// Whether there are none.
    pub equal: bool,
    /// Whether everything was compared; not if it stopped at a limit.
    pub complete: bool,
    /// All of them.
    #[serde(flatten)]
    pub total: DifferenceCounts,
    /// Those of each column family, if a side is a database.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column_families: Option<Vec<DifferenceCounts>>,
}

/// How many differences there are in one column family, or in all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct DifferenceCounts {
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column_family: Option<String>,
    /// `a` or `b`, if only that has the column family.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only_in: Option<&'static str>,
    /// Keys or entries that only `a` has.
    pub removed: u64,
    /// Keys or entries that only `b` has.
    pub added: u64,
    /// Keys or entries that both have, with other contents.
    pub changed: u64,
}

impl DifferenceCounts {
    /// Counts a difference.
    pub fn add<T>(&mut self, difference: &Difference<T>) {
        *match difference {
            Difference::Removed(_) => &mut self.removed,
            Difference::Added(_) => &mut self.added,
            Difference::Changed(..) => &mut self.changed,
        } += 1;
    }

    /// Whether nothing differs.
    pub fn is_equal(&self) -> bool {
        self.only_in.is_none() && self.removed + self.added + self.changed == 0
    }
}

impl DifferenceSummary {
    /// Adds up the counts of column families, or of two tables: those have no name.
    pub fn new(counts: Vec<DifferenceCounts>, complete: bool) -> Self {
        let sum = |of: fn(&DifferenceCounts) -> u64| counts.iter().map(of).sum();
        let total = DifferenceCounts {
            removed: sum(|it| it.removed),
            added: sum(|it| it.added),
            changed: sum(|it| it.changed),
            ..DifferenceCounts::default()
        };
        let equal = counts.iter().all(DifferenceCounts::is_equal);
        let has_names = counts.iter().any(|it| it.column_family.is_some());
        Self { equal, complete, total, column_families: has_names.then_some(counts) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::Encoding;

    fn json(line: &impl Serialize) -> String {
        serde_json::to_string(line).unwrap()
    }

    #[test]
    fn the_drawn_lines() {
        let record = |key: &str, value: &str| {
            JsonRecord::of_value(key.as_bytes(), value.as_bytes(), Encoding::Escape)
        };
        let lines = [
            DifferenceRecord::new(Difference::Removed(record("alice", "1")), None),
            DifferenceRecord::new(Difference::Added(record("bob", "2")), None),
            DifferenceRecord::new(
                Difference::Changed(record("carol", "3"), record("carol", "4")),
                None,
            ),
            DifferenceRecord::of_column_family(&Difference::Added(()), "meta"),
        ];
        let drawn: Vec<&str> = include_str!("difference.rs")
            .lines()
            .filter_map(|line| line.strip_prefix("//! "))
            .filter(|line| line.starts_with('{'))
            .collect();
        assert_eq!(lines.map(|line| json(&line)), drawn[..]);
    }

    #[test]
    fn counts_add_up() {
        let mut meta = DifferenceCounts { only_in: Some("a"), ..DifferenceCounts::default() };
        meta.column_family = Some("meta".to_owned());
        meta.add(&Difference::Removed(()));
        let mut other = DifferenceCounts::default();
        other.add(&Difference::Changed((), ()));
        other.add(&Difference::Added(()));
        let summary = DifferenceSummary::new(vec![meta, other.clone()], true);
        assert_eq!((summary.total.removed, summary.total.added, summary.total.changed), (1, 1, 1));
        assert!(!summary.equal && summary.column_families.is_some());
        let summary = DifferenceSummary::new(vec![other], false);
        let expected = r#"{"equal":false,"complete":false,"removed":0,"added":1,"changed":1}"#;
        assert_eq!(json(&summary), expected);
    }
}
