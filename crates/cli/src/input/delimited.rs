//! CSV and TSV: a column of keys and one or more columns of values, by name (from the header) or by
//! number.
//!
//! Keys and values are the bytes of their fields, unless an encoding is given. All rows have as
//! many fields as the first one.
//!
//! A file that `sst scan` has written is recognized by its header. All its columns are used, unless others
//! are given:
//!
//! ```text
//! key,timestamp,value
//! type,key,seq,value
//! type,key,timestamp,seq,value
//! ```

use std::io::Read;

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use sstkit_table::raw::EntryKind;

use super::rows::{Dialect, Row, Rows};
use super::{InputEncoding, InputRecord, InputRecords, InputSettings, ValueForm};
use sstkit_inspect::suggest::hint;

/// Reads CSV or TSV.
pub(super) struct Delimited<R> {
    rows: Rows<R>,
    encoding: InputEncoding,
    name: String,
    key: usize,
    /// The value columns, by name.
    values: Vec<(String, usize)>,
    scanned: ScannedColumns,
    form: ValueForm,
    row: Row,
    /// The number of fields in the first row.
    fields: Option<usize>,
    first: &'static str,
}

impl<R: Read> Delimited<R> {
    pub(super) fn new(
        reader: R,
        dialect: Dialect,
        name: String,
        settings: &InputSettings,
    ) -> Result<Self> {
        let mut rows = Rows::new(reader, dialect);
        let mut row = Row::default();
        let encoding = settings.encoding.unwrap_or(InputEncoding::Raw);
        let (fields, first) = match settings.no_header {
            true => (None, "the first row"),
            false => {
                rows.next(&mut row).with_context(|| name.clone())?;
                (Some(row.len()), "the header")
            }
        };
        let find = |column: &str| match settings.no_header {
            true => number(column),
            false => position(&row, column),
        };
        let find = |column: &str| find(column).with_context(|| name.clone());
        let keys = settings.key_columns();
        let [key] = &keys[..] else {
            bail!("{name}: a key of several columns needs Parquet, whose columns have types");
        };
        let header: Vec<String> =
            row.iter().map(|field| String::from_utf8_lossy(field).into_owned()).collect();
        let values = settings.value_columns(header.iter().map(String::as_str));
        let form = settings.value_form(values.len());
        ensure!(
            form != ValueForm::Plain || values.len() == 1,
            "{name}: {} value columns make no plain value: use --values-as entity or json",
            values.len()
        );
        let scanned = match settings.has_columns() || settings.no_header {
            true => ScannedColumns::default(),
            false => ScannedColumns::of(&header),
        };
        let key = find(key)?;
        let values = values.into_iter().map(|column| Ok((column.clone(), find(&column)?)));
        let values = values.collect::<Result<_>>()?;
        Ok(Self { rows, encoding, key, values, scanned, form, name, row, fields, first })
    }

    fn cell(&self, what: &str, column: usize) -> Result<Vec<u8>> {
        let Some(cell) = self.row.get(column) else {
            bail!("the {what} is in column {}, but there are {}", column + 1, self.row.len());
        };
        self.encoding.decode(what, cell)
    }

    /// A field that is not in the encoding of the keys.
    fn text(&self, what: &str, column: usize) -> Result<String> {
        let cell = self.row.get(column).with_context(|| format!("no {what}"))?;
        Ok(String::from_utf8_lossy(cell).into_owned())
    }

    /// The values as a JSON object of strings.
    fn json(&self) -> Result<Vec<u8>> {
        let mut object = serde_json::Map::new();
        for (name, column) in &self.values {
            let text = String::from_utf8(self.cell("value", *column)?)
                .map_err(|_| anyhow!("the column {name:?} is not UTF-8, which JSON needs"))?;
            object.insert(name.clone(), text.into());
        }
        Ok(serde_json::Value::Object(object).to_string().into_bytes())
    }

