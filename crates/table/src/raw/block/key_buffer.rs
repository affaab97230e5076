//! The current key of a cursor, rebuilt in place from entry to entry.
//!
//! ```text
//! bytes   | u s e r 7 / a b | ? ? ? ? ? ? ? ? … |      room for whole words after the key
//!           kept      new
//! ```
//!
//! Most keys differ from the previous one in a few bytes. Copying sixteen bytes, whether all are
//! needed or not, is one load and one store; a copy of the exact length is a function call. Short
//! keys need no allocation.

/// Bytes copied at once, if source and buffer are long enough.
const WORD: usize = 16;
/// The same for longer suffixes.
const TWO_WORDS: usize = 2 * WORD;
/// Longer keys are allocated.
const SHORT: usize = 64;

/// A key, with room after it.
#[derive(Clone, Debug)]
pub(crate) struct KeyBuffer {
    /// The key, followed by bytes of earlier keys and copies.
    short: [u8; SHORT],
    /// Used instead of `short` once a key did not fit.
    long: Vec<u8>,
    /// Bytes of the key.
    length: usize,
}

impl Default for KeyBuffer {
    fn default() -> Self {
        Self { short: [0; SHORT], long: Vec::new(), length: 0 }
    }
}

impl KeyBuffer {
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        let room = if self.long.is_empty() { &self.short[..] } else { &self.long };
        &room[..self.length]
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    pub(crate) fn clear(&mut self) {
        self.length = 0;
    }

    /// Replaces everything after the first `kept` bytes of the key with the first `count` bytes of
    /// `source`. Faster if `source` has more bytes.
    #[inline]
    pub(crate) fn replace(&mut self, kept: usize, source: &[u8], count: usize) {
        let room = if self.long.is_empty() { &mut self.short[..] } else { &mut self.long };
        let room = room.get_mut(kept..).unwrap_or_default();
        if count <= WORD
            && let (Some(room), Some(word)) = (room.first_chunk_mut::<WORD>(), source.first_chunk())
        {
            *room = *word;
        } else if count <= TWO_WORDS
            && let (Some(room), Some(words)) =
                (room.first_chunk_mut::<TWO_WORDS>(), source.first_chunk())
        {
            *room = *words;
        } else {
            self.replace_exactly(kept, &source[..count]);
        }
        self.length = kept + count;
    }

    /// Copies the key to the start of `out`, which is long enough. May overwrite bytes after it.
    #[inline]
    pub(crate) fn copy_to(&self, out: &mut [u8]) {
        let room = if self.long.is_empty() { &self.short[..] } else { &self.long };
        if self.length <= TWO_WORDS
            && let (Some(out), Some(words)) =
                (out.first_chunk_mut::<TWO_WORDS>(), room.first_chunk())
        {
            *out = *words;
        } else {
            out[..self.length].copy_from_slice(self.bytes());
        }
    }

    fn replace_exactly(&mut self, kept: usize, source: &[u8]) {
        let end = kept + source.len();
        if end + WORD <= SHORT && self.long.is_empty() {
            self.short[kept..end].copy_from_slice(source);
            return;
        }
        if self.long.is_empty() {
            self.long.extend_from_slice(&self.short);
        }
        if self.long.len() < end + WORD {
            self.long.resize(end + TWO_WORDS, 0);
        }
        self.long[kept..end].copy_from_slice(source);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn behaves_like_a_vector(
            steps in prop::collection::vec((any::<u16>(), prop::collection::vec(any::<u8>(), 0..90), 0usize..90), 0..40),
        ) {
            let (mut buffer, mut model) = (KeyBuffer::default(), Vec::new());
            for (kept, source, unused) in steps {
                let kept = usize::from(kept) % (model.len() + 1);
                let count = source.len().saturating_sub(unused);
                buffer.replace(kept, &source, count);
                model.truncate(kept);
                model.extend_from_slice(&source[..count]);
                prop_assert_eq!(buffer.bytes(), &model[..]);
                prop_assert_eq!(buffer.len(), model.len());
                let mut copy = vec![9; model.len() + unused];
                buffer.copy_to(&mut copy);
                prop_assert_eq!(&copy[..model.len()], &model[..]);
            }
            buffer.clear();
            prop_assert!(buffer.bytes().is_empty());
        }
    }
}
