//! Variable-length integers (LEB128), zigzag integers and length-prefixed slices.
//!
//! ```text
//! 300 = 0b10_0101100
//!
//!   byte 0     byte 1
//! +----------+----------+
//! | 1 0101100| 0 0000010|     seven bits per byte, low group first;
//! +----------+----------+     the top bit is set if another byte follows
//! ```
//!
//! A varint32 takes at most 5 bytes, a varint64 at most 10. As in the engines, overlong encodings
//! are accepted (`80 00` is 0) and bits beyond the width are dropped. A varint without a last byte
//! within its limit or within the input is invalid.

use alloc::vec::Vec;

/// Maximum length of a 32-bit varint.
pub const MAX_VARINT32_LENGTH: usize = 5;
/// Maximum length of a 64-bit varint.
pub const MAX_VARINT64_LENGTH: usize = 10;

const MORE: u8 = 0x80;

/// Appends `value` in 1 to 5 bytes.
pub fn put_varint32(out: &mut Vec<u8>, value: u32) {
    put_varint64(out, u64::from(value));
}

/// Appends `value` in 1 to 10 bytes.
pub fn put_varint64(out: &mut Vec<u8>, mut value: u64) {
    while value >= u64::from(MORE) {
        out.push(value as u8 | MORE);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a signed integer in zigzag encoding, in which values near zero take few bytes: 0, -1, 1,
/// -2 … become 0, 1, 2, 3 …
pub fn put_varsigned64(out: &mut Vec<u8>, value: i64) {
    put_varint64(out, ((value << 1) ^ (value >> 63)) as u64);
}

/// Appends the length of `slice` as a varint32, then its bytes.
///
/// # Panics
///
/// If `slice` is 4 GiB or longer, which these formats cannot represent.
pub fn put_length_prefixed_slice(out: &mut Vec<u8>, slice: &[u8]) {
    let length = u32::try_from(slice.len()).expect("a length-prefixed slice is below 4 GiB");
    put_varint32(out, length);
    out.extend_from_slice(slice);
}

/// The number of bytes that [`put_varint64`] appends for `value`.
pub const fn varint_length(value: u64) -> usize {
    // One byte per seven significant bits; one byte for zero.
    (u64::BITS - (value | 1).leading_zeros()).div_ceil(7) as usize
}

/// Takes a varint32 off the front of `input`.
#[inline]
pub fn get_varint32(input: &mut &[u8]) -> Option<u32> {
    if let Some((&first, rest)) = input.split_first()
        && first < MORE
    {
        // Most lengths in a block are below 128.
        *input = rest;
        return Some(u32::from(first));
    }
    get_groups(input, MAX_VARINT32_LENGTH).map(|value| value as u32)
}

/// Takes a varint64 off the front of `input`.
#[inline]
pub fn get_varint64(input: &mut &[u8]) -> Option<u64> {
    if let Some(word) = input.first_chunk()
        && let Some((value, length)) = decode_word(u64::from_le_bytes(*word))
    {
        *input = &input[length..];
        return Some(value);
    }
    get_groups(input, MAX_VARINT64_LENGTH)
}

/// Decodes the varint at the start of eight bytes and returns it with its length, or `None` if it is
/// longer. All groups are decoded at once, without a branch per group.
#[inline]
fn decode_word(word: u64) -> Option<(u64, usize)> {
    let last_bytes = !word & 0x8080_8080_8080_8080;
    if last_bytes == 0 {
        return None;
    }
    // The last byte is the first one with a clear top bit.
    let length = last_bytes.trailing_zeros() / 8 + 1;
    let groups = word & (u64::MAX >> (64 - 8 * length)) & 0x7f7f_7f7f_7f7f_7f7f;
    // Groups of 7 in 8 bits, of 14 in 16, of 28 in 32.
    let pairs = groups & 0x007f_007f_007f_007f | (groups & 0x7f00_7f00_7f00_7f00) >> 1;
    let fours = pairs & 0x0000_3fff_0000_3fff | (pairs & 0x3fff_0000_3fff_0000) >> 2;
    let value = fours & 0x0000_0000_0fff_ffff | (fours & 0x0fff_ffff_0000_0000) >> 4;
    Some((value, length as usize))
}

/// Takes a zigzag integer off the front of `input`.
pub fn get_varsigned64(input: &mut &[u8]) -> Option<i64> {
    get_varint64(input).map(|value| (value >> 1) as i64 ^ -((value & 1) as i64))
}

/// Takes a varint32 length and that many bytes off the front of `input`.
pub fn get_length_prefixed_slice<'a>(input: &mut &'a [u8]) -> Option<&'a [u8]> {
    let mut rest = *input;
    let length = get_varint32(&mut rest)?;
    let slice = rest.split_off(..usize::try_from(length).ok()?)?;
    *input = rest;
    Some(slice)
}

