//! The index of a table: a separator key and a handle for each data block.
//!
//! ```text
//!     index block                                      data blocks
//!   +---------------------------+
//!   | separator 0 -> handle 0   | ------------------->  … last key 0
//!   | separator 1 -> handle 1   | -----------.          first key 1 …
//!   +---------------------------+            '------->  … last key 1
//!
//!   last key n <= separator n < first key n+1
//! ```
//!
//! | kind | layout |
//! |---|---|
//! | 0, binary search | one block |
//! | 1, hash search | one block, and two meta blocks that map prefixes to entries; read as 0 without them |
//! | 2, two levels | partitions, each such a block, and a top-level index with a handle for each partition |
//! | 3, with first key | as 0, each value followed by the first internal key of the data block |

mod index_entries;

use sstkit_coding::named_enum;

use super::block::Block;
use super::format::{Engine, FormatVersion};
use super::properties::{Properties, names};
use crate::error::{Error, Result};

pub use self::index_entries::IndexEntries;
pub(crate) use self::index_entries::IndexMark;

named_enum! {
    /// How the index of a table is built.
    ///
    /// The numbers are stored in the properties and never change.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    #[repr(u32)]
    #[non_exhaustive]
    pub enum IndexKind {
        /// One block.
        #[default]
        BinarySearch = 0 => "kBinarySearch",
        /// One block, with a hash table over prefixes beside it.
        HashSearch = 1 => "kHashSearch",
        /// Partitions under a top level.
        TwoLevel = 2 => "kTwoLevelIndexSearch",
        /// One block that also has the first key of each data block.
        BinarySearchWithFirstKey = 3 => "kBinarySearchWithFirstKey",
    }

    /// RocksDB's name for it.
    fn name;
}

impl IndexKind {
    /// The kind stored as `number`.
    pub fn from_number(number: u64) -> Option<Self> {
        Self::ALL.iter().copied().find(|&kind| kind as u64 == number)
    }
}

/// How the entries of a table's index blocks are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct IndexFormat {
    /// How the index is built.
    pub kind: IndexKind,
    /// Keys are user keys, without sequence number and kind.
    pub user_keys: bool,
    /// Values are differences where the key shares bytes with the one before.
    pub delta_values: bool,
}

impl IndexFormat {
    /// The format according to the properties of a table.
    pub fn of(engine: Engine, version: FormatVersion, properties: &Properties) -> Result<Self> {
        let kind = match properties.number(names::INDEX_TYPE) {
            Some(number) => IndexKind::from_number(number)
                .ok_or_else(|| Error::unsupported(format!("index kind {number}")))?,
            // LevelDB has only one kind, and before version 2 the property was optional.
            None if engine == Engine::LevelDb || version < FormatVersion::V2 => {
                IndexKind::BinarySearch
            }
            None => {
                return Err(Error::corrupt(format!(
                    "the property {} is missing",
                    names::INDEX_TYPE
                )));
            }
        };
        Ok(Self {
            kind,
            user_keys: properties.index_key_is_user_key(),
            delta_values: properties.index_value_is_delta_encoded(),
        })
    }

    /// The key of restart point `restart` of an index block. `None` if the entry is corrupt.
    #[inline]
    pub(crate) fn restart_key<B: AsRef<[u8]>>(
        self,
        block: &Block<B>,
        restart: usize,
    ) -> Option<&[u8]> {
        block.restart_key(restart, if self.delta_values { 2 } else { 3 })
    }

    /// The format of the index of filter partitions: the same flags, without first keys.
    pub fn of_filter_partitions(self) -> Self {
        Self { kind: IndexKind::BinarySearch, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_is_required_from_version_2_on() {
        let none = Properties::default();
        let of = |engine, version| IndexFormat::of(engine, version, &none);
        assert!(of(Engine::LevelDb, FormatVersion::V0).is_ok());
        assert!(of(Engine::RocksDb, FormatVersion::V1).is_ok());
        assert!(of(Engine::RocksDb, FormatVersion::V2).is_err());
        assert_eq!(IndexKind::from_number(4), None);
    }
}
