//! Bytes as the dump shows them.
//!
//! ```text
//!   HEX    6B3100: 76
//!   ASCII  k 1 \0 : v
//!   ------
//! ```

const DIGITS: &[u8; 16] = b"0123456789ABCDEF";

/// Appends `bytes` in hexadecimal.
pub(super) fn put_hex(bytes: &[u8], text: &mut Vec<u8>) {
    text.reserve(bytes.len() * 2);
    for &byte in bytes {
        text.push(DIGITS[usize::from(byte >> 4)]);
        text.push(DIGITS[usize::from(byte & 0xf)]);
    }
}

/// Appends `bytes` as they are, each with a space behind it, and `zero` for zero bytes.
pub(super) fn put_spaced(bytes: &[u8], zero: &[u8], text: &mut Vec<u8>) {
    text.reserve(bytes.len() * 2);
    for &byte in bytes {
        match byte {
            0 => text.extend_from_slice(zero),
            _ => text.push(byte),
        }
        text.push(b' ');
    }
}

/// Appends the three lines of an entry.
pub(super) fn put_entry(key: &[u8], value: &[u8], text: &mut Vec<u8>) {
    text.extend_from_slice(b"  HEX    ");
    put_hex(key, text);
    text.extend_from_slice(b": ");
    put_hex(value, text);
    text.extend_from_slice(b"\n  ASCII  ");
    put_spaced(key, b"\\0", text);
    text.extend_from_slice(b": ");
    put_spaced(value, b"\\0", text);
    text.extend_from_slice(b"\n  ------\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drawn_example() {
        let mut text = Vec::new();
        put_entry(b"k1\0", b"v", &mut text);
        assert_eq!(text, b"  HEX    6B3100: 76\n  ASCII  k 1 \\0 : v \n  ------\n");
    }
}
