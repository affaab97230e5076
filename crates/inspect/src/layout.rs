//! The layout of a table file: its blocks in file order, and their contents.

use bytes::Bytes;
use serde::ser::{Serialize, SerializeSeq as _, SerializeStruct as _, Serializer};
use sstkit_filter::FilterLayout;
use sstkit_table::raw::{
    Block, BlockHandle, BlockKind, IndexEntries, IndexFormat, InternalKey, KeyExpansion, Trailer,
};

use crate::encoding::Encoding;
use crate::inspected_table::InspectedTable;
use crate::names;
use crate::verify::Problem;

/// The layout of a table file.
#[derive(Clone, Debug, serde::Serialize)]
#[non_exhaustive]
pub struct LayoutDescription {
    /// The file.
    pub file: String,
    /// The size in bytes.
    pub size: u64,
    /// All blocks; the footer is the last.
    pub blocks: Vec<BlockDescription>,
}

/// One block.
#[derive(Clone, Debug, Default, serde::Serialize)]
#[non_exhaustive]
pub struct BlockDescription {
    /// The kind: `data`, `index`, `filter_partition` …
    pub kind: &'static str,
    /// The name in the metaindex, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The offset.
    pub offset: u64,
    /// The stored size in bytes, without the trailer of five bytes.
    pub length: u64,
    /// The decompressed size in bytes; `None` if the block could not be read.
    pub uncompressed: Option<u64>,
    /// The codec; `None` for the footer.
    pub compression: Option<String>,
    /// The checksum without its context, as RocksDB's tools print it.
    pub checksum: Option<String>,
    /// The number of entries, if it has entries.
    pub entries: Option<u64>,
    /// The number of restart points, if it has entries.
    pub restarts: Option<u64>,
    /// The error, if it could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
    /// The contents, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contents: Option<BlockContents>,
}

/// The contents of a block with entries, which has been read to its end once and is sound.
///
/// Entries are described one at a time: by sharing prefixes, the keys of a small block may be many
/// times as long as the block (but not more than [`KeyExpansion`] allows).
#[derive(Clone, Debug)]
pub struct BlockContents {
    block: Block<Bytes>,
    form: Form,
    index_format: IndexFormat,
    /// Whether the keys of data blocks are internal keys.
    internal: bool,
    encoding: Encoding,
}

impl BlockContents {
    /// Passes all entries to `each`, as long as it returns `Ok`.
    pub fn for_each<E>(&self, mut each: impl FnMut(BlockEntry) -> Result<(), E>) -> Result<(), E> {
        let mut done = Ok(());
        // The constructor has checked that it can be read to its end.
        let _ = self.walk(|entry| {
            if done.is_ok() {
                done = each(entry());
            }
            done.is_ok()
        });
        done
    }

    /// The offsets of the restart points in the block.
    pub fn restart_points(&self) -> impl Iterator<Item = u64> {
        (0..self.block.restart_count()).map(|index| self.block.restart(index) as u64)
    }

    /// Whether values are separate from keys.
    pub fn has_separated_values(&self) -> bool {
        self.block.has_separated_values()
    }

    /// The buckets of the hash index, if any: restart points, 254 for a collision, 255 for none.
    pub fn hash_index(&self) -> Option<&[u8]> {
        self.block.hash_index().map(|index| index.buckets())
    }

    fn count(&self) -> sstkit_table::Result<u64> {
        let mut count = 0;
        self.walk(|_| {
            count += 1;
            true
        })?;
        Ok(count)
    }

