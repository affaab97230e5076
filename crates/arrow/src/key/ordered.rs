//! Numbers as bytes that sort as the numbers do.

use arrow_buffer::ArrowNativeType;

/// A number with an encoding of its own width that sorts as the numbers do.
pub(super) trait Ordered: ArrowNativeType {
    /// Appends the encoding.
    fn encode_to(self, out: &mut Vec<u8>);

    /// The number at the start of `bytes`, and what comes after it.
    fn decode_from(bytes: &[u8]) -> Option<(Self, &[u8])>;
}

macro_rules! ordered {
    ($($number:ty: $bits:ty, $to_bits:expr, $from_bits:expr;)*) => {$(
        impl Ordered for $number {
            #[inline]
            fn encode_to(self, out: &mut Vec<u8>) {
                let bits: $bits = $to_bits(self);
                out.extend_from_slice(&bits.to_be_bytes());
            }

            #[inline]
            fn decode_from(bytes: &[u8]) -> Option<(Self, &[u8])> {
                let (number, rest) = bytes.split_first_chunk()?;
                Some(($from_bits(<$bits>::from_be_bytes(*number)), rest))
            }
        }
    )*};
}

/// Inverts the sign bit, which a two's complement number has set if it is negative.
macro_rules! signed {
    ($($number:ty: $bits:ty;)*) => {
        ordered! {$(
            $number: $bits,
                |it: $number| it.cast_unsigned() ^ (1 << (<$bits>::BITS - 1)),
                |bits: $bits| (bits ^ (1 << (<$bits>::BITS - 1))).cast_signed();
        )*}
    };
}

/// A float is a sign and a magnitude: the larger the magnitude, the smaller a negative number, so
/// that all of its bits are inverted.
macro_rules! float {
    ($($number:ty: $bits:ty;)*) => {
        ordered! {$(
            $number: $bits,
                |it: $number| {
                    let (bits, sign) = (it.to_bits(), 1 << (<$bits>::BITS - 1));
                    if bits & sign == 0 { bits ^ sign } else { !bits }
                },
                |bits: $bits| {
                    let sign: $bits = 1 << (<$bits>::BITS - 1);
                    <$number>::from_bits(if bits & sign == 0 { !bits } else { bits ^ sign })
                };
        )*}
    };
}

ordered! {
    u8: u8, |it| it, |bits| bits;
    u16: u16, |it| it, |bits| bits;
    u32: u32, |it| it, |bits| bits;
    u64: u64, |it| it, |bits| bits;
}

signed! {
    i8: u8;
    i16: u16;
    i32: u32;
    i64: u64;
    i128: u128;
}

float! {
    f32: u32;
    f64: u64;
}
