//! The text form of policies. Uses RocksDB's names where they exist.

use alloc::format;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use crate::error::{Error, Result};

use super::{BitsPerKey, FilterPolicy};

pub(super) const BLOOM: &str = "bloomfilter";
pub(super) const RIBBON: &str = "ribbonfilter";
pub(super) const BUILTIN: &str = "rocksdb.BuiltinBloomFilter";
pub(super) const LEVELDB: &str = "leveldb.BuiltinBloomFilter2";
/// What goleveldb calls the same filter.
pub(super) const GOLEVELDB: &str = "leveldb.BuiltinBloomFilter";
pub(super) const LEGACY_BLOOM: &str = "rocksdb.internal.LegacyBloomFilter";
pub(super) const FAST_LOCAL_BLOOM: &str = "rocksdb.internal.FastLocalBloomFilter";
pub(super) const STANDARD128_RIBBON: &str = "rocksdb.internal.Standard128RibbonFilter";
pub(super) const BLOCK_BASED_BLOOM: &str = "rocksdb.internal.DeprecatedBlockBasedBloomFilter";

const BLOOM_NICKNAME: &str = "rocksdb.BloomFilter";
const RIBBON_NICKNAME: &str = "rocksdb.RibbonFilter";
const NONE: &str = "none";
const NULL: &str = "nullptr";

/// Parses the text form of a policy.
///
/// | text | policy |
/// |---|---|
/// | `none`, `nullptr`, empty text | no filter |
/// | `bloomfilter:BITS`, `bloomfilter:BITS:false` | Bloom, the kind depends on the format version |
/// | `bloomfilter:BITS:true` | the block-based Bloom filter of RocksDB before 7.0, which later versions do not build |
/// | `ribbonfilter:BITS`, `ribbonfilter:BITS:LEVEL` | Ribbon, or Bloom above a level |
/// | `rocksdb.BuiltinBloomFilter` | reads all of RocksDB's filters, builds none |
/// | `leveldb.BuiltinBloomFilter2:BITS` | LevelDB's filter block |
/// | `rocksdb.internal.LegacyBloomFilter:BITS` and similar | exactly that kind |
///
/// `rocksdb.BloomFilter` and `rocksdb.RibbonFilter` are aliases of `bloomfilter` and `ribbonfilter`.
/// The property lists of OPTIONS files are accepted as well:
/// `{id=ribbonfilter:10:0;bloom_before_level=3;}`.
impl FromStr for FilterPolicy {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text.contains('=') { parse_properties(text) } else { parse_id(text) }
    }
}

fn parse_id(text: &str) -> Result<FilterPolicy> {
    let mut parts = text.split(':');
    let name = parts.next().unwrap_or_default();
    let arguments: Vec<&str> = parts.collect();
    let bits = || match arguments.as_slice() {
        [bits] => parse_bits(text, bits),
        _ => Err(malformed(text, "expected bits per key, as in bloomfilter:10")),
    };
    match name {
        "" | NONE | NULL if arguments.is_empty() => Ok(FilterPolicy::None),
        BUILTIN if arguments.is_empty() => Ok(FilterPolicy::ReadOnly),
        BLOOM | BLOOM_NICKNAME => match arguments.as_slice() {
            [bits] | [bits, "false"] => Ok(FilterPolicy::Bloom(parse_bits(text, bits)?)),
            [bits, "true"] => Ok(FilterPolicy::BlockBasedBloom(parse_bits(text, bits)?)),
            _ => Err(malformed(text, "expected bits per key, as in bloomfilter:10")),
        },
        RIBBON | RIBBON_NICKNAME => {
            let (bits, level) = match arguments.as_slice() {
                [bits] => (bits, 0),
                [bits, level] => (bits, parse_level(text, level)?),
                _ => {
                    let wanted =
                        "expected bits per key and an optional level, as in ribbonfilter:10:1";
                    return Err(malformed(text, wanted));
                }
            };
            Ok(FilterPolicy::Ribbon {
                bits_per_key: parse_bits(text, bits)?,
                bloom_before_level: level,
            })
        }
        LEVELDB => match arguments.as_slice() {
            [bits] => parse_leveldb_bits(text, bits),
            _ => Err(malformed(
                text,
                "expected a whole number of bits per key, as in leveldb.BuiltinBloomFilter2:10",
            )),
        },
        LEGACY_BLOOM => bits().map(FilterPolicy::LegacyBloom),
        FAST_LOCAL_BLOOM => bits().map(FilterPolicy::FastLocalBloom),
        STANDARD128_RIBBON => bits().map(FilterPolicy::Standard128Ribbon),
        BLOCK_BASED_BLOOM => bits().map(FilterPolicy::BlockBasedBloom),
        _ => Err(Error::unsupported(format!(
            "unknown filter policy {text:?} (expected bloomfilter:BITS, \
             ribbonfilter:BITS[:LEVEL], leveldb.BuiltinBloomFilter2:BITS or none)"
        ))),
    }
}

