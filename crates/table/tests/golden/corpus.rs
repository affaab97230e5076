//! Every golden table, decoded from its footer to its last byte and compared with the list of
//! what the engine was given.

use std::collections::{BTreeMap, BTreeSet};

use sstkit_table::raw::{
    BlobIndex, Block, BlockHandle, BlockKind, ColumnValue, Engine, EntryKind, HashLookup,
    IndexKind, InternalKey, TableView, WideColumn, decode_wide_columns, property_names,
};
use sstkit_testkit::goldens::{Expected, Golden, TABLES_VARIABLE, expected_entries, golden_tables};

/// Runs `test` on every golden table and reports all that fail, by name.
fn for_every_table(test: impl Fn(&Golden, &TableView<'_>) -> Result<(), String>) {
    let tables = golden_tables();
    let failures: Vec<String> = tables
        .iter()
        .filter_map(|golden| {
            let result = TableView::open(&golden.bytes)
                .map_err(|error| error.to_string())
                .and_then(|table| test(golden, &table));
            result.err().map(|failure| format!("{}: {failure}", golden.path.display()))
        })
        .collect();
    assert!(
        failures.is_empty(),
        "{} of {} tables:\n{}",
        failures.len(),
        tables.len(),
        failures.join("\n")
    );
}

fn text(error: impl ToString) -> String {
    error.to_string()
}

macro_rules! check_eq {
    ($left:expr, $right:expr, $($what:tt)+) => {
        let (left, right) = (&$left, &$right);
        if left != right {
            return Err(format!("{}: {left:?} is not {right:?}", format_args!($($what)+)));
        }
    };
}

/// Keys, kinds, timestamps, values, columns, blobs and range deletions are what went in, in order.
#[test]
fn entries_are_what_went_in() {
    for_every_table(|golden, table| {
        let (ranges, points): (Vec<_>, Vec<_>) =
            expected_entries(&golden.path).into_iter().partition(Expected::is_range);

        let mut entries = table.entries().map_err(text)?;
        for (i, expected) in points.iter().enumerate() {
            if !entries.advance().map_err(text)? {
                return Err(format!("{i} entries of {}", points.len()));
            }
            let found = (entries.key(), entries.value());
            check_point(table, expected, found).map_err(|what| format!("entry {i}: {what}"))?;
        }
        check_eq!(entries.advance().map_err(text)?, false, "an entry too many");

        let mut deletions = table.range_deletions().map_err(text)?;
        for (i, expected) in ranges.iter().enumerate() {
            check_eq!(deletions.advance().map_err(text)?, true, "range {i}");
            let begin = deletions.begin().map_err(text)?;
            check_eq!(begin.kind, EntryKind::RangeDeletion, "range {i}");
            check_eq!(begin.user_key, expected.key, "range {i}, begin");
            check_eq!(deletions.end(), expected.value, "range {i}, end");
        }
        check_eq!(deletions.advance().map_err(text)?, false, "a range too many");
        Ok(())
    });
}

fn check_point(
    table: &TableView<'_>,
    expected: &Expected,
    (key, value): (&[u8], &[u8]),
) -> Result<(), String> {
    let Some(kind) = expected.kind(table.properties().timestamp_size() > 0) else {
        // A bare table: user keys alone.
        check_eq!(key, expected.key, "key");
        check_eq!(value, expected.value, "value");
        return Ok(());
    };
    let key = InternalKey::decode_from(key).map_err(text)?;
    check_eq!(key.kind, kind, "kind");
    let (user_key, timestamp) =
        key.split_timestamp(table.properties().timestamp_size()).ok_or("no timestamp")?;
    check_eq!(user_key, expected.key, "key");
    check_eq!(timestamp, expected.timestamp, "timestamp");
    match kind {
        EntryKind::WideColumnEntity => {
            // The makers of the tables gave every entity these three columns.
            let columns = [
                (&b""[..], expected.value.as_slice()),
                (b"a", b"alpha"),
                (b"zed", &expected.value[..expected.value.len().min(5)]),
            ]
            .map(|(name, value)| WideColumn { name, value: ColumnValue::Inline(value) });
            check_eq!(decode_wide_columns(value).map_err(text)?, columns, "columns");
        }
        EntryKind::BlobIndex => {
            let blob = BlobIndex::decode_from(value).map_err(text)?;
            check_eq!(table.embedded_blob(&blob).map_err(text)?, expected.value, "blob");
        }
        _ => {
            check_eq!(value, expected.value, "value");
        }
    }
    Ok(())
}

/// The checksum of every block verifies, and blocks, embedded blobs and padding of zeros make up
/// the whole file: not a byte before the footer is left unexplained.
#[test]
fn every_block_verifies_and_every_byte_is_explained() {
    for_every_table(|_, table| {
        let mut blocks = table.blocks().map_err(text)?;
        for &(kind, handle) in &blocks {
            table.block(kind, handle).map_err(text)?;
        }
        blocks.extend(embedded_blobs(table)?);
        blocks.sort_by_key(|&(_, handle)| handle);

        let mut end = 0;
        for (kind, handle) in blocks {
            if handle.offset < end {
                return Err(format!("{kind} at {handle} overlaps the block before it"));
            }
            let gap = &table.file()[end as usize..handle.offset as usize];
            if gap.iter().any(|&byte| byte != 0) {
                return Err(format!("{} unexplained bytes before {kind} at {handle}", gap.len()));
            }
            end = handle.end().unwrap();
        }
        check_eq!(end, table.footer().offset, "end of blocks");
        Ok(())
    });
}

fn embedded_blobs(table: &TableView<'_>) -> Result<Vec<(BlockKind, BlockHandle)>, String> {
    let mut blobs = Vec::new();
    if table.properties().embedded_blobs().is_none() {
        return Ok(blobs);
    }
    let mut entries = table.entries().map_err(text)?;
    while entries.advance().map_err(text)? {
        if entries.internal_key().map_err(text)?.kind == EntryKind::BlobIndex
            && let BlobIndex::Stored { offset, size, .. } =
                BlobIndex::decode_from(entries.value()).map_err(text)?
        {
            blobs.push((BlockKind::EmbeddedBlob, BlockHandle::new(offset, size)));
        }
    }
    let bytes = blobs.iter().map(|(_, handle)| handle.size).sum::<u64>();
    check_eq!(table.properties().embedded_blobs(), Some((blobs.len() as u64, bytes)), "blobs");
    Ok(blobs)
}

/// The properties match the contents.
#[test]
fn properties_match_the_contents() {
    for_every_table(|_, table| {
        let properties = table.properties();
        if table.engine() == Engine::LevelDb {
            check_eq!(properties.iter().len(), 0, "properties of LevelDB");
            return Ok(());
        }
        let (mut entries, mut keys, mut values) = (0u64, 0u64, 0u64);
        let mut by_kind = BTreeMap::<EntryKind, u64>::new();
        let mut points = table.entries().map_err(text)?;
        while points.advance().map_err(text)? {
            entries += 1;
            keys += points.key().len() as u64;
            // A value kept elsewhere in the file counts as its reference.
            values += points.value().len() as u64;
            *by_kind.entry(points.internal_key().map_err(text)?.kind).or_default() += 1;
        }
        let mut ranges = table.range_deletions().map_err(text)?;
        let mut range_count = 0;
        while ranges.advance().map_err(text)? {
            range_count += 1;
            let begin = ranges.begin().map_err(text)?;
            keys += (begin.user_key.len() + InternalKey::TAIL_LENGTH) as u64;
            values += ranges.end().len() as u64;
        }
        check_eq!(properties.num_entries(), entries + range_count, "entries");
        check_eq!(properties.num_range_deletions(), range_count, "range deletions");
        check_eq!(properties.raw_key_size(), keys, "raw key size");
        check_eq!(properties.raw_value_size(), values, "raw value size");
        let merges = by_kind.get(&EntryKind::Merge).copied().unwrap_or(0);
        check_eq!(properties.number(property_names::MERGE_OPERANDS), Some(merges), "merges");
        // RocksDB does not count the blocks it holds back while it samples them for a dictionary.
        if table.dictionary().map_err(text)?.is_none() {
            let blocks = table.data_blocks().map_err(text)?.count() as u64;
            check_eq!(properties.num_data_blocks(), blocks, "data blocks");
        }
        check_eq!(properties.global_sequence_number().map_err(text)?, Some(0), "global seqno");
        check_eq!(properties.user().count(), 0, "user properties");
        if let Some(version) = properties.number(property_names::FORMAT_VERSION)
            // RocksDB 6 wrote 0 here whatever the version.
            && version != 0
        {
            check_eq!(version, u64::from(table.footer().version.number()), "format version");
        }
        let uniform = table
            .blocks()
            .map_err(text)?
            .into_iter()
            .filter(|(kind, _)| matches!(kind, BlockKind::Index | BlockKind::IndexPartition))
            .filter(|&(kind, handle)| {
                let contents = table.block(kind, handle).unwrap();
                Block::parse(contents).unwrap().has_uniform_keys()
            })
            .count() as u64;
        let counted = properties.number(property_names::NUM_UNIFORM_BLOCKS).unwrap_or(0);
        check_eq!(counted, uniform, "uniform blocks");
        Ok(())
    });
}

/// Index keys are between the blocks they separate, and first keys are first keys.
#[test]
fn the_index_fits_the_data() {
    for_every_table(|_, table| {
        let user_keys = table.index_format().user_keys;
        let reverse = table.properties().comparator() == Some(b"rocksdb.ReverseBytewiseComparator");
        let bare = table.engine() == Engine::LevelDb;
        let timestamps = table.properties().timestamp_size();
        // Of what an index key and a data key have in common.
        let comparable = |key: &[u8], is_user_key: bool| -> Vec<u8> {
            let cut = if is_user_key || bare { 0 } else { 8 } + timestamps;
            key[..key.len() - cut].to_vec()
        };
        let ordered = |a: &[u8], b: &[u8]| if reverse { a >= b } else { a <= b };

        let mut index = table.index().map_err(text)?;
        let mut last_separator: Option<Vec<u8>> = None;
        while index.advance().map_err(text)? {
            let block = Block::parse(table.block(BlockKind::Data, index.handle()).map_err(text)?)
                .map_err(text)?;
            let mut entries = block.entries();
            let (mut first, mut last) = (None, Vec::new());
            while entries.advance().map_err(text)? {
                first.get_or_insert_with(|| entries.key().to_vec());
                last = entries.key().to_vec();
            }
            let first = first.ok_or("a data block without entries")?;
            if table.index_format().kind == IndexKind::BinarySearchWithFirstKey {
                check_eq!(index.first_key(), Some(first.as_slice()), "first key");
            } else {
                check_eq!(index.first_key(), None, "first key");
            }
            let separator = comparable(index.key(), user_keys);
            if !ordered(&comparable(&last, false), &separator) {
                return Err(format!("separator {separator:?} comes before its block"));
            }
            if let Some(before) = last_separator
                && !ordered(&before, &comparable(&first, false))
            {
                return Err(format!("separator {before:?} comes after the next block"));
            }
            last_separator = Some(separator);
        }
        Ok(())
    });
}

/// Where data blocks have a hash index, it finds each of their keys.
#[test]
fn hash_indexes_find_their_keys() {
    for_every_table(|_, table| {
        for block in table.data_blocks().map_err(text)? {
            let mut entries = block.map_err(text)?.into_entries().map_err(text)?;
            while entries.advance().map_err(text)? {
                let Some(index) = entries.block().hash_index() else { break };
                let key = InternalKey::decode_from(entries.key()).map_err(text)?;
                match index.lookup(key.user_key) {
                    HashLookup::Restart(restart) => {
                        check_eq!(usize::from(restart), entries.restart_index(), "{key:?}");
                    }
                    HashLookup::Collision => {}
                    HashLookup::Empty => return Err(format!("{key:?} is not found")),
                }
            }
        }
        Ok(())
    });
}

/// The tables between them show every feature that this crate reads: no test above passes for want
/// of something to look at. Not for other folders, which need not be complete.
#[test]
fn the_collection_is_complete() {
    if std::env::var_os(TABLES_VARIABLE).is_some() {
        return;
    }
    let mut seen = BTreeSet::new();
    for golden in golden_tables() {
        let table = TableView::open(&golden.bytes).unwrap();
        seen.insert(format!("engine {}", table.engine()));
        if table.engine() == Engine::RocksDb {
            seen.insert(format!("version {}", table.footer().version));
        }
        seen.insert(format!("checksum {}", table.footer().checksum));
        seen.insert(format!("index {}", table.index_format().kind));
        for (name, _) in table.metaindex().iter() {
            seen.insert(format!("meta block {}", BlockKind::of_metaindex_name(name)));
        }
        let dictionary = table.dictionary().unwrap().is_some();
        for block in table.data_blocks().unwrap() {
            let block = block.unwrap();
            let codec = table.stored_block(BlockKind::Data, block.handle).unwrap().trailer.codec;
            seen.insert(format!(
                "codec {codec}{}",
                if dictionary { " with dictionary" } else { "" }
            ));
            let block = Block::parse(block.contents).unwrap();
            if block.has_separated_values() {
                seen.insert("separated values".into());
            }
            if block.hash_index().is_some() {
                seen.insert("data block hash index".into());
            }
        }
    }
    for feature in [
        "engine LevelDB",
        "engine RocksDB",
        "checksum kNoChecksum",
        "checksum kCRC32c",
        "checksum kxxHash",
        "checksum kxxHash64",
        "checksum kXXH3",
        "index kBinarySearch",
        "index kHashSearch",
        "index kTwoLevelIndexSearch",
        "index kBinarySearchWithFirstKey",
        "meta block hash index block",
        "meta block range deletion block",
        "meta block compression dictionary",
        "codec 2 with dictionary",
        "codec 4 with dictionary",
        "codec 7 with dictionary",
        "separated values",
        "data block hash index",
    ]
    .map(String::from)
    .into_iter()
    .chain((0..=7).map(|version| format!("version {version}")))
    .chain([0, 1, 2, 3, 4, 5, 7].map(|codec| format!("codec {codec}")))
    {
        assert!(seen.contains(&feature), "no table with {feature}; there are {seen:?}");
    }
}
