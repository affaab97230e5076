//! What a block is, by its contents alone.
//!
//! | block | how it is known |
//! |---|---|
//! | properties, metaindex | their names |
//! | index, or a partition of one | each value is the handle of an earlier block |
//! | range deletions | the kind of each key |
//! | data | keys in order, each with a valid kind |
//! | filter, dictionary | no entries at all |
//!
//! The order of the tests matters: an index of a LevelDB table would also pass for data.

use std::cmp::Ordering;

use sstkit_coding::varint::get_length_prefixed_slice;

use crate::comparator::Comparator;
use crate::raw::{
    Block, BlockHandle, BlockKind, EntryKind, IndexEntries, IndexFormat, IndexKind, InternalKey,
    KeyExpansion, MetaIndex, Properties,
};
use crate::visibility::UserKeys;

/// What a block is.
#[derive(Debug)]
pub(super) enum Contents {
    Data(DataSummary),
    Index,
    RangeDeletions,
    Properties(Box<Properties>),
    MetaIndex(Box<MetaIndex>),
    /// A block without entries: the metaindex of a LevelDB table without a filter, or an empty index.
    Empty,
    /// A filter or a dictionary.
    Opaque,
    /// Compressed, and not readable, perhaps for want of a dictionary.
    Undecoded,
}

impl Contents {
    /// Whether the contents themselves show that this is a block, whatever its checksum.
    pub(super) fn is_evident(&self) -> bool {
        !matches!(self, Self::Empty | Self::Opaque | Self::Undecoded)
    }

    /// About how many bytes it takes to keep this.
    pub(super) fn memory(&self) -> u64 {
        let kept = match self {
            Self::Data(summary) => summary.first.len() + summary.last.len(),
            Self::Properties(properties) => {
                properties.iter().map(|(name, value)| 64 + name.len() + value.len()).sum()
            }
            Self::MetaIndex(metaindex) => metaindex.iter().map(|(name, _)| 64 + name.len()).sum(),
            _ => 0,
        };
        (kept + size_of::<Self>()) as u64
    }
}

/// What a data block has.
#[derive(Clone, Debug)]
pub(super) struct DataSummary {
    pub(super) entries: u64,
    pub(super) deletions: u64,
    /// Stored keys.
    pub(super) first: Vec<u8>,
    pub(super) last: Vec<u8>,
    /// Keys are internal ones.
    pub(super) internal: bool,
    /// Some values may be elsewhere.
    pub(super) has_references: bool,
    /// Of the built-in orders, those that the keys are in.
    pub(super) orders: Orders,
    /// The smallest and the largest sequence number.
    pub(super) sequences: (u64, u64),
}

/// The built-in orders.
pub(super) const BUILT_IN: [Comparator; 4] = [
    Comparator::Bytewise,
    Comparator::ReverseBytewise,
    Comparator::BytewiseWithTimestamp,
    Comparator::ReverseBytewiseWithTimestamp,
];

/// Whether keys are in each of the [built-in orders](BUILT_IN).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Orders(pub(super) [bool; BUILT_IN.len()]);

impl Orders {
    pub(super) const ALL: Self = Self([true; BUILT_IN.len()]);

    /// Excludes the orders in which the stored user key `b` does not follow `a`.
    fn narrow(&mut self, a: &[u8], b: &[u8], tails: Ordering) {
        for (holds, order) in self.0.iter_mut().zip(&BUILT_IN) {
            let long_enough = a.len().min(b.len()) >= order.timestamp_size();
            *holds &= long_enough && order.compare(a, b).then(tails).is_lt();
        }
    }

    pub(super) fn and(self, other: Self) -> Self {
        let mut both = self;
        both.0.iter_mut().zip(other.0).for_each(|(holds, it)| *holds &= it);
        both
    }
}

/// What is known of the keys of a table.
#[derive(Clone, Debug, Default)]
pub(super) struct KeyRules {
    /// Whether keys are internal ones.
    pub(super) internal: Option<bool>,
    /// Their order.
    pub(super) order: Option<UserKeys>,
}

