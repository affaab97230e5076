//! Values that bring a sequence number of their own.
//!
//! ```text
//! | user's value | fixed64 sequence number |
//! ```

use sstkit_coding::fixed::decode_fixed64;

/// The user's value and the sequence number behind it, of an entry of kind
/// [`ValuePreferredSeqno`](crate::raw::EntryKind::ValuePreferredSeqno); `None` if it is too short.
pub fn split_preferred_seqno(value: &[u8]) -> Option<(&[u8], u64)> {
    let (value, sequence) = value.split_last_chunk()?;
    Some((value, decode_fixed64(*sequence)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_eight_bytes() {
        assert_eq!(split_preferred_seqno(b"v\x07\0\0\0\0\0\0\0"), Some((&b"v"[..], 7)));
        assert_eq!(split_preferred_seqno(b"1234567"), None);
    }
}
