//! XXPH3: its constants, and vectors.

use std::fmt::Write;

use sstkit_coding::checksum::ChecksumType;
use sstkit_coding::xxph3::xxph3;

use super::xxph3_formulas as formulas;
use crate::wording::hex;

pub(super) fn constants() -> String {
    let mut out = String::new();
    for (name, value) in [
        ("PRIME32_1", formulas::PRIME32_1),
        ("PRIME32_2", formulas::PRIME32_2),
        ("PRIME32_3", formulas::PRIME32_3),
        ("PRIME64_1", formulas::PRIME64_1),
        ("PRIME64_2", formulas::PRIME64_2),
        ("PRIME64_3", formulas::PRIME64_3),
        ("PRIME64_4", formulas::PRIME64_4),
        ("PRIME64_5", formulas::PRIME64_5),
    ] {
        let digits = if value >> 32 == 0 { 8 } else { 16 };
        let _ = writeln!(out, "{name} = 0x{value:0digits$x}");
    }
    let _ = writeln!(out, "\nsecret, 192 bytes:");
    for (i, row) in formulas::secret().chunks(16).enumerate() {
        let _ = writeln!(out, "{:3}  {}  {}", 16 * i, hex(&row[..8]), hex(&row[8..]));
    }
    out
}

pub(super) fn vectors() -> String {
    let mut out =
        String::from("length  input               XXPH3             low half of released XXH3\n");
    let mut line = |input: &[u8], description: &str| {
        let hash = xxph3(input);
        assert_eq!(hash, formulas::xxph3(input), "length {}", input.len());
        // With the type byte 0, the checksum of a block is the low half of the released hash.
        let released = ChecksumType::Xxh3.compute(input, 0);
        assert_ne!(hash as u32, released);
        let _ = writeln!(out, "{:>6}  {description:<18}  {hash:016x}  {released:08x}", input.len());
    };
    line(b"", "(empty)");
    line(b"a", "\"a\"");
    line(b"abc", "\"abc\"");
    line(b"hello", "\"hello\"");
    line(b"world", "\"world\"");
    let counting: Vec<u8> = (0..=255).cycle().take(2048).collect();
    for length in [8, 9, 16, 17, 128, 129, 240, 241, 1023, 1024, 1025, 2048] {
        line(&counting[..length], "00 01 02 …");
    }
    // All lengths, which covers the boundaries of all classes.
    for length in 0..=counting.len() {
        assert_eq!(xxph3(&counting[..length]), formulas::xxph3(&counting[..length]), "{length}");
    }
    out
}
