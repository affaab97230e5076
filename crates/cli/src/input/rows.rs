//! Rows of CSV and TSV, field by field.
//!
//! ```text
//! CSV   alice,"x,""y""",3    quoted fields may contain delimiters, line ends and
//!                            doubled quotes; RFC 4180
//! TSV   alice<TAB>say "hi"   no quoting: a field is the text between two tabs
//! ```
//!
//! A row ends with LF or CRLF. Empty lines are skipped. Input that other readers guess at is an
//! error: a quote that is never closed, text after a closing quote, a lone CR outside quotes (in
//! TSV, CR is an ordinary character).

use std::io::{BufRead as _, BufReader, Read};

use anyhow::{Context as _, Result, bail};

use super::record_limit::{Limited, RecordLimit};

const BUFFER: usize = 1 << 16;

/// CSV or TSV.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    Csv,
    Tsv,
}

impl Dialect {
    fn delimiter(self) -> u8 {
        match self {
            Self::Csv => b',',
            Self::Tsv => b'\t',
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    bytes: Vec<u8>,
    /// The end of each field.
    ends: Vec<usize>,
    /// The line where the row starts.
    pub(super) line: u64,
}

impl Row {
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn get(&self, field: usize) -> Option<&[u8]> {
        let start = field.checked_sub(1).map_or(0, |before| self.ends[before.min(self.len() - 1)]);
        self.bytes.get(start..*self.ends.get(field)?)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).filter_map(|field| self.get(field))
    }

    fn clear(&mut self, line: u64) {
        self.bytes.clear();
        self.ends.clear();
        self.line = line;
    }

    fn end_field(&mut self) {
        self.ends.push(self.bytes.len());
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Before the first byte of a field.
    Start,
    Plain,
    /// Inside quotes.
    Quoted,
    /// After a quote inside quotes: the closing quote, or the first of two.
    Closed,
    /// After a carriage return outside quotes.
    Return,
}

pub(super) struct Rows<R> {
    reader: BufReader<Limited<R>>,
    record_limit: RecordLimit,
    dialect: Dialect,
    /// The line of the next byte.
    line: u64,
}

impl<R: Read> Rows<R> {
    pub(super) fn new(reader: R, dialect: Dialect) -> Self {
        let record_limit = RecordLimit::new();
        let reader = BufReader::with_capacity(BUFFER, record_limit.limit(reader));
        Self { reader, record_limit, dialect, line: 1 }
    }

    /// Reads the next non-empty row; false at the end. Errors name the line.
    pub(super) fn next(&mut self, row: &mut Row) -> Result<bool> {
        loop {
            self.record_limit.renew();
            row.clear(self.line);
            if !self.read(row).with_context(|| format!("line {}", self.line))? {
                return Ok(false);
            }
            if row.len() > 0 {
                return Ok(true);
            }
        }
    }

    /// Reads one line into the row, or several if a quoted field spans them; false at the end. An
    /// empty line has no fields.
    fn read(&mut self, row: &mut Row) -> Result<bool> {
        let (delimiter, is_csv) = (self.dialect.delimiter(), self.dialect == Dialect::Csv);
        let mut state = State::Start;
        // The line of the last opening quote, if any.
        let mut opened = None;
        let mut is_empty = true;
        let mut is_done = false;
        while !is_done {
            let chunk = self.reader.fill_buf()?;
            if chunk.is_empty() {
                return end(row, state, is_empty, opened, is_csv);
            }
            let mut used = 0;
            while let Some(&byte) = chunk.get(used).filter(|_| !is_done) {
                used += 1;
                self.line += u64::from(byte == b'\n');
                if state == State::Return && byte != b'\n' {
                    if is_csv {
                        bail!("a carriage return without a line feed, outside quotes");
                    }
                    row.bytes.push(b'\r');
                    state = State::Plain;
                }
                state = match (state, byte) {
                    (State::Quoted, b'"') => State::Closed,
                    (State::Quoted, _) => {
                        row.bytes.push(byte);
                        used +=
                            copy(&chunk[used..], &mut row.bytes, |it| matches!(it, b'"' | b'\n'));
                        State::Quoted
                    }
                    (State::Closed, b'"') => {
                        row.bytes.push(byte);
                        State::Quoted
                    }
                    (State::Start, b'"') if is_csv => {
                        opened = Some(self.line);
                        State::Quoted
                    }
                    (_, b'\n') => {
                        is_done = true;
                        State::Start
                    }
                    (_, b'\r') => State::Return,
                    (_, _) if byte == delimiter => {
                        row.end_field();
                        State::Start
                    }
                    (State::Closed, _) => bail!("text after a closing quote"),
                    _ => {
                        row.bytes.push(byte);
                        let is_special = |it| it == delimiter || matches!(it, b'\r' | b'\n');
                        used += copy(&chunk[used..], &mut row.bytes, is_special);
                        State::Plain
                    }
                };
                is_empty &= is_done || state == State::Return;
            }
            self.reader.consume(used);
        }
        if !is_empty {
            row.end_field();
        }
        Ok(true)
    }
}

/// Handles the end of the input, which may end a row.
fn end(
    row: &mut Row,
    state: State,
    is_empty: bool,
    opened: Option<u64>,
    is_csv: bool,
) -> Result<bool> {
    if let (State::Quoted, Some(line)) = (state, opened) {
        bail!("the quote opened in line {line} is never closed");
    }
    if state == State::Return && !is_csv {
        row.bytes.push(b'\r');
    }
    if !is_empty {
        row.end_field();
    }
    Ok(!is_empty)
}

/// Appends the bytes before the first special one and returns their number.
fn copy(chunk: &[u8], bytes: &mut Vec<u8>, is_special: impl Fn(u8) -> bool) -> usize {
    let end = chunk.iter().position(|&byte| is_special(byte)).unwrap_or(chunk.len());
    bytes.extend_from_slice(&chunk[..end]);
    end
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::message;

    fn read(text: &str, dialect: Dialect) -> Result<Vec<(u64, Vec<String>)>> {
        let mut rows = Rows::new(text.as_bytes(), dialect);
        let (mut all, mut row) = (Vec::new(), Row::default());
        while rows.next(&mut row)? {
            let fields = row.iter().map(|field| String::from_utf8_lossy(field).into_owned());
            all.push((row.line, fields.collect()));
        }
        Ok(all)
    }

    #[test]
    fn fields_and_lines() {
        for (dialect, text, expected) in [
            (Dialect::Csv, "a,b\nc,d", vec![(1, vec!["a", "b"]), (2, vec!["c", "d"])]),
            (Dialect::Csv, "\n\r\na,\r\n,b\n", vec![(3, vec!["a", ""]), (4, vec!["", "b"])]),
            (
                Dialect::Csv,
                "\"a,\r\n\"\"\",b\"c\nd,e",
                vec![(1, vec!["a,\r\n\"", "b\"c"]), (3, vec!["d", "e"])],
            ),
            (Dialect::Csv, "\"\"\n\n\"\"\r\n", vec![(1, vec![""]), (3, vec![""])]),
            (Dialect::Csv, "a\\nb,\\", vec![(1, vec!["a\\nb", "\\"])]),
            (Dialect::Csv, "a,", vec![(1, vec!["a", ""])]),
            (Dialect::Csv, "a\r", vec![(1, vec!["a"])]),
            (Dialect::Csv, "", vec![]),
            (
                Dialect::Tsv,
                "\"a\t\"\"\r\n,\tb\rc\r",
                vec![(1, vec!["\"a", "\"\""]), (2, vec![",", "b\rc\r"])],
            ),
            (Dialect::Tsv, "\t\n\n\t", vec![(1, vec!["", ""]), (3, vec!["", ""])]),
        ] {
            let rows = read(text, dialect).unwrap();
            let rows: Vec<_> = rows
                .iter()
                .map(|(line, row)| (*line, row.iter().map(String::as_str).collect::<Vec<_>>()))
                .collect();
            assert_eq!(rows, expected, "{text:?}");
        }
    }

    /// The result does not depend on how the input is split into reads.
    #[test]
    fn long_fields_cross_buffers() {
        let long = "x\"\"y,\n".repeat(BUFFER / 5);
        let rows = read(&format!("a,\"{long}\"\nb,c\n"), Dialect::Csv).unwrap();
        assert_eq!(rows[0].1[1], long.replace("\"\"", "\""));
        assert_eq!(rows[1], (2 + (BUFFER / 5) as u64, vec!["b".into(), "c".into()]));
    }

    /// The csv crate reads the same rows from every short well-formed text.
    #[test]
    fn well_formed_text_matches_the_csv_crate() {
        const LETTERS: [&str; 6] = ["a", ",", "\"", "\n", "\r\n", "\"\""];
        let (mut well_formed, mut others) = (0, Vec::new());
        for number in 0..6usize.pow(6) {
            let letters = (0..6).map(|place| LETTERS[number / 6usize.pow(place) % 6]);
            let text: String = letters.collect();
            let Ok(rows) = read(&text, Dialect::Csv) else { continue };
            let theirs = csv::ReaderBuilder::new()
                .has_headers(false)
                .flexible(true)
                .from_reader(text.as_bytes())
                .records()
                .map(|row| row.unwrap().iter().map(String::from).collect::<Vec<_>>())
                .collect::<Vec<_>>();
            well_formed += 1;
            if rows.into_iter().map(|(_, row)| row).ne(theirs) {
                others.push(text);
            }
        }
        assert!(well_formed > 10_000, "{well_formed}");
        assert_eq!(others, Vec::<String>::new());
    }

    #[test]
    fn malformed_text_is_rejected() {
        for (text, expected) in [
            ("a,b\nc,\"d\ne,f\n", "line 4: the quote opened in line 2 is never closed"),
            ("\"a\"b,c\n", "line 1: text after a closing quote"),
            ("a\n\"b\" ,c\n", "line 2: text after a closing quote"),
            ("a,b\rc,d\r", "line 1: a carriage return without a line feed, outside quotes"),
        ] {
            assert_eq!(message(&read(text, Dialect::Csv).unwrap_err()), expected);
        }
    }
}
