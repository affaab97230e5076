//! The meaning of valid and invalid trailers.

use std::fmt::Write;

use sstkit_filter::{Filter, FilterKind, FilterParameters};

use crate::wording::{answer, hex};

/// The number of bytes before the trailer, the trailer, and a remark.
const TRAILERS: [(usize, &[u8], &str); 26] = [
    (64, &[0x06, 1, 0, 0, 0], ""),
    (192, &[0x06, 3, 0, 0, 0], ""),
    (768, &[0x06, 3, 0, 0, 0], ""),
    (3, &[0x06, 3, 0, 0, 0], ""),
    (64, &[0x7f, 1, 0, 0, 0], ""),
    (64, &[0x06, 0, 0, 0, 0], "no lines"),
    (291, &[0x06, 3, 0, 0, 0], "lines of 97 bytes"),
    (64, &[0x06, 65, 0, 0, 0], "more lines than bytes"),
    (64, &[0x00, 1, 0, 0, 0], "no probes: always \"may contain\""),
    (64, &[0xff, 0, 6, 0, 0], ""),
    (100, &[0xff, 0, 6, 0, 0], "; the remainder is ignored"),
    (63, &[0xff, 0, 6, 0, 0], "less than one block"),
    (64, &[0xff, 1, 6, 0, 0], "unknown sub-implementation"),
    (64, &[0xff, 0, 0, 0, 0], "no probes"),
    (64, &[0xff, 0, 31, 0, 0], "31 probes"),
    (64, &[0xff, 0, 0x26, 0, 0], "blocks of 128 bytes"),
    (64, &[0xff, 0, 6, 1, 0], "reserved bytes in use"),
    (128, &[0xfe, 0x7b, 2, 0, 0], ""),
    (128, &[0xfe, 0x7b, 9, 0, 0], "; hello is in block 0"),
    (15, &[0xfe, 0x7b, 2, 0, 0], ": less than one segment"),
    (128, &[0xfe, 0x7b, 1, 0, 0], "one block"),
    (64, &[0xfd, 1, 0, 0, 0], "reserved"),
    (64, &[0x80, 1, 0, 0, 0], "reserved"),
    (0, &[0x06, 1, 0, 0, 0], "five bytes in total"),
    (0, &[0x06, 1], "two bytes in total"),
    (0, &[], "no bytes"),
];

pub(super) fn readings() -> String {
    let mut out = String::from("data bytes  trailer         read as           answer\n");
    for (length, trailer, remark) in TRAILERS {
        let [zeros, ones] = [0, 0xff].map(|fill| {
            let mut bytes = vec![fill; length];
            bytes.extend_from_slice(trailer);
            Filter::from_bytes(bytes)
        });
        let kind = zeros.kind();
        let answer = match (zeros.may_contain(b"hello"), ones.may_contain(b"hello")) {
            (true, true) => answer(true),
            (false, false) if kind == FilterKind::AlwaysFalse => answer(false),
            _ => "by data",
        };
        let parameters = parameters(zeros.parameters(), length);
        let bytes = if trailer.is_empty() { "-".to_owned() } else { hex(trailer) };
        let _ = writeln!(
            out,
            "{length:>10}  {bytes:<14}  {kind:<16}  {answer:<7}  {parameters}{remark}"
        );
    }
    out
}

fn parameters(parameters: FilterParameters, length: usize) -> String {
    match parameters {
        FilterParameters::Bloom { num_probes, block_length } => {
            format!("k = {num_probes}, {} × {block_length} bytes", length / block_length)
        }
        FilterParameters::Ribbon { num_blocks, upper_columns, upper_start_block, .. } => {
            let lower = match upper_start_block {
                0 => String::new(),
                lower => format!(", {lower} of them with {}", upper_columns - 1),
            };
            format!("{num_blocks} blocks, columns: {upper_columns}{lower}")
        }
        _ => String::new(),
    }
}