    fn parse(&mut self, record: &mut InputRecord) -> Result<()> {
        let (fields, expected) = (self.row.len(), *self.fields.get_or_insert(self.row.len()));
        ensure!(fields == expected, "{fields} fields, but {} has {expected}", self.first);
        *record = InputRecord { key: self.cell("key", self.key)?, ..InputRecord::default() };
        if let Some(column) = self.scanned.kind {
            record.kind = super::kind_of_scan(&self.text("type", column)?)?;
            let is_entity = record.kind == EntryKind::WideColumnEntity;
            ensure!(!is_entity, "an entity has columns, which CSV and TSV cannot represent");
        }
        if let Some(column) = self.scanned.sequence {
            let text = self.text("seq", column)?;
            record.sequence = text.parse().map_err(|_| anyhow!("the seq {text:?} is no number"))?;
        }
        if let Some(column) = self.scanned.timestamp {
            record.timestamp = self.cell("timestamp", column)?;
        }
        match self.form {
            ValueForm::Plain => {
                for (_, column) in &self.values {
                    record.value = self.cell("value", *column)?;
                }
            }
            ValueForm::Entity => {
                record.kind = EntryKind::WideColumnEntity;
                for (name, column) in &self.values {
                    record.columns.push((name.clone().into_bytes(), self.cell("value", *column)?));
                }
            }
            ValueForm::Json => record.value = self.json()?,
        }
        let is_deletion = record.kind.is_point_deletion();
        ensure!(!is_deletion || record.value.is_empty(), "a deletion has no value");
        Ok(())
    }
}

/// The columns of a file that `sst scan` has written, besides keys and values.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct ScannedColumns {
    kind: Option<usize>,
    timestamp: Option<usize>,
    sequence: Option<usize>,
}

impl ScannedColumns {
    /// None of them, if another program has written the header.
    fn of(header: &[String]) -> Self {
        let header: Vec<&str> = header.iter().map(String::as_str).collect();
        let (kind, timestamp, sequence) = match header[..] {
            ["key", "timestamp", "value"] => (None, Some(1), None),
            ["type", "key", "seq", "value"] => (Some(0), None, Some(2)),
            ["type", "key", "timestamp", "seq", "value"] => (Some(0), Some(2), Some(3)),
            _ => (None, None, None),
        };
        Self { kind, timestamp, sequence }
    }
}

/// Column numbers start at 1.
fn number(column: &str) -> Result<usize> {
    match column.parse::<usize>() {
        Ok(number) if number > 0 => Ok(number - 1),
        _ => bail!("without a header, columns are numbers starting at 1, not {column:?}"),
    }
}

fn position(header: &Row, column: &str) -> Result<usize> {
    let mut named = (0..header.len()).filter(|&it| header.get(it) == Some(column.as_bytes()));
    if let (Some(found), another) = (named.next(), named.next()) {
        ensure!(
            another.is_none(),
            "two columns are named {column:?}: use --no-header and column numbers"
        );
        return Ok(found);
    }
    let names: Vec<String> =
        header.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    let hint = hint(column, names.iter().map(String::as_str));
    let list = names.join(", ");
    Err(anyhow!("no column {column:?} (found {list}): use --key and --value{hint}"))
}

impl<R: Read> InputRecords for Delimited<R> {
    fn next(&mut self, record: &mut InputRecord) -> Result<bool> {
        if !self.rows.next(&mut self.row).with_context(|| self.name.clone())? {
            return Ok(false);
        }
        self.parse(record).with_context(|| self.location())?;
        Ok(true)
    }

    /// The line where the row starts.
    fn location(&self) -> String {
        format!("{}: line {}", self.name, self.row.line)
    }
}

#[cfg(test)]
mod tests {
    use sstkit_inspect::Encoding;

    use super::*;
    use crate::status::message;

    fn settings(no_header: bool, key: &str, value: &str) -> InputSettings {
        InputSettings {
            format: None,
            encoding: None,
            key: vec![key.into()],
            value: vec![value.into()],
            values_as: None,
            no_header,
        }
    }

