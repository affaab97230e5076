//! Whatever the options and the entries: what goes in comes out, and the bytes depend on nothing
//! else.

use std::collections::BTreeMap;

use proptest::prelude::*;
use sstkit_coding::checksum::ChecksumType;
use sstkit_filter::{Filter, FilterLayout, FilterPolicy, PrefixExtractor};
use sstkit_table::raw::{
    BlobIndex, Block, BlockKind, Codec, EntryKind, FormatVersion, IndexEntries, IndexKind,
    InternalKey, TableView,
};
use sstkit_table::{Comparator, IndexShortening, TableOptions, TableWriter};

/// Kind, sequence number and value under an internal key's order.
type Entry = (Vec<u8>, u64, EntryKind, Vec<u8>);

const KINDS: [EntryKind; 5] = [
    EntryKind::Value,
    EntryKind::Deletion,
    EntryKind::Merge,
    EntryKind::SingleDeletion,
    EntryKind::ValuePreferredSeqno,
];

fn user_key() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        // Many with long common beginnings, and some of anything.
        4 => (0u32..400).prop_map(|i| format!("user{:06}", i * 37).into_bytes()),
        1 => prop::collection::vec(prop_oneof![0u8..3, 0xfdu8..], 0..5),
        1 => prop::collection::vec(any::<u8>(), 0..40),
    ]
}

fn entries() -> impl Strategy<Value = Vec<Entry>> {
    let value = prop_oneof![
        5 => prop::collection::vec(any::<u8>(), 0..60),
        3 => (any::<u8>(), 0usize..300).prop_map(|(byte, length)| vec![byte; length]),
    ];
    let entry = (user_key(), 0u64..3, 0..KINDS.len(), value);
    prop::collection::vec(entry, 0..250).prop_map(|entries| {
        entries
            .into_iter()
            .map(|(key, seq, kind, value)| (key, seq, KINDS[kind], as_stored(KINDS[kind], value)))
            .collect()
    })
}

/// Some kinds want more in a value than the user's bytes.
fn as_stored(kind: EntryKind, mut value: Vec<u8>) -> Vec<u8> {
    if kind == EntryKind::ValuePreferredSeqno {
        value.extend_from_slice(&7u64.to_le_bytes());
    }
    value
}

fn ranges() -> impl Strategy<Value = Vec<(Vec<u8>, Vec<u8>)>> {
    prop::collection::vec((user_key(), user_key()), 0..5)
}

/// A choice for every setting, as numbers: shrinking goes towards the defaults.
#[derive(Clone, Debug)]
struct Choice {
    format: (u32, usize, usize, u32),
    blocks: (usize, usize, bool, bool, bool),
    index: (usize, usize, usize, usize, bool),
    filter: (usize, bool, bool, bool, usize),
    compression: (usize, usize, usize, bool),
    gaps: usize,
    reverse: bool,
}

fn choice() -> impl Strategy<Value = Choice> {
    (
        (2u32..=7, 0usize..5, 64usize..2000, 0u32..=100),
        (1usize..20, 0usize..3, any::<bool>(), any::<bool>(), any::<bool>()),
        (0usize..4, 0usize..3, 1usize..5, 32usize..600, any::<bool>()),
        (0usize..6, any::<bool>(), any::<bool>(), any::<bool>(), 0usize..4),
        (0usize..7, 0usize..3, 0usize..3, any::<bool>()),
        0usize..4,
        any::<bool>(),
    )
        .prop_map(|(format, blocks, index, filter, compression, gaps, reverse)| Choice {
            format,
            blocks,
            index,
            filter,
            compression,
            gaps,
            reverse,
        })
}

