//! Databases with a time to live (RocksDB's `DBWithTTL`, `ldb --ttl`): each value ends with the time
//! of its write.
//!
//! ```text
//! stored value   | value | fixed32 seconds since 1970 |
//! ```
//!
//! Compactions drop what is older than the time to live; until then it is visible. Values in the
//! results of this crate are as they are stored: [`Ttl::split`] tells the parts apart.

use sstkit_coding::fixed::decode_fixed32;

use crate::raw::ColumnFamilyOptions;

/// That the values of a column family end with the time of their write.
///
/// ```
/// use sstkit_db::Ttl;
///
/// let (value, written) = Ttl::split(b"v1\xfa\xea\xfa\x6a").unwrap();
/// assert_eq!((value, written), (&b"v1"[..], 1_794_829_050));
/// assert!(Ttl::split(b"v1").is_none());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ttl {
    /// The time to live in seconds, if OPTIONS has one; otherwise values do not expire.
    pub seconds: Option<u64>,
}

/// RocksDB's names for what a database with a time to live is configured with; the second is older.
const FILTER_FACTORIES: [&str; 1] = ["TtlCompactionFilterFactory"];
const FILTERS: [&str; 2] = ["TtlCompactionFilter", "Delete By TTL"];
pub(crate) const MERGE_OPERATORS: [&str; 2] = ["TtlMergeOperator", "Merge By TTL"];

impl Ttl {
    /// The length of the time at the end of a value.
    pub(crate) const LENGTH: usize = 4;

    /// What the options of a column family say; `None` if its values have no times.
    pub(crate) fn of(family: &ColumnFamilyOptions<'_>) -> Option<Self> {
        let named = |option: &str, names: &[&str]| {
            family.get(option).filter(|it| it.as_name().is_some_and(|name| names.contains(&name)))
        };
        let filter = named("compaction_filter_factory", &FILTER_FACTORIES)
            .or_else(|| named("compaction_filter", &FILTERS));
        let found = filter.or_else(|| named("merge_operator", &MERGE_OPERATORS))?;
        let seconds = found.get("ttl").and_then(|ttl| ttl.as_text()?.parse::<i64>().ok());
        Some(Self {
            seconds: seconds.and_then(|ttl| u64::try_from(ttl).ok()).filter(|&ttl| ttl > 0),
        })
    }

    /// The value and the time of its write in seconds since 1970; `None` if it is too short.
    pub fn split(stored: &[u8]) -> Option<(&[u8], u32)> {
        let (value, time) = stored.split_last_chunk::<{ Self::LENGTH }>()?;
        Some((value, decode_fixed32(*time)))
    }

    /// When a value expires that was written at this time, if it does.
    pub fn expires(&self, written: u32) -> Option<u64> {
        Some(u64::from(written).saturating_add(self.seconds?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::OptionsFile;

    fn ttl(options: &str) -> Option<Ttl> {
        let text = format!("[DBOptions]\n[CFOptions \"default\"]\n{options}\n");
        let file = OptionsFile::parse(&text).unwrap();
        Ttl::of(&file.column_family("default"))
    }

    #[test]
    fn options_of_databases_with_a_time_to_live() {
        let seconds = |seconds| Some(Ttl { seconds });
        for (options, expected) in [
            ("ttl=2592000", None),
            ("compaction_filter_factory=nullptr", None),
            ("compaction_filter_factory=TtlCompactionFilterFactory", seconds(None)),
            (
                "compaction_filter_factory={id=TtlCompactionFilterFactory;user_filter_factory=nullptr;ttl=60;}",
                seconds(Some(60)),
            ),
            ("compaction_filter_factory={id=TtlCompactionFilterFactory;ttl=0;}", seconds(None)),
            ("compaction_filter_factory={id=TtlCompactionFilterFactory;ttl=-1;}", seconds(None)),
            ("compaction_filter={id=TtlCompactionFilter;ttl=7;}", seconds(Some(7))),
            ("merge_operator={id=TtlMergeOperator;user_operator=nullptr;}", seconds(None)),
            ("merge_operator=Merge By TTL", seconds(None)),
        ] {
            assert_eq!(ttl(options), expected, "{options}");
        }
        assert_eq!(Ttl { seconds: Some(60) }.expires(100), Some(160));
    }
}
