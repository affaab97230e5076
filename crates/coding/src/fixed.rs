//! Fixed-width integers, little-endian on every platform.

use alloc::vec::Vec;

/// Appends `value` as two bytes.
#[inline]
pub fn put_fixed16(out: &mut Vec<u8>, value: u16) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// Appends `value` as four bytes.
#[inline]
pub fn put_fixed32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// Appends `value` as eight bytes.
#[inline]
pub fn put_fixed64(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// Takes two bytes off the front of `input`.
pub fn get_fixed16(input: &mut &[u8]) -> Option<u16> {
    input.split_off(..2).map(|bytes| decode_fixed16(bytes.try_into().expect("two bytes")))
}

/// Takes four bytes off the front of `input`.
pub fn get_fixed32(input: &mut &[u8]) -> Option<u32> {
    input.split_off(..4).map(|bytes| decode_fixed32(bytes.try_into().expect("four bytes")))
}

/// Takes eight bytes off the front of `input`.
pub fn get_fixed64(input: &mut &[u8]) -> Option<u64> {
    input.split_off(..8).map(|bytes| decode_fixed64(bytes.try_into().expect("eight bytes")))
}

/// Decodes two bytes.
#[inline]
pub const fn decode_fixed16(bytes: [u8; 2]) -> u16 {
    u16::from_le_bytes(bytes)
}

/// Decodes four bytes.
#[inline]
pub const fn decode_fixed32(bytes: [u8; 4]) -> u32 {
    u32::from_le_bytes(bytes)
}

/// Decodes eight bytes.
#[inline]
pub const fn decode_fixed64(bytes: [u8; 8]) -> u64 {
    u64::from_le_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn low_byte_first() {
        let mut out = Vec::new();
        put_fixed16(&mut out, 0x0102);
        put_fixed32(&mut out, 0x0304_0506);
        put_fixed64(&mut out, 0x0708_090a_0b0c_0d0e);
        assert_eq!(out, [2, 1, 6, 5, 4, 3, 0x0e, 0x0d, 0x0c, 0x0b, 0x0a, 9, 8, 7]);

        let mut input = out.as_slice();
        assert_eq!(get_fixed16(&mut input), Some(0x0102));
        assert_eq!(get_fixed32(&mut input), Some(0x0304_0506));
        assert_eq!(get_fixed64(&mut input), Some(0x0708_090a_0b0c_0d0e));
        assert!(input.is_empty());
    }

    #[test]
    fn short_input_is_unchanged() {
        let mut input: &[u8] = &[1, 2, 3];
        assert_eq!(get_fixed32(&mut input), None);
        assert_eq!(get_fixed64(&mut input), None);
        assert_eq!(input, [1, 2, 3]);
    }
}
