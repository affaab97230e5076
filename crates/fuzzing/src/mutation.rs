//! Mutations of inputs: what a fuzzer does, without its feedback.

use sstkit_testkit::Random;

/// Bytes that stand for something in the formats: lengths at their limits, varints that go on,
/// types of records, trailers of filters.
const LIKELY: [u8; 12] = [0x00, 0x01, 0x02, 0x04, 0x05, 0x07, 0x09, 0x7f, 0x80, 0x81, 0xfe, 0xff];

/// Numbers at their limits, in the order of their bytes.
const LIMITS: [u64; 8] = [
    0,
    1,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    0x7fff_ffff_ffff_ffff,
    0xffff_ffff_ffff_ffff,
];

/// The kinds of changes; the first ones keep the length.
const KINDS: usize = 10;
const KINDS_IN_PLACE: usize = 6;

/// Inputs do not grow beyond this.
const MAX_LENGTH: usize = 1 << 18;

/// One to four changes to a copy of `seed`; `other` is where pieces may come from.
///
/// Half of the copies keep their length: in files that say where everything is, everything behind
/// another length is lost.
pub fn mutate(random: &mut Random, seed: &[u8], other: &[u8]) -> Vec<u8> {
    let mut input = seed.to_vec();
    let kinds = *random.pick(&[KINDS_IN_PLACE, KINDS]);
    for _ in 0..=random.index(4) {
        change(random, &mut input, other, kinds);
    }
    input.truncate(MAX_LENGTH);
    input
}

fn change(random: &mut Random, input: &mut Vec<u8>, other: &[u8], kinds: usize) {
    if input.is_empty() {
        input.extend_from_slice(&other[..other.len().min(16)]);
        return;
    }
    let at = random.index(input.len());
    let length = (1 + random.index(16)).min(input.len() - at);
    match random.index(kinds) {
        0 | 1 => input[at] ^= 1 << random.index(8),
        2 => input[at] = *random.pick(&LIKELY),
        3 => input[at] = input[at].wrapping_add(random.index(9) as u8).wrapping_sub(4),
        4 => {
            let number = random.pick(&LIMITS).to_le_bytes();
            let width = (1 << random.index(4)).min(input.len() - at);
            input[at..at + width].copy_from_slice(&number[..width]);
        }
        5 => {
            let noise = random.bytes(length as u64);
            input[at..at + length].copy_from_slice(&noise);
        }
        6 => input.truncate(at),
        7 => drop(input.drain(at..at + length)),
        8 => {
            let piece = input[at..at + length].to_vec();
            let place = random.index(input.len() + 1);
            input.splice(place..place, piece);
        }
        _ if !other.is_empty() => {
            let from = random.index(other.len());
            let length = (1 + random.index(256)).min(other.len() - from);
            let end = (at + length).min(input.len());
            input.splice(at..end, other[from..from + length].iter().copied());
        }
        _ => {}
    }
}
