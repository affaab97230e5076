//! NDJSON: one JSON object per line.
//!
//! ```text
//! {"key":"alice","value":"1"}
//! {"key":"bob","type":"delete"}
//! {"key":"c","type":"range_delete","value":"d"}
//! {"key":"eve","type":"put_entity","columns":[["","1"],["age","31"]]}
//! ```
//!
//! These are the objects that `scan` and `scan --internal` print, so their output can be built
//! again:
//!
//! * `type` defaults to `put`, or to `put_entity` if there are `columns`;
//! * `seq` is the sequence number; it defaults to 0;
//! * `value` of an entity is its default column; if both are given, they must be equal;
//! * `blob_index` and `put_preferred_seqno` become `put`: their values are in `value`;
//! * `merge` (operands that were not combined) is rejected.
//!
//! Empty lines are skipped, other fields ignored.

use std::borrow::Cow;
use std::io::Read;

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use serde::Deserialize;
use sstkit_table::raw::EntryKind;

use super::lines::Lines;
use super::{InputEncoding, InputRecord, InputRecords};

pub(super) struct Ndjson<R> {
    lines: Lines<R>,
    encoding: InputEncoding,
}

#[derive(Deserialize)]
struct Line<'l> {
    #[serde(borrow)]
    key: Option<Cow<'l, str>>,
    #[serde(borrow)]
    value: Option<Cow<'l, str>>,
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'l, str>>,
    seq: Option<u64>,
    #[serde(borrow)]
    timestamp: Option<Cow<'l, str>>,
    #[serde(borrow)]
    columns: Option<Vec<(Cow<'l, str>, Cow<'l, str>)>>,
    /// Uncombined operands, as `scan` prints them.
    merge: Option<serde::de::IgnoredAny>,
}

impl<R: Read> Ndjson<R> {
    pub(super) fn new(reader: R, name: String, encoding: InputEncoding) -> Self {
        Self { lines: Lines::new(reader, name), encoding }
    }

    fn parse(&self, record: &mut InputRecord) -> Result<()> {
        let line: Line<'_> =
            serde_json::from_slice(self.lines.line()).map_err(|error| not_json(&error))?;
        if line.merge.is_some() {
            bail!("\"merge\" has operands that were not combined: scan with --merge-operator");
        }
        let default = if line.columns.is_some() { "put_entity" } else { "put" };
        let name = line.kind.as_deref().unwrap_or(default);
        let kind = super::kind_of_scan(name)?;
        let decode =
            |what: &str, text: &str| self.encoding.decode(&format!("{what:?}"), text.as_bytes());
        let needed = |what: &str, text: Option<&str>| -> Result<Vec<u8>> {
            decode(what, text.ok_or_else(|| anyhow!("the object has no {what:?}"))?)
        };
        record.kind = kind;
        record.sequence = line.seq.unwrap_or(0);
        record.key = needed("key", line.key.as_deref())?;
        record.timestamp = match line.timestamp.as_deref() {
            Some(timestamp) => decode("timestamp", timestamp)?,
            None => Vec::new(),
        };
        record.columns.clear();
        if kind == EntryKind::WideColumnEntity {
            let columns = line.columns.ok_or_else(|| anyhow!("an entity needs \"columns\""))?;
            for (name, value) in &columns {
                record.columns.push((decode("columns", name)?, decode("columns", value)?));
            }
            let default = record.columns.iter().find(|(name, _)| name.is_empty());
            let default = default.map_or(&[][..], |(_, value)| value);
            if let Some(value) = line.value.as_deref() {
                let value = decode("value", value)?;
                ensure!(value == default, "\"value\" does not match the column without a name");
            }
            record.value.clear();
            return Ok(());
        }
        ensure!(line.columns.is_none(), "\"columns\" need \"type\" put_entity, not {name:?}");
        let is_deletion = kind.is_point_deletion();
        record.value = match line.value.as_deref() {
            None | Some("") if is_deletion => Vec::new(),
            Some(_) if is_deletion => bail!("a deletion has no \"value\""),
            value => needed("value", value)?,
        };
        Ok(())
    }
}

/// Omits the line number, which would always be 1.
fn not_json(error: &serde_json::Error) -> anyhow::Error {
    let text = error.to_string();
    let what = text.split(" at line ").next().unwrap_or_default();
    anyhow!("column {}: {what}", error.column())
}

impl<R: Read> InputRecords for Ndjson<R> {
    fn next(&mut self, record: &mut InputRecord) -> Result<bool> {
        if !self.lines.advance()? {
            return Ok(false);
        }
        self.parse(record).with_context(|| self.location())?;
        Ok(true)
    }

    fn location(&self) -> String {
        self.lines.location()
    }
}

#[cfg(test)]
mod tests {
    use sstkit_inspect::Encoding;

    use super::*;
    use crate::status::message;

    fn read(text: &str) -> Result<Vec<InputRecord>> {
        let mut reader =
            Ndjson::new(text.as_bytes(), "in".into(), InputEncoding::Text(Encoding::Escape));
        let (mut all, mut record) = (Vec::new(), InputRecord::default());
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
            {"type":"put","key":"f","value":"1","timestamp":"\\x01"}
            {"key":"g","value":"x","columns":[["","x"]]}
            {"key":"h","columns":[]}
            {"type":"delete","key":"i","seq":3,"value":""}"#;
        let records = read(text).unwrap();
        let kinds: Vec<EntryKind> = records.iter().map(|record| record.kind).collect();
        assert_eq!(
            kinds,
            [
                EntryKind::Value,
                EntryKind::Deletion,
                EntryKind::RangeDeletion,
                EntryKind::WideColumnEntity,
                EntryKind::Value,
                EntryKind::WideColumnEntity,
                EntryKind::WideColumnEntity,
                EntryKind::Deletion,
            ]
        );
        assert_eq!((&records[0].key[..], &records[0].value[..]), (&b"a\0"[..], &b"1"[..]));
        assert_eq!(records[2].value, b"d");
        assert_eq!(records.iter().map(|it| it.sequence).sum::<u64>(), 7 + 3);
        assert_eq!(records[5].columns, [(b"".to_vec(), b"x".to_vec())]);
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
                "in: line 1: unknown \"type\" \"ptu\"; did you mean \"put\"?",
            ),
            (
                r#"{"key":"a","value":"1","columns":[["","2"]]}"#,
                "in: line 1: \"value\" does not match the column without a name",
            ),
            (
                r#"{"type":"put","key":"a","value":"1","columns":[["","1"]]}"#,
                "in: line 1: \"columns\" need \"type\" put_entity, not \"put\"",
            ),
            (
                r#"{"type":"delete","key":"a","value":"1"}"#,
                "in: line 1: a deletion has no \"value\"",
            ),
            (r#"{"key":"a","value":null}"#, "in: line 1: the object has no \"value\""),
            ("{\"key\":", "in: line 1: column 7: EOF while parsing a value"),
            (
                "{\"key\":\"a\",\"merge\":[]}",
                "in: line 1: \"merge\" has operands that were not combined: scan with \
                 --merge-operator",
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
