//! Records as lines: a key and its value.
//!
//! ```text
//! alice => 1
//! bob => 31 {age=31, name=Bob}
//! carol => merge 5 + [1, 2]
//! put 7 alice => 1                   an internal entry, with type and sequence number
//! ```

use std::borrow::Cow;
use std::io;

use anstyle::Style;
use sstkit_inspect::{Encoding, JsonRecord};

use super::grid::shorten;
use super::page::{FAINT, Page};

const ARROW: &str = " => ";

/// A key and value longer than this in total are printed in parts.
const LONG: usize = 256 << 10;

/// Bytes encoded at a time.
const PART: usize = 48 << 10;

/// Prints a record as one line of text, no wider than the page.
pub(crate) fn print(page: &mut Page, record: &JsonRecord) -> io::Result<()> {
    print_marked(page, "", Style::new(), record)
}

/// Prints a record behind a mark, which and whose key are in a style.
pub(crate) fn print_marked(
    page: &mut Page,
    mark: &str,
    style: Style,
    record: &JsonRecord,
) -> io::Result<()> {
    let mut start = String::new();
    if let (Some(kind), Some(sequence)) = (record.kind, record.seq) {
        start = format!("{kind} {sequence} ");
    }
    let mut key = Cow::from(&record.key);
    if let Some(timestamp) = &record.timestamp {
        key = format!("{key} @{timestamp}").into();
    }
    let mut value = value(record);
    if let Some(width) = page.width() {
        let taken = mark.len() + start.len() + ARROW.len();
        (key, value) = fit(key, value, width.saturating_sub(taken));
    }
    let mark = page.paint(style, mark);
    write!(page, "{mark}")?;
    if !start.is_empty() {
        let start = page.paint(FAINT, start);
        write!(page, "{start}")?;
    }
    // A deletion has an empty value in JSON, and none in text.
    let is_deletion =
        record.kind.is_some_and(|kind| kind != "range_delete" && kind.contains("delete"));
    let key = page.paint(style, key);
    match !is_deletion && (record.value.is_some() || record.merge.is_some()) {
        true => {
            let arrow = page.paint(FAINT, ARROW);
            writeln!(page, "{key}{arrow}{value}")
        }
        false => writeln!(page, "{key}"),
    }
}

/// Prints keys with values in the format of [`print()`] and [`Page::json`], without building
/// records.
pub(crate) struct PairPrinter {
    encoding: Encoding,
    keys_only: bool,
    json: bool,
    /// The arrow in the style of this page.
    arrow: Vec<u8>,
    /// A buffer for the text to write as JSON.
    text: String,
}

impl PairPrinter {
    pub(crate) fn new(page: &Page, encoding: Encoding, keys_only: bool, json: bool) -> Self {
        let arrow = page.paint(FAINT, ARROW).into_bytes();
        Self { encoding, keys_only, json, arrow, text: String::new() }
    }

    pub(crate) fn print(&mut self, page: &mut Page, key: &[u8], value: &[u8]) -> io::Result<()> {
        let value = Some(value).filter(|_| !self.keys_only);
        if !self.json
            && let Some(width) = page.width()
        {
            let key = ends(key, width);
            let record = match value {
                Some(value) => JsonRecord::of_value(&key, &ends(value, width), self.encoding),
                None => JsonRecord::of_key(&key, self.encoding),
            };
            return print(page, &record);
        }
        if key.len() + value.map_or(0, <[u8]>::len) > LONG {
            return self.print_long(page, key, value);
        }
        if self.json {
            return page.line(|line| self.put_json(line, key, value));
        }
        page.line(|line| {
            self.encoding.encode_into(key, line);
            if let Some(value) = value {
                line.extend_from_slice(&self.arrow);
                self.encoding.encode_into(value, line);
            }
            Ok(())
        })
    }

    /// Prints the same line in parts. The text of a long value may be five times as long, and is
    /// never in memory as a whole.
    fn print_long(&self, page: &mut Page, key: &[u8], value: Option<&[u8]>) -> io::Result<()> {
        let (start, middle, end) = match self.json {
            true => (&b"{\"key\":\""[..], &b"\",\"value\":\""[..], &b"\"}"[..]),
            false => (&b""[..], &self.arrow[..], &b""[..]),
        };
        page.part(|line| line.extend_from_slice(start))?;
        self.put_parts(page, key)?;
        if let Some(value) = value {
            page.part(|line| line.extend_from_slice(middle))?;
            self.put_parts(page, value)?;
        }
        page.part(|line| {
            line.extend_from_slice(end);
            line.push(b'\n');
        })
    }

