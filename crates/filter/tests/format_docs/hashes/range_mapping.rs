//! Hashes mapped to ranges.

use std::fmt::Write;

use sstkit_coding::range_map::{fast_range32, fast_range64};

pub(super) fn vectors() -> String {
    let mut out = String::from("bits  hash              range     result\n");
    for (hash, range) in
        [(0x7fff_ffff, 2), (0x8000_0000, 2), (0xc976_57b5, 41), (0xffff_ffff, 41), (0xffff_ffff, 0)]
    {
        let _ = writeln!(out, "  32  {hash:<16x}  {range:<8}  {}", fast_range32(hash, range));
    }
    for (hash, range) in [(0x8000_0000_0000_0000, 2), (0xa0bb_c238_c976_57b5, 129), (u64::MAX, 129)]
    {
        let _ = writeln!(out, "  64  {hash:016x}  {range:<8}  {}", fast_range64(hash, range));
    }
    out
}
