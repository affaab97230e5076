//! The OPTIONS file: how RocksDB was configured when it last opened the database.
//!
//! ```text
//! # This is a RocksDB option file.                comments
//! [Version]                                       sections, some with a name
//!   rocksdb_version=11.9.0
//! [DBOptions]
//!   wal_recovery_mode=kPointInTimeRecovery        one option a line
//! [CFOptions "default"]
//!   merge_operator={id=StringAppendOperator;delimiter=,;}
//! [TableOptions/BlockBasedTable "default"]
//!   filter_policy=bloomfilter:10:false
//! ```
//!
//! `#` starts a comment, unless it is escaped; the escapes are `\n`, `\r`, `\\`, `\:` and `\#`.
//!
//! RocksDB leaves `db_paths` and `cf_paths` out when it writes the file.
//!
//! Nothing in the file is needed to read tables, so nothing unknown is an error: every question
//! about an option has an answer or `None`.

mod accessors;
#[cfg(feature = "write")]
mod table_options;
mod text;
mod value;

pub use accessors::{ColumnFamilyOptions, DbOptions, TableFactoryOptions};
pub use value::OptionValue;

use self::value::unescape;
use crate::error::{Error, Result};

/// A parsed OPTIONS file.
///
/// ```
/// use sstkit_db::raw::OptionsFile;
///
/// let options = OptionsFile::parse(r#"
///     [DBOptions]
///     [CFOptions "default"]
///       merge_operator={id=StringAppendOperator;delimiter=,;}
///       prefix_extractor=nullptr
/// "#)?;
/// let default = options.column_family("default");
/// let operator = default.get("merge_operator").unwrap();
/// assert_eq!(operator.as_name(), Some("StringAppendOperator"));
/// assert_eq!(operator.get("delimiter").and_then(|value| value.as_text()), Some(","));
/// assert_eq!(default.prefix_extractor(), None);
/// # Ok::<(), sstkit_db::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OptionsFile {
    sections: Vec<OptionsSection>,
    /// Numbers of the sections, by their titles. There may be any number of column families, each
    /// of which looks for its own.
    by_title: Vec<usize>,
}

/// One section of an OPTIONS file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionsSection {
    kind: String,
    name: Option<String>,
    options: Vec<(String, OptionValue)>,
    /// The values of the options as they are in the file.
    stored: Vec<String>,
}

const DATABASE: &str = "DBOptions";
const COLUMN_FAMILY: &str = "CFOptions";
const BLOCK_BASED_TABLE: &str = "TableOptions/BlockBasedTable";

impl OptionsFile {
    /// Reads the text of an OPTIONS file. An error means that it is none: it has no section
    /// `[DBOptions]`.
    pub fn parse(text: &str) -> Result<Self> {
        let mut sections: Vec<OptionsSection> = Vec::new();
        for line in text.lines().map(without_comment).filter(|line| !line.is_empty()) {
            if let Some(title) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                sections.push(OptionsSection::titled(title));
            } else if let (Some((name, value)), Some(section)) =
                (line.split_once('='), sections.last_mut())
            {
                section.push(name.trim_end(), value.trim());
            }
        }
        if !sections.iter().any(|section| section.kind == DATABASE) {
            return Err(Error::corrupt("the OPTIONS file has no [DBOptions] section"));
        }
        Ok(Self::from_sections(sections))
    }

    /// A file with these sections, in this order.
    pub fn from_sections(sections: Vec<OptionsSection>) -> Self {
        let mut by_title: Vec<usize> = (0..sections.len()).collect();
        // Sections of the same title stay in order: the first one counts.
        by_title.sort_by_key(|&section| sections[section].title());
        Self { sections, by_title }
    }

    /// All sections, in order.
    pub fn sections(&self) -> &[OptionsSection] {
        &self.sections
    }

    /// The version of RocksDB that wrote it, such as `11.9.0`.
    pub fn rocksdb_version(&self) -> Option<&str> {
        self.section("Version", None)?.get("rocksdb_version")?.as_text()
    }

    /// The section `[DBOptions]`; if there is none, all answers are `None`.
    pub fn database(&self) -> DbOptions<'_> {
        DbOptions(self.section(DATABASE, None))
    }

    /// The section of a column family; if there is none, all answers are `None`.
    pub fn column_family(&self, name: &str) -> ColumnFamilyOptions<'_> {
        ColumnFamilyOptions(self.section(COLUMN_FAMILY, Some(name)))
    }

    /// The table options of a column family; if there are none, all answers are `None`.
    pub fn table(&self, column_family: &str) -> TableFactoryOptions<'_> {
        TableFactoryOptions(self.section(BLOCK_BASED_TABLE, Some(column_family)))
    }

    /// The first section of this kind and name.
    pub fn section(&self, kind: &str, name: Option<&str>) -> Option<&OptionsSection> {
        let is_before = |&section: &usize| self.sections[section].title() < (kind, name);
        let first = *self.by_title.get(self.by_title.partition_point(is_before))?;
        let found = &self.sections[first];
        (found.kind == kind && (name.is_none() || found.name() == name)).then_some(found)
    }
}

impl OptionsSection {
    /// `kind "name"`, or the kind alone.
    fn titled(title: &str) -> Self {
        let quoted = title.split_once('"').and_then(|(kind, rest)| {
            let (name, _) = rest.rsplit_once('"')?;
            Some((kind, unescape(name)))
        });
        let (kind, name) = quoted.map_or((title, None), |(kind, name)| (kind, Some(name)));
        Self { kind: kind.trim().into(), name, options: Vec::new(), stored: Vec::new() }
    }

    /// An empty section.
    pub fn new(kind: &str, name: Option<&str>) -> Self {
        let (kind, name) = (kind.to_owned(), name.map(str::to_owned));
        Self { kind, name, options: Vec::new(), stored: Vec::new() }
    }

    fn push(&mut self, name: &str, stored: &str) {
        self.options.push((name.to_owned(), OptionValue::parse(stored)));
        self.stored.push(stored.to_owned());
    }

    fn title(&self) -> (&str, Option<&str>) {
        (&self.kind, self.name())
    }

    /// `DBOptions`, `CFOptions`, …
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The name in quotes.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// All options, in order.
    pub fn options(&self) -> &[(String, OptionValue)] {
        &self.options
    }

    /// The option with this name.
    pub fn get(&self, name: &str) -> Option<&OptionValue> {
        value::find(&self.options, name)
    }
}

/// The line up to a `#` that is not escaped, without spaces around it.
fn without_comment(line: &str) -> &str {
    let is_comment = |&(at, _): &(usize, &str)| !line[..at].ends_with('\\');
    let end = line.match_indices('#').find(is_comment).map_or(line.len(), |(at, _)| at);
    line[..end].trim()
}

#[cfg(test)]
mod tests;