impl Choice {
    fn options(&self) -> TableOptions {
        let (version, checksum, block_size, deviation) = self.format;
        let (restart, ratio, hash_index, separate, share) = self.blocks;
        let (kind, shortening, index_restart, metadata, uniform) = self.index;
        let (policy, partition, decouple, whole, prefix) = self.filter;
        let (codec, dictionary, training, index_compression) = self.compression;
        let kind = IndexKind::ALL[kind];
        let version = FormatVersion::from_number(version).unwrap();
        let codec = [
            Codec::None,
            Codec::Lz4,
            Codec::Snappy,
            Codec::Zlib,
            Codec::Bzip2,
            Codec::Lz4hc,
            Codec::Zstd,
        ][codec];
        let mut options = TableOptions::rocksdb()
            .external_file(false)
            .format_version(version)
            .checksum(ChecksumType::ALL[checksum])
            .block_size(block_size)
            .block_size_deviation(deviation)
            .block_restart_interval(restart)
            .use_delta_encoding(share)
            .data_block_hash_index(hash_index)
            .data_block_hash_table_util_ratio([0.75, 0.3, 1.5][ratio])
            .separate_key_value_in_data_block(separate)
            .index_kind(kind)
            .index_shortening(
                [
                    IndexShortening::Separators,
                    IndexShortening::None,
                    IndexShortening::SeparatorsAndSuccessor,
                ][shortening],
            )
            .metadata_block_size(metadata)
            .uniform_cv_threshold(if uniform { 0.5 } else { -1.0 })
            .enable_index_compression(index_compression)
            .filter(POLICIES[policy].parse::<FilterPolicy>().unwrap())
            .partition_filters(partition && kind == IndexKind::TwoLevel)
            .decouple_partitioned_filters(decouple)
            .whole_key_filtering(whole)
            .compression(codec)
            .max_dict_bytes([0, 300, 2000][dictionary])
            .zstd_max_train_bytes([0, 5000, 50_000][training]);
        if kind != IndexKind::HashSearch {
            options = options.index_block_restart_interval(index_restart);
        }
        if prefix > 0 || kind == IndexKind::HashSearch {
            options = options.prefix_extractor(
                [
                    PrefixExtractor::Fixed(3),
                    PrefixExtractor::Fixed(6),
                    PrefixExtractor::Capped(8),
                    PrefixExtractor::Noop,
                ][prefix]
                    .clone(),
            );
        }
        match self.gaps {
            1 => {
                options = options
                    .super_block_alignment_size(1024)
                    .super_block_alignment_space_overhead_ratio(4);
            }
            2 if codec == Codec::None => {
                options = options.block_align(true).block_size(block_size.next_power_of_two());
            }
            3 if version == FormatVersion::V7 => options = options.embedded_blobs(100),
            _ => {}
        }
        if self.reverse {
            options = options.comparator(Comparator::ReverseBytewise);
        }
        options
    }
}

const POLICIES: [&str; 6] = [
    "none",
    "bloomfilter:10",
    "bloomfilter:2.5",
    "ribbonfilter:10",
    "ribbonfilter:5:-1",
    "bloomfilter:0",
];

/// In the order of the table, each internal key once.
fn sorted(entries: Vec<Entry>, comparator: &Comparator) -> Vec<Entry> {
    let unique: BTreeMap<_, _> = entries
        .into_iter()
        .map(|(key, sequence, kind, value)| ((key, sequence, kind), value))
        .collect();
    let mut entries: Vec<Entry> =
        unique.into_iter().map(|((key, seq, kind), value)| (key, seq, kind, value)).collect();
    entries.sort_by(|a, b| comparator.compare(&a.0, &b.0).then((b.1, b.2).cmp(&(a.1, a.2))));
    entries
}

