//! Text that is safe to print: it cannot move the cursor, change colours or hide what follows.
//!
//! Names, properties, paths and messages come from untrusted files. Characters that a terminal acts
//! on are escaped, as [`is_active`] says.
//!
//! ```text
//! ESC [ 2 J     \x1b[2J
//! U+009B        \u{9b}
//! U+202E        \u{202e}
//! ```
//!
//! Text from a file or path goes through [`plain`] where it is put into a line: messages, cells of
//! grids, painted text. All text for people then goes through [`plain_lines`], and bytes copied to
//! a terminal through [`plain_bytes`]; our own colours are not part of the text
//! ([`Page`](super::Page)). In JSON the same characters are written as `\uXXXX` ([`PlainJson`]),
//! which means the same to any reader.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io;

use serde_json::ser::Formatter;
use sstkit_inspect::is_active;

/// Escapes all active characters, line ends included.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    match text.contains(is_active) {
        true => text.chars().fold(String::new(), |line, c| put(line, c, false)).into(),
        false => text.into(),
    }
}

/// Like [`plain`], for text of several lines.
pub(crate) fn plain_lines(text: &str) -> Cow<'_, str> {
    // Most text is printable ASCII, which is faster to recognize.
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n'));
    match !is_plain && text.contains(|c| is_active(c) && c != '\n') {
        true => text.chars().fold(String::new(), |line, c| put(line, c, true)).into(),
        false => text.into(),
    }
}

fn put(mut text: String, c: char, keep_lines: bool) -> String {
    // Writing to a string cannot fail.
    let _ = match c {
        '\n' if keep_lines => text.write_char(c),
        '\n' => text.write_str("\\n"),
        '\0'..='\x7f' if is_active(c) => write!(text, "\\x{:02x}", u32::from(c)),
        _ if is_active(c) => write!(text, "\\u{{{:x}}}", u32::from(c)),
        _ => text.write_char(c),
    };
    text
}

/// Escapes bytes for a terminal: like [`plain_lines`], and bytes that are not UTF-8, too.
pub(crate) fn plain_bytes(bytes: &[u8]) -> Vec<u8> {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.push_str(&plain_lines(chunk.valid()));
        for byte in chunk.invalid() {
            // Writing to a string cannot fail.
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out.into_bytes()
}

/// A JSON formatter that writes active characters as `\uXXXX`.
pub(crate) struct PlainJson;

impl Formatter for PlainJson {
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        // Keys and values are printable ASCII.
        let is_plain = fragment.is_ascii() && !fragment.contains('\x7f');
        while let Some(at) = if is_plain { None } else { rest.find(is_active) } {
            let (before, after) = rest.split_at(at);
            writer.write_all(before.as_bytes())?;
            let mut after = after.chars();
            if let Some(active) = after.next() {
                write!(writer, "\\u{:04x}", u32::from(active))?;
            }
            rest = after.as_str();
        }
        writer.write_all(rest.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use serde::Serialize as _;
    use serde_json::Serializer;

    use super::*;

    #[test]
    fn active_characters_are_escaped() {
        for (text, expected) in [
            ("plain äöü 日本 …", "plain äöü 日本 …"),
            ("\x1b[2J\x07\x7f\r\n\t", "\\x1b[2J\\x07\\x7f\\x0d\\n\\x09"),
            ("\u{9b}2J\u{85}", "\\u{9b}2J\\u{85}"),
            ("a\u{202e}b\u{2066}\u{2028}", "a\\u{202e}b\\u{2066}\\u{2028}"),
        ] {
            assert_eq!(plain(text), expected);
        }
        assert_eq!(plain_lines("a\n\x1bb\n"), "a\n\\x1bb\n");
    }

    #[test]
    fn escape_sequences_are_escaped() {
        for (bytes, expected) in [
            (&b"\x1b[1mhead\x1b[0m\n"[..], "\\x1b[1mhead\\x1b[0m\n"),
            (b"\x1b[2J\x1b]0;title\x07\x1b[8mx", "\\x1b[2J\\x1b]0;title\\x07\\x1b[8mx"),
            (b"\xff\x9b2J\xc2\x9b8m", "\\xff\\x9b2J\\u{9b}8m"),
        ] {
            assert_eq!(String::from_utf8(plain_bytes(bytes)).unwrap(), expected);
        }
    }

    #[test]
    fn json_stays_the_same_json() {
        let value = serde_json::json!({"a\u{9b}": "\u{202e}\x7fä\n"});
        let mut line = Vec::new();
        value.serialize(&mut Serializer::with_formatter(&mut line, PlainJson)).unwrap();
        let text = std::str::from_utf8(&line).unwrap();
        assert!(!text.contains(is_active), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(text).unwrap(), value);
    }
}
