//! `verify` and `layout` over whole files, and what opening reads.

use std::sync::Arc;

use sstkit_table::Table;
use sstkit_table::raw::{BlockKind, Trailer};
use sstkit_testkit::goldens::{golden_tables, open, options};

use crate::counting_source::CountingSource;

#[test]
fn golden_tables_are_sound() {
    for golden in golden_tables() {
        let found = open(&golden, &options()).verify();
        assert!(found.is_sound(), "{}: {found}", golden.path.display());
        assert!(found.order_checked());
        assert!(found.entries() > 0 && found.blocks() > 0);
        found.into_result().unwrap();
    }
}

#[test]
fn the_layout_covers_the_file() {
    for golden in golden_tables() {
        let layout = open(&golden, &options()).layout().unwrap();
        let mut end = 0;
        for block in &layout.blocks {
            let start = block.handle.offset;
            assert!(end <= start, "{}: {block:?} overlaps", golden.path.display());
            let gap = &golden.bytes[end as usize..start as usize];
            assert!(
                gap.iter().all(|&byte| byte == 0),
                "{}: before {block:?}",
                golden.path.display()
            );
            end = block.handle.end().unwrap();
            let (_, trailer) = Trailer::split(&golden.bytes[..end as usize]).unwrap();
            assert_eq!((block.codec, block.checksum), (trailer.codec, trailer.checksum));
        }
        assert_eq!(end, layout.footer_offset);
        assert_eq!(layout.file_size, golden.bytes.len() as u64);
        assert!(layout.blocks.iter().any(|block| block.kind == BlockKind::MetaIndex));
    }
}

/// Opening reads the end of the file: nothing before the first block after the data, but for what
/// comes along in one read of 4 KiB.
#[test]
fn opening_reads_only_the_tail() {
    for golden in golden_tables() {
        let layout = open(&golden, &options()).layout().unwrap();
        let data_end = layout
            .blocks
            .iter()
            .filter(|block| matches!(block.kind, BlockKind::Data | BlockKind::EmbeddedBlob))
            .filter_map(|block| block.handle.end())
            .max()
            .unwrap_or(0);
        let size = golden.bytes.len() as u64;
        let source = Arc::new(CountingSource::new(&golden.bytes));
        Table::from_source(Arc::clone(&source), &options()).unwrap();
        let name = golden.path.display();
        assert!(source.lowest() >= data_end.min(size.saturating_sub(4096)), "{name}");
        assert!(source.read_bytes() <= size - data_end + 4096, "{name}");
    }
}
