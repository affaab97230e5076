//! Parses the names of settings, as the command has them, with a suggestion for a mistyped one.

use std::str::FromStr;

use crate::names;
use sstkit_coding::checksum::ChecksumType;
use sstkit_filter::{BuildContext, FilterPolicy, PrefixExtractor};
use sstkit_table::Comparator;
use sstkit_table::raw::{Codec, FormatVersion, IndexKind};

use crate::suggest::hint;

const CODECS: [(&str, Codec); 7] = [
    ("none", Codec::None),
    ("snappy", Codec::Snappy),
    ("zlib", Codec::Zlib),
    ("bzip2", Codec::Bzip2),
    ("lz4", Codec::Lz4),
    ("lz4hc", Codec::Lz4hc),
    ("zstd", Codec::Zstd),
];
const COMPARATORS: [Comparator; 4] = [
    Comparator::Bytewise,
    Comparator::ReverseBytewise,
    Comparator::BytewiseWithTimestamp,
    Comparator::ReverseBytewiseWithTimestamp,
];
const FILTERS: [&str; 8] = [
    "none",
    "bloomfilter",
    "ribbonfilter",
    "leveldb.BuiltinBloomFilter2",
    "rocksdb.internal.LegacyBloomFilter",
    "rocksdb.internal.FastLocalBloomFilter",
    "rocksdb.internal.Standard128RibbonFilter",
    "rocksdb.internal.DeprecatedBlockBasedBloomFilter",
];

/// A codec and an optional level: `zstd:9`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compression {
    /// The codec.
    pub codec: Codec,
    /// Its level, if it is not the default one.
    pub level: Option<i32>,
}

impl FromStr for Compression {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, level) = match text.split_once(':') {
            Some((name, level)) => (name, Some(level)),
            None => (text, None),
        };
        let codec = find("compression", name, &CODECS)?;
        let level = level
            .map(|level| level.parse().map_err(|_| format!("{level:?} is not a compression level")))
            .transpose()?;
        if level.is_some() && matches!(codec, Codec::None | Codec::Snappy | Codec::Bzip2) {
            return Err(format!("{name} has no compression levels"));
        }
        Ok(Self { codec, level })
    }
}

/// Parses `crc32c`, `xxh3` and so on.
pub fn checksum(text: &str) -> Result<ChecksumType, String> {
    find("checksum", text, &named(ChecksumType::ALL, names::checksum))
}

/// Parses `binary`, `two-level` and so on.
pub fn index(text: &str) -> Result<IndexKind, String> {
    find("index", text, &named(IndexKind::ALL, names::index_kind))
}

/// Parses a comparator: an engine's name for it, a short name, or `NAME=ORDER` for a name
/// that only the user knows the order of.
pub fn comparator(text: &str) -> Result<Comparator, String> {
    if let Some((name, order)) = text.rsplit_once('=') {
        return Ok(Comparator::named(name, &known_comparator(order)?));
    }
    known_comparator(text)
}

fn known_comparator(text: &str) -> Result<Comparator, String> {
    if let Some(known) = Comparator::from_short_name(text).or_else(|| text.parse().ok()) {
        return Ok(known);
    }
    let list = Comparator::SHORT_NAMES.join(", ");
    let names: Vec<String> = COMPARATORS.iter().map(|known| known.name().into_owned()).collect();
    let names = names.iter().map(String::as_str).chain(Comparator::SHORT_NAMES.iter().copied());
    Err(format!(
        "unknown comparator {text:?} (expected {list}, a name that the engines have for one, or \
         NAME=ORDER){}",
        hint(text, names)
    ))
}

/// Parses a format version, from 0 to 7.
pub fn format_version(text: &str) -> Result<FormatVersion, String> {
    let version = text.parse().ok().and_then(FormatVersion::from_number);
    version.ok_or_else(|| format!("{text:?} is not a supported format version (expected 0 to 7)"))
}

/// Parses a filter policy: `bloomfilter:10`.
pub fn filter(text: &str) -> Result<FilterPolicy, String> {
    let name = text.split(':').next().unwrap_or_default();
    let known = FILTERS.contains(&name);
    let hint = if known { String::new() } else { hint(name, FILTERS) };
    let policy: FilterPolicy =
        text.parse().map_err(|error: sstkit_filter::Error| format!("{error}{hint}"))?;
    // RocksDB builds no filter below half a bit per key. Here, `none` says so.
    let is_built = policy.builds_filters(&BuildContext::default());
    if !matches!(policy, FilterPolicy::None) && !is_built {
        return Err(format!("{text:?} builds no filter: use none, or 0.5 bits per key or more"));
    }
    Ok(policy)
}

