//! What a file in a database directory is, by its name.
//!
//! ```text
//! CURRENT              MANIFEST-000005       OPTIONS-000007           six digits, more if needed
//! 000029.log           000031.sst / .ldb     000011.blob
//! IDENTITY   LOCK      LOG   LOG.old.1700000000000000                 000012.dbtmp
//! ```

use std::fmt;

use crate::error::{Error, Result};

/// The kind and number of a file in a database directory.
///
/// Displays as the name that RocksDB forms; kinds without a single name show what they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum FileName {
    /// `CURRENT`: the name of the current MANIFEST.
    Current,
    /// `MANIFEST-000005`: the state of the database.
    Manifest(u64),
    /// `000029.log`: a write-ahead log.
    Log(u64),
    /// `000031.sst`, or `000031.ldb`: a table.
    Table(u64),
    /// `000011.blob`: large values.
    Blob(u64),
    /// `OPTIONS-000007`: how the database was configured.
    Options(u64),
    /// `IDENTITY`: the database's id.
    Identity,
    /// `LOCK`: held by the engine while the database is open.
    Lock,
    /// `LOG`, `LOG.old.1700000000000000`: messages for people.
    InfoLog,
    /// `000012.dbtmp`, `OPTIONS-000007.dbtmp`: a temporary file.
    Temporary,
    /// Anything else.
    Other,
}

const MANIFEST: &str = "MANIFEST-";
const OPTIONS: &str = "OPTIONS-";

impl FileName {
    /// What the name says.
    pub fn parse(name: &str) -> Self {
        match name {
            "CURRENT" => return Self::Current,
            "IDENTITY" => return Self::Identity,
            "LOCK" => return Self::Lock,
            "LOG" => return Self::InfoLog,
            _ if name.starts_with("LOG.old") => return Self::InfoLog,
            _ if name.ends_with(".dbtmp") => return Self::Temporary,
            _ => {}
        }
        let numbered = if let Some(digits) = name.strip_prefix(MANIFEST) {
            number(digits).map(Self::Manifest)
        } else if let Some(digits) = name.strip_prefix(OPTIONS) {
            number(digits).map(Self::Options)
        } else {
            Self::with_extension(name)
        };
        numbered.unwrap_or(Self::Other)
    }

    fn with_extension(name: &str) -> Option<Self> {
        let (digits, extension) = name.split_once('.')?;
        let number = number(digits)?;
        match extension {
            "log" => Some(Self::Log(number)),
            "sst" | "ldb" => Some(Self::Table(number)),
            "blob" => Some(Self::Blob(number)),
            _ => None,
        }
    }

    /// The names that a table with this number may have: the one that RocksDB tries first, then the
    /// one that LevelDB does.
    pub fn of_table(number: u64) -> [String; 2] {
        [format!("{number:06}.sst"), format!("{number:06}.ldb")]
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Current => f.write_str("CURRENT"),
            Self::Manifest(number) => write!(f, "{MANIFEST}{number:06}"),
            Self::Log(number) => write!(f, "{number:06}.log"),
            Self::Table(number) => write!(f, "{number:06}.sst"),
            Self::Blob(number) => write!(f, "{number:06}.blob"),
            Self::Options(number) => write!(f, "{OPTIONS}{number:06}"),
            Self::Identity => f.write_str("IDENTITY"),
            Self::Lock => f.write_str("LOCK"),
            Self::InfoLog => f.write_str("LOG"),
            Self::Temporary => f.write_str("temporary file"),
            Self::Other => f.write_str("other file"),
        }
    }
}

/// Digits and nothing else, not even a sign.
fn number(digits: &str) -> Option<u64> {
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

/// The number of the MANIFEST that the contents of the file `CURRENT` name.
pub fn parse_current(contents: &[u8]) -> Result<u64> {
    let Some(name) = contents.strip_suffix(b"\n") else {
        return Err(Error::corrupt("CURRENT does not end with a newline"));
    };
    match std::str::from_utf8(name).map(FileName::parse) {
        Ok(FileName::Manifest(number)) => Ok(number),
        _ => {
            let found = format!("\"{}\"", name[..name.len().min(64)].escape_ascii());
            Err(Error::mismatch("CURRENT does not name a MANIFEST", "MANIFEST-number", found))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parsed_and_formed() {
        for (name, parsed) in [
            ("CURRENT", FileName::Current),
            ("MANIFEST-000005", FileName::Manifest(5)),
            ("MANIFEST-12345678", FileName::Manifest(12_345_678)),
            ("000029.log", FileName::Log(29)),
            ("000031.sst", FileName::Table(31)),
            ("000011.blob", FileName::Blob(11)),
            ("OPTIONS-000007", FileName::Options(7)),
            ("IDENTITY", FileName::Identity),
            ("LOCK", FileName::Lock),
            ("LOG", FileName::InfoLog),
        ] {
            assert_eq!(FileName::parse(name), parsed);
            assert_eq!(parsed.to_string(), name);
        }
        for (name, parsed) in [
            ("000031.ldb", FileName::Table(31)),
            ("31.sst", FileName::Table(31)),
            ("LOG.old", FileName::InfoLog),
            ("LOG.old.1700000000000000", FileName::InfoLog),
            ("000012.dbtmp", FileName::Temporary),
            ("OPTIONS-000007.dbtmp", FileName::Temporary),
        ] {
            assert_eq!(FileName::parse(name), parsed);
        }
        assert_eq!(FileName::of_table(31), ["000031.sst", "000031.ldb"]);
    }

    #[test]
    fn anything_else_is_other() {
        for name in [
            "",
            "MANIFEST-",
            "MANIFEST-5x",
            "MANIFEST-+5",
            "MANIFEST",
            ".sst",
            "-1.sst",
            "000031.sst.bak",
            "31.SST",
            "99999999999999999999.sst",
            "METADB-1",
            "COMPACTION_PROGRESS-1",
            "archive",
        ] {
            assert_eq!(FileName::parse(name), FileName::Other, "{name}");
        }
    }

    #[test]
    fn current_names_a_manifest() {
        assert_eq!(parse_current(b"MANIFEST-000005\n").unwrap(), 5);
        for contents in [&b""[..], b"\n", b"MANIFEST-000005", b"MANIFEST-000005\n\n", b"LOCK\n"] {
            assert!(parse_current(contents).is_err(), "{contents:?}");
        }
    }
}
