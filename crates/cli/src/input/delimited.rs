//! CSV and TSV: a column of keys and a column of values, by name (first line) or by number.

use std::io::Read;

use anyhow::{Context as _, Result, anyhow, bail};
use csv::{ByteRecord, Reader, ReaderBuilder};
use sstkit_inspect::Encoding;

use super::allowance::{Allowance, Limited};
use super::last_read::{LastRead, Watched};
use super::ndjson::decode;
use super::{InputSettings, Record, Records};
use crate::suggest::hint;

/// Reads CSV or TSV.
pub(super) struct Delimited<R> {
    reader: Reader<Watched<Limited<R>>>,
    allowance: Allowance,
    last_read: LastRead,
    encoding: Encoding,
    name: String,
    key: usize,
    value: usize,
    row: ByteRecord,
}

impl<R: Read> Delimited<R> {
    pub(super) fn new(
        reader: R,
        delimiter: u8,
        name: String,
        settings: &InputSettings,
    ) -> Result<Self> {
        let (allowance, last_read) = (Allowance::new(), LastRead::default());
        let mut reader = ReaderBuilder::new()
            .delimiter(delimiter)
            .has_headers(!settings.no_header)
            .flexible(true)
            .from_reader(last_read.watch(allowance.limit(reader)));
        let find = |reader: &mut Reader<Watched<Limited<R>>>, column: &str| match settings.no_header
        {
            true => number(column),
            false => position(reader.byte_headers()?, column),
        };
        let key = find(&mut reader, &settings.key_column).with_context(|| name.clone())?;
        let value = find(&mut reader, &settings.value_column).with_context(|| name.clone())?;
        let (encoding, row) = (settings.encoding, ByteRecord::new());
        Ok(Self { reader, allowance, last_read, encoding, name, key, value, row })
    }

    fn cell(&self, what: &str, column: usize) -> Result<Vec<u8>> {
        let Some(cell) = self.row.get(column) else {
            bail!(
                "the {what} should be in column {}, but there are {}",
                column + 1,
                self.row.len()
            );
        };
        let text = std::str::from_utf8(cell).map_err(|_| anyhow!("the {what} is not UTF-8"))?;
        decode(self.encoding, what, text)
    }
}

/// Columns count from 1.
fn number(column: &str) -> Result<usize> {
    match column.parse::<usize>() {
        Ok(number) if number > 0 => Ok(number - 1),
        _ => bail!("without a header, columns are numbers from 1 on, not {column:?}"),
    }
}

fn position(headers: &ByteRecord, column: &str) -> Result<usize> {
    headers.iter().position(|header| header == column.as_bytes()).ok_or_else(|| {
        let names: Vec<String> =
            headers.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
        let hint = hint(column, names.iter().map(String::as_str));
        let list = names.join(", ");
        anyhow!("no column is called {column:?} (there are {list}): say --key and --value{hint}")
    })
}

impl<R: Read> Records for Delimited<R> {
    fn next(&mut self, record: &mut Record) -> Result<bool> {
        let more = self.reader.read_byte_record(&mut self.row).map_err(|error| anyhow!(error));
        if !more.with_context(|| self.name.clone())? {
            return Ok(false);
        }
        self.allowance.renew();
        let key = self.cell("key", self.key).with_context(|| self.place())?;
        let value = self.cell("value", self.value).with_context(|| self.place())?;
        *record = Record { key, value, ..Record::default() };
        Ok(true)
    }

    /// The line the row begins in. What the reader says of that is from before the empty lines it
    /// passed over, so lines are counted back from where it is now: past the end of the line, or
    /// between its `\r` and `\n`, or at the end of the file.
    fn place(&self) -> String {
        let position = self.reader.position();
        let is_past = self.last_read.before(position.byte()) == Some(b'\n');
        let inside = self.row.iter().flatten().filter(|&&byte| byte == b'\n').count() as u64;
        let line = position.line().saturating_sub(u64::from(is_past) + inside);
        format!("{}: line {line}", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::message;

    fn settings(no_header: bool, key: &str, value: &str) -> InputSettings {
        InputSettings {
            format: None,
            encoding: Encoding::Escape,
            key_column: key.into(),
            value_column: value.into(),
            no_header,
        }
    }

    fn read(text: &str, settings: &InputSettings) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let mut reader = Delimited::new(text.as_bytes(), b',', "in".into(), settings)?;
        let (mut all, mut record) = (Vec::new(), Record::default());
        while reader.next(&mut record)? {
            all.push((record.key.clone(), record.value.clone()));
        }
        Ok(all)
    }

    #[test]
    fn by_name_and_by_number() {
        let expected = [(b"a".to_vec(), b"x,y\nz".to_vec()), (b"b\xff".to_vec(), b"".to_vec())];
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
                let expected = "in: line 8: the value should be in column 2, but there are 1";
                assert_eq!(message(&error), expected, "{end:?} {last:?}");
            }
        }
    }

    /// What an earlier input has left in the record is not in this one.
    #[test]
    fn rows_have_no_timestamps() {
        let mut record = Record { timestamp: vec![1], ..Record::default() };
        let settings = settings(false, "id", "v");
        let mut reader =
            Delimited::new(b"id,v\na,1\n".as_slice(), b',', "in".into(), &settings).unwrap();
        assert!(reader.next(&mut record).unwrap());
        assert_eq!(record.timestamp, b"");
    }

    #[test]
    fn errors_name_the_line() {
        let named = settings(false, "id", "v");
        for (text, settings, expected) in [
            (
                "id,v\na,1\nb\n",
                &named,
                "in: line 3: the value should be in column 2, but there are 1",
            ),
            (
                "id,vv\n",
                &named,
                "in: no column is called \"v\" (there are id, vv): say --key and --value; did you mean \"vv\"?",
            ),
            (
                "a\n",
                &settings(true, "id", "2"),
                "in: without a header, columns are numbers from 1 on, not \"id\"",
            ),
        ] {
            assert_eq!(message(&read(text, settings).unwrap_err()), expected);
        }
    }
}
