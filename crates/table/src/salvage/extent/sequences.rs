//! Snappy and LZ4: literals and copies, which make up the size that is stored before them.

use sstkit_coding::fixed::decode_fixed16;
use sstkit_coding::varint::get_varint32;

use super::{Extent, Extents, STEP};
use crate::raw::Block;

impl Extents {
    pub(super) fn snappy(&mut self, bytes: &[u8]) -> Extent {
        let mut input = bytes;
        let Some(size) = get_varint32(&mut input).map(|size| size as usize) else {
            return Extent::NoBlock;
        };
        if size < Block::<&[u8]>::MIN_LENGTH {
            return Extent::NoBlock;
        }
        let (mut at, mut made) = (0, 0);
        while made < size {
            self.work += STEP;
            let Some(rest) = input.get(at..) else { return Extent::Beyond };
            let Some(&tag) = rest.first() else { return Extent::Beyond };
            let number = |bytes: usize| {
                let bytes = rest.get(1..1 + bytes)?;
                Some(bytes.iter().rev().fold(0, |all, &byte| all << 8 | usize::from(byte)))
            };
            let upper = usize::from(tag >> 2);
            let (length, offset, header) = match tag & 3 {
                0 if upper < 60 => (upper + 1, None, 1),
                0 => match number(upper - 59) {
                    Some(length) => (length + 1, None, upper - 58),
                    None => return Extent::Beyond,
                },
                kind => {
                    let bytes = [0, 1, 2, 4][usize::from(kind)];
                    let Some(low) = number(bytes) else { return Extent::Beyond };
                    match kind {
                        1 => (4 + (upper & 7), Some((upper >> 3) << 8 | low), 2),
                        _ => (upper + 1, Some(low), 1 + bytes),
                    }
                }
            };
            if offset.is_some_and(|offset| offset == 0 || offset > made) {
                return Extent::NoBlock;
            }
            at += header + if offset.is_none() { length } else { 0 };
            made += length;
        }
        match made == size {
            true if at <= input.len() => Extent::Ends(bytes.len() - input.len() + at),
            true => Extent::Beyond,
            false => Extent::NoBlock,
        }
    }

    pub(super) fn lz4(&mut self, bytes: &[u8]) -> Extent {
        let mut input = bytes;
        let with_varint = match get_varint32(&mut input) {
            Some(size) => self.lz4_block(input, size).after(bytes.len() - input.len()),
            None => Extent::NoBlock,
        };
        match bytes {
            [a, b, c, d, 0, 0, 0, 0, block @ ..] if with_varint == Extent::NoBlock => {
                self.lz4_block(block, u32::from_le_bytes([*a, *b, *c, *d])).after(8)
            }
            _ => with_varint,
        }
    }

    fn lz4_block(&mut self, block: &[u8], size: u32) -> Extent {
        let (size, mut made, mut at) = (size as usize, 0, 0);
        if size < Block::<&[u8]>::MIN_LENGTH {
            return Extent::NoBlock;
        }
        let length = |nibble: u8, at: &mut usize| {
            let mut length = usize::from(nibble);
            while length >= 15 {
                let more = *block.get(*at)?;
                *at += 1;
                length += usize::from(more);
                if more != 255 {
                    break;
                }
            }
            Some(length)
        };
        loop {
            self.work += STEP;
            let Some(&token) = block.get(at) else { return Extent::Beyond };
            at += 1;
            let Some(literals) = length(token >> 4, &mut at) else { return Extent::Beyond };
            at += literals;
            made += literals;
            if made >= size {
                // The last sequence is literals only.
                let is_end = made == size && token & 15 == 0;
                return match is_end {
                    true if at <= block.len() => Extent::Ends(at),
                    true => Extent::Beyond,
                    false => Extent::NoBlock,
                };
            }
            let Some(&offset) = block.get(at..).and_then(<[u8]>::first_chunk) else {
                return Extent::Beyond;
            };
            let offset = usize::from(decode_fixed16(offset));
            at += 2;
            let Some(copied) = length(token & 15, &mut at) else { return Extent::Beyond };
            if offset == 0 || offset > made && !self.dictionary {
                return Extent::NoBlock;
            }
            made += copied + 4;
            if made > size {
                return Extent::NoBlock;
            }
        }
    }
}
