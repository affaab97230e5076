//! The same trailer with each checksum type, with and without context.

use std::fmt::Write;

use sstkit_coding::checksum::context_modifier;
use sstkit_table::raw::BlockKind;

use crate::golden::with_table;
use crate::trailer_dump::codec_text;
use crate::wording::hex;

pub(super) fn checksums() -> String {
    let mut out = String::from(
        "the second block of each table\n\
         table          offset  trailer         codec           plain     modifier  stored\n",
    );
    for version in [5, 7] {
        for number in 0..5 {
            let name = format!("checksum{number}-fv{version}.sst");
            with_table(&name, |table| {
                let footer = table.footer();
                let (kind, handle) = table.blocks().expect("blocks")[1];
                assert_eq!(kind, BlockKind::Data);
                let block = table.stored_block(kind, handle).expect("a block");
                let (start, end) = (handle.offset + handle.size, handle.offset + handle.size + 5);
                let trailer = &table.file()[start as usize..end as usize];
                let plain = footer.checksum.compute(&block.contents, block.trailer.codec);
                let modifier = context_modifier(footer.base_context_checksum, handle.offset);
                assert_eq!(plain.wrapping_add(modifier), block.trailer.checksum);
                let codec = codec_text(table.engine(), block.trailer.codec);
                let _ = writeln!(
                    out,
                    "{:<13}  {:>6x}  {:<14}  {codec:<14}  {plain:08x}  {modifier:08x}  {:08x}",
                    name.trim_end_matches(".sst"),
                    handle.offset,
                    hex(trailer),
                    block.trailer.checksum
                );
            });
        }
    }
    out
}