fn write(options: &TableOptions, entries: &[Entry], ranges: &[(Vec<u8>, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = TableWriter::to_sink(&mut bytes, options).unwrap();
    let (before, after) = ranges.split_at(ranges.len() / 2);
    for (begin, end) in before {
        writer.delete_range(begin, end).unwrap();
    }
    for (user_key, sequence, kind, value) in entries {
        let key = InternalKey { user_key, sequence: *sequence, kind: *kind };
        writer.add(&key, value).unwrap();
    }
    for (begin, end) in after {
        writer.delete_range(begin, end).unwrap();
    }
    let summary = writer.finish().unwrap();
    assert_eq!(summary.file_size, bytes.len() as u64);
    bytes
}

/// Every block verifies, and everything that went in is there.
fn check(
    bytes: &[u8],
    entries: &[Entry],
    ranges: &[(Vec<u8>, Vec<u8>)],
) -> Result<(), TestCaseError> {
    let table = TableView::open(bytes).unwrap();
    for (kind, handle) in table.blocks().unwrap() {
        table.block(kind, handle).unwrap();
    }
    let mut found = table.entries().unwrap();
    for (user_key, sequence, kind, value) in entries {
        prop_assert!(found.advance().unwrap());
        let key = found.internal_key().unwrap();
        prop_assert_eq!((key.user_key, key.sequence), (user_key.as_slice(), *sequence));
        if key.kind == EntryKind::BlobIndex {
            let blob = BlobIndex::decode_from(found.value()).unwrap();
            prop_assert_eq!(*kind, EntryKind::Value);
            prop_assert_eq!(table.embedded_blob(&blob).unwrap(), value);
        } else {
            prop_assert_eq!((key.kind, found.value()), (*kind, value.as_slice()));
        }
    }
    prop_assert!(!found.advance().unwrap());
    let mut found = table.range_deletions().unwrap();
    for (begin, end) in ranges.iter().filter(|(begin, end)| begin != end) {
        prop_assert!(found.advance().unwrap());
        prop_assert_eq!((found.begin().unwrap().user_key, found.end()), (&begin[..], &end[..]));
    }
    prop_assert!(!found.advance().unwrap());
    check_index(&table)
}

/// Separators are between the blocks they separate.
fn check_index(table: &TableView<'_>) -> Result<(), TestCaseError> {
    let name = std::str::from_utf8(table.properties().comparator().unwrap()).unwrap();
    let comparator: Comparator = name.parse().unwrap();
    let mut index = table.index().unwrap();
    let mut before: Option<Vec<u8>> = None;
    let cut = |key: &[u8]| if table.index_format().user_keys { key.len() } else { key.len() - 8 };
    let mut last_key: Option<Vec<u8>> = None;
    let mut shared = false;
    while index.advance().unwrap() {
        let block = table.block(BlockKind::Data, index.handle()).unwrap();
        let mut entries = Block::parse(block).unwrap().into_entries();
        let separator = index.key()[..cut(index.key())].to_vec();
        let mut is_first = true;
        while entries.advance().unwrap() {
            let key = &entries.key()[..entries.key().len() - 8];
            if let Some(before) = &before {
                prop_assert!(comparator.compare(before, key).is_le());
            }
            prop_assert!(comparator.compare(key, &separator).is_le());
            shared |= is_first && last_key.as_deref() == Some(key);
            is_first = false;
            last_key = Some(key.to_vec());
        }
        before = Some(separator);
    }
    // Only sequence numbers tell blocks apart that share a user key; without such blocks there are
    // none in the index.
    let user_keys = table.footer().version >= FormatVersion::V3 && !shared;
    prop_assert_eq!(table.index_format().user_keys, user_keys);
    Ok(())
}

/// The filter denies no key that is there, asked as a reader asks.
fn check_filter(bytes: &[u8], entries: &[Entry], options: &Choice) -> Result<(), TestCaseError> {
    let table = TableView::open(bytes).unwrap();
    let whole_keys = options.filter.3;
    let Some((layout, _, handle)) = table.metaindex().filters().next() else { return Ok(()) };
    if !whole_keys {
        return Ok(());
    }
    let contents = table.block(BlockKind::Filter, handle).unwrap();
    if layout == FilterLayout::Full {
        let filter = Filter::from_bytes(&contents);
        for (key, ..) in entries {
            prop_assert!(filter.may_contain(key));
        }
        return Ok(());
    }
    let comparator =
        if options.reverse { Comparator::ReverseBytewise } else { Comparator::Bytewise };
    let format = table.index_format().of_filter_partitions();
    for (key, ..) in entries {
        let mut top = IndexEntries::new(Block::parse(&contents).unwrap(), format).unwrap();
        while top.advance().unwrap() {
            let end = top.key().len() - if format.user_keys { 0 } else { 8 };
            if comparator.compare(&top.key()[..end], key).is_ge() {
                break;
            }
        }
        // The one it stopped at, or the last.
        let partition = table.block(BlockKind::FilterPartition, top.handle()).unwrap();
        prop_assert!(Filter::from_bytes(&partition).may_contain(key), "{key:?}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn what_goes_in_comes_out(entries in entries(), ranges in ranges(), choice in choice()) {
        let options = choice.options();
        let comparator =
            if choice.reverse { Comparator::ReverseBytewise } else { Comparator::Bytewise };
        let mut entries = sorted(entries, &comparator);
        if choice.gaps == 3 {
            // Where values become blobs, each sequence number of a key comes once.
            entries.dedup_by(|a, b| (&a.0, a.1) == (&b.0, b.1));
        }
        let ranges: Vec<_> = ranges
            .into_iter()
            .map(|(a, b)| if comparator.compare(&a, &b).is_gt() { (b, a) } else { (a, b) })
            .collect();
        let bytes = write(&options, &entries, &ranges);
        check(&bytes, &entries, &ranges)?;
        check_filter(&bytes, &entries, &choice)?;
        // The number of threads makes no difference.
        prop_assert!(write(&options.threads(3), &entries, &ranges) == bytes);
    }

    #[test]
    fn leveldb_tables_come_back(
        entries in entries(),
        bare: bool,
        block_size in 64usize..2000,
        restart in 1usize..20,
        bits in prop::option::of(1u32..20),
        codec in 0usize..3,
    ) {
        let mut options = TableOptions::leveldb()
            .bare_keys(bare)
            .block_size(block_size)
            .block_restart_interval(restart)
            .compression([Codec::None, Codec::Snappy, Codec::Zstd][codec]);
        if let Some(bits) = bits {
            let policy = format!("leveldb.BuiltinBloomFilter2:{bits}");
            options = options.filter(policy.parse().unwrap());
        }
        let mut entries = sorted(entries, &Comparator::Bytewise);
        for entry in &mut entries {
            if entry.2 != EntryKind::Deletion || bare {
                entry.2 = EntryKind::Value;
            }
        }
        let mut entries = sorted(entries, &Comparator::Bytewise);
        if bare {
            entries.dedup_by(|a, b| a.0 == b.0);
        }
        let bytes = write(&options, &entries, &[]);
        let table = TableView::open(&bytes).unwrap();
        let mut found = table.entries().unwrap();
        for (user_key, sequence, kind, value) in &entries {
            prop_assert!(found.advance().unwrap());
            let key = InternalKey { user_key, sequence: *sequence, kind: *kind };
            let mut stored = Vec::new();
            key.encode_to(&mut stored);
            let expected = if bare { user_key } else { &stored };
            prop_assert_eq!((found.key(), found.value()), (&expected[..], &value[..]));
        }
        prop_assert!(!found.advance().unwrap());
    }
}
