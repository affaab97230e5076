//! Prefix extractors, and which part of each key is added to a filter.
//!
//! With a prefix extractor a filter also tells whether a table may contain any key with a given
//! prefix. A scan over one prefix can then skip whole files.
//!
//! | text | RocksDB's name | domain | prefix |
//! |---|---|---|---|
//! | `fixed:N` | `rocksdb.FixedPrefix.N` | keys of at least *N* bytes | the first *N* bytes |
//! | `capped:N` | `rocksdb.CappedPrefix.N` | all keys | the first *N* bytes, or the whole key if shorter |
//! | `noop` | `rocksdb.Noop` | all keys | the whole key |
//!
//! ```
//! use sstkit_filter::PrefixExtractor;
//!
//! let extractor: PrefixExtractor = "fixed:5".parse()?;
//! assert_eq!(extractor.prefix(b"user7/name"), Some(&b"user7"[..]));
//! assert_eq!(extractor.prefix(b"user"), None); // too short: not in the domain
//! assert_eq!(extractor.name(), "rocksdb.FixedPrefix.5");
//! # Ok::<(), sstkit_filter::Error>(())
//! ```

use alloc::borrow::Cow;
use alloc::format;
use alloc::sync::Arc;
use core::fmt;
use core::str::FromStr;

use crate::error::{Error, Result};

/// A custom prefix extractor (RocksDB's `SliceTransform`).
///
/// It must agree with the table's comparator: all keys with the same prefix must be adjacent in
/// that order.
///
/// ```
/// use std::sync::Arc;
/// use sstkit_filter::{PrefixExtractor, SliceTransform};
///
/// /// Everything up to the first slash.
/// #[derive(Debug)]
/// struct UpToSlash;
///
/// impl SliceTransform for UpToSlash {
///     fn name(&self) -> &str {
///         "example.UpToSlash"
///     }
///
///     fn prefix<'k>(&self, key: &'k [u8]) -> Option<&'k [u8]> {
///         key.iter().position(|&byte| byte == b'/').map(|end| &key[..=end])
///     }
/// }
///
/// let extractor = PrefixExtractor::User(Arc::new(UpToSlash));
/// assert_eq!(extractor.prefix(b"user7/name"), Some(&b"user7/"[..]));
/// assert_eq!(extractor.prefix(b"user7"), None);
/// ```
pub trait SliceTransform: fmt::Debug + Send + Sync {
    /// A stable name. It is stored in every table and identifies the extractor when reading.
    fn name(&self) -> &str;

    /// The prefix of `key`, or `None` if the key is not in the domain.
    fn prefix<'k>(&self, key: &'k [u8]) -> Option<&'k [u8]>;

    /// The maximum length of a prefix, if there is one. It allows a scan with an upper bound at the
    /// next prefix of that length to use the filter.
    fn full_length(&self) -> Option<usize> {
        None
    }
}

/// A prefix extractor.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum PrefixExtractor {
    /// The first bytes. Shorter keys are outside the domain.
    Fixed(usize),
    /// The first bytes, or the whole key if it is shorter.
    Capped(usize),
    /// The whole key.
    Noop,
    /// A custom extractor.
    User(Arc<dyn SliceTransform>),
}

const FIXED: &str = "rocksdb.FixedPrefix";
const CAPPED: &str = "rocksdb.CappedPrefix";
const NOOP: &str = "rocksdb.Noop";

impl PrefixExtractor {
    /// The prefix of `key`, or `None` if the key is not in the domain.
    #[inline]
    pub fn prefix<'k>(&self, key: &'k [u8]) -> Option<&'k [u8]> {
        match self {
            Self::Fixed(length) => key.get(..*length),
            Self::Capped(length) => Some(&key[..key.len().min(*length)]),
            Self::Noop => Some(key),
            Self::User(transform) => transform.prefix(key),
        }
    }

    /// RocksDB's name, as stored in the table property `rocksdb.prefix.extractor.name`.
    pub fn name(&self) -> Cow<'_, str> {
        match self {
            Self::Fixed(length) => Cow::Owned(format!("{FIXED}.{length}")),
            Self::Capped(length) => Cow::Owned(format!("{CAPPED}.{length}")),
            Self::Noop => Cow::Borrowed(NOOP),
            Self::User(transform) => Cow::Borrowed(transform.name()),
        }
    }

    /// The maximum length of a prefix, if there is one.
    pub fn full_length(&self) -> Option<usize> {
        match self {
            Self::Fixed(length) | Self::Capped(length) => Some(*length),
            Self::Noop => None,
            Self::User(transform) => transform.full_length(),
        }
    }
}

