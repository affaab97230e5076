//! NDJSON: a JSON object a line.
//!
//! ```text
//! {"key":"alice","value":"1"}
//! {"key":"bob","type":"delete"}
//! {"key":"c","type":"range_delete","value":"d"}
//! {"key":"eve","type":"put_entity","columns":[["","1"],["age","31"]]}
//! ```
//!
//! These are the objects of `scan` and `scan --internal`, so that what was printed can be built
//! again. Empty lines are passed over, other fields not looked at.

use std::borrow::Cow;
use std::io::{BufRead as _, BufReader, Read};

use anyhow::{Context as _, Result, anyhow, bail};
use serde::Deserialize;
use sstkit_inspect::Encoding;
use sstkit_table::raw::EntryKind;

use super::allowance::{Allowance, Limited};
use super::{Record, Records};
use crate::suggest::hint;

const BUFFER: usize = 1 << 16;

/// Names of what entries do, as `scan --internal` prints them. Values kept elsewhere are printed as
/// they are there, so they are plain values here.
const TYPES: [(&str, EntryKind); 9] = [
    ("put", EntryKind::Value),
    ("delete", EntryKind::Deletion),
    ("single_delete", EntryKind::SingleDeletion),
    ("merge", EntryKind::Merge),
    ("range_delete", EntryKind::RangeDeletion),
    ("put_entity", EntryKind::WideColumnEntity),
    ("delete_with_timestamp", EntryKind::DeletionWithTimestamp),
    ("blob_index", EntryKind::Value),
    ("put_preferred_seqno", EntryKind::Value),
];

/// Reads NDJSON.
pub(super) struct Ndjson<R> {
    reader: BufReader<Limited<R>>,
    allowance: Allowance,
    encoding: Encoding,
    name: String,
    number: u64,
    line: Vec<u8>,
}

#[derive(Deserialize)]
struct Line<'l> {
    #[serde(borrow)]
    key: Option<Cow<'l, str>>,
    #[serde(borrow)]
    value: Option<Cow<'l, str>>,
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'l, str>>,
    #[serde(borrow)]
    timestamp: Option<Cow<'l, str>>,
    #[serde(borrow)]
    columns: Option<Vec<(Cow<'l, str>, Cow<'l, str>)>>,
    /// Operands that nobody could combine, as `scan` prints them.
    merge: Option<serde::de::IgnoredAny>,
}

impl<R: Read> Ndjson<R> {
    pub(super) fn new(reader: R, name: String, encoding: Encoding) -> Self {
        let allowance = Allowance::new();
        let reader = BufReader::with_capacity(BUFFER, allowance.limit(reader));
        Self { reader, allowance, encoding, name, number: 0, line: Vec::new() }
    }

    /// Reads the next line that is not empty; false at the end.
    fn read_line(&mut self) -> Result<bool> {
        loop {
            self.line.clear();
            self.number += 1;
            if self.reader.read_until(b'\n', &mut self.line)? == 0 {
                return Ok(false);
            }
            self.allowance.renew();
            if !self.line.trim_ascii().is_empty() {
                return Ok(true);
            }
        }
    }

    fn parse(&self, record: &mut Record) -> Result<()> {
        let line: Line<'_> =
            serde_json::from_slice(&self.line).map_err(|error| not_json(&error))?;
        if line.merge.is_some() {
            bail!("\"merge\": operands that were not combined; scan with --merge-operator");
        }
        let kind = line.kind.as_deref().unwrap_or("put");
        let known = TYPES.iter().find(|(name, _)| *name == kind);
        let Some(&(_, kind)) = known else {
            let hint = hint(kind, TYPES.map(|(name, _)| name));
            bail!("no \"type\" is known as {kind:?}{hint}");
        };
        let decode = |what: &str, text: Option<&str>| -> Result<Vec<u8>> {
            let text = text.ok_or_else(|| anyhow!("the object has no {what:?}"))?;
            decode(self.encoding, what, text)
        };
        record.kind = kind;
        record.key = decode("key", line.key.as_deref())?;
        record.columns.clear();
        record.value = match kind {
            EntryKind::Deletion | EntryKind::SingleDeletion | EntryKind::DeletionWithTimestamp => {
                Vec::new()
            }
            EntryKind::WideColumnEntity => {
                let columns = line.columns.ok_or_else(|| anyhow!("an entity has \"columns\""))?;
                for (name, value) in &columns {
                    let name = decode("columns", Some(name))?;
                    record.columns.push((name, decode("columns", Some(value))?));
                }
                Vec::new()
            }
            _ => decode("value", line.value.as_deref())?,
        };
        record.timestamp = match line.timestamp.as_deref() {
            Some(timestamp) => decode("timestamp", Some(timestamp))?,
            None => Vec::new(),
        };
        Ok(())
    }
}

