//! The three numbers that a data entry starts with.

use sstkit_coding::varint::get_varint32;

/// How long the parts of an entry are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lengths {
    /// Bytes of the key that are those of the key before.
    pub(super) shared: usize,
    /// Bytes of the key that follow.
    pub(super) non_shared: usize,
    /// Bytes of the value.
    pub(super) value: usize,
    /// Bytes that these numbers take.
    pub(super) header: usize,
}

impl Lengths {
    /// Reads them; `None` if they are cut off.
    #[inline]
    pub(super) fn decode(input: &[u8]) -> Option<Self> {
        // Mostly all three are below 128: one test instead of three.
        if let [shared, non_shared, value, ..] = *input
            && shared | non_shared | value < 0x80
        {
            let [shared, non_shared, value] = [shared, non_shared, value].map(usize::from);
            return Some(Self { shared, non_shared, value, header: 3 });
        }
        Self::decode_longer(input)
    }

    fn decode_longer(input: &[u8]) -> Option<Self> {
        let mut rest = input;
        let shared = get_varint32(&mut rest)? as usize;
        let non_shared = get_varint32(&mut rest)? as usize;
        let value = get_varint32(&mut rest)? as usize;
        Some(Self { shared, non_shared, value, header: input.len() - rest.len() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_ones() {
        let lengths =
            |shared, non_shared, value, header| Some(Lengths { shared, non_shared, value, header });
        assert_eq!(Lengths::decode(&[1, 2, 3]), lengths(1, 2, 3, 3));
        assert_eq!(Lengths::decode(&[0x7f; 9]), lengths(0x7f, 0x7f, 0x7f, 3));
        assert_eq!(Lengths::decode(&[1, 2, 0x80, 1, 9]), lengths(1, 2, 0x80, 4));
        assert_eq!(Lengths::decode(&[0x81, 1, 2, 3]), lengths(0x81, 2, 3, 4));
        for cut_off in [&[][..], &[1, 2], &[1, 2, 0x80], &[0x80; 5]] {
            assert_eq!(Lengths::decode(cut_off), None);
        }
    }
}
