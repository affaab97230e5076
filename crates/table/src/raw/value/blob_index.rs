//! Where a value is that is not in its entry.
//!
//! ```text
//! | 00 | expiration | the value itself                        |   legacy, with a time to live
//! | 01 | file       | offset | size | u8 codec                |
//! | 02 | expiration | file   | offset | size | u8 codec       |   legacy, with a time to live
//!        varint64 each
//! ```
//!
//! File 0 is the table itself: the value is between its data blocks.
//!
//! TiKV's Titan stores references of the second form without the codec, to files of its own format.

use sstkit_coding::varint::{get_varint64, put_varint64};

use crate::error::{Error, Result};

/// A reference to a value, as stored in an entry of kind
/// [`BlobIndex`](crate::raw::EntryKind::BlobIndex).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BlobIndex<'a> {
    /// The value is here after all, and expires.
    Inlined {
        /// In seconds since 1970.
        expiration: u64,
        /// The value.
        value: &'a [u8],
    },
    /// The value is in a file.
    Stored {
        /// In seconds since 1970, if it expires.
        expiration: Option<u64>,
        /// Number of the blob file, or 0 for the table itself.
        file: u64,
        /// Where its bytes start.
        offset: u64,
        /// How many there are, as stored.
        size: u64,
        /// The codec byte.
        codec: u8,
    },
}

sstkit_coding::debug_enum!(BlobIndex<'_> {
    Inlined { expiration, value: bytes },
    Stored { expiration, file, offset, size, codec },
});

impl<'a> BlobIndex<'a> {
    /// Decodes a whole reference.
    pub fn decode_from(bytes: &'a [u8]) -> Result<Self> {
        Self::decode(bytes).ok_or_else(|| {
            if is_of_titan(bytes) {
                return Error::unsupported(
                    "the blob index has no codec, as those of Titan (TiKV), whose blob files are not \
                     supported",
                );
            }
            let start = bytes[..bytes.len().min(32)].escape_ascii();
            Error::corrupt(format!("the blob index \"{start}\" is unreadable"))
        })
    }

    /// Appends the encoded reference.
    pub fn encode_to(&self, out: &mut Vec<u8>) {
        match *self {
            Self::Inlined { expiration, value } => {
                out.push(0);
                put_varint64(out, expiration);
                out.extend_from_slice(value);
            }
            Self::Stored { expiration, file, offset, size, codec } => {
                out.push(if expiration.is_some() { 2 } else { 1 });
                for number in expiration.into_iter().chain([file, offset, size]) {
                    put_varint64(out, number);
                }
                out.push(codec);
            }
        }
    }

    fn decode(bytes: &'a [u8]) -> Option<Self> {
        let (&kind, mut input) = bytes.split_first()?;
        let expiration = match kind {
            0 => {
                let expiration = get_varint64(&mut input)?;
                return Some(Self::Inlined { expiration, value: input });
            }
            1 => None,
            2 => Some(get_varint64(&mut input)?),
            _ => return None,
        };
        let file = get_varint64(&mut input)?;
        let offset = get_varint64(&mut input)?;
        let size = get_varint64(&mut input)?;
        let &[codec] = input else { return None };
        Some(Self::Stored { expiration, file, offset, size, codec })
    }
}

/// `| 01 | file | offset | size |`
fn is_of_titan(bytes: &[u8]) -> bool {
    let Some((1, mut input)) = bytes.split_first() else { return false };
    let has_numbers = (0..3).all(|_| get_varint64(&mut input).is_some());
    has_numbers && input.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_forms() {
        assert_eq!(
            BlobIndex::decode_from(&[0, 5, b'v']).unwrap(),
            BlobIndex::Inlined { expiration: 5, value: b"v" }
        );
        assert_eq!(
            BlobIndex::decode_from(&[1, 9, 0xac, 0x02, 3, 7]).unwrap(),
            BlobIndex::Stored { expiration: None, file: 9, offset: 300, size: 3, codec: 7 }
        );
        assert_eq!(
            BlobIndex::decode_from(&[2, 5, 9, 0xac, 0x02, 3, 7]).unwrap(),
            BlobIndex::Stored { expiration: Some(5), file: 9, offset: 300, size: 3, codec: 7 }
        );
    }

    #[test]
    fn references_of_titan_are_recognized() {
        let error = BlobIndex::decode_from(&[1, 5, 12, 0xe8, 0x07]).unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::Unsupported);
        for bytes in [&[1, 5, 12][..], &[2, 5, 12, 7, 7], &[1, 5, 12, 0xe8]] {
            let error = BlobIndex::decode_from(bytes).unwrap_err();
            assert_eq!(error.kind(), crate::ErrorKind::Corrupt, "{bytes:?}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for bytes in
            [&[][..], &[3, 1, 1, 1, 0], &[1], &[1, 9, 9, 9], &[1, 9, 9, 9, 0, 0], &[0], &[2, 0x80]]
        {
            assert!(BlobIndex::decode_from(bytes).is_err(), "{bytes:?}");
        }
    }
}
