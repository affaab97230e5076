//! The names that descriptions use for what the formats number.

use sstkit_coding::checksum::ChecksumType;
use sstkit_filter::FilterLayout;
use sstkit_table::raw::{BlockKind, Codec, Engine, EntryKind, IndexKind};

/// What an entry does: `put`, `delete` and so on.
pub const fn entry_kind(kind: EntryKind) -> &'static str {
    kind.name()
}

/// The kind of entry called `name`.
pub fn parse_entry_kind(name: &str) -> Option<EntryKind> {
    name.parse().ok()
}

/// What a block is for: `data`, `index_partition` and so on.
pub const fn block_kind(kind: BlockKind) -> &'static str {
    match kind {
        BlockKind::Data => "data",
        BlockKind::EmbeddedBlob => "embedded_blob",
        BlockKind::Filter => "filter",
        BlockKind::FilterPartition => "filter_partition",
        BlockKind::Index => "index",
        BlockKind::IndexPartition => "index_partition",
        BlockKind::HashIndex => "hash_index",
        BlockKind::UserDefinedIndex => "user_defined_index",
        BlockKind::CompressionDictionary => "compression_dictionary",
        BlockKind::RangeDeletion => "range_deletion",
        BlockKind::Properties => "properties",
        BlockKind::MetaIndex => "metaindex",
        BlockKind::Footer => "footer",
        _ => "other",
    }
}

/// How the filter of a table is laid out: `full`, `partitioned` or `block`.
pub const fn filter_layout(layout: FilterLayout) -> &'static str {
    match layout {
        FilterLayout::Full => "full",
        FilterLayout::Partitioned => "partitioned",
        FilterLayout::Block => "block",
        _ => "other",
    }
}

/// The engine whose format a file has.
pub const fn engine(engine: Engine) -> &'static str {
    match engine {
        Engine::LevelDb => "leveldb",
        Engine::RocksDb => "rocksdb",
    }
}

/// The checksum of the blocks, as `--checksum` has it.
pub const fn checksum(checksum: ChecksumType) -> &'static str {
    match checksum {
        ChecksumType::None => "none",
        ChecksumType::Crc32c => "crc32c",
        ChecksumType::XxHash => "xxhash",
        ChecksumType::XxHash64 => "xxhash64",
        ChecksumType::Xxh3 => "xxh3",
        _ => "other",
    }
}

/// How the index is built, as `--index` has it.
pub const fn index_kind(kind: IndexKind) -> &'static str {
    match kind {
        IndexKind::BinarySearch => "binary",
        IndexKind::HashSearch => "hash",
        IndexKind::TwoLevel => "two-level",
        IndexKind::BinarySearchWithFirstKey => "first-key",
        _ => "other",
    }
}

/// The codec of a trailer's byte, as `--compression` has it. The engines number them
/// differently.
pub fn codec(engine: Engine, byte: u8) -> String {
    let name = match (engine, Codec::from_byte(byte)) {
        (Engine::LevelDb, _) if byte == 2 => "zstd",
        (Engine::LevelDb, _) if byte > 2 => return unknown_codec(byte),
        (_, Some(codec)) => codec_name(codec),
        (_, None) => return unknown_codec(byte),
    };
    name.into()
}

const fn codec_name(codec: Codec) -> &'static str {
    match codec {
        Codec::None => "none",
        Codec::Snappy => "snappy",
        Codec::Zlib => "zlib",
        Codec::Bzip2 => "bzip2",
        Codec::Lz4 => "lz4",
        Codec::Lz4hc => "lz4hc",
        Codec::Xpress => "xpress",
        Codec::Zstd | Codec::ZstdNotFinal => "zstd",
        _ => "other",
    }
}

fn unknown_codec(byte: u8) -> String {
    format!("codec {byte:#04x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_entries_come_back() {
        for &kind in EntryKind::ALL {
            assert_eq!(parse_entry_kind(entry_kind(kind)), Some(kind));
        }
        assert_eq!(parse_entry_kind("PUT"), Some(EntryKind::Value));
        assert_eq!(parse_entry_kind("putt"), None);
    }

    #[test]
    fn the_same_byte_of_two_engines() {
        assert_eq!(codec(Engine::LevelDb, 2), "zstd");
        assert_eq!(codec(Engine::RocksDb, 2), "zlib");
        assert_eq!(codec(Engine::LevelDb, 4), "codec 0x04");
        assert_eq!(codec(Engine::RocksDb, 0x80), "codec 0x80");
    }
}