/// What a block at `offset` with these (decompressed) contents is. `contradicts` says whether a handle
/// overlaps a block that was found without being its handle.
pub(super) fn classify(
    contents: &[u8],
    offset: u64,
    rules: &KeyRules,
    contradicts: impl Fn(BlockHandle) -> bool,
) -> Contents {
    let Ok(block) = Block::parse(contents) else { return Contents::Opaque };
    if block.is_empty() {
        return if block.restart_count() == 1 { Contents::Empty } else { Contents::Opaque };
    }
    if let Some(names) = named(contents) {
        return names;
    }
    if is_index(&block, offset, contradicts) {
        return Contents::Index;
    }
    if is_range_deletions(&block) {
        return Contents::RangeDeletions;
    }
    match summarize(contents, rules) {
        Ok(summary) => Contents::Data(summary),
        Err(_) => Contents::Opaque,
    }
}

/// Metaindex or properties.
fn named(contents: &[u8]) -> Option<Contents> {
    let names = ["rocksdb.", "filter."];
    let has = |name: &str| contents.windows(name.len()).any(|it| it == name.as_bytes());
    if !names.into_iter().any(has) {
        return None;
    }
    // Values of properties are rarely handles, and those of a metaindex always are.
    if let Ok(metaindex) = MetaIndex::decode_from(contents)
        && metaindex.iter().len() > 0
        && metaindex
            .iter()
            .all(|(name, _)| BlockKind::of_metaindex_name(name) != BlockKind::OtherMeta)
    {
        return Some(Contents::MetaIndex(Box::new(metaindex)));
    }
    let properties = Properties::decode_from(contents).ok()?;
    let known = |(name, _): &(&[u8], &[u8])| name.starts_with(b"rocksdb.");
    (properties.iter().filter(known).count() > 1)
        .then(|| Contents::Properties(Box::new(properties)))
}

/// Whether each value is the handle of a block before `offset`.
fn is_index(block: &Block<&[u8]>, offset: u64, contradicts: impl Fn(BlockHandle) -> bool) -> bool {
    let fits = |handles: Vec<BlockHandle>| {
        let follows = |pair: &[BlockHandle]| pair[0].end() == Some(pair[1].offset);
        let contiguous = handles.windows(2).filter(|pair| follows(pair)).count();
        // Gaps are made by alignment, and by other kinds of blocks between them.
        !handles.is_empty()
            && (contiguous > 0 || handles.len() < 8)
            && !handles.into_iter().any(&contradicts)
    };
    full_handles(block, offset).is_some_and(fits)
        || [IndexKind::BinarySearch, IndexKind::BinarySearchWithFirstKey]
            .into_iter()
            .any(|kind| delta_handles(block, offset, kind).is_some_and(fits))
}

/// The handles of an index with full values: nothing else is in a value but the first key.
fn full_handles(block: &Block<&[u8]>, offset: u64) -> Option<Vec<BlockHandle>> {
    let mut entries = block.entries();
    let (mut handles, mut floor) = (Vec::new(), 0);
    while entries.advance().ok()? {
        let mut value = entries.value();
        let handle = BlockHandle::decode_from(&mut value)?;
        if !value.is_empty() {
            InternalKey::decode_from(get_length_prefixed_slice(&mut value)?).ok()?;
        }
        let end = handle.end().filter(|&end| end <= offset && value.is_empty())?;
        if handle.offset < floor || (handle.size as usize) < Block::<&[u8]>::MIN_LENGTH {
            return None;
        }
        floor = end;
        handles.push(handle);
    }
    Some(handles)
}

fn delta_handles(block: &Block<&[u8]>, offset: u64, kind: IndexKind) -> Option<Vec<BlockHandle>> {
    let format = IndexFormat { kind, user_keys: true, delta_values: true };
    let mut entries = IndexEntries::new(block.clone(), format).ok()?;
    let mut handles = Vec::new();
    while entries.advance().ok()? {
        if entries.floor() > offset || entries.handle().size < Block::<&[u8]>::MIN_LENGTH as u64 {
            return None;
        }
        handles.push(entries.handle());
    }
    Some(handles)
}

