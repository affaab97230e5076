//! What the index and the properties of a table say, without its data blocks.
//!
//! ```text
//! index        | g | m | p | t | z |      separators: a block has keys up to its separator
//! data blocks  |===|==|====|=|====|       and their stored sizes
//! range            [i ....... s)          overlaps the blocks that end at m, p and t
//! split keys         m     t              one after each stretch of equal size
//! ```

use std::ops::Bound;

use sstkit_table::raw::property_names as names;
use sstkit_table::raw::{Engine, Trailer};
use sstkit_table::visibility::UserKeys;
use sstkit_table::{KeyRange, RangeTombstone, Table};

use super::FileProperties;
use super::analysis_options::GroupBy;
use super::prefixes::{PrefixCounter, PrefixPart, PrefixTotals, STORED_FRACTIONS};
use crate::error::{Error, Result};

/// Longer separators are not used to split the key range.
const MAX_SPLIT_KEY: usize = 1 << 10;

/// What to find out.
pub(super) struct SurveyOptions<'a> {
    pub(super) keys: &'a UserKeys,
    /// Whether the order of the keys is known.
    pub(super) is_ordered: bool,
    pub(super) range: &'a KeyRange,
    /// Bytes of data blocks from one split key to the next.
    pub(super) spacing: u64,
    /// How data blocks are grouped, if at all.
    pub(super) group_by: Option<&'a GroupBy>,
    /// How many range tombstones to list.
    pub(super) top: usize,
}

/// A key that the key range may be split at, and the bytes of data blocks before it, since the last one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SplitPoint {
    pub(super) key: Vec<u8>,
    pub(super) bytes: u64,
}

/// What the index and the properties of a table say.
#[derive(Debug, Default)]
pub(super) struct FileSurvey {
    pub(super) size: u64,
    /// Stored bytes of all data blocks, with trailers.
    pub(super) data_bytes: u64,
    pub(super) data_bytes_in_range: u64,
    pub(super) properties: FileProperties,
    pub(super) split_points: Vec<SplitPoint>,
    pub(super) prefixes: Option<PrefixPart>,
    /// Those that overlap the range, by start: the first ones, and how many there are.
    pub(super) tombstones: Vec<RangeTombstone>,
    pub(super) tombstone_count: u64,
    /// Whether there are any, wherever they are.
    pub(super) has_tombstones: bool,
    pub(super) problem: Option<Error>,
}

impl FileSurvey {
    /// Why there is nothing to survey.
    pub(super) fn failed(error: Error) -> Self {
        Self { problem: Some(error), ..Self::default() }
    }

    /// `is_in_range`: whether the table may have keys in the range.
    pub(super) fn of(table: &Table, options: &SurveyOptions<'_>, is_in_range: bool) -> Self {
        let mut survey = Self {
            size: table.size(),
            properties: properties(table),
            has_tombstones: !table.range_deletions().is_empty(),
            ..Self::default()
        };
        survey.list_tombstones(table, options);
        if let Err(error) = survey.walk_index(table, options, is_in_range) {
            survey.problem = Some(error);
        }
        survey
    }

    fn list_tombstones(&mut self, table: &Table, options: &SurveyOptions<'_>) {
        let overlaps =
            |it: &&RangeTombstone| !options.is_ordered || overlaps(it, options.range, options.keys);
        let found = || table.range_deletions().iter().filter(overlaps);
        self.tombstone_count = found().count() as u64;
        self.tombstones = found().take(options.top).cloned().collect();
    }

