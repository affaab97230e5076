//! Keys and values as text.
//!
//! | encoding | `user\<0x00>` | `é` |
//! |---|---|---|
//! | `escape` | `user\\\x00` | `\xc3\xa9` |
//! | `utf8` | `user\\\x00` | `é` |
//! | `hex` | `757365725c00` | `c3a9` |
//! | `base64` | `dXNlclwA` | `w6k=` |
//!
//! Every encoding is reversible: `escape` and `utf8` double the backslash. Characters that a terminal
//! [acts on](is_active) are never shown as they are.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Serialize, Serializer};
use sstkit_coding::named_enum;

named_enum! {
    /// The encoding of bytes as text.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum Encoding {
        /// Printable ASCII unchanged, `\\` for the backslash, `\xHH` for everything else.
        #[default]
        Escape => "escape",
        /// Like [`Escape`](Self::Escape), but valid UTF-8 unchanged, except for characters that are
        /// [active](is_active). Decoded as [`Escape`](Self::Escape) is.
        Utf8 => "utf8",
        /// Two lower-case hexadecimal digits per byte.
        Hex => "hex",
        /// The standard alphabet, padded.
        Base64 => "base64",
    }

    /// The name.
    fn name;
}

/// The reason why a text cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError {
    message: String,
}

impl Encoding {
    /// Encodes `bytes`.
    pub fn encode(self, bytes: &[u8]) -> String {
        let mut text = String::new();
        self.encode_to(bytes, &mut text);
        text
    }

    /// Appends the encoded `bytes`.
    pub fn encode_to(self, bytes: &[u8], text: &mut String) {
        let mut buffer = std::mem::take(text).into_bytes();
        self.encode_into(bytes, &mut buffer);
        // Only ASCII and whole characters were appended.
        *text = String::from_utf8(buffer).unwrap_or_default();
    }

    /// Appends the encoded `bytes`, which is UTF-8, and except for [`Utf8`](Self::Utf8) ASCII.
    pub fn encode_into(self, bytes: &[u8], text: &mut Vec<u8>) {
        match self {
            // Reserving the worst case is cheap for short input.
            Self::Escape if bytes.len() <= PART => escape(bytes, text),
            Self::Escape => {
                text.reserve_exact(escaped_length(bytes));
                let mut part = Vec::with_capacity(4 * PART);
                for bytes in bytes.chunks(PART) {
                    part.clear();
                    escape(bytes, &mut part);
                    text.extend_from_slice(&part);
                }
            }
            Self::Utf8 => escape_around_utf8(bytes, text),
            Self::Hex => put_hex(bytes, text),
            Self::Base64 => {
                let room = bytes.len().div_ceil(3) * 4;
                append(text, room, |room| STANDARD.encode_slice(bytes, room).unwrap_or(0));
            }
        }
    }

    /// Splits `bytes` into parts of about `size` bytes, whose encoded forms make up that of the whole.
    pub fn parts(self, bytes: &[u8], size: usize) -> impl Iterator<Item = &[u8]> {
        let mut rest = bytes;
        std::iter::from_fn(move || {
            // A multiple of a base64 group, and longer than a character.
            let mut length = size.next_multiple_of(3).max(6).min(rest.len());
            if self == Self::Utf8 && length < rest.len() {
                // Back to the first byte of a character, if it is one.
                let starts = |&at: &usize| !matches!(rest[at], 0x80..=0xbf);
                length = (length - 3..=length).rev().find(starts).unwrap_or(length);
            }
            let (part, after) = rest.split_at(length);
            rest = after;
            (!part.is_empty()).then_some(part)
        })
    }

    /// Decodes `text`. In the escape form, characters beyond ASCII stand for their UTF-8, and `\n`,
    /// `\r`, `\t`, `\0`, `\"` and `\'` are also accepted.
    pub fn decode(self, text: &str) -> Result<Vec<u8>, DecodeError> {
        match self {
            Self::Escape | Self::Utf8 => unescape(text),
            Self::Hex => decode_hex(text),
            Self::Base64 => STANDARD
                .decode(text)
                .map_err(|error| DecodeError { message: format!("not base64: {error}") }),
        }
    }
}

/// Whether a terminal acts on a character, or shows others in another order because of it: control
/// characters (C0, DELETE, C1), line and paragraph separators, and characters that change the
/// direction of text.
pub fn is_active(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{061c}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2066}'..='\u{2069}'
                | '\u{feff}'
        )
}

