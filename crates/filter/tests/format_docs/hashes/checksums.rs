//! Block checksums and the block trailer.

use std::fmt::Write;

use sstkit_coding::checksum::{ChecksumType, context_modifier, mask_crc, unmask_crc};
use sstkit_coding::fixed::put_fixed32;

use crate::hex_dump::Dump;
use crate::wording::hex;

/// An empty block with one restart point.
const EMPTY_BLOCK: [u8; 8] = [0, 0, 0, 0, 1, 0, 0, 0];

pub(super) fn block_trailer() -> String {
    let (base, offset) = (0x1234_5678, 0x1_0000_0005);
    let plain = ChecksumType::Xxh3.compute(&EMPTY_BLOCK, 0);
    let modifier = context_modifier(base, offset);
    let sum = plain.wrapping_add(modifier);
    let mut stored = EMPTY_BLOCK.to_vec();
    stored.push(0);
    put_fixed32(&mut stored, sum);

    let mut dump = Dump::new(&stored);
    dump.note(format!(
        "a block at offset {offset:#x} of a file with base context checksum {base:#x}"
    ));
    dump.bytes(8, "contents: no entries, one restart point at 0");
    dump.bytes(1, "type: uncompressed");
    dump.bytes(4, format!("checksum: {plain:08x} (XXH3) + {modifier:08x} (modifier) = {sum:08x}"));
    dump.finish()
}

pub(super) fn vectors() -> String {
    let mut out = format!(
        "contents {}\n\nnumber  name       type byte 00  type byte 04\n",
        hex(&EMPTY_BLOCK)
    );
    for &checksum in ChecksumType::ALL {
        let [plain, lz4] = [0, 4].map(|byte| checksum.compute(&EMPTY_BLOCK, byte));
        let name = checksum.name();
        let _ = writeln!(out, "{:>6}  {name:<11}  {plain:08x}     {lz4:08x}", checksum as u8);
    }
    let masked = ChecksumType::Crc32c.compute(&EMPTY_BLOCK, 0);
    let crc = unmask_crc(masked);
    assert_eq!(mask_crc(crc), masked);
    let _ = writeln!(out, "\nCRC-32C of contents and type byte 00: {crc:08x}, masked {masked:08x}");
    let _ = writeln!(out, "\nbase      offset            modifier");
    for (base, offset) in
        [(0x1234_5678, 0), (0x1234_5678, 0x1c7), (0x1234_5678, 0x1_0000_0005), (0, 0x1c7)]
    {
        let modifier = context_modifier(base, offset);
        let _ = writeln!(out, "{base:08x}  {offset:016x}  {modifier:08x}");
    }
    out
}