    fn walk_index(
        &mut self,
        table: &Table,
        options: &SurveyOptions<'_>,
        is_in_range: bool,
    ) -> Result<()> {
        let mut prefixes = options.group_by.map(|it| PrefixCounter::new(it, false));
        let (lower, upper) = options.range;
        let mut index = table.view().index()?;
        // The separator of the block before is not less than the end of the range.
        let mut is_behind = !is_in_range;
        let mut since_split = 0;
        while index.advance()? {
            let key = table.separator_key(index.key());
            let bytes = index.handle().size + Trailer::LENGTH as u64;
            self.data_bytes += bytes;
            let compare = |bound: &[u8]| options.keys.compare(key, bound);
            let is_before = match lower {
                _ if !options.is_ordered => false,
                Bound::Included(lower) => compare(lower).is_lt(),
                Bound::Excluded(lower) => compare(lower).is_le(),
                Bound::Unbounded => false,
            };
            if is_behind || is_before {
                continue;
            }
            self.data_bytes_in_range += bytes;
            since_split += bytes;
            if let Some(prefixes) = &mut prefixes {
                prefixes.add(key, self.properties.share(bytes));
            }
            if since_split >= options.spacing && key.len() <= MAX_SPLIT_KEY && options.is_ordered {
                let bytes = std::mem::take(&mut since_split);
                self.split_points.push(SplitPoint { key: key.to_vec(), bytes });
            }
            is_behind = match upper {
                _ if !options.is_ordered => false,
                Bound::Included(upper) | Bound::Excluded(upper) => compare(upper).is_ge(),
                Bound::Unbounded => false,
            };
        }
        self.prefixes = prefixes.map(PrefixCounter::finish);
        Ok(())
    }
}

fn properties(table: &Table) -> FileProperties {
    let number = |name| match table.engine() {
        Engine::RocksDb => table.properties().number(name),
        Engine::LevelDb => None,
    };
    FileProperties {
        entries: number(names::NUM_ENTRIES),
        deletions: number(names::DELETED_KEYS),
        merge_operands: number(names::MERGE_OPERANDS),
        range_tombstones: number(names::NUM_RANGE_DELETIONS),
        key_bytes: number(names::RAW_KEY_SIZE),
        value_bytes: number(names::RAW_VALUE_SIZE),
        data_bytes: number(names::DATA_SIZE),
        created: number(names::FILE_CREATION_TIME).filter(|&time| time > 0),
    }
}

/// Whether a tombstone is about keys in the range.
fn overlaps(tombstone: &RangeTombstone, (lower, upper): &KeyRange, keys: &UserKeys) -> bool {
    let ends_after = match lower {
        Bound::Included(lower) | Bound::Excluded(lower) => {
            keys.compare(&tombstone.end, lower).is_gt()
        }
        Bound::Unbounded => true,
    };
    let starts_before = match upper {
        Bound::Included(upper) => keys.compare(&tombstone.start, upper).is_le(),
        Bound::Excluded(upper) => keys.compare(&tombstone.start, upper).is_lt(),
        Bound::Unbounded => true,
    };
    ends_after && starts_before
}

impl FileProperties {
    /// What a part of the data blocks of this size adds up to, if all of them are alike.
    fn share(&self, bytes: u64) -> PrefixTotals {
        let all = self.data_bytes.unwrap_or(0).max(1);
        let part = |number: Option<u64>| {
            (u128::from(number.unwrap_or(0)) * u128::from(bytes) / u128::from(all)) as u64
        };
        PrefixTotals {
            entries: part(self.entries),
            tombstones: part(self.deletions),
            key_bytes: part(self.user_key_bytes()),
            value_bytes: part(self.value_bytes),
            stored_bytes: bytes.saturating_mul(STORED_FRACTIONS),
            ..PrefixTotals::default()
        }
    }

    /// Bytes of the user keys alone.
    pub fn user_key_bytes(&self) -> Option<u64> {
        let tails = self.entries?.saturating_mul(8);
        self.key_bytes.map(|bytes| bytes.saturating_sub(tails))
    }

    /// In fractions of a byte: how many stored bytes of data blocks a byte of an internal key or value
    /// takes; 0 if it is not known.
    pub(super) fn stored_per_byte(&self) -> u64 {
        let (Some(keys), Some(values), Some(stored)) =
            (self.key_bytes, self.value_bytes, self.data_bytes)
        else {
            return 0;
        };
        let raw = keys.saturating_add(values).max(1);
        (u128::from(stored) * u128::from(STORED_FRACTIONS) / u128::from(raw)) as u64
    }
}