fn get_groups(input: &mut &[u8], limit: usize) -> Option<u64> {
    let mut value = 0u64;
    for (i, &byte) in input.iter().take(limit).enumerate() {
        // The tenth group starts at bit 63: its upper bits are dropped.
        value |= u64::from(byte & !MORE) << (7 * i);
        if byte < MORE {
            *input = &input[i + 1..];
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn overlong_encodings_are_accepted_and_excess_bits_dropped() {
        let mut input: &[u8] = &[0x80, 0x80, 0x00, 0x07];
        assert_eq!(get_varint32(&mut input), Some(0));
        assert_eq!(input, [0x07]);

        for length in 1..=10 {
            let bytes = [&[0x81; 10][..length - 1], &[0x00; 10]].concat();
            let mut input = &bytes[..];
            let expected = (0..length - 1).map(|group| 1 << (7 * group)).sum();
            assert_eq!(get_varint64(&mut input), Some(expected));
            assert_eq!(input.len(), 10 - 1);
        }

        let mut input: &[u8] = &[0xff, 0xff, 0xff, 0xff, 0x7f];
        assert_eq!(get_varint32(&mut input), Some(u32::MAX));

        let mut input: &[u8] = &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
        assert_eq!(get_varint64(&mut input), Some(u64::MAX));
    }

    #[test]
    fn incomplete_input_is_rejected_and_unchanged() {
        for bytes in [&[][..], &[0x80], &[0xff; 5], &[0xff; 12]] {
            let mut input = bytes;
            assert_eq!(get_varint32(&mut input), None);
            assert_eq!(input, bytes);
        }
        let mut input: &[u8] = &[0xff; 10];
        assert_eq!(get_varint64(&mut input), None);

        let mut input: &[u8] = &[3, b'a', b'b'];
        assert_eq!(get_length_prefixed_slice(&mut input), None);
        assert_eq!(input, [3, b'a', b'b']);
    }

    #[test]
    fn zigzag_alternates() {
        for (value, byte) in [(0, 0), (-1, 1), (1, 2), (-2, 3), (2, 4)] {
            let mut out = Vec::new();
            put_varsigned64(&mut out, value);
            assert_eq!(out, [byte]);
        }
    }

    proptest! {
        #[test]
        fn round_trip(value: u64, shift in 0u32..64) {
            let value = value >> shift;
            let mut out = Vec::new();
            put_varint64(&mut out, value);
            prop_assert_eq!(out.len(), varint_length(value));
            prop_assert_eq!(get_varint64(&mut out.as_slice()), Some(value));
            put_varint32(&mut out, value as u32);
            put_varsigned64(&mut out, value as i64);
            put_length_prefixed_slice(&mut out, &value.to_le_bytes());

            let mut input = out.as_slice();
            prop_assert_eq!(get_varint64(&mut input), Some(value));
            prop_assert_eq!(get_varint32(&mut input), Some(value as u32));
            prop_assert_eq!(get_varsigned64(&mut input), Some(value as i64));
            prop_assert_eq!(get_length_prefixed_slice(&mut input), Some(&value.to_le_bytes()[..]));
            prop_assert!(input.is_empty());
        }
    }
}