/// The text form. Parsing it gives the same policy, with bits per key rounded to thousandths.
impl fmt::Display for FilterPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name();
        match self {
            Self::None => f.write_str(NONE),
            Self::ReadOnly | Self::User(_) => f.write_str(name),
            Self::Bloom(bits)
            | Self::LegacyBloom(bits)
            | Self::FastLocalBloom(bits)
            | Self::Standard128Ribbon(bits) => write!(f, "{name}:{bits}"),
            Self::BlockBasedBloom(bits) => write!(f, "{BLOOM}:{bits}:true"),
            Self::Ribbon { bits_per_key, bloom_before_level: 0 } => {
                write!(f, "{name}:{bits_per_key}")
            }
            Self::Ribbon { bits_per_key, bloom_before_level } => {
                write!(f, "{name}:{bits_per_key}:{bloom_before_level}")
            }
            Self::LevelDb { bits_per_key } => write!(f, "{name}:{bits_per_key}"),
        }
    }
}

/// Parses a property list such as `id=ribbonfilter:10:-1;bloom_before_level=3`, in any order and with
/// optional braces.
fn parse_properties(text: &str) -> Result<FilterPolicy> {
    let list = text.trim();
    let list = list.strip_prefix('{').and_then(|list| list.strip_suffix('}')).unwrap_or(list);
    let mut id = None;
    let mut level = None;
    for property in list.split(';').map(str::trim).filter(|property| !property.is_empty()) {
        match property.split_once('=').map(|(name, value)| (name.trim(), value.trim())) {
            Some(("id", value)) => id = Some(value),
            Some(("bloom_before_level", value)) => level = Some(parse_level(text, value)?),
            _ => return Err(malformed(text, &format!("unknown property {property:?}"))),
        }
    }
    let id = id.ok_or_else(|| malformed(text, "the list of properties has no id"))?;
    match (parse_id(id)?, level) {
        (FilterPolicy::None, _) => {
            Err(Error::unsupported(format!("unknown filter policy id {id:?}")))
        }
        (policy, None) => Ok(policy),
        (FilterPolicy::Ribbon { bits_per_key, .. }, Some(bloom_before_level)) => {
            Ok(FilterPolicy::Ribbon { bits_per_key, bloom_before_level })
        }
        (_, Some(_)) => {
            Err(malformed(text, "only Ribbon filters have the property bloom_before_level"))
        }
    }
}

/// Parses an optional minus sign and digits with at most one point. An exponent, a plus sign or a
/// space is an error.
fn parse_bits(text: &str, bits: &str) -> Result<BitsPerKey> {
    let digits = bits.strip_prefix('-').unwrap_or(bits);
    let well_formed = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
        && digits.bytes().any(|byte| byte.is_ascii_digit());
    match bits.parse() {
        Ok(bits) if well_formed => Ok(BitsPerKey::new(bits)),
        _ => Err(malformed(text, &format!("{bits:?} is not a valid number of bits per key"))),
    }
}

fn parse_level(text: &str, level: &str) -> Result<i32> {
    let digits = level.strip_prefix('-').unwrap_or(level);
    let well_formed = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    match level.parse() {
        Ok(level) if well_formed => Ok(level),
        _ => Err(malformed(text, &format!("{level:?} is not a valid level"))),
    }
}

