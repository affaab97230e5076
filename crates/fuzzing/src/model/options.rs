//! Settings of a table, drawn from the input.

use arbitrary::{Result, Unstructured};
use sstkit_coding::checksum::ChecksumType;
use sstkit_filter::{FilterPolicy, PrefixExtractor};
use sstkit_table::raw::{Codec, Engine, FormatVersion, IndexKind};
use sstkit_table::{Comparator, IndexShortening, TableOptions};

/// Settings of a table, and what the model has to know of them.
pub(super) struct Settings {
    pub(super) options: TableOptions,
    pub(super) engine: Engine,
    pub(super) comparator: Comparator,
    pub(super) version: FormatVersion,
    pub(super) checksum: ChecksumType,
    /// Each user key comes once, without sequence numbers or kinds.
    pub(super) bare_keys: bool,
    /// Each user key comes once, with sequence number 0.
    pub(super) external_file: bool,
    /// Each sequence number of a key comes once.
    pub(super) embeds_blobs: bool,
}

const POLICIES: [&str; 7] = [
    "none",
    "bloomfilter:10",
    "bloomfilter:2.5",
    "ribbonfilter:10",
    "ribbonfilter:5:-1",
    "bloomfilter:0",
    "bloomfilter:24",
];

const CODECS: [Codec; 7] =
    [Codec::None, Codec::Lz4, Codec::Snappy, Codec::Zlib, Codec::Bzip2, Codec::Lz4hc, Codec::Zstd];

impl Settings {
    pub(super) fn draw(input: &mut Unstructured<'_>) -> Result<Self> {
        if input.ratio(1u8, 8u8)? { Self::leveldb(input) } else { Self::rocksdb(input) }
    }

    fn leveldb(input: &mut Unstructured<'_>) -> Result<Self> {
        let bare_keys = input.arbitrary()?;
        let mut options = TableOptions::leveldb()
            .bare_keys(bare_keys)
            .block_size(input.int_in_range(32usize..=600)?)
            .block_restart_interval(input.int_in_range(1usize..=20)?)
            .compression(*input.choose(&[Codec::None, Codec::Snappy, Codec::Zstd])?);
        let bits = input.int_in_range(0u32..=20)?;
        if bits > 0 {
            options = options.filter(policy(&format!("leveldb.BuiltinBloomFilter2:{bits}")));
        }
        Ok(Self {
            options,
            engine: Engine::LevelDb,
            comparator: Comparator::Bytewise,
            version: FormatVersion::V0,
            checksum: ChecksumType::Crc32c,
            bare_keys,
            external_file: false,
            embeds_blobs: false,
        })
    }

    fn rocksdb(input: &mut Unstructured<'_>) -> Result<Self> {
        let version = *input.choose(&FormatVersion::ALL[2..])?;
        let checksum = *input.choose(ChecksumType::ALL)?;
        let external_file = input.arbitrary()?;
        let comparator = input
            .choose(&[
                Comparator::Bytewise,
                Comparator::Bytewise,
                Comparator::ReverseBytewise,
                Comparator::BytewiseWithTimestamp,
                Comparator::ReverseBytewiseWithTimestamp,
            ])?
            .clone();
        let options = TableOptions::rocksdb()
            .external_file(external_file)
            .comparator(comparator.clone())
            .format_version(version)
            .checksum(checksum);
        let options = index(input, options)?;
        let (options, embeds_blobs) = blocks(input, options, version)?;
        let options = compression(input, options)?;
        Ok(Self {
            options,
            engine: Engine::RocksDb,
            comparator,
            version,
            checksum,
            bare_keys: false,
            external_file,
            embeds_blobs,
        })
    }
}

/// Data blocks; and whether values may become blobs between them.
fn blocks(
    input: &mut Unstructured<'_>,
    options: TableOptions,
    version: FormatVersion,
) -> Result<(TableOptions, bool)> {
    let mut embeds_blobs = false;
    let mut options = options
        .block_size(input.int_in_range(16usize..=700)?)
        .block_size_deviation(input.int_in_range(0u32..=100)?)
        .block_restart_interval(input.int_in_range(1usize..=20)?)
        .use_delta_encoding(input.arbitrary()?)
        .data_block_hash_index(input.arbitrary()?)
        .data_block_hash_table_util_ratio(*input.choose(&[0.75, 0.3, 1.5])?)
        .separate_key_value_in_data_block(input.arbitrary()?);
    match input.int_in_range(0u8..=5)? {
        1 => {
            options = options
                .super_block_alignment_size(1024)
                .super_block_alignment_space_overhead_ratio(4);
        }
        // Only without compression; else the writer refuses.
        2 => options = options.block_align(true).block_size(256).compression(Codec::None),
        3 if version == FormatVersion::V7 => {
            options = options.embedded_blobs(input.int_in_range(0usize..=60)?);
            embeds_blobs = true;
        }
        _ => {}
    }
    Ok((options, embeds_blobs))
}

/// The index, and the filter, whose partitions depend on it.
fn index(input: &mut Unstructured<'_>, options: TableOptions) -> Result<TableOptions> {
    let kind = *input.choose(IndexKind::ALL)?;
    let mut options = options
        .index_kind(kind)
        .index_shortening(*input.choose(&[
            IndexShortening::Separators,
            IndexShortening::None,
            IndexShortening::SeparatorsAndSuccessor,
        ])?)
        .metadata_block_size(input.int_in_range(16usize..=400)?)
        .uniform_cv_threshold(if input.arbitrary()? { 0.5 } else { -1.0 })
        .enable_index_compression(input.arbitrary()?)
        .filter(policy(input.choose(&POLICIES)?))
        .partition_filters(input.arbitrary::<bool>()? && kind == IndexKind::TwoLevel)
        .decouple_partitioned_filters(input.arbitrary()?)
        .whole_key_filtering(input.arbitrary()?);
    if kind != IndexKind::HashSearch {
        options = options.index_block_restart_interval(input.int_in_range(1usize..=5)?);
    }
    let extractors = [
        PrefixExtractor::Fixed(2),
        PrefixExtractor::Fixed(3),
        PrefixExtractor::Capped(3),
        PrefixExtractor::Noop,
    ];
    if kind == IndexKind::HashSearch || input.arbitrary()? {
        options = options.prefix_extractor(input.choose(&extractors)?.clone());
    }
    Ok(options)
}

fn compression(input: &mut Unstructured<'_>, options: TableOptions) -> Result<TableOptions> {
    // Of the slow codecs a little less.
    let codec = *input.choose(&CODECS)?;
    if codec == Codec::None {
        return Ok(options.compression(codec));
    }
    let options = options
        .compression(codec)
        .max_dict_bytes(*input.choose(&[0, 0, 0, 300])?)
        .max_compressed_bytes_per_kb(*input.choose(&[896, 1024])?);
    Ok(match input.ratio(1u8, 16u8)? {
        true => options.threads(2),
        false => options,
    })
}

fn policy(text: &str) -> FilterPolicy {
    text.parse().expect("one of the list")
}
