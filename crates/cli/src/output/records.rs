//! Records as lines: a key and what it holds.
//!
//! ```text
//! alice => 1
//! bob => 31 {age=31, name=Bob}
//! carol => merge 5 + [1, 2]
//! put 7 alice => 1                   every entry, with type and sequence number
//! ```

use std::io::{self, Write as _};

use sstkit_inspect::Record;

use super::grid::shorten;
use super::page::{FAINT, Page};

const ARROW: &str = " => ";

/// Prints a record for people, in one line no wider than the page.
pub(crate) fn print(page: &mut Page, record: &Record) -> io::Result<()> {
    let mut start = String::new();
    if let (Some(kind), Some(sequence)) = (record.kind, record.seq) {
        start = format!("{kind} {sequence} ");
    }
    let mut key = record.key.clone();
    if let Some(timestamp) = &record.timestamp {
        key = format!("{key} @{timestamp}");
    }
    let mut value = value(record);
    if let Some(width) = page.width() {
        (key, value) = fit(key, value, width.saturating_sub(start.len() + ARROW.len()));
    }
    let start = page.paint(FAINT, start).to_string();
    // A deletion has a value only where programs read it, an empty one.
    let is_deletion =
        record.kind.is_some_and(|kind| kind != "range_delete" && kind.contains("delete"));
    match !is_deletion && (record.value.is_some() || record.merge.is_some()) {
        true => {
            let arrow = page.paint(FAINT, ARROW).to_string();
            writeln!(page, "{start}{key}{arrow}{value}")
        }
        false => writeln!(page, "{start}{key}"),
    }
}

/// What a record holds, in words.
pub(crate) fn value(record: &Record) -> String {
    if let Some(operands) = &record.merge {
        let base = match &record.value {
            Some(Some(base)) => format!("{base} + "),
            _ => String::new(),
        };
        return format!("merge {base}[{}]", operands.join(", "));
    }
    let mut text = match &record.value {
        Some(Some(value)) => value.clone(),
        Some(None) => "(in another file)".into(),
        None => String::new(),
    };
    if let Some(columns) = &record.columns {
        let named: Vec<String> = columns
            .iter()
            .filter(|(name, _)| !name.is_empty())
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        text = format!("{text} {{{}}}", named.join(", "));
    }
    if let Some(blob) = &record.blob {
        text = format!(
            "{text} (blob file {}, offset {}, {} bytes)",
            blob.file, blob.offset, blob.size
        );
    }
    text
}

/// Both shortened so that they fit: a key may take half, or what the value leaves.
fn fit(key: String, value: String, width: usize) -> (String, String) {
    let (key_length, value_length) = (key.chars().count(), value.chars().count());
    if key_length + value_length <= width {
        return (key, value);
    }
    let for_key = key_length.min((width / 2).max(width.saturating_sub(value_length)));
    let for_value = width.saturating_sub(for_key).max(1);
    (shorten(&key, for_key.max(1)), shorten(&value, for_value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_fit() {
        let fit = |key: &str, value: &str, width| fit(key.into(), value.into(), width);
        assert_eq!(fit("key", "value", 8), ("key".into(), "value".into()));
        assert_eq!(fit("key", "valuevalue", 8), ("key".into(), "val…e".into()));
        assert_eq!(fit("keykeykeykey", "v", 8), ("keyk…ey".into(), "v".into()));
        assert_eq!(fit("keykeykeykey", "valuevalue", 8), ("ke…y".into(), "va…e".into()));
    }
}