fn parse_leveldb_bits(text: &str, bits: &str) -> Result<FilterPolicy> {
    match bits.parse() {
        Ok(bits_per_key) if !bits.starts_with('+') => Ok(FilterPolicy::LevelDb { bits_per_key }),
        _ => Err(malformed(
            text,
            &format!("{bits:?} is not a number of bits from 0 to {}", u16::MAX),
        )),
    }
}

fn malformed(text: &str, why: &str) -> Error {
    Error::invalid_input(format!("filter policy {text:?}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    fn parse(text: &str) -> FilterPolicy {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn canonical_text_round_trips() {
        for text in [
            "none",
            "bloomfilter:10",
            "bloomfilter:4.567",
            "bloomfilter:0",
            "ribbonfilter:9.9",
            "ribbonfilter:10:-1",
            "ribbonfilter:10:3",
            "leveldb.BuiltinBloomFilter2:10",
            "leveldb.BuiltinBloomFilter2:65535",
            "rocksdb.BuiltinBloomFilter",
            "rocksdb.internal.LegacyBloomFilter:5",
            "rocksdb.internal.FastLocalBloomFilter:1.234",
            "rocksdb.internal.Standard128RibbonFilter:6.789",
            "bloomfilter:14:true",
        ] {
            assert_eq!(parse(text).to_string(), text);
        }
    }

    #[test]
    fn other_spellings() {
        for (text, canonical) in [
            ("", "none"),
            ("nullptr", "none"),
            ("rocksdb.internal.DeprecatedBlockBasedBloomFilter:14", "bloomfilter:14:true"),
            ("bloomfilter:4.567:false", "bloomfilter:4.567"),
            ("rocksdb.BloomFilter:4", "bloomfilter:4"),
            ("rocksdb.RibbonFilter:6.789:5", "ribbonfilter:6.789:5"),
            ("ribbonfilter:5.678:0", "ribbonfilter:5.678"),
            ("bloomfilter:-3", "bloomfilter:0"),
            ("bloomfilter:.7", "bloomfilter:1"),
            ("bloomfilter:12.", "bloomfilter:12"),
            ("bloomfilter:1000", "bloomfilter:100"),
            ("id=ribbonfilter:10:-1;bloom_before_level=3", "ribbonfilter:10:3"),
            ("id=bloomfilter:10:false;", "bloomfilter:10"),
            ("{id=ribbonfilter:10:0;bloom_before_level=3;}", "ribbonfilter:10:3"),
            ("bloom_before_level=-1; id = ribbonfilter:10", "ribbonfilter:10:-1"),
            (" id=bloomfilter:10 ", "bloomfilter:10"),
        ] {
            assert_eq!(parse(text).to_string(), canonical, "{text}");
        }
    }

    #[test]
    fn invalid_text_is_rejected() {
        for text in [
            "bloomfilter",
            "bloomfilter:",
            "bloomfilter:x",
            "bloomfilter:1e1",
            "bloomfilter:+4",
            "bloomfilter: 4",
            "bloomfilter:4.5.6",
            "bloomfilter:.",
            "bloomfilter:inf",
            "bloomfilter:4:maybe",
            "bloomfilter:4:true:x",
            "ribbonfilter",
            "ribbonfilter:4:",
            "ribbonfilter:4:x",
            "ribbonfilter:4:+1",
            "ribbonfilter:4:1:2",
            "leveldb.BuiltinBloomFilter2",
            "leveldb.BuiltinBloomFilter2:9.5",
            "leveldb.BuiltinBloomFilter2:-1",
            "leveldb.BuiltinBloomFilter2:65536",
            "rocksdb.internal.LegacyBloomFilter",
            "id=bloomfilter:10;bloom_before_level=3",
            "id=ribbonfilter:10;color=blue",
            "bloom_before_level=3",
            "id=ribbonfilter:10;bloom_before_level=x",
        ] {
            let error = text.parse::<FilterPolicy>().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{text}: {error}");
        }
        for text in [
            "bloomfilterxx:4:true",
            "none:4",
            "Bloomfilter:4",
            "rocksdb.BuiltinBloomFilter:4",
            "blah",
            "id=",
            "id=nullptr",
            "id=id=bloomfilter:10",
            &"id=".repeat(100_000),
        ] {
            let error = text.parse::<FilterPolicy>().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{text}: {error}");
        }
    }
}
