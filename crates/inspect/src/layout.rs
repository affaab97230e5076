//! What a table file consists of: its blocks in the order of the file, and what is inside.

use bytes::Bytes;
use serde::Serialize;
use sstkit_filter::FilterLayout;
use sstkit_table::raw::{Block, BlockKind, IndexEntries, InternalKey};
use sstkit_table::{LayoutBlock, Result};

use crate::encoding::Encoding;
use crate::names;
use crate::table_file::TableFile;
use crate::verify::Problem;

/// A table file, block by block.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LayoutDescription {
    /// The file.
    pub file: String,
    /// Its bytes.
    pub size: u64,
    /// All blocks, the footer as the last of them.
    pub blocks: Vec<BlockDescription>,
}

/// One block.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct BlockDescription {
    /// What it is for: `data`, `index`, `filter_partition` …
    pub kind: &'static str,
    /// Its name in the metaindex, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Where it starts.
    pub offset: u64,
    /// Its bytes as stored, without the trailer of five bytes.
    pub length: u64,
    /// Its bytes when decompressed; `None` if it could not be read.
    pub uncompressed: Option<u64>,
    /// Its codec; `None` for the footer, which has none.
    pub compression: Option<String>,
    /// Its checksum without its context, as RocksDB's tools show it.
    pub checksum: Option<String>,
    /// How many entries it has, if it has entries.
    pub entries: Option<u64>,
    /// How many restart points it has, if it has entries.
    pub restarts: Option<u64>,
    /// Why it could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
    /// What is inside, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contents: Option<BlockContents>,
}

/// The inside of a block that has entries.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct BlockContents {
    /// All entries.
    pub entries: Vec<BlockEntry>,
    /// Where in the block the restart points are.
    pub restart_points: Vec<u64>,
    /// Whether values lie apart from keys.
    pub separated_values: bool,
    /// The buckets of the hash index, if it has one: restart points, 254 for a collision, 255 for
    /// none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash_index: Option<Vec<u8>>,
}

/// One entry of a block.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct BlockEntry {
    /// Where in the block it starts.
    pub offset: u64,
    /// The index of the restart point it stands at, if it stands at one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart: Option<u64>,
    /// What it does, where keys say it.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<&'static str>,
    /// The key: of internal keys, the user's part.
    pub key: String,
    /// When it was written, where keys say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// The value as stored; not of an index, which has handles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The block that an entry of an index is for: offset and size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handle: Option<[u64; 2]>,
    /// The first key of that block, in indexes that have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_key: Option<String>,
}

/// How the entries of a block are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Internal keys (or bare ones) and values.
    Points,
    /// Names and values.
    Names,
    /// Separators and handles of data blocks, or of partitions of the index or the filter.
    Index,
    FilterIndex,
}

impl LayoutDescription {
    /// Describes a table. Reads all blocks, one at a time.
    pub fn of(name: impl Into<String>, file: &TableFile) -> Result<Self> {
        let blocks = blocks(file, None)?.collect();
        Ok(Self { file: name.into(), size: file.table().size(), blocks })
    }
}

/// Describes the blocks of a table in the order of the file, with their contents if `contents` says
/// how bytes are to be written. Reads each block when its turn has come, and keeps none.
pub fn blocks(
    file: &TableFile,
    contents: Option<Encoding>,
) -> Result<impl Iterator<Item = BlockDescription>> {
    let layout = file.layout()?;
    let footer = BlockDescription {
        kind: names::block_kind(BlockKind::Footer),
        name: None,
        offset: layout.footer_offset,
        length: layout.file_size - layout.footer_offset,
        uncompressed: None,
        compression: None,
        checksum: None,
        entries: None,
        restarts: None,
        problem: None,
        contents: None,
    };
    let blocks = layout.blocks.into_iter().map(move |block| describe(file, &block, contents));
    Ok(blocks.chain([footer]))
}

fn describe(file: &TableFile, block: &LayoutBlock, contents: Option<Encoding>) -> BlockDescription {
    let table = file.table();
    let modifier = table.footer().context_modifier(block.handle.offset);
    let mut description = BlockDescription {
        kind: names::block_kind(block.kind),
        name: block.name.as_ref().map(|name| Encoding::Escape.encode(name)),
        offset: block.handle.offset,
        length: block.handle.size,
        uncompressed: None,
        compression: Some(names::codec(table.engine(), block.codec)),
        checksum: Some(format!("{:#010x}", block.checksum.wrapping_sub(modifier))),
        entries: None,
        restarts: None,
        problem: None,
        contents: None,
    };
    if block.kind == BlockKind::EmbeddedBlob {
        // A value as it is, or compressed by rules of its own: verifying it is `verify`'s.
        return description;
    }
    if let Err(error) = look_inside(file, block, contents, &mut description) {
        description.problem = Some(Problem::from(&error));
    }
    description
}

