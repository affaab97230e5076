//! Block kinds, as named in errors and listed by inspection.

use std::fmt;

use super::metaindex::{filter_name, names};

/// The kind of a block, or of another part of a table file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum BlockKind {
    /// Entries of the table.
    Data,
    /// A value stored between the data blocks of the same file.
    EmbeddedBlob,
    /// A filter: LevelDB's, a full filter, or the index of filter partitions.
    Filter,
    /// One part of a partitioned filter.
    FilterPartition,
    /// The index of data blocks, or the top level of a partitioned index.
    Index,
    /// One part of a two-level index.
    IndexPartition,
    /// The prefixes or the metadata of a hash index.
    HashIndex,
    /// An index of a plug-in.
    UserDefinedIndex,
    /// The compression dictionary of the data blocks.
    CompressionDictionary,
    /// Range tombstones.
    RangeDeletion,
    /// The table's properties.
    Properties,
    /// A block whose name in the metaindex is unknown.
    OtherMeta,
    /// Names and handles of all the others.
    MetaIndex,
    /// The last 48 or 53 bytes.
    Footer,
}

impl BlockKind {
    /// The kind of the block that the metaindex calls `name`.
    pub fn of_metaindex_name(name: &[u8]) -> Self {
        match name {
            names::PROPERTIES | names::OLD_PROPERTIES => Self::Properties,
            names::INDEX => Self::Index,
            names::COMPRESSION_DICTIONARY => Self::CompressionDictionary,
            names::RANGE_DELETION => Self::RangeDeletion,
            names::HASH_INDEX_PREFIXES | names::HASH_INDEX_METADATA => Self::HashIndex,
            _ if name.starts_with(names::USER_DEFINED_INDEX) => Self::UserDefinedIndex,
            _ if filter_name(name).is_some() => Self::Filter,
            _ => Self::OtherMeta,
        }
    }

    /// The name used in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Data => "data block",
            Self::EmbeddedBlob => "embedded blob",
            Self::Filter => "filter block",
            Self::FilterPartition => "filter partition",
            Self::Index => "index block",
            Self::IndexPartition => "index partition",
            Self::HashIndex => "hash index block",
            Self::UserDefinedIndex => "user-defined index block",
            Self::CompressionDictionary => "compression dictionary",
            Self::RangeDeletion => "range deletion block",
            Self::Properties => "properties block",
            Self::OtherMeta => "meta block",
            Self::MetaIndex => "metaindex block",
            Self::Footer => "footer",
        }
    }
}

impl fmt::Display for BlockKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
