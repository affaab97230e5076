//! A key that a page has used, encoded.
//!
//! | type byte | followed by | |
//! |---|---|---|
//! | 0 | | after all others; an upper bound |
//! | 1 | varint length in UTF-16 units, UTF-16BE | string |
//! | 2 | little-endian double | date, in milliseconds since 1970 |
//! | 3 | little-endian double | number |
//! | 4 | varint length, encoded keys | array |
//! | 5 | | before all others; a lower bound |
//! | 6 | varint length, bytes | binary |
//!
//! In order: 5, numbers, dates, strings, binary, arrays, 0. Arrays may be nested to any depth, so nothing
//! here recurses.

use std::cmp::Ordering;
use std::fmt::{self, Write as _};

use sstkit_coding::varint::get_varint64;

const MAXIMUM: u8 = 0;
const STRING: u8 = 1;
const DATE: u8 = 2;
const NUMBER: u8 = 3;
const ARRAY: u8 = 4;
const MINIMUM: u8 = 5;
const BINARY: u8 = 6;

/// The types, from first to last.
const ASCENDING: [u8; 7] = [MINIMUM, NUMBER, DATE, STRING, BINARY, ARRAY, MAXIMUM];

/// An encoded key that is valid.
#[derive(Clone, Copy, Debug)]
pub(super) struct EncodedKey<'k>(&'k [u8]);

/// A part of an encoded key.
enum Part<'k> {
    Bound,
    Number(f64),
    Bytes(&'k [u8]),
    Array(u64),
}

impl<'k> EncodedKey<'k> {
    /// Takes a valid key from the start of `input`.
    pub(super) fn take_from(input: &mut &'k [u8]) -> Option<Self> {
        let whole = *input;
        let mut remaining = 1u64;
        while remaining > 0 {
            remaining -= 1;
            if let (_, Part::Array(length)) = take_part(input)? {
                remaining = remaining.checked_add(length)?;
            }
        }
        Some(Self(&whole[..whole.len() - input.len()]))
    }

    pub(super) fn compare(self, other: Self) -> Ordering {
        let (mut a, mut b) = (self.0, other.0);
        // Of the arrays around the current parts: pairs of elements to compare, and how their lengths
        // compare.
        let mut arrays: Vec<(u64, Ordering)> = Vec::new();
        loop {
            let (Some((type_a, part_a)), Some((type_b, part_b))) =
                (take_part(&mut a), take_part(&mut b))
            else {
                return Ordering::Equal;
            };
            let order = rank(type_a).cmp(&rank(type_b)).then_with(|| match (&part_a, &part_b) {
                (Part::Number(a), Part::Number(b)) => a.partial_cmp(b).unwrap_or(Ordering::Equal),
                (Part::Bytes(a), Part::Bytes(b)) => a.cmp(b),
                _ => Ordering::Equal,
            });
            if order.is_ne() {
                return order;
            }
            if let (Part::Array(a), Part::Array(b)) = (part_a, part_b) {
                arrays.push((a.min(b), a.cmp(&b)));
            } else if let Some((pairs, _)) = arrays.last_mut() {
                *pairs -= 1;
            }
            while let Some(&(0, order)) = arrays.last() {
                if order.is_ne() {
                    return order;
                }
                arrays.pop();
                if let Some((pairs, _)) = arrays.last_mut() {
                    *pairs -= 1;
                }
            }
            if arrays.is_empty() {
                return Ordering::Equal;
            }
        }
    }
}

fn rank(kind: u8) -> Option<usize> {
    ASCENDING.iter().position(|&known| known == kind)
}

/// Takes the type byte and what follows it; of an array, its length.
fn take_part<'k>(input: &mut &'k [u8]) -> Option<(u8, Part<'k>)> {
    let (&kind, rest) = input.split_first()?;
    *input = rest;
    let part = match kind {
        MAXIMUM | MINIMUM => Part::Bound,
        DATE | NUMBER => {
            let (bytes, rest) = input.split_first_chunk()?;
            *input = rest;
            let number = f64::from_le_bytes(*bytes);
            // No key of a page, and not comparable.
            if number.is_nan() {
                return None;
            }
            Part::Number(number)
        }
        STRING => Part::Bytes(take_text(input)?),
        BINARY => {
            let length = get_varint64(input)?;
            Part::Bytes(take(input, length)?)
        }
        ARRAY => Part::Array(get_varint64(input)?),
        _ => return None,
    };
    Some((kind, part))
}

fn take<'k>(input: &mut &'k [u8], length: u64) -> Option<&'k [u8]> {
    let (taken, rest) = input.split_at_checked(usize::try_from(length).ok()?)?;
    *input = rest;
    Some(taken)
}

/// Takes a string with its length: the bytes of its UTF-16BE.
pub(super) fn take_text<'k>(input: &mut &'k [u8]) -> Option<&'k [u8]> {
    let units = get_varint64(input)?;
    take(input, units.checked_mul(2)?)
}

/// UTF-16BE as a quoted string.
pub(super) struct Text<'k>(pub(super) &'k [u8]);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = self.0.chunks_exact(2).map(|unit| u16::from_be_bytes([unit[0], unit[1]]));
        f.write_char('"')?;
        for unit in char::decode_utf16(units) {
            match unit {
                Ok('"') => f.write_str("\\\"")?,
                Ok('\\') => f.write_str("\\\\")?,
                Ok(char) if char.is_control() => write!(f, "\\u{:04x}", u32::from(char))?,
                Ok(char) => f.write_char(char)?,
                Err(lone) => write!(f, "\\u{:04x}", lone.unpaired_surrogate())?,
            }
        }
        f.write_char('"')
    }
}

/// As JavaScript would write it: `[1, "two", 0x03]`; dates as `Date(milliseconds)`.
impl fmt::Display for EncodedKey<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut input = self.0;
        let mut arrays: Vec<u64> = Vec::new();
        while let Some((kind, part)) = take_part(&mut input) {
            match (kind, part) {
                (DATE, Part::Number(number)) => write!(f, "Date({number})")?,
                (_, Part::Number(number)) => write!(f, "{number}")?,
                (STRING, Part::Bytes(bytes)) => Text(bytes).fmt(f)?,
                (_, Part::Bytes(bytes)) => {
                    f.write_str("0x")?;
                    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
                }
                (_, Part::Bound) => {
                    f.write_str(if kind == MINIMUM { "minimum" } else { "maximum" })?;
                }
                (_, Part::Array(length)) => {
                    f.write_char('[')?;
                    // Its own count comes after those of its elements.
                    arrays.push(length);
                    if length > 0 {
                        continue;
                    }
                }
            }
            while let Some(remaining) = arrays.last_mut() {
                if *remaining > 1 {
                    *remaining -= 1;
                    f.write_str(", ")?;
                    break;
                }
                f.write_char(']')?;
                arrays.pop();
            }
        }
        Ok(())
    }
}
