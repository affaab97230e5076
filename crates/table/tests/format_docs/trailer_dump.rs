//! The five bytes after a block.

use sstkit_coding::checksum::context_modifier;
use sstkit_table::raw::{Codec, Engine, Footer, TableView};

use crate::annotated::Dump;

/// The trailer of the block that starts at `start` and ends here, with a recomputed checksum.
pub(crate) fn dump_trailer(dump: &mut Dump<'_>, table: &TableView<'_>, start: usize) {
    let contents = &table.file()[start..dump.position()];
    let codec = table.file()[dump.position()];
    dump.bytes(1, format!("codec: {}", codec_text(table.engine(), codec)));
    let footer = table.footer();
    let plain = footer.checksum.compute(contents, codec);
    dump_checksum(dump, footer, plain, start as u64);
}

/// A checksum of something at `offset` that is `plain` without its context.
pub(crate) fn dump_checksum(dump: &mut Dump<'_>, footer: &Footer, plain: u32, offset: u64) {
    let base = footer.base_context_checksum;
    let modifier = base ^ (offset as u32).wrapping_add((offset >> 32) as u32);
    let modifier = if base == 0 { 0 } else { modifier };
    assert_eq!(modifier, context_modifier(base, offset));
    let name = footer.checksum.name();
    let stored = dump.fixed32(|stored| match base {
        0 => format!("checksum: {stored:08x} ({name})"),
        _ => format!("checksum: {plain:08x} ({name}) + {modifier:08x} (modifier) = {stored:08x}"),
    });
    assert_eq!(stored, plain.wrapping_add(modifier));
}

/// What a codec byte is called.
pub(crate) fn codec_text(engine: Engine, codec: u8) -> String {
    match (engine, Codec::from_byte(codec)) {
        (_, Some(Codec::None)) => "not compressed".to_owned(),
        (_, Some(Codec::Snappy)) => "Snappy".to_owned(),
        (Engine::RocksDb, Some(codec)) => codec.to_string(),
        (engine, _) => panic!("codec {codec} of {engine} is in no dump"),
    }
}