    /// Passes all entries to `keep`, each as a closure that describes it, as long as `keep` returns
    /// true.
    fn walk(
        &self,
        mut keep: impl FnMut(&dyn Fn() -> BlockEntry) -> bool,
    ) -> sstkit_table::Result<()> {
        let Self { block, form, index_format: format, internal, encoding } = self;
        let encoding = *encoding;
        let mut expansion = KeyExpansion::of_block(block.bytes().len());
        if matches!(form, Form::Points | Form::Names) {
            let internal = *internal && *form == Form::Points;
            let mut entries = block.clone().into_entries();
            loop {
                let offset = entries.next_offset();
                if !entries.advance()? {
                    return Ok(());
                }
                expansion.add(entries.key().len())?;
                let go_on = keep(&|| BlockEntry {
                    value: Some(encoding.encode(entries.value())),
                    restart: restart(entries.block(), entries.restart_index(), offset),
                    ..entry(entries.key(), internal, offset, encoding)
                });
                if !go_on {
                    return Ok(());
                }
            }
        }
        let internal = *internal && !format.user_keys;
        let mut entries = IndexEntries::new(block.clone(), *format)?;
        loop {
            let offset = entries.next_offset();
            if !entries.advance()? {
                return Ok(());
            }
            expansion.add(entries.key().len())?;
            let handle = entries.handle();
            let go_on = keep(&|| BlockEntry {
                handle: Some([handle.offset, handle.size]),
                first_key: entries.first_key().map(|key| encoding.encode(key)),
                restart: restart(entries.block(), entries.restart_index(), offset),
                ..entry(entries.key(), internal, offset, encoding)
            });
            if !go_on {
                return Ok(());
            }
        }
    }
}

/// Fields: `entries`, `restart_points`, `separated_values` and, if there is one, `hash_index`.
impl Serialize for BlockContents {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("BlockContents", 4)?;
        object.serialize_field("entries", &Entries(self))?;
        object.serialize_field("restart_points", &RestartPoints(self))?;
        object.serialize_field("separated_values", &self.has_separated_values())?;
        match self.hash_index() {
            Some(buckets) => object.serialize_field("hash_index", buckets)?,
            None => object.skip_field("hash_index")?,
        }
        object.end()
    }
}

struct Entries<'c>(&'c BlockContents);

impl Serialize for Entries<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        self.0.for_each(|entry| list.serialize_element(&entry))?;
        list.end()
    }
}

struct RestartPoints<'c>(&'c BlockContents);

impl Serialize for RestartPoints<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.restart_points())
    }
}

/// One entry of a block.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct BlockEntry {
    /// The offset in the block.
    pub offset: u64,
    /// The index of its restart point, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart: Option<u64>,
    /// The type, if keys include it.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<&'static str>,
    /// The key; the user key of an internal key.
    pub key: String,
    /// The sequence number, if keys include it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// The value as stored; `None` in an index, which has handles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The handle in an index entry: offset and size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handle: Option<[u64; 2]>,
    /// The first key of that block, in indexes that have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_key: Option<String>,
}

/// The form of the entries in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Internal keys (or user keys) and values.
    Points,
    /// Names and values.
    Names,
    /// Separators with handles of data blocks, or of index or filter partitions.
    Index,
    FilterIndex,
}

impl LayoutDescription {
    /// Describes a table. Reads all blocks, one at a time.
    pub fn of(name: impl Into<String>, file: &InspectedTable) -> sstkit_table::Result<Self> {
        let blocks = blocks(file, None)?.collect();
        Ok(Self { file: name.into(), size: file.table().size(), blocks })
    }
}

/// Describes the blocks of a table in file order, with their contents in the encoding `contents`,
/// if given. Reads one block at a time, and keeps none.
pub fn blocks(
    file: &InspectedTable,
    contents: Option<Encoding>,
) -> sstkit_table::Result<impl Iterator<Item = BlockDescription>> {
    let layout = file.layout()?;
    let footer = footer(file);
    let blocks = layout.blocks.into_iter().map(move |block| {
        let trailer = Trailer { codec: block.codec, checksum: block.checksum };
        let block = ListedBlock { kind: block.kind, name: block.name, handle: block.handle };
        describe(file, &block, Some(trailer), contents)
    });
    Ok(blocks.chain([footer]))
}

/// A block by its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListedBlock {
    pub(crate) kind: BlockKind,
    /// The name in the metaindex, if any.
    pub(crate) name: Option<Vec<u8>>,
    pub(crate) handle: BlockHandle,
}

