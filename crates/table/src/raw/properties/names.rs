//! The properties that RocksDB itself writes: name, encoding, meaning.

/// How the value of a property is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PropertyEncoding {
    /// varint64.
    Varint,
    /// Little-endian, four bytes.
    Fixed32,
    /// Little-endian, eight bytes.
    Fixed64,
    /// `0` or `1` in ASCII.
    Digit,
    /// Bytes; mostly text.
    Text,
}

/// How the property `name` is stored, if it is one of RocksDB's own.
pub fn encoding(name: &[u8]) -> Option<PropertyEncoding> {
    ALL.iter().find(|(known, _)| known.as_bytes() == name).map(|&(_, encoding)| encoding)
}

/// One line a property: a constant with its name, and its place in `ALL`.
macro_rules! properties {
    ($($constant:ident $name:literal $encoding:ident $meaning:literal;)+) => {
        $(#[doc = concat!("`", $name, "`: ", $meaning, ".")]
        pub const $constant: &str = $name;)+

        /// All of them, in the order of this page.
        pub const ALL: &[(&str, PropertyEncoding)] = &[$(($constant, PropertyEncoding::$encoding)),+];
    };
}

properties! {
    ORIGINAL_FILE_NUMBER "rocksdb.original.file.number" Varint
        "the number of the file when it was made; 0 if unknown";
    RAW_KEY_SIZE "rocksdb.raw.key.size" Varint
        "bytes of all internal keys";
    RAW_VALUE_SIZE "rocksdb.raw.value.size" Varint
        "bytes of all values";
    DATA_SIZE "rocksdb.data.size" Varint
        "where the data blocks end";
    INDEX_SIZE "rocksdb.index.size" Varint
        "bytes of the index when decompressed";
    INDEX_PARTITIONS "rocksdb.index.partitions" Varint
        "partitions of a two-level index";
    TOP_LEVEL_INDEX_SIZE "rocksdb.top-level.index.size" Varint
        "bytes of the top level of a two-level index";
    INDEX_KEY_IS_USER_KEY "rocksdb.index.key.is.user.key" Varint
        "1 if index keys have no sequence numbers";
    INDEX_VALUE_IS_DELTA_ENCODED "rocksdb.index.value.is.delta.encoded" Varint
        "1 if index values are stored as differences";
    UDI_IS_PRIMARY_INDEX "rocksdb.udi.is.primary.index" Varint
        "1 if a plug-in's index is the one to use";
    NUM_ENTRIES "rocksdb.num.entries" Varint
        "points and range deletions";
    NUM_FILTER_ENTRIES "rocksdb.num.filter_entries" Varint
        "keys and prefixes in the filter";
    DELETED_KEYS "rocksdb.deleted.keys" Varint
        "deletions of all kinds";
    MERGE_OPERANDS "rocksdb.merge.operands" Varint
        "merge operands";
    NUM_RANGE_DELETIONS "rocksdb.num.range-deletions" Varint
        "range deletions";
    NUM_DATA_BLOCKS "rocksdb.num.data.blocks" Varint
        "data blocks";
    NUM_DATA_BLOCKS_COMPRESSION_REJECTED "rocksdb.num.data.blocks.compression.rejected" Varint
        "data blocks that compression did not make small enough";
    NUM_DATA_BLOCKS_COMPRESSION_BYPASSED "rocksdb.num.data.blocks.compression.bypassed" Varint
        "data blocks stored without an attempt to compress them";
    NUM_UNIFORM_BLOCKS "rocksdb.num.uniform.blocks" Varint
        "index blocks with evenly spread keys";
    FILTER_SIZE "rocksdb.filter.size" Varint
        "bytes of all filter blocks";
    FORMAT_VERSION "rocksdb.format.version" Varint
        "the format version of the footer; 0 in tables of old releases";
    FIXED_KEY_LENGTH "rocksdb.fixed.key.length" Varint
        "the length of all keys; 0 if they vary";
    COLUMN_FAMILY_ID "rocksdb.column.family.id" Varint
        "the column family; 2147483647 if unknown";
    COLUMN_FAMILY_NAME "rocksdb.column.family.name" Text
        "the column family's name";
    CREATION_TIME "rocksdb.creation.time" Varint
        "when the oldest data was written, in seconds since 1970";
    OLDEST_KEY_TIME "rocksdb.oldest.key.time" Varint
        "the time of the oldest key";
    NEWEST_KEY_TIME "rocksdb.newest.key.time" Varint
        "the time of the newest key";
    FILE_CREATION_TIME "rocksdb.file.creation.time" Varint
        "when the file was made";
    SLOW_COMPRESSION_ESTIMATED_DATA_SIZE "rocksdb.sample_for_compression.slow.data.size" Varint
        "what a slow codec would have made of a sample of the data";
    FAST_COMPRESSION_ESTIMATED_DATA_SIZE "rocksdb.sample_for_compression.fast.data.size" Varint
        "what a fast codec would have made of it";
    TAIL_START_OFFSET "rocksdb.tail.start.offset" Varint
        "where the blocks after the data blocks start";
    USER_DEFINED_TIMESTAMPS_PERSISTED "rocksdb.user.defined.timestamps.persisted" Varint
        "0 if timestamps were cut off the keys";
    DB_IDENTITY "rocksdb.creating.db.identity" Text
        "the database that made the file";
    DB_SESSION_IDENTITY "rocksdb.creating.session.identity" Text
        "the session of that database";
    DB_HOST_IDENTITY "rocksdb.creating.host.identity" Text
        "the machine";
    FILTER_POLICY "rocksdb.filter.policy" Text
        "the filter policy";
    COMPARATOR "rocksdb.comparator" Text
        "the order of the user keys";
    MERGE_OPERATOR "rocksdb.merge.operator" Text
        "what combines merge operands; `nullptr` for nothing";
    PREFIX_EXTRACTOR_NAME "rocksdb.prefix.extractor.name" Text
        "what makes prefixes of keys; `nullptr` for nothing";
    PROPERTY_COLLECTORS "rocksdb.property.collectors" Text
        "the property collectors: `[a,b]`";
    COMPRESSION "rocksdb.compression" Text
        "the codec, or from format version 7 on the compression manager and codecs";
    COMPRESSION_OPTIONS "rocksdb.compression_options" Text
        "the settings of the codec";
    SEQNO_TIME_MAP "rocksdb.seqno.time.map" Text
        "pairs of sequence number and time, packed";
    KEY_LARGEST_SEQNO "rocksdb.key.largest.seqno" Varint
        "the largest sequence number; 2^64-1 if unknown";
    KEY_SMALLEST_SEQNO "rocksdb.key.smallest.seqno" Varint
        "the smallest sequence number";
    DATA_BLOCK_RESTART_INTERVAL "rocksdb.data.block.restart.interval" Varint
        "entries from one restart point of a data block to the next";
    INDEX_BLOCK_RESTART_INTERVAL "rocksdb.index.block.restart.interval" Varint
        "the same for index blocks";
    SEPARATE_KEY_VALUE_IN_DATA_BLOCK "rocksdb.separate.key.value.in.data.block" Varint
        "1 if data blocks keep values apart from keys";
    INDEX_TYPE "rocksdb.block.based.table.index.type" Fixed32
        "the kind of index";
    WHOLE_KEY_FILTERING "rocksdb.block.based.table.whole.key.filtering" Digit
        "1 if whole keys are in the filter";
    PREFIX_FILTERING "rocksdb.block.based.table.prefix.filtering" Digit
        "1 if prefixes are in the filter";
    DECOUPLED_PARTITIONED_FILTERS "rocksdb.block.based.table.decoupled.partitioned.filters" Digit
        "1 if filter partitions are cut independently of index partitions";
    TIMESTAMP_MIN "rocksdb.timestamp_min" Text
        "the smallest timestamp";
    TIMESTAMP_MAX "rocksdb.timestamp_max" Text
        "the largest timestamp";
    EXTERNAL_SST_FILE_VERSION "rocksdb.external_sst_file.version" Fixed32
        "2 in tables made outside of a database";
    GLOBAL_SEQNO "rocksdb.external_sst_file.global_seqno" Fixed64
        "the sequence number of all entries of such a table";
    EMBEDDED_BLOB_STATS "rocksdb.embedded.blob.stats" Text
        "number and bytes of the values kept beside the data blocks, two varint64";
}
