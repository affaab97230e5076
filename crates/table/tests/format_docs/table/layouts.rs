//! Which blocks a table has, in the order of the file.

use std::fmt::Write;

use sstkit_table::raw::{
    BlobIndex, BlockHandle, BlockKind, EntryKind, InternalKey, TableView, property_names,
};

use crate::golden::with_table;
use crate::wording::count;

pub(super) fn layouts() -> String {
    let mut out = String::new();
    for name in [
        "types-all.sst",
        "dict-zstd.sst",
        "index-hash.sst",
        "partitioned-coupled-bloom-fv5.sst",
        "embedded-blobs.sst",
        "align.sst",
        "leveldb-table-bloom10-c0.ldb",
    ] {
        with_table(name, |table| {
            let _ = writeln!(out, "{name}, {} bytes", table.file().len());
            out.push_str(&layout(table));
        });
    }
    out
}

fn layout(table: &TableView<'_>) -> String {
    let mut blocks = table.blocks().expect("a sound table");
    blocks.extend(embedded_blobs(table));
    blocks.sort_by_key(|&(kind, handle)| (handle, kind));
    let mut out = String::new();
    let mut end = 0;
    let mut padded = 0;
    for run in blocks.chunk_by(|(a, _), (b, _)| is_run(*a) && a == b || both_data(*a, *b)) {
        let start = run[0].1.offset;
        let mut names: Vec<(BlockKind, usize)> = Vec::new();
        for &(kind, handle) in run {
            padded += handle.offset - end;
            end = handle.end().expect("in the file");
            match names.iter_mut().find(|(other, _)| *other == kind) {
                Some((_, number)) => *number += 1,
                None => names.push((kind, 1)),
            }
        }
        let names: Vec<_> = names.iter().map(|&(kind, n)| count(n, kind.name())).collect();
        let _ = writeln!(out, "{start:>8x} to {end:<6x} {}", names.join(", "));
        if run[0].0 == BlockKind::Data && padded > 0 {
            let _ = writeln!(out, "{:18}with {padded} bytes of padding between them", "");
        }
        if run[0].0 == BlockKind::Data
            && let Some(size) = table.properties().number(property_names::DATA_SIZE)
        {
            assert!(size >= end, "{size:x} {end:x}");
            padded += size - end;
            end = size;
        }
    }
    let footer = table.footer().offset;
    assert_eq!(end, footer);
    let _ = writeln!(out, "{footer:>8x} to {:<6x} footer", table.file().len());
    out
}

fn is_run(kind: BlockKind) -> bool {
    matches!(kind, BlockKind::FilterPartition | BlockKind::IndexPartition | BlockKind::HashIndex)
}

/// Blobs are between data blocks.
fn both_data(a: BlockKind, b: BlockKind) -> bool {
    let data = |kind| matches!(kind, BlockKind::Data | BlockKind::EmbeddedBlob);
    data(a) && data(b)
}

/// Only the entries know where they are.
fn embedded_blobs(table: &TableView<'_>) -> Vec<(BlockKind, BlockHandle)> {
    let mut blobs = Vec::new();
    if table.properties().embedded_blobs().is_none() {
        return blobs;
    }
    let mut entries = table.entries().expect("entries");
    while entries.advance().expect("an entry") {
        let key = InternalKey::decode_from(entries.key()).expect("an internal key");
        if key.kind == EntryKind::BlobIndex
            && let Ok(BlobIndex::Stored { offset, size, .. }) =
                BlobIndex::decode_from(entries.value())
        {
            blobs.push((BlockKind::EmbeddedBlob, BlockHandle::new(offset, size)));
        }
    }
    blobs
}