    fn read(text: &str, settings: &InputSettings) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let mut reader = Delimited::new(text.as_bytes(), Dialect::Csv, "in".into(), settings)?;
        let (mut all, mut record) = (Vec::new(), InputRecord::default());
        while reader.next(&mut record)? {
            all.push((record.key.clone(), record.value.clone()));
        }
        Ok(all)
    }

    #[test]
    fn by_name_and_by_number() {
        let expected = [(b"a".to_vec(), b"x,y\nz".to_vec()), (b"b\\xff".to_vec(), b"".to_vec())];
        let rows = "1,a,\"x,y\nz\"\n2,b\\xff,\n";
        assert_eq!(
            read(&format!("n,id,v\n{rows}"), &settings(false, "id", "v")).unwrap(),
            expected
        );
        assert_eq!(read(rows, &settings(true, "2", "3")).unwrap(), expected);
    }

    #[test]
    fn empty_lines_count() {
        for end in ["\n", "\r\n"] {
            for last in ["", end] {
                let lines = ["", "id,v", "", "a,\"1\n2\"", "", "", "\"b\n\n\""].join(end);
                let error = read(&(lines + last), &settings(false, "id", "v")).unwrap_err();
                let expected = "in: line 8: 1 fields, but the header has 2";
                assert_eq!(message(&error), expected, "{end:?} {last:?}");
            }
        }
    }

    /// Without an encoding, a value is the bytes in the file.
    #[test]
    fn fields_are_raw_bytes() {
        let text = "id,v\n\\x41,C:\\new\n";
        let raw = settings(false, "id", "v");
        assert_eq!(read(text, &raw).unwrap(), [(b"\\x41".to_vec(), b"C:\\new".to_vec())]);
        let encoding = Some(InputEncoding::Text(Encoding::Escape));
        let escaped = InputSettings { encoding, ..raw };
        assert_eq!(read(text, &escaped).unwrap(), [(b"A".to_vec(), b"C:\new".to_vec())]);
        let hex = InputSettings { encoding: Some(InputEncoding::Text(Encoding::Hex)), ..escaped };
        let error = message(&read(text, &hex).unwrap_err());
        assert!(error.starts_with("in: line 2: the key \"\\\\x41\" is not valid hex"), "{error}");
    }

    /// A record does not keep fields of an earlier input.
    #[test]
    fn rows_have_no_timestamps() {
        let mut record = InputRecord { timestamp: vec![1], ..InputRecord::default() };
        let settings = settings(false, "id", "v");
        let mut reader =
            Delimited::new(b"id,v\na,1\n".as_slice(), Dialect::Csv, "in".into(), &settings)
                .unwrap();
        assert!(reader.next(&mut record).unwrap());
        assert_eq!(record.timestamp, b"");
    }

    #[test]
    fn files_of_scan_have_types_and_numbers() {
        let raw = InputSettings { key: vec![], value: vec![], ..settings(false, "", "") };
        let read = |text: &str, settings: &InputSettings| {
            let reader = Delimited::new(text.as_bytes(), Dialect::Csv, "in".into(), settings);
            let (mut reader, mut record) = (reader.unwrap(), InputRecord::default());
            reader.next(&mut record).map(|_| record)
        };
        let text = "type,key,timestamp,seq,value\ndelete,a,12345678,7,\n";
        let record = read(text, &raw).unwrap();
        assert_eq!((record.kind, record.sequence), (EntryKind::Deletion, 7));
        assert_eq!((&record.key[..], &record.timestamp[..]), (&b"a"[..], &b"12345678"[..]));
        // Not with columns that are given, nor with another header.
        let given = InputSettings { value: vec!["value".into()], ..raw.clone() };
        for (text, settings) in [(text, &given), ("key,seq,type,value\na,7,delete,\n", &raw)] {
            let record = read(text, settings).unwrap();
            assert_eq!((record.kind, record.sequence), (EntryKind::Value, 0), "{text}");
            assert_eq!(record.timestamp, b"");
        }
        for (row, expected) in [
            ("delet,a,7,", "in: line 2: unknown \"type\" \"delet\"; did you mean \"delete\"?"),
            ("put,a,7x,1", "in: line 2: the seq \"7x\" is no number"),
        ] {
            let error = read(&format!("type,key,seq,value\n{row}\n"), &raw).unwrap_err();
            assert_eq!(message(&error), expected);
        }
    }

    #[test]
    fn errors_name_the_line() {
        let named = settings(false, "id", "v");
        for (text, settings, expected) in [
            ("id,v\na,1\nb\n", &named, "in: line 3: 1 fields, but the header has 2"),
            (
                "id,vv\n",
                &named,
                "in: no column \"v\" (found id, vv): use --key and --value; did you \
                 mean \"vv\"?",
            ),
            ("id,v\na,1,2\n", &named, "in: line 2: 3 fields, but the header has 2"),
            ("id,v\na\"\n", &named, "in: line 2: 1 fields, but the header has 2"),
            ("id,v\n\na,\"1\n", &named, "in: line 4: the quote opened in line 3 is never closed"),
            (
                "id,v,v\n",
                &named,
                "in: two columns are named \"v\": use --no-header and column numbers",
            ),
            (
                "a,b\nc,d,e\n",
                &settings(true, "1", "2"),
                "in: line 2: 3 fields, but the first row has 2",
            ),
            (
                "a,b\n",
                &settings(true, "1", "3"),
                "in: line 1: the value is in column 3, but there are 2",
            ),
            (
                "a\n",
                &settings(true, "id", "2"),
                "in: without a header, columns are numbers starting at 1, not \"id\"",
            ),
        ] {
            assert_eq!(message(&read(text, settings).unwrap_err()), expected);
        }
    }
}
