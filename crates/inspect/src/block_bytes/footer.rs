//! The fields of a footer: see `sstkit_table`'s `raw/footer.rs` for the drawing.

use std::ops::Range;

use sstkit_coding::fixed::decode_fixed32;
use sstkit_coding::varint::get_varint64;
use sstkit_table::raw::{Footer, TableKind};

use super::field::Field;
use crate::names;

/// The bytes of the magic number, and of the format version before it.
const MAGIC: usize = TableKind::MAGIC_LENGTH;
const VERSION: usize = 4;

pub(super) fn fields(footer: &Footer, bytes: &[u8]) -> Vec<Field> {
    let mut fields = Vec::new();
    let mut add = |range: Range<usize>, name, value: String| {
        if range.end <= bytes.len() && !range.is_empty() {
            fields.push(Field::new(range, name, Some(value)));
        }
    };
    let magic = bytes.len().saturating_sub(MAGIC);
    let mut handles_end = magic;
    let mut at = 0;
    if footer.kind != TableKind::Legacy {
        handles_end = magic.saturating_sub(VERSION);
        let checksum = names::checksum(footer.checksum);
        add(0..1, "checksum type", checksum.to_owned());
        add(handles_end..magic, "format version", footer.version.number().to_string());
        at = 1;
    }
    if footer.version.has_context_checksums() {
        let word = |at: usize| {
            let word = bytes.get(at..).and_then(|it| it.first_chunk());
            word.map_or(0, |word| decode_fixed32(*word))
        };
        add(1..5, "extended magic", "3e007a00".into());
        add(5..9, "footer checksum", format!("{:#010x}", word(5)));
        add(9..13, "base context checksum", format!("{:#010x}", word(9)));
        add(13..17, "metaindex size", word(13).to_string());
        add(17..33, "reserved", "not checked".into());
        add(33..handles_end, "zeros", "for future features".into());
    } else {
        for (offset_name, size_name) in
            [("metaindex offset", "metaindex size"), ("index offset", "index size")]
        {
            for name in [offset_name, size_name] {
                let mut rest = bytes.get(at..handles_end).unwrap_or_default();
                let length = rest.len();
                let Some(value) = get_varint64(&mut rest) else { break };
                let end = at + length - rest.len();
                add(at..end, name, value.to_string());
                at = end;
            }
        }
        add(at..handles_end, "padding", "zeros".into());
    }
    let engine = match footer.kind {
        TableKind::Legacy => "LevelDB, or RocksDB format version 0",
        _ => "RocksDB, block-based table",
    };
    add(magic..bytes.len(), "magic number", engine.into());
    fields.sort_by_key(|field| field.start);
    fields
}
