//! The three lengths at the start of a data entry.

use sstkit_coding::varint::get_varint32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lengths {
    /// Bytes shared with the previous key.
    pub(super) shared: usize,
    /// Bytes of the key stored in this entry.
    pub(super) non_shared: usize,
    pub(super) value: usize,
    /// Bytes of the three varints.
    pub(super) header: usize,
}

impl Lengths {
    /// Decodes them; `None` if they are truncated.
    #[inline(always)] // a call costs a search in a block as much as the decoding
    pub(super) fn decode(input: &[u8]) -> Option<Self> {
        // In most entries all three are below 128: one comparison instead of three.
        if let [shared, non_shared, value, ..] = *input
            && shared | non_shared | value < 0x80
        {
            let [shared, non_shared, value] = [shared, non_shared, value].map(usize::from);
            return Some(Self { shared, non_shared, value, header: 3 });
        }
        Self::decode_longer(input)
    }

    #[inline(never)]
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
    fn one_byte_and_longer_varints() {
        let lengths =
            |shared, non_shared, value, header| Some(Lengths { shared, non_shared, value, header });
        assert_eq!(Lengths::decode(&[1, 2, 3]), lengths(1, 2, 3, 3));
        assert_eq!(Lengths::decode(&[0x7f; 9]), lengths(0x7f, 0x7f, 0x7f, 3));
        assert_eq!(Lengths::decode(&[1, 2, 0x80, 1, 9]), lengths(1, 2, 0x80, 4));
        assert_eq!(Lengths::decode(&[0x81, 1, 2, 3]), lengths(0x81, 2, 3, 4));
        for truncated in [&[][..], &[1, 2], &[1, 2, 0x80], &[0x80; 5]] {
            assert_eq!(Lengths::decode(truncated), None);
        }
    }
}
