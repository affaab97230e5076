//! Bytes as printed in the dump.
//!
//! ```text
//!   HEX    6B3100: 76
//!   ASCII  k 1 \0 : v
//!   ------
//! ```

const DIGITS: &[u8; 16] = b"0123456789ABCDEF";

/// Appends `bytes` in hexadecimal.
pub(super) fn put_hex(bytes: &[u8], text: &mut Vec<u8>) {
    let digit = |nibble: u8| DIGITS[usize::from(nibble)];
    put_pairs(bytes, |byte| [digit(byte >> 4), digit(byte & 0xf)], text);
}

/// Appends two characters for each byte, without a capacity check for each: this is most of the
/// dump.
fn put_pairs(bytes: &[u8], pair: impl Fn(u8) -> [u8; 2], text: &mut Vec<u8>) {
    let start = text.len();
    text.resize(start + bytes.len() * 2, 0);
    for (place, &byte) in text[start..].as_chunks_mut().0.iter_mut().zip(bytes) {
        *place = pair(byte);
    }
}

/// Appends `bytes` unchanged, each followed by a space, and `zero` for zero bytes.
pub(super) fn put_spaced(bytes: &[u8], zero: &[u8], text: &mut Vec<u8>) {
    if !bytes.contains(&0) {
        return put_pairs(bytes, |byte| [byte, b' '], text);
    }
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