fn is_range_deletions(block: &Block<&[u8]>) -> bool {
    let mut entries = block.entries();
    let mut any = false;
    loop {
        match entries.advance() {
            Ok(true) => {}
            Ok(false) => return any,
            Err(_) => return false,
        }
        any = InternalKey::decode_from(entries.key())
            .is_ok_and(|key| key.kind == EntryKind::RangeDeletion);
        if !any {
            return false;
        }
    }
}

/// Reads a data block: all of its entries, in order, or why it is none.
pub(super) fn summarize(contents: &[u8], rules: &KeyRules) -> Result<DataSummary, String> {
    let internal = match rules.internal {
        Some(internal) => return summarize_as(contents, internal, rules.order.as_ref()),
        None => summarize_as(contents, true, rules.order.as_ref()),
    };
    internal.or_else(|_| summarize_as(contents, false, rules.order.as_ref()))
}

fn summarize_as(
    contents: &[u8],
    internal: bool,
    order: Option<&UserKeys>,
) -> Result<DataSummary, String> {
    let text = |error: crate::error::Error| error.to_string();
    let block = Block::parse(contents).map_err(text)?;
    let mut expansion = KeyExpansion::of_block(contents.len());
    let mut entries = block.entries();
    let mut summary = DataSummary {
        entries: 0,
        deletions: 0,
        first: Vec::new(),
        last: Vec::new(),
        internal,
        has_references: false,
        orders: Orders::ALL,
        sequences: (u64::MAX, 0),
    };
    while entries.advance().map_err(text)? {
        let key = entries.key();
        expansion.add(key.len()).map_err(text)?;
        let (user_key, tail) = split(key, internal)?;
        if order.is_some_and(|order| user_key.len() < order.timestamp_size()) {
            return Err("a key is shorter than its timestamp".into());
        }
        if summary.entries == 0 {
            summary.first = key.to_vec();
        } else {
            let (last, last_tail) = split(&summary.last, internal)?;
            let tails = match internal {
                // Of one key the newest comes first.
                true => tail.cmp(&last_tail),
                false => Ordering::Equal,
            };
            match order {
                Some(order) if !order.compare_stored(last, user_key).then(tails).is_lt() => {
                    return Err("the keys are not in order".into());
                }
                Some(_) => {}
                None => summary.orders.narrow(last, user_key, tails),
            }
        }
        let (low, high) = summary.sequences;
        summary.sequences = (low.min(tail >> 8), high.max(tail >> 8));
        if internal {
            let kind = EntryKind::from_byte(tail as u8);
            let is_deletion = matches!(
                kind,
                Some(
                    EntryKind::Deletion
                        | EntryKind::SingleDeletion
                        | EntryKind::DeletionWithTimestamp
                )
            );
            summary.deletions += u64::from(is_deletion);
            summary.has_references |=
                matches!(kind, Some(EntryKind::BlobIndex | EntryKind::WideColumnEntity));
        }
        summary.last.clear();
        summary.last.extend_from_slice(key);
        summary.entries += 1;
    }
    if summary.entries == 0 {
        return Err("the block has no entries".into());
    }
    // Bare keys are in the order of their bytes, or else anything would pass for a block of them.
    if order.is_none() && !internal && !summary.orders.0[0] {
        return Err("the keys are not in order".into());
    }
    Ok(summary)
}

/// A stored key as user key, and sequence number with kind.
fn split(key: &[u8], internal: bool) -> Result<(&[u8], u64), String> {
    if !internal {
        return Ok((key, 0));
    }
    let parsed = InternalKey::decode_from(key).map_err(|error| error.to_string())?;
    if !parsed.kind.is_point() {
        return Err(format!("{parsed:?} is not valid in a data block"));
    }
    Ok((parsed.user_key, parsed.sequence << 8 | parsed.kind as u64))
}

/// Whether stored key `b` follows `a` in this order.
pub(super) fn follows(a: &[u8], b: &[u8], internal: bool, order: &UserKeys) -> bool {
    match (split(a, internal), split(b, internal)) {
        (Ok((a, a_tail)), Ok((b, b_tail))) => {
            let tails = if internal { b_tail.cmp(&a_tail) } else { Ordering::Equal };
            order.compare_stored(a, b).then(tails).is_lt()
        }
        _ => false,
    }
}