/// Appends characters of valid UTF-8 beyond ASCII, and everything else in the escape form.
fn escape_around_utf8(bytes: &[u8], text: &mut Vec<u8>) {
    for chunk in bytes.utf8_chunks() {
        let mut rest = chunk.valid();
        while let Some(at) = rest.find(|c: char| !c.is_ascii()) {
            let (ascii, after) = rest.split_at(at);
            Encoding::Escape.encode_into(ascii.as_bytes(), text);
            let end = after.find(|c: char| c.is_ascii() || is_active(c)).unwrap_or(after.len());
            let length = after.chars().next().map_or(0, char::len_utf8);
            let (shown, after) = match end {
                // An active character.
                0 => {
                    escape(&after.as_bytes()[..length], text);
                    ("", &after[length..])
                }
                _ => after.split_at(end),
            };
            text.extend_from_slice(shown.as_bytes());
            rest = after;
        }
        Encoding::Escape.encode_into(rest.as_bytes(), text);
        escape(chunk.invalid(), text);
    }
}

/// The number of bytes to escape at a time.
const PART: usize = 64 << 10;

fn escaped_length(bytes: &[u8]) -> usize {
    bytes.iter().map(|&byte| (ESCAPES[usize::from(byte)] >> 35) as usize).sum()
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// The escape form of each byte: the first letter in the lowest bits, and above that the length in
/// bits.
const ESCAPES: [u64; 256] = {
    let mut escapes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (escaped, length) = match byte as u8 {
            b'\\' => (*b"\\\\\0\0", 2),
            plain @ b' '..=b'~' => ([plain, 0, 0, 0], 1),
            _ => ([b'\\', b'x', DIGITS[byte >> 4], DIGITS[byte & 0xf]], 4),
        };
        escapes[byte] = u32::from_le_bytes(escaped) as u64 | (8 * length) << 32;
        byte += 1;
    }
    escapes
};

/// Appends what `put` writes into the given space; `put` returns the length.
fn append(text: &mut Vec<u8>, room: usize, put: impl FnOnce(&mut [u8]) -> usize) {
    let start = text.len();
    text.resize(start + room, 0);
    let length = put(&mut text[start..]);
    text.truncate(start + length);
}

fn put_hex(bytes: &[u8], text: &mut Vec<u8>) {
    append(text, bytes.len() * 2, |room| {
        for (place, &byte) in room.as_chunks_mut().0.iter_mut().zip(bytes) {
            *place = [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 0xf)]];
        }
        bytes.len() * 2
    });
}

/// Processes two bytes at a time: writes eight bytes, and keeps as many as needed. There are no
/// unpredictable branches, whatever the mix of plain and escaped bytes.
fn escape(bytes: &[u8], text: &mut Vec<u8>) {
    append(text, bytes.len() * 4, |room| {
        let mut length = 0;
        let (pairs, odd) = bytes.as_chunks::<2>();
        for &[first, second] in pairs {
            let [first, second] = [first, second].map(|byte| ESCAPES[usize::from(byte)]);
            let bits = first >> 32;
            if let Some(place) = room[length..].first_chunk_mut() {
                let both = u64::from(first as u32) | u64::from(second as u32) << bits;
                *place = both.to_le_bytes();
            }
            length += (bits + (second >> 32)) as usize / 8;
        }
        for &byte in odd {
            let escape = ESCAPES[usize::from(byte)];
            if let Some(place) = room[length..].first_chunk_mut() {
                *place = (escape as u32).to_le_bytes();
            }
            length += (escape >> 32) as usize / 8;
        }
        length
    });
}

fn unescape(text: &str) -> Result<Vec<u8>, DecodeError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        let (decoded, length) = match rest {
            [b'x', high, low, ..] => (hex_digit(*high).zip(hex_digit(*low)).map(pair), 3),
            [b'\\', ..] => (Some(b'\\'), 1),
            [b'n', ..] => (Some(b'\n'), 1),
            [b'r', ..] => (Some(b'\r'), 1),
            [b't', ..] => (Some(b'\t'), 1),
            [b'0', ..] => (Some(0), 1),
            [quote @ (b'"' | b'\''), ..] => (Some(*quote), 1),
            _ => (None, 0),
        };
        let Some(decoded) = decoded else {
            let at = text.len() - rest.len() - 1;
            let message = format!("at byte {at}: a backslash is written \\\\, any byte \\xHH");
            return Err(DecodeError { message });
        };
        bytes.push(decoded);
        rest = &rest[length..];
    }
    Ok(bytes)
}

/// Digits, with or without `0x` before them, as `ldb` prints them.
fn decode_hex(text: &str) -> Result<Vec<u8>, DecodeError> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let (pairs, odd) = digits.as_bytes().as_chunks::<2>();
    if !odd.is_empty() {
        return Err(DecodeError { message: "an odd number of hexadecimal digits".into() });
    }
    let bytes = pairs.iter().map(|&[high, low]| hex_digit(high).zip(hex_digit(low)).map(pair));
    bytes
        .collect::<Option<_>>()
        .ok_or_else(|| DecodeError { message: "not hexadecimal digits alone".into() })
}