    fn put_parts(&self, page: &mut Page, bytes: &[u8]) -> io::Result<()> {
        let mut text = Vec::new();
        for part in self.encoding.parts(bytes, PART) {
            text.clear();
            self.encoding.encode_into(part, &mut text);
            page.part(|line| match self.json {
                true => put_json_text(&text, line),
                false => line.extend_from_slice(&text),
            })?;
        }
        Ok(())
    }

    fn put_json(&mut self, line: &mut Vec<u8>, key: &[u8], value: Option<&[u8]>) -> io::Result<()> {
        let mut put = |name: &str, bytes: &[u8]| -> io::Result<()> {
            line.extend_from_slice(name.as_bytes());
            self.text.clear();
            self.encoding.encode_to(bytes, &mut self.text);
            Ok(serde_json::to_writer(&mut *line, &self.text)?)
        };
        put("{\"key\":", key)?;
        if let Some(value) = value {
            put(",\"value\":", value)?;
        }
        line.push(b'}');
        Ok(())
    }
}

/// Appends encoded text in the form it has inside a JSON string.
fn put_json_text(text: &[u8], line: &mut Vec<u8>) {
    for &byte in text {
        if matches!(byte, b'"' | b'\\') {
            line.push(b'\\');
        }
        line.push(byte);
    }
}

/// Both ends of `bytes`, long enough for a line of this width. The text between them would be cut
/// out anyway.
fn ends(bytes: &[u8], width: usize) -> Cow<'_, [u8]> {
    // A multiple of a base64 group.
    let kept = 3 * width;
    if bytes.len() <= 4 * kept {
        return bytes.into();
    }
    let tail = (bytes.len() - kept).next_multiple_of(3);
    [&bytes[..kept], &bytes[tail..]].concat().into()
}

/// The value of a record, as text.
pub(crate) fn value(record: &JsonRecord) -> Cow<'_, str> {
    if let Some(operands) = &record.merge {
        let base = match &record.value {
            Some(Some(base)) => format!("{base} + "),
            _ => String::new(),
        };
        return format!("merge {base}[{}]", operands.join(", ")).into();
    }
    let mut text = match &record.value {
        Some(Some(value)) => Cow::from(value),
        Some(None) => "(in another file)".into(),
        None => "".into(),
    };
    if let Some(columns) = &record.columns {
        let named: Vec<String> = columns
            .iter()
            .filter(|(name, _)| !name.is_empty())
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        text = format!("{text} {{{}}}", named.join(", ")).into();
    }
    if let Some(blob) = &record.blob {
        text = format!(
            "{text} (blob file {}, offset {}, {} bytes)",
            blob.file, blob.offset, blob.size
        )
        .into();
    }
    text
}

/// Shortens both to fit. A key may take half the width, or what the value leaves.
fn fit<'t>(key: Cow<'t, str>, value: Cow<'t, str>, width: usize) -> (Cow<'t, str>, Cow<'t, str>) {
    let (key_length, value_length) = (key.chars().count(), value.chars().count());
    if key_length + value_length <= width {
        return (key, value);
    }
    let for_key = key_length.min((width / 2).max(width.saturating_sub(value_length)));
    let for_value = width.saturating_sub(for_key).max(1);
    (shorten(&key, for_key.max(1)).into(), shorten(&value, for_value).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_shorten_like_the_whole_text() {
        for length in [0, 100, 1000, 1001, 1002, 5000] {
            let bytes: Vec<u8> = (0..length).map(|i| (i % 251) as u8).collect();
            for &encoding in Encoding::ALL {
                let shown = |bytes: &[u8]| shorten(&encoding.encode(bytes), 30);
                assert_eq!(shown(&ends(&bytes, 30)), shown(&bytes), "{encoding} {length}");
            }
        }
    }

    #[test]
    fn json_in_parts_is_json() {
        let all: Vec<u8> = (0..=u8::MAX).collect();
        for &encoding in Encoding::ALL {
            let mut text = Vec::new();
            put_json_text(encoding.encode(&all).as_bytes(), &mut text);
            let quoted = serde_json::to_string(&encoding.encode(&all)).unwrap();
            assert_eq!(format!("\"{}\"", String::from_utf8(text).unwrap()), quoted);
        }
    }

    #[test]
    fn both_fit() {
        let fit =
            |key: &'static str, value: &'static str, width| fit(key.into(), value.into(), width);
        assert_eq!(fit("key", "value", 8), ("key".into(), "value".into()));
        assert_eq!(fit("key", "valuevalue", 8), ("key".into(), "val…e".into()));
        assert_eq!(fit("keykeykeykey", "v", 8), ("keyk…ey".into(), "v".into()));
        assert_eq!(fit("keykeykeykey", "valuevalue", 8), ("ke…y".into(), "va…e".into()));
    }
}