/// Bytes out of text; an error says which text.
pub(super) fn decode(encoding: Encoding, what: &str, text: &str) -> Result<Vec<u8>> {
    encoding.decode(text).map_err(|error| anyhow!("the {what:?} {text:?}: {error}"))
}

/// Without the line number, which would always be 1.
fn not_json(error: &serde_json::Error) -> anyhow::Error {
    let text = error.to_string();
    let what = text.split(" at line ").next().unwrap_or_default();
    anyhow!("column {}: {what}", error.column())
}

impl<R: Read> Records for Ndjson<R> {
    fn next(&mut self, record: &mut Record) -> Result<bool> {
        if !self.read_line().with_context(|| self.place())? {
            return Ok(false);
        }
        self.parse(record).with_context(|| self.place())?;
        Ok(true)
    }

    fn place(&self) -> String {
        format!("{}: line {}", self.name, self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::message;

    fn read(text: &str) -> Result<Vec<Record>> {
        let mut reader = Ndjson::new(text.as_bytes(), "in".into(), Encoding::Escape);
        let (mut all, mut record) = (Vec::new(), Record::default());
        while reader.next(&mut record)? {
            all.push(record.clone());
        }
        Ok(all)
    }

    #[test]
    fn every_type() {
        let text = r#"
            {"key":"a\\x00","value":"1","seq":7,"unknown":[{}]}

            {"type":"delete","key":"b"}
            {"type":"range_delete","key":"c","value":"d"}
            {"type":"put_entity","key":"e","value":"x","columns":[["","x"],["n","y"]]}
            {"type":"put","key":"f","value":"1","timestamp":"\\x01"}"#;
        let records = read(text).unwrap();
        let kinds: Vec<EntryKind> = records.iter().map(|record| record.kind).collect();
        assert_eq!(
            kinds,
            [
                EntryKind::Value,
                EntryKind::Deletion,
                EntryKind::RangeDeletion,
                EntryKind::WideColumnEntity,
                EntryKind::Value
            ]
        );
        assert_eq!((&records[0].key[..], &records[0].value[..]), (&b"a\0"[..], &b"1"[..]));
        assert_eq!(records[2].value, b"d");
        assert_eq!(
            records[3].columns,
            [(b"".to_vec(), b"x".to_vec()), (b"n".to_vec(), b"y".to_vec())]
        );
        assert_eq!((&records[4].timestamp[..], records[4].columns.len()), (&[1][..], 0));
    }

    #[test]
    fn errors_name_the_line() {
        for (text, expected) in [
            ("\n{\"key\":\"a\"}", "in: line 2: the object has no \"value\""),
            ("{\"value\":\"a\"}", "in: line 1: the object has no \"key\""),
            (
                "{\"key\":\"a\",\"type\":\"ptu\",\"value\":\"\"}",
                "in: line 1: no \"type\" is known as \"ptu\"; did you mean \"put\"?",
            ),
            ("{\"key\":", "in: line 1: column 7: EOF while parsing a value"),
            (
                "{\"key\":\"a\",\"merge\":[]}",
                "in: line 1: \"merge\": operands that were not combined; scan with --merge-operator",
            ),
        ] {
            assert_eq!(message(&read(text).unwrap_err()), expected);
        }
        assert!(
            message(&read("{\"key\":\"\\\\xg0\",\"value\":\"\"}").unwrap_err())
                .starts_with("in: line 1: the \"key\"")
        );
        assert!(read("\u{feff}").is_err());
    }
}