fn hex_digit(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|digit| digit as u8)
}

fn pair((high, low): (u8, u8)) -> u8 {
    high << 4 | low
}

impl Serialize for Encoding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for DecodeError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_example() {
        for (encoding, text) in [
            (Encoding::Escape, r"user\\\x00"),
            (Encoding::Utf8, r"user\\\x00"),
            (Encoding::Hex, "757365725c00"),
            (Encoding::Base64, "dXNlclwA"),
        ] {
            assert_eq!(encoding.encode(b"user\\\0"), text);
            assert_eq!(encoding.decode(text).unwrap(), b"user\\\0");
        }
        let shown: Vec<_> = Encoding::ALL.iter().map(|it| it.encode("é".as_bytes())).collect();
        assert_eq!(shown, [r"\xc3\xa9", "é", "c3a9", "w6k="]);
    }

    #[test]
    fn utf8_as_it_is() {
        for (bytes, expected) in [
            ("Zürich 日本 😀 a\\b".as_bytes(), r"Zürich 日本 😀 a\\b"),
            (b"a\xff\xc3\xa9\xe6\x97", r"a\xffé\xe6\x97"),
            (
                "\u{202e}é\u{85}\u{9b}é\u{2066}".as_bytes(),
                r"\xe2\x80\xaeé\xc2\x85\xc2\x9bé\xe2\x81\xa6",
            ),
            (b"\x1b[2J\x7f\n", r"\x1b[2J\x7f\x0a"),
            // Neither surrogates nor overlong forms are characters.
            (b"\xed\xa0\x80\xc0\xaf", r"\xed\xa0\x80\xc0\xaf"),
        ] {
            let text = Encoding::Utf8.encode(bytes);
            assert_eq!(text, expected);
            assert!(!text.contains(is_active));
            assert_eq!(Encoding::Utf8.decode(&text).unwrap(), bytes);
        }
    }

    #[test]
    fn parts_make_up_the_whole() {
        let text = "日本😀é\u{202e}a\\".repeat(30) + "\0";
        let broken: Vec<u8> = (0..200).map(|i| if i % 3 == 0 { 0xe6 } else { 0x97 }).collect();
        for bytes in [text.as_bytes(), &broken, &[0x97; 40], b"", b"a"] {
            for &encoding in Encoding::ALL {
                for size in [1, 3, 4, 5, 6, 7, 64] {
                    let parts = encoding.parts(bytes, size).map(|part| encoding.encode(part));
                    assert_eq!(parts.collect::<String>(), encoding.encode(bytes), "{encoding}");
                }
            }
        }
    }

    #[test]
    fn everything_comes_back() {
        let all: Vec<u8> = (0..=u8::MAX).collect();
        for &encoding in Encoding::ALL {
            assert_eq!(encoding.name().parse(), Ok(encoding));
            for length in 0..all.len() {
                let text = encoding.encode(&all[length..]);
                assert!(text.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{text}");
                assert_eq!(encoding.decode(&text).unwrap(), &all[length..]);
            }
        }
    }

    /// Encoding a long value takes no more memory than its result.
    #[test]
    fn long_ones_come_back() {
        let bytes: Vec<u8> = (0..300_001u32).map(|i| (i % 256) as u8).collect();
        for &encoding in Encoding::ALL {
            let mut text = Vec::new();
            encoding.encode_into(&bytes, &mut text);
            let room = if encoding == Encoding::Utf8 { text.len() } else { 4 };
            assert!(text.capacity() <= text.len() + room, "{encoding}");
            let text = String::from_utf8(text).unwrap();
            assert!(encoding.decode(&text).unwrap() == bytes, "{encoding}");
        }
        assert_eq!(escaped_length(&bytes), Encoding::Escape.encode(&bytes).len());
    }

    #[test]
    fn what_people_type() {
        let decode = |text| Encoding::Escape.decode(text);
        assert_eq!(decode(r"a\n\t\r\0\x7F").unwrap(), b"a\n\t\r\0\x7f");
        assert_eq!(decode("ä").unwrap(), "ä".as_bytes());
        for wrong in [r"a\", r"\x1", r"\xg0", r"\q"] {
            assert!(decode(wrong).is_err(), "{wrong}");
        }
        assert_eq!(Encoding::Hex.decode("fF").unwrap(), [0xff]);
        assert_eq!(Encoding::Hex.decode("0xfF").unwrap(), [0xff]);
        for wrong in ["1", "0g", "0x0", "x00"] {
            assert!(Encoding::Hex.decode(wrong).is_err(), "{wrong}");
        }
        assert!(Encoding::Base64.decode("?").is_err());
    }
}
