//! The pieces of a table file.

use sstkit_table::raw::{
    Block, BlockEntries, Footer, IndexEntries, IndexFormat, IndexKind, MetaIndex, Properties,
};

use crate::sealing::seal_footer;

/// The end of a file, as it is, and with its checksum put right for a larger one. What can be read
/// can be written again, and is then the same.
pub fn footer(data: &[u8]) {
    const LARGER: u64 = 100_000;
    let size = data.len() as u64;
    read_footer(data, size);
    read_footer(&seal_footer(data, LARGER + size), LARGER + size);
}

fn read_footer(tail: &[u8], file_size: u64) {
    let Ok(footer) = Footer::decode_from(tail, file_size) else { return };
    assert!(footer.offset < file_size);
    let mut written = Vec::new();
    footer.encode_to(&mut written).expect("a footer that was read can be written");
    let size = footer.offset + written.len() as u64;
    assert_eq!(Footer::decode_from(&written, size).expect("a footer"), footer);
}

/// A data or meta block: its entries forward, from each restart point, and by its hash index.
pub fn block(data: &[u8]) {
    let Ok(block) = Block::parse(data) else { return };
    let mut entries = block.entries();
    let walked = walk(&mut entries, data.len());
    for restart in 0..block.restart_count() {
        if block.is_empty() {
            break;
        }
        entries.seek_to_restart(restart);
        let found = entries.advance();
        // Where walking did not fail, each restart point was one of the entries.
        assert!(walked.is_none() || matches!(found, Ok(true)));
    }
    if let Some(index) = block.hash_index() {
        assert!(index.buckets().len() <= data.len());
        let _ = index.lookup(b"key");
        let _ = index.lookup(data);
    }
}

/// How many entries there are; `None` if they cannot all be read.
fn walk(entries: &mut BlockEntries<&[u8]>, limit: usize) -> Option<usize> {
    let mut count = 0;
    while entries.advance().ok()? {
        count += 1;
        assert!(count <= limit, "more entries than bytes");
        assert!(entries.restart_index() < entries.block().restart_count());
        assert_eq!(entries.value().len(), entries.value_range().len());
    }
    Some(count)
}

/// An index block, or a partition of one. The first byte says of which form.
pub fn index(data: &[u8]) {
    let Some((&form, data)) = data.split_first() else { return };
    index_entries(data, index_format(IndexKind::ALL[usize::from(form & 3)], form));
}

/// The index over the partitions of a filter. The first byte says of which form.
pub fn filter_partitions(data: &[u8]) {
    let Some((&form, data)) = data.split_first() else { return };
    index_entries(data, index_format(IndexKind::TwoLevel, form).of_filter_partitions());
}

fn index_format(kind: IndexKind, form: u8) -> IndexFormat {
    let mut format = IndexFormat::default();
    (format.kind, format.user_keys, format.delta_values) = (kind, form & 4 != 0, form & 8 != 0);
    format
}

/// No block is referenced twice: that bounds the work that an index can cause.
fn index_entries(data: &[u8], format: IndexFormat) {
    let Ok(block) = Block::parse(data) else { return };
    let restarts = if block.is_empty() { 0 } else { block.restart_count() };
    let Ok(mut entries) = IndexEntries::new(block, format) else { return };
    let mut floor = 0;
    while let Ok(true) = entries.advance() {
        let handle = entries.handle();
        assert!(handle.offset >= floor, "an index goes back");
        floor = handle.end().expect("a handle that was accepted ends somewhere");
        assert_eq!(entries.floor(), floor);
        let _ = (entries.key(), entries.first_key());
    }
    for restart in 0..restarts {
        entries.seek_to_restart(restart);
        let _ = entries.advance();
    }
}

/// A properties block. What can be read can be written again, and is then the same.
pub fn properties(data: &[u8]) {
    let Ok(properties) = Properties::decode_from(data) else { return };
    let _ = (properties.comparator(), properties.num_entries(), properties.timestamp_size());
    let _ = (properties.embedded_blobs(), properties.global_sequence_number());
    for (name, _) in properties.iter() {
        let _ = std::str::from_utf8(name).map(|name| properties.number(name));
        assert!(properties.get(name).is_some());
    }
    let _ = properties.user().count();
    let written = properties.encode().expect("properties that were read can be written");
    let again = Properties::decode_from(&written).expect("properties");
    assert!(again.iter().eq(properties.iter()));
}

/// A metaindex block. What can be read can be written again, and is then the same.
pub fn metaindex(data: &[u8]) {
    let Ok(metaindex) = MetaIndex::decode_from(data) else { return };
    let _ = (metaindex.properties(), metaindex.index(), metaindex.compression_dictionary());
    let _ = (metaindex.range_deletions(), metaindex.filters().count());
    let written = metaindex.encode(1).expect("a metaindex that was read can be written");
    let again = MetaIndex::decode_from(&written).expect("a metaindex");
    assert!(again.iter().eq(metaindex.iter()));
}