/// Extractors with equal names are equal.
impl PartialEq for PrefixExtractor {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for PrefixExtractor {}

/// The short form, such as `fixed:8`.
impl fmt::Display for PrefixExtractor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(length) => write!(f, "fixed:{length}"),
            Self::Capped(length) => write!(f, "capped:{length}"),
            Self::Noop => f.write_str("noop"),
            Self::User(transform) => f.write_str(transform.name()),
        }
    }
}

/// Parses the short form and RocksDB's name. For custom extractors see
/// [`Registry`](crate::Registry).
impl FromStr for PrefixExtractor {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text == "noop" || text == NOOP {
            return Ok(Self::Noop);
        }
        let (make, length): (fn(usize) -> Self, _) = if let Some(length) =
            strip(text, "fixed", ':').or_else(|| strip(text, FIXED, '.'))
        {
            (Self::Fixed, length)
        } else if let Some(length) = strip(text, "capped", ':').or_else(|| strip(text, CAPPED, '.'))
        {
            (Self::Capped, length)
        } else {
            return Err(Error::unsupported(format!(
                "unknown prefix extractor {text:?} (expected fixed:N, capped:N or noop)"
            )));
        };
        let digits = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
        match length.parse() {
            Ok(length) if digits => Ok(make(length)),
            _ => Err(Error::invalid_input(format!(
                "prefix extractor {text:?}: expected a length in bytes, as in fixed:8"
            ))),
        }
    }
}

fn strip<'t>(text: &'t str, name: &str, separator: char) -> Option<&'t str> {
    text.strip_prefix(name)?.strip_prefix(separator)
}

/// What is added to a filter for each key: the key, its prefix, or both.
///
/// | key in domain of prefix extractor | whole-key filtering | added |
/// |---|---|---|
/// | yes | yes | key and prefix |
/// | yes | no | prefix |
/// | no | yes | key |
/// | no | no | nothing |
#[derive(Clone, Debug)]
pub struct KeyFiltering {
    whole_key: bool,
    extractor: Option<PrefixExtractor>,
}

impl KeyFiltering {
    /// From the settings `whole_key_filtering` and `prefix_extractor` of a table.
    pub fn new(whole_key: bool, extractor: Option<PrefixExtractor>) -> Self {
        Self { whole_key, extractor }
    }

    /// Whether whole keys are added.
    pub fn whole_key(&self) -> bool {
        self.whole_key
    }

    /// The extractor whose prefixes are added.
    pub fn extractor(&self) -> Option<&PrefixExtractor> {
        self.extractor.as_ref()
    }

    /// The prefix of `key`, if there is an extractor and the key is in its domain.
    #[inline]
    pub fn prefix<'k>(&self, key: &'k [u8]) -> Option<&'k [u8]> {
        self.extractor.as_ref()?.prefix(key)
    }
}

/// Whole keys and no prefixes.
impl Default for KeyFiltering {
    fn default() -> Self {
        Self::new(true, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains() {
        let fixed = PrefixExtractor::Fixed(3);
        assert_eq!(fixed.prefix(b"abcd"), Some(&b"abc"[..]));
        assert_eq!(fixed.prefix(b"abc"), Some(&b"abc"[..]));
        assert_eq!(fixed.prefix(b"ab"), None);
        let capped = PrefixExtractor::Capped(3);
        assert_eq!(capped.prefix(b"abcd"), Some(&b"abc"[..]));
        assert_eq!(capped.prefix(b"a"), Some(&b"a"[..]));
        assert_eq!(capped.prefix(b""), Some(&b""[..]));
        assert_eq!(PrefixExtractor::Noop.prefix(b"abcd"), Some(&b"abcd"[..]));
        assert_eq!(
            [fixed, capped, PrefixExtractor::Noop].map(|extractor| extractor.full_length()),
            [Some(3), Some(3), None]
        );
    }

    #[test]
    fn both_text_forms_round_trip() {
        for text in ["fixed:8", "capped:6", "noop", "fixed:0"] {
            let extractor: PrefixExtractor = text.parse().unwrap();
            assert_eq!(extractor.to_string(), text);
            assert_eq!(extractor.name().parse::<PrefixExtractor>().unwrap(), extractor);
        }
    }

    #[test]
    fn invalid_text_is_rejected() {
        for text in ["fixed", "", "Fixed:8", "example.Mine", "fixed.8", "rocksdb.FixedPrefix:8"] {
            let error = text.parse::<PrefixExtractor>().unwrap_err();
            assert_eq!(error.kind(), crate::ErrorKind::Unsupported, "{text}: {error}");
        }
        for text in ["fixed:", "fixed:x", "capped:-1", "fixed:+8", "fixed:99999999999999999999"] {
            let error = text.parse::<PrefixExtractor>().unwrap_err();
            assert_eq!(error.kind(), crate::ErrorKind::InvalidInput, "{text}: {error}");
        }
    }
}
