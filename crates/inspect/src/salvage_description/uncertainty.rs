//! What cannot be known about what is saved.

use std::path::Path;

use serde::Serialize;
use sstkit_db::DatabaseUncertainty;
use sstkit_table::Uncertainty;

use crate::encoding::Encoding;

/// Something that cannot be known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct UncertaintyDescription {
    /// What it is about: `live_tables`, `maybe_obsolete`, `deletions`, `range_deletions`, `end`,
    /// `order`, `engine`, `checksums`, `detached_blocks`, `search_ended`, `merge_operands` or
    /// `assumed`.
    pub kind: &'static str,
    /// The file that it is about, if it is one.
    pub file: Option<String>,
    /// The name of the column family, if it is known.
    pub column_family: Option<String>,
    /// The last key before the uncertain part; `None` for no bound.
    pub after: Option<String>,
    /// The first key after it; `None` for no bound.
    pub before: Option<String>,
    /// The whole sentence, which does not name the file.
    pub message: String,
}

impl UncertaintyDescription {
    /// Describes what is uncertain about a table on its own.
    pub(super) fn of_table(file: &Path, what: &Uncertainty, encoding: Encoding) -> Self {
        let key = |key: &Option<Vec<u8>>| key.as_ref().map(|key| encoding.encode(key));
        let (kind, after, before) = match what {
            Uncertainty::AssumedOrder(_) | Uncertainty::UnknownOrder(_) => ("order", None, None),
            Uncertainty::Unverified => ("checksums", None, None),
            Uncertainty::Detached(_) => ("detached_blocks", None, None),
            Uncertainty::SearchEnded => ("search_ended", None, None),
            Uncertainty::End(last) => ("end", key(last), None),
            Uncertainty::RangeTombstones => ("range_deletions", None, None),
            Uncertainty::Deletions { after, before } => ("deletions", key(after), key(before)),
            Uncertainty::AssumedEngine(_) => ("engine", None, None),
            _ => ("assumed", None, None),
        };
        Self {
            kind,
            file: Some(file.display().to_string()),
            column_family: None,
            after,
            before,
            message: what.to_string(),
        }
    }

    /// Describes what is uncertain about a database.
    pub(super) fn of(what: &DatabaseUncertainty, encoding: Encoding) -> Self {
        let key = |key: &Option<Vec<u8>>| key.as_ref().map(|key| encoding.encode(key));
        let (kind, column_family, after, before) = match what {
            DatabaseUncertainty::Table { file, what } => {
                return Self::of_table(file, what, encoding);
            }
            DatabaseUncertainty::LiveTables(_) => ("live_tables", None, None, None),
            DatabaseUncertainty::MaybeObsolete { bounds: (first, last), .. } => {
                let bound = |key: &[u8]| Some(encoding.encode(key));
                ("maybe_obsolete", None, bound(first), bound(last))
            }
            DatabaseUncertainty::Deletions { column_family, after, before, .. } => {
                ("deletions", column_family.clone(), key(after), key(before))
            }
            DatabaseUncertainty::MergeOperands { column_family, after, before, .. } => {
                let bound = |key: &[u8]| Some(encoding.encode(key));
                ("merge_operands", Some(column_family.clone()), bound(after), bound(before))
            }
            DatabaseUncertainty::RangeTombstones { column_family, start, end, .. } => {
                let bound = |key: &[u8]| Some(encoding.encode(key));
                ("range_deletions", Some(column_family.clone()), bound(start), bound(end))
            }
            DatabaseUncertainty::Assumed { bounds: Some((first, last)), .. } => {
                let bound = |key: &[u8]| Some(encoding.encode(key));
                ("assumed", None, bound(first), bound(last))
            }
            _ => ("assumed", None, None, None),
        };
        Self {
            kind,
            file: what.file().map(|file| file.display().to_string()),
            column_family,
            after,
            before,
            message: what.to_string(),
        }
    }
}
