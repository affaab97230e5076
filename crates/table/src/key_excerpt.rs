//! The beginning of a key, for a message.

use std::fmt;

/// Shows a key in quotes, escaped; of a long one the first bytes and its length.
///
/// ```
/// use sstkit_table::KeyExcerpt;
///
/// assert_eq!(KeyExcerpt(b"a\xff").to_string(), r#""a\xff""#);
/// assert!(KeyExcerpt(&[b'k'; 1000]).to_string().ends_with(r#"kkk…" (1000 bytes)"#));
/// ```
#[derive(Clone, Copy)]
pub struct KeyExcerpt<'k>(pub &'k [u8]);

impl KeyExcerpt<'_> {
    /// Bytes of a key that are shown at most.
    pub const MAX_SHOWN: usize = 64;
}

impl fmt::Debug for KeyExcerpt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for KeyExcerpt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(key) = self;
        match key.get(..Self::MAX_SHOWN) {
            Some(start) if key.len() > Self::MAX_SHOWN => {
                write!(f, "\"{}…\" ({} bytes)", start.escape_ascii(), key.len())
            }
            _ => write!(f, "\"{}\"", key.escape_ascii()),
        }
    }
}