/// LevelDB's filter of the same size; `None` if it has none of the kind.
pub fn leveldb_filter(policy: &FilterPolicy) -> Option<FilterPolicy> {
    match policy {
        FilterPolicy::None | FilterPolicy::LevelDb { .. } => Some(policy.clone()),
        FilterPolicy::Bloom(bits) => Some(FilterPolicy::LevelDb {
            bits_per_key: u16::try_from(bits.whole_bits()).unwrap_or(u16::MAX),
        }),
        _ => None,
    }
}

/// Parses a prefix extractor: `fixed:8`.
pub fn prefix_extractor(text: &str) -> Result<PrefixExtractor, String> {
    let name = text.split(':').next().unwrap_or_default();
    let names = ["fixed", "capped", "noop"];
    let hint = if names.contains(&name) { String::new() } else { hint(name, names) };
    text.parse().map_err(|error: sstkit_filter::Error| format!("{error}{hint}"))
}

/// Values with their names.
fn named<T: Copy>(values: &[T], name: fn(T) -> &'static str) -> Vec<(&'static str, T)> {
    values.iter().map(|&value| (name(value), value)).collect()
}

fn find<T: Clone>(what: &str, text: &str, known: &[(&str, T)]) -> Result<T, String> {
    if let Some((_, value)) = known.iter().find(|(name, _)| *name == text) {
        return Ok(value.clone());
    }
    let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
    let list = names.join(", ");
    Err(format!("unknown {what} {text:?} (expected {list}){}", hint(text, names)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compression_with_and_without_level() {
        let zstd = Compression { codec: Codec::Zstd, level: Some(-3) };
        assert_eq!("zstd:-3".parse(), Ok(zstd));
        assert_eq!("lz4".parse(), Ok(Compression { codec: Codec::Lz4, level: None }));
        for text in ["", "zstd:", "zstd:x", "snappy:3", "ZSTD"] {
            assert!(text.parse::<Compression>().is_err(), "{text}");
        }
    }

    #[test]
    fn mistyped_names_have_a_suggestion() {
        for (error, meant) in [
            ("ztsd".parse::<Compression>().unwrap_err(), "zstd"),
            (checksum("crc32").unwrap_err(), "crc32c"),
            (index("two_level").unwrap_err(), "two-level"),
            (comparator("leveldb.ByteWiseComparator").unwrap_err(), "leveldb.BytewiseComparator"),
            (comparator("revrse").unwrap_err(), "reverse"),
            (comparator("mine=bytwise").unwrap_err(), "bytewise"),
            (filter("bloomfliter:10").unwrap_err(), "bloomfilter"),
            (prefix_extractor("fxed:8").unwrap_err(), "fixed"),
        ] {
            assert!(error.ends_with(&format!("did you mean {meant:?}?")), "{error}");
        }
        for text in ["bloomfilter:0", "ribbonfilter:-3", "bloomfilter:0.4", "ribbonfilter:0:2"] {
            assert!(filter(text).unwrap_err().contains("builds no filter"), "{text}");
        }
        assert_eq!(filter("none").map(|policy| policy.name().to_owned()), Ok(String::new()));
        assert!(!filter("bloomfilter:x").unwrap_err().contains("did you mean"));
    }

    #[test]
    fn comparators() {
        for (text, name) in [
            ("leveldb.BytewiseComparator", "leveldb.BytewiseComparator"),
            ("reverse", "rocksdb.ReverseBytewiseComparator"),
            ("idb_cmp1", "idb_cmp1"),
            ("RocksDB_SE_v3.10", "RocksDB_SE_v3.10"),
            ("my=cmp=reverse", "my=cmp"),
        ] {
            let comparator = comparator(text).unwrap();
            assert_eq!(comparator.name(), name);
            let is_reverse = comparator.compare(b"a", b"b").is_gt();
            assert_eq!(is_reverse, text.ends_with("reverse"), "{text}");
        }
    }

    #[test]
    fn format_versions() {
        assert_eq!(format_version("0"), Ok(FormatVersion::V0));
        assert_eq!(format_version("7"), Ok(FormatVersion::V7));
        for text in ["-1", "8", "x", ""] {
            assert!(format_version(text).is_err(), "{text}");
        }
    }
}
