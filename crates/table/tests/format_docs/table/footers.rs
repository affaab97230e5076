//! Footers, field by field.

use sstkit_table::raw::{BlockHandle, Footer, FormatVersion, TableKind, TableView};

use crate::annotated::Dump;
use crate::golden::with_table;
use crate::trailer_dump::dump_checksum;
use crate::wording::handle_text;

/// One of each kind.
pub(super) fn footers() -> String {
    let mut out = String::new();
    for name in ["rocksdb6-fv0-full10-snappy.sst", "fv5-bloom10.sst", "fv7-bloom10.sst"] {
        with_table(name, |table| {
            let footer = table.footer();
            let mut dump = Dump::starting_at(table.file(), footer.offset as usize);
            dump.note(format!("{name}: format version {}", footer.version));
            dump_footer(&mut dump, table);
            out.push_str(&dump.finish());
        });
    }
    out
}

/// The footer of a table, from here to the end.
pub(super) fn dump_footer(dump: &mut Dump<'_>, table: &TableView<'_>) {
    let footer = table.footer();
    assert_eq!(dump.position() as u64, footer.offset);
    let bytes = &table.file()[dump.position()..];
    match footer.version {
        FormatVersion::V0 => dump_handles(dump, footer),
        version => {
            dump.bytes(1, format!("checksum type: {}", footer.checksum.name()));
            match version >= FormatVersion::V6 {
                true => dump_extended(dump, footer, bytes),
                false => dump_handles(dump, footer),
            }
            let number = dump.fixed32(|version| format!("format version {version}"));
            assert_eq!(number, version.number());
        }
    }
    let magic = match footer.kind {
        TableKind::Legacy => 0xdb47_7524_8b80_fb57,
        _ => 0x88e2_41b7_85f4_cff7_u64,
    };
    assert_eq!(dump.fixed64(|magic| format!("magic number {magic:016x}")), magic);
}

/// Forty bytes of handles.
fn dump_handles(dump: &mut Dump<'_>, footer: &Footer) {
    let end = dump.position() + 40;
    let index = footer.index.expect("a handle");
    for (name, handle) in [("metaindex", footer.metaindex), ("index", index)] {
        let [offset, size] = dump.varints(|[offset, size]| {
            format!("{name}: {}", handle_text(BlockHandle::new(offset, size)))
        });
        assert_eq!(BlockHandle::new(offset, size), handle);
    }
    let padding = dump.skip(end - dump.position(), "zeros");
    assert!(padding.iter().all(|&byte| byte == 0));
}

/// Forty bytes of format versions 6 and later.
fn dump_extended(dump: &mut Dump<'_>, footer: &Footer, bytes: &[u8]) {
    assert_eq!(dump.bytes(4, "extended magic number"), [0x3e, 0, 0x7a, 0]);
    let mut covered = bytes.to_vec();
    covered[5..9].fill(0);
    let (&last, covered) = covered.split_last().expect("bytes");
    dump_checksum(dump, footer, footer.checksum.compute(covered, last), footer.offset);
    let base = dump.fixed32(|base| format!("base context checksum {base:08x}"));
    assert_eq!(base, footer.base_context_checksum);
    dump.fixed32(|size| {
        let start = footer.offset - 5 - u64::from(size);
        assert_eq!(footer.metaindex, BlockHandle::new(start, size.into()));
        format!("size of the metaindex: {size}, so it starts at {start:#x}")
    });
    let reserved = dump.skip(24, "reserved zeros");
    assert!(reserved.iter().all(|&byte| byte == 0));
}
