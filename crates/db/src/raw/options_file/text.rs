//! The text of an OPTIONS file: the counterpart of parsing.

use std::fmt;

use super::value::end_of_item;
use super::{OptionsFile, OptionsSection};

const COMMENT: &str = "\
# This is a RocksDB option file.
#
# For detailed file format spec, please refer to the example file
# in examples/rocksdb_option_file_example.ini
#
";

impl OptionsSection {
    /// Sets an option to a value in the form of the file, such as `bloomfilter:10` or
    /// `{id=StringAppendOperator;delimiter=,;}`. It replaces an option of that name.
    ///
    /// ```
    /// use sstkit_db::raw::{OptionsFile, OptionsSection};
    ///
    /// let mut section = OptionsSection::new("DBOptions", None);
    /// section.set("max_open_files", "100");
    /// let text = OptionsFile::from_sections(vec![section]).to_string();
    /// let parsed = OptionsFile::parse(&text)?;
    /// assert_eq!(parsed.database().get("max_open_files").unwrap().as_text(), Some("100"));
    /// # Ok::<(), sstkit_db::Error>(())
    /// ```
    pub fn set(&mut self, name: &str, value: &str) {
        self.remove(name);
        self.push(name, &one_line(value));
    }

    /// Removes an option.
    pub fn remove(&mut self, name: &str) {
        while let Some(at) = self.options.iter().position(|(option, _)| option == name) {
            self.options.remove(at);
            self.stored.remove(at);
        }
    }

    /// Keeps the options for which `keep` is true: of the option that it is a field of, if it is one,
    /// its name, and its value in the form of the file.
    pub(crate) fn retain(&mut self, keep: impl Fn(Option<&str>, &str, &str) -> bool) {
        let old = std::mem::replace(self, Self::new(&self.kind, self.name()));
        for (name, value) in old.stored().filter(|(name, value)| keep(None, name, value)) {
            let is_kept = |field: &str, value: &str| keep(Some(name), field, value);
            self.push(name, &retain_fields(value, is_kept).unwrap_or_else(|| value.to_owned()));
        }
    }

    /// The names of all options and their values in the form of the file, in order.
    pub fn stored(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        let names = self.options.iter().map(|(name, _)| name.as_str());
        names.zip(self.stored.iter().map(String::as_str))
    }
}

/// The text of the file.
impl fmt::Display for OptionsFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(COMMENT)?;
        for section in self.sections() {
            match section.name() {
                Some(name) => writeln!(f, "\n[{} \"{}\"]", section.kind(), escape(name))?,
                None => writeln!(f, "\n[{}]", section.kind())?,
            }
            for (name, value) in section.stored() {
                writeln!(f, "  {name}={value}")?;
            }
        }
        Ok(())
    }
}

/// Escapes what has a meaning in the file.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            '\\' | '#' | ':' => escaped.extend(['\\', character]),
            _ => escaped.push(character),
        }
    }
    escaped
}

/// An object with those of its fields for which `keep` is true; `None` for other values.
fn retain_fields(value: &str, keep: impl Fn(&str, &str) -> bool) -> Option<String> {
    let mut rest = value.strip_prefix('{')?.strip_suffix('}')?;
    let mut kept = String::from("{");
    while !rest.is_empty() {
        let end = end_of_item(rest, ';');
        let (name, value) = rest[..end].split_once('=')?;
        if keep(name.trim(), value.trim()) {
            kept.push_str(&rest[..end]);
            kept.push(';');
        }
        rest = rest[end..].strip_prefix(';').unwrap_or_default();
    }
    kept.push('}');
    Some(kept)
}

/// A value may have escapes already, but no line ends and no comment.
fn one_line(value: &str) -> String {
    let mut line = String::with_capacity(value.len());
    for character in value.chars() {
        match character {
            '\n' => line.push_str("\\n"),
            '\r' => line.push_str("\\r"),
            '#' if !line.ends_with('\\') => line.push_str("\\#"),
            _ => line.push(character),
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_back() {
        let mut section = OptionsSection::new("CFOptions", Some("a #1:\\ \n"));
        section.set("merge_operator", "{id=StringAppendOperator;delimiter=\\#;}");
        section.set("comment", "no # here\nor there");
        section.set("num_levels", "9");
        section.set("num_levels", "7");
        let sections = vec![OptionsSection::new("DBOptions", None), section];
        let text = OptionsFile::from_sections(sections.clone()).to_string();
        let parsed = OptionsFile::parse(&text).unwrap();
        assert_eq!(parsed.sections(), sections);
        assert_eq!(OptionsFile::parse(&parsed.to_string()).unwrap(), parsed);
        let family = parsed.column_family("a #1:\\ \n");
        assert_eq!(family.num_levels(), Some(7));
        assert_eq!(family.get("comment").unwrap().as_text(), Some("no # here\nor there"));
    }
}