pub(crate) fn footer(file: &InspectedTable) -> BlockDescription {
    let offset = file.table().footer().offset;
    BlockDescription {
        kind: names::block_kind(BlockKind::Footer),
        offset,
        length: file.table().size() - offset,
        ..BlockDescription::default()
    }
}

/// Describes a block; `trailer` is its own, if the file does not end before it.
pub(crate) fn describe(
    file: &InspectedTable,
    block: &ListedBlock,
    trailer: Option<Trailer>,
    contents: Option<Encoding>,
) -> BlockDescription {
    let table = file.table();
    let modifier = table.footer().context_modifier(block.handle.offset);
    let mut description = BlockDescription {
        kind: names::block_kind(block.kind),
        name: block.name.as_ref().map(|name| Encoding::Escape.encode(name)),
        offset: block.handle.offset,
        length: block.handle.size,
        compression: trailer.map(|it| names::codec(table.engine(), it.codec)),
        checksum: trailer.map(|it| format!("{:#010x}", it.checksum.wrapping_sub(modifier))),
        ..BlockDescription::default()
    };
    if block.kind == BlockKind::EmbeddedBlob {
        // A raw value, possibly with its own compression; `verify` checks it.
        return description;
    }
    if let Err(error) = look_inside(file, block, contents, &mut description) {
        let error = error.in_block(block.kind, block.handle.offset);
        description.problem = Some(Problem::from(&error));
    }
    description
}

fn look_inside(
    file: &InspectedTable,
    block: &ListedBlock,
    encoding: Option<Encoding>,
    description: &mut BlockDescription,
) -> sstkit_table::Result<()> {
    let bytes = file.contents(block.kind, block.handle)?;
    description.uncompressed = Some(bytes.len() as u64);
    let Some(form) = form(file, block.kind, block.handle) else { return Ok(()) };
    let block = Block::parse(bytes)?;
    description.restarts = Some(block.restart_count() as u64);
    let contents = BlockContents {
        block,
        form,
        index_format: form.index_format(file),
        internal: file.table().has_internal_keys(),
        encoding: encoding.unwrap_or_default(),
    };
    description.entries = Some(contents.count()?);
    description.contents = encoding.map(|_| contents);
    Ok(())
}

impl Form {
    /// How the entries are stored, in an index.
    pub(crate) fn index_format(self, file: &InspectedTable) -> IndexFormat {
        match self {
            Self::FilterIndex => file.index_format().of_filter_partitions(),
            _ => file.index_format(),
        }
    }
}

/// The form of the entries in a block; `None` if it has none.
pub(crate) fn form(file: &InspectedTable, kind: BlockKind, handle: BlockHandle) -> Option<Form> {
    match kind {
        BlockKind::Data | BlockKind::RangeDeletion => Some(Form::Points),
        BlockKind::Properties | BlockKind::MetaIndex => Some(Form::Names),
        BlockKind::Index | BlockKind::IndexPartition => Some(Form::Index),
        BlockKind::Filter => {
            let mut filters = file.table().metaindex().filters();
            filters
                .any(|(layout, _, at)| layout == FilterLayout::Partitioned && at == handle)
                .then_some(Form::FilterIndex)
        }
        _ => None,
    }
}

/// The common part of all entries: the key, split if it is an internal key.
fn entry(key: &[u8], internal: bool, offset: usize, encoding: Encoding) -> BlockEntry {
    let parts = InternalKey::decode_from(key).ok().filter(|_| internal);
    BlockEntry {
        offset: offset as u64,
        kind: parts.map(|parts| names::entry_kind(parts.kind)),
        key: encoding.encode(parts.map_or(key, |parts| parts.user_key)),
        seq: parts.map(|parts| parts.sequence),
        ..BlockEntry::default()
    }
}

fn restart(block: &Block<Bytes>, index: usize, offset: usize) -> Option<u64> {
    let is_there = index < block.restart_count() && block.restart(index) == offset;
    is_there.then_some(index as u64)
}
