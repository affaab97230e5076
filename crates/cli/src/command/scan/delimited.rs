//! Rows as CSV, TSV or raw bytes.
//!
//! ```text
//! csv   key,value        a field with a comma, quote, CR or LF is quoted: "x ""y"""   (RFC 4180)
//! tsv   key⇥value        no quoting: a field with a tab, CR or LF is an error
//! raw   key⇥value        whatever the fields contain, without a header
//! ```

use anyhow::{Result, bail};
use sstkit_inspect::Encoding;

use super::ScanFormat;

/// Appends the fields of rows to a line.
pub(super) struct RowWriter {
    format: ScanFormat,
    /// `None` for the bytes themselves.
    encoding: Option<Encoding>,
    text: Vec<u8>,
}

impl RowWriter {
    pub(super) fn new(format: ScanFormat, encoding: Option<Encoding>) -> Self {
        Self { format, encoding, text: Vec::new() }
    }

    /// Appends a row of keys and values. Fails if the format cannot represent a field.
    pub(super) fn put(&mut self, fields: &[Field<'_>], line: &mut Vec<u8>) -> Result<()> {
        for (number, field) in fields.iter().enumerate() {
            if number > 0 {
                line.push(if self.format == ScanFormat::Csv { b',' } else { b'\t' });
            }
            match *field {
                Field::Text(text) => self.put_field(text.as_bytes(), fields.len(), line)?,
                Field::Bytes(bytes) => match self.encoding {
                    None => self.put_field(bytes, fields.len(), line)?,
                    Some(encoding) => {
                        let mut text = std::mem::take(&mut self.text);
                        text.clear();
                        encoding.encode_into(bytes, &mut text);
                        self.put_field(&text, fields.len(), line)?;
                        self.text = text;
                    }
                },
            }
        }
        line.push(b'\n');
        Ok(())
    }

    fn put_field(&self, field: &[u8], fields: usize, line: &mut Vec<u8>) -> Result<()> {
        let breaks = |byte: &u8| matches!(byte, b'\r' | b'\n');
        match self.format {
            ScanFormat::Csv => {
                // An empty line has no field, so one empty field is quoted.
                let is_special = |byte: &u8| matches!(byte, b',' | b'"') || breaks(byte);
                let is_lone_and_empty = field.is_empty() && fields == 1;
                if !is_lone_and_empty && !field.iter().any(is_special) {
                    line.extend_from_slice(field);
                    return Ok(());
                }
                line.push(b'"');
                for &byte in field {
                    if byte == b'"' {
                        line.push(b'"');
                    }
                    line.push(byte);
                }
                line.push(b'"');
            }
            ScanFormat::Tsv if field.iter().any(|byte| *byte == b'\t' || breaks(byte)) => {
                let shown = &field[..field.len().min(40)];
                bail!(
                    "TSV cannot represent a tab or line end, as in \"{}\": use --encoding escape, \
                     or --format csv",
                    shown.escape_ascii()
                );
            }
            _ => line.extend_from_slice(field),
        }
        Ok(())
    }
}

/// A field of a row.
#[derive(Clone, Copy)]
pub(super) enum Field<'f> {
    /// Of a key or value.
    Bytes(&'f [u8]),
    /// A number or a word, which is not encoded.
    Text(&'f str),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(format: ScanFormat, encoding: Option<Encoding>, fields: &[&[u8]]) -> Result<Vec<u8>> {
        let fields: Vec<Field<'_>> = fields.iter().map(|&field| Field::Bytes(field)).collect();
        let mut line = Vec::new();
        RowWriter::new(format, encoding).put(&fields, &mut line)?;
        Ok(line)
    }

    #[test]
    fn fields_are_quoted_if_necessary() {
        for (fields, expected) in [
            (&[&b"a"[..], b"b"][..], &b"a,b\n"[..]),
            (&[b"a,b", b"x \"y\"", b"1\n2\r"], b"\"a,b\",\"x \"\"y\"\"\",\"1\n2\r\"\n"),
            (&[b"", b""], b",\n"),
            (&[b""], b"\"\"\n"),
            (&[b"\xff\0"], b"\xff\0\n"),
        ] {
            assert_eq!(row(ScanFormat::Csv, None, fields).unwrap(), expected);
        }
        let hex = row(ScanFormat::Csv, Some(Encoding::Hex), &[b"a,", b"\xff"]).unwrap();
        assert_eq!(hex, b"612c,ff\n");
    }

    /// The csv crate reads what was written.
    #[test]
    fn other_software_reads_it() {
        let fields: [&[u8]; 4] = [b"a\"b", b"\r\n,", b"", b"\xff\xfe"];
        let line = row(ScanFormat::Csv, None, &fields).unwrap();
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(&line[..]);
        let read = reader.byte_records().next().unwrap().unwrap();
        assert_eq!(read.iter().collect::<Vec<_>>(), fields);
    }

    #[test]
    fn what_tsv_cannot_represent_is_an_error() {
        assert_eq!(row(ScanFormat::Tsv, None, &[b"a\"", b"b,c"]).unwrap(), b"a\"\tb,c\n");
        for field in [&b"a\tb"[..], b"a\nb", b"a\r"] {
            assert!(row(ScanFormat::Tsv, None, &[field]).is_err());
            let escaped = row(ScanFormat::Tsv, Some(Encoding::Escape), &[field]).unwrap();
            assert!(escaped.starts_with(b"a\\x"));
            assert_eq!(row(ScanFormat::Raw, None, &[field]).unwrap(), [field, b"\n"].concat());
        }
    }
}
