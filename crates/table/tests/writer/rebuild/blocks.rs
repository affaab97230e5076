//! Comparing tables block by block.

use std::collections::BTreeSet;

use sstkit_filter::FilterLayout;
use sstkit_table::raw::{BlockHandle, BlockKind, Engine, TableView, property_names as names};

/// How a trained dictionary starts.
const ZSTD_DICTIONARY: [u8; 4] = [0x37, 0xa4, 0x30, 0xec];

/// Whether RocksDB 6.20 wrote the table: later versions say which codec they were configured with.
pub(crate) fn is_of_rocksdb6(table: &TableView<'_>) -> bool {
    table.engine() == Engine::RocksDb && stored_by(table).is_none()
}

/// Whether there is one filter for each two kilobytes of the file.
pub(crate) fn has_filter_block(table: &TableView<'_>) -> bool {
    table.metaindex().filters().any(|(layout, ..)| layout == FilterLayout::Block)
}

/// The codec that RocksDB was configured with; only versions after 11.1 say so.
pub(crate) fn stored_by<'t>(table: &'t TableView<'_>) -> Option<&'t str> {
    let options = std::str::from_utf8(table.properties().get(names::COMPRESSION_OPTIONS)?).ok()?;
    options.split("; ").find_map(|part| part.strip_prefix("_type="))
}

/// The codec bytes of all blocks.
pub(crate) fn codecs(table: &TableView<'_>) -> BTreeSet<u8> {
    let blocks = table.blocks().unwrap();
    blocks
        .into_iter()
        .map(|(kind, handle)| table.stored_block(kind, handle).unwrap().trailer.codec)
        .collect()
}

/// Whether any block is compressed, or was meant to be.
pub(crate) fn is_compressed(table: &TableView<'_>) -> bool {
    codecs(table).into_iter().any(|codec| codec != 0)
        || stored_by(table).is_some_and(|codec| codec != "0")
}

/// The decompressed contents of all blocks of these kinds.
pub(crate) fn contents(table: &TableView<'_>, kinds: &[BlockKind]) -> Vec<Vec<u8>> {
    let blocks = table.blocks().unwrap();
    blocks
        .into_iter()
        .filter(|(kind, _)| kinds.contains(kind))
        .map(|(kind, handle)| table.block(kind, handle).unwrap().to_vec())
        .collect()
}

/// The places of all data blocks.
pub(crate) fn data_handles(table: &TableView<'_>) -> Vec<BlockHandle> {
    let blocks = table.blocks().unwrap().into_iter();
    blocks.filter(|(kind, _)| *kind == BlockKind::Data).map(|(_, handle)| handle).collect()
}

/// Whether both files are the same; if not, where they part.
pub(crate) fn same_file(expected: &[u8], found: &[u8]) -> Result<(), String> {
    if expected == found {
        return Ok(());
    }
    let place = expected.iter().zip(found).take_while(|(a, b)| a == b).count();
    let table = TableView::open(expected).unwrap();
    let blocks = table.blocks().unwrap();
    let block = blocks
        .iter()
        .find(|(_, handle)| handle.end().unwrap() as usize > place)
        .map_or("footer".to_string(), |(kind, handle)| format!("{kind} at {handle}"));
    let mut message = format!(
        "{} bytes, not {}; the first difference is at {place}, in the {block}",
        found.len(),
        expected.len()
    );
    if let Ok(found) = TableView::open(found) {
        for (name, value) in table.properties().iter() {
            if found.properties().get(name) != Some(value) {
                let (name, value) = (name.escape_ascii(), value.escape_ascii());
                message.push_str(&format!("; {name} should be {value}"));
            }
        }
    }
    Err(message)
}

/// Whether both tables hold the same: contents of data, range deletion and filter blocks, keys of
/// the index, properties that do not depend on compressed sizes.
pub(crate) fn same_contents(expected: &TableView<'_>, found: &TableView<'_>) -> Result<(), String> {
    for kind in [
        BlockKind::Data,
        BlockKind::RangeDeletion,
        BlockKind::FilterPartition,
        BlockKind::CompressionDictionary,
    ] {
        let (expected, found) = (contents(expected, &[kind]), contents(found, &[kind]));
        // What training makes of the same samples changes with the version of zstd.
        let trained = |blocks: &[Vec<u8>]| {
            kind == BlockKind::CompressionDictionary
                && blocks.first().is_some_and(|block| block.starts_with(&ZSTD_DICTIONARY))
        };
        if expected != found && !(trained(&expected) && trained(&found)) {
            return Err(format!("{kind}: the contents differ"));
        }
    }
    for (layout, policy, handle) in expected.metaindex().filters() {
        if layout == FilterLayout::Block {
            // Which keys share a filter depends on where the blocks lie.
            continue;
        }
        let Some((.., other)) = found.metaindex().filters().find(|(other, ..)| *other == layout)
        else {
            return Err(format!("the filter of {policy} is missing"));
        };
        let expected = expected.block(BlockKind::Filter, handle).unwrap();
        if layout != FilterLayout::Partitioned
            && expected != found.block(BlockKind::Filter, other).unwrap()
        {
            return Err(format!("the filter of {policy} differs"));
        }
    }
    let (mut one, mut other) = (expected.index().unwrap(), found.index().unwrap());
    while one.advance().unwrap() {
        if !other.advance().unwrap() || one.key() != other.key() {
            return Err(format!("the index differs at \"{}\"", one.key().escape_ascii()));
        }
    }
    same_properties(expected, found)
}

fn same_properties(expected: &TableView<'_>, found: &TableView<'_>) -> Result<(), String> {
    // How many bytes come out is the encoder's business.
    let depends_on_sizes = [
        names::DATA_SIZE,
        names::INDEX_SIZE,
        names::TAIL_START_OFFSET,
        names::TOP_LEVEL_INDEX_SIZE,
        names::INDEX_PARTITIONS,
    ];
    // Which keys share a filter, too.
    let filter_size = has_filter_block(expected).then_some(names::FILTER_SIZE);
    let relevant = |table: &TableView<'_>| -> Vec<(String, String)> {
        let text = |bytes: &[u8]| bytes.escape_ascii().to_string();
        table
            .properties()
            .iter()
            .map(|(name, value)| (text(name), text(value)))
            .filter(|(name, _)| !depends_on_sizes.contains(&name.as_str()))
            .filter(|(name, _)| filter_size != Some(name.as_str()))
            .collect()
    };
    let (expected, found) = (relevant(expected), relevant(found));
    match expected == found {
        true => Ok(()),
        false => Err(format!("the properties differ: {expected:?} became {found:?}")),
    }
}