fn look_inside(
    file: &TableFile,
    block: &LayoutBlock,
    contents: Option<Encoding>,
    description: &mut BlockDescription,
) -> Result<()> {
    let bytes = file.contents(block.kind, block.handle)?;
    description.uncompressed = Some(bytes.len() as u64);
    let Some(form) = form(file, block) else { return Ok(()) };
    let block = Block::parse(bytes)?;
    description.restarts = Some(block.restart_count() as u64);
    let mut listed = contents.map(|_| Vec::new());
    let mut count = 0;
    let encoding = contents.unwrap_or_default();
    let keep = |entry: &dyn Fn() -> BlockEntry| {
        count += 1;
        if let Some(listed) = &mut listed {
            listed.push(entry());
        }
    };
    walk(file, form, block.clone(), encoding, keep)?;
    description.entries = Some(count);
    description.contents = listed.map(|entries| BlockContents {
        entries,
        restart_points: (0..block.restart_count()).map(|i| block.restart(i) as u64).collect(),
        separated_values: block.has_separated_values(),
        hash_index: block.hash_index().map(|index| index.buckets().to_vec()),
    });
    Ok(())
}

/// How the entries of a block are stored, if it has entries.
fn form(file: &TableFile, block: &LayoutBlock) -> Option<Form> {
    match block.kind {
        BlockKind::Data | BlockKind::RangeDeletion => Some(Form::Points),
        BlockKind::Properties | BlockKind::MetaIndex => Some(Form::Names),
        BlockKind::Index | BlockKind::IndexPartition => Some(Form::Index),
        BlockKind::Filter => {
            let mut filters = file.table().metaindex().filters();
            filters
                .any(|(layout, _, handle)| {
                    layout == FilterLayout::Partitioned && handle == block.handle
                })
                .then_some(Form::FilterIndex)
        }
        _ => None,
    }
}

/// Shows all entries of a block to `keep`, each as something that makes its description.
fn walk(
    file: &TableFile,
    form: Form,
    block: Block<Bytes>,
    encoding: Encoding,
    mut keep: impl FnMut(&dyn Fn() -> BlockEntry),
) -> Result<()> {
    let internal = file.table().has_internal_keys();
    if form == Form::Points || form == Form::Names {
        let internal = internal && form == Form::Points;
        let mut entries = block.into_entries();
        loop {
            let offset = entries.next_offset();
            if !entries.advance()? {
                return Ok(());
            }
            keep(&|| BlockEntry {
                value: Some(encoding.encode(entries.value())),
                restart: restart(entries.block(), entries.restart_index(), offset),
                ..entry(entries.key(), internal, offset, encoding)
            });
        }
    }
    let format = match form {
        Form::FilterIndex => file.index_format().of_filter_partitions(),
        _ => file.index_format(),
    };
    let internal = internal && !format.user_keys;
    let mut entries = IndexEntries::new(block, format)?;
    loop {
        let offset = entries.next_offset();
        if !entries.advance()? {
            return Ok(());
        }
        let handle = entries.handle();
        keep(&|| BlockEntry {
            handle: Some([handle.offset, handle.size]),
            first_key: entries.first_key().map(|key| encoding.encode(key)),
            restart: restart(entries.block(), entries.restart_index(), offset),
            ..entry(entries.key(), internal, offset, encoding)
        });
    }
}

/// What all entries have: the key, taken apart if it is an internal one.
fn entry(key: &[u8], internal: bool, offset: usize, encoding: Encoding) -> BlockEntry {
    let parts = InternalKey::decode_from(key).ok().filter(|_| internal);
    BlockEntry {
        offset: offset as u64,
        restart: None,
        kind: parts.map(|parts| names::entry_kind(parts.kind)),
        key: encoding.encode(parts.map_or(key, |parts| parts.user_key)),
        seq: parts.map(|parts| parts.sequence),
        value: None,
        handle: None,
        first_key: None,
    }
}

fn restart(block: &Block<Bytes>, index: usize, offset: usize) -> Option<u64> {
    let is_there = index < block.restart_count() && block.restart(index) == offset;
    is_there.then_some(index as u64)
}
