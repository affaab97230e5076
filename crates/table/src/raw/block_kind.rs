//! Block kinds, as named in errors and listed by inspection.

use sstkit_coding::named_enum;

use super::metaindex::{filter_name, names};

named_enum! {
    /// The kind of a block, or of another part of a table file.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    #[non_exhaustive]
    pub enum BlockKind {
        /// Entries of the table.
        Data => "data block",
        /// A value stored between the data blocks of the same file.
        EmbeddedBlob => "embedded blob",
        /// A filter: LevelDB's, a full filter, or the index of filter partitions.
        Filter => "filter block",
        /// One part of a partitioned filter.
        FilterPartition => "filter partition",
        /// The index of data blocks, or the top level of a partitioned index.
        Index => "index block",
        /// One part of a two-level index.
        IndexPartition => "index partition",
        /// The prefixes or the metadata of a hash index.
        HashIndex => "hash index block",
        /// An index of a plug-in.
        UserDefinedIndex => "user-defined index block",
        /// The compression dictionary of the data blocks.
        CompressionDictionary => "compression dictionary",
        /// Range tombstones.
        RangeDeletion => "range deletion block",
        /// The table's properties.
        Properties => "properties block",
        /// A block whose name in the metaindex is unknown.
        OtherMeta => "meta block",
        /// Names and handles of all the others.
        MetaIndex => "metaindex block",
        /// The last 48 or 53 bytes.
        Footer => "footer",
    }

    /// The name used in messages.
    fn name;
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
}
