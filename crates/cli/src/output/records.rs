//! Records as lines: a key and what it holds.
//!
//! ```text
//! alice => 1
//! bob => 31 {age=31, name=Bob}
//! carol => merge 5 + [1, 2]
//! put 7 alice => 1                   every entry, with type and sequence number
//! ```

use std::borrow::Cow;
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
    let mut key = Cow::from(&record.key);
    if let Some(timestamp) = &record.timestamp {
        key = format!("{key} @{timestamp}").into();
    }
    let mut value = value(record);
    if let Some(width) = page.width() {
        (key, value) = fit(key, value, width.saturating_sub(start.len() + ARROW.len()));
    }
    if !start.is_empty() {
        let start = page.paint(FAINT, start);
        write!(page, "{start}")?;
    }
    // A deletion has a value only where programs read it, an empty one.
    let is_deletion =
        record.kind.is_some_and(|kind| kind != "range_delete" && kind.contains("delete"));
    match !is_deletion && (record.value.is_some() || record.merge.is_some()) {
        true => {
            let arrow = page.paint(FAINT, ARROW);
            writeln!(page, "{key}{arrow}{value}")
        }
        false => writeln!(page, "{key}"),
    }
}

/// What a record holds, in words.
pub(crate) fn value(record: &Record) -> Cow<'_, str> {
    if let Some(operands) = &record.merge {
        let base = match &record.value {
            Some(Some(base)) => format!("{base} + "),
            _ => String::new(),
        };
        return format!("merge {base}[{}]", operands.join(", ")).into();
    }
    let mut text = match &record.value {
        Some(Some(value)) => Cow::from(value),
        Some(None) => "(in another file)".into(),
        None => "".into(),
    };
    if let Some(columns) = &record.columns {
        let named: Vec<String> = columns
            .iter()
            .filter(|(name, _)| !name.is_empty())
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        text = format!("{text} {{{}}}", named.join(", ")).into();
    }
    if let Some(blob) = &record.blob {
        text = format!(
            "{text} (blob file {}, offset {}, {} bytes)",
            blob.file, blob.offset, blob.size
        )
        .into();
    }
    text
}

/// Both shortened so that they fit: a key may take half, or what the value leaves.
fn fit<'t>(key: Cow<'t, str>, value: Cow<'t, str>, width: usize) -> (Cow<'t, str>, Cow<'t, str>) {
    let (key_length, value_length) = (key.chars().count(), value.chars().count());
    if key_length + value_length <= width {
        return (key, value);
    }
    let for_key = key_length.min((width / 2).max(width.saturating_sub(value_length)));
    let for_value = width.saturating_sub(for_key).max(1);
    (shorten(&key, for_key.max(1)).into(), shorten(&value, for_value).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_fit() {
        let fit =
            |key: &'static str, value: &'static str, width| fit(key.into(), value.into(), width);
        assert_eq!(fit("key", "value", 8), ("key".into(), "value".into()));
        assert_eq!(fit("key", "valuevalue", 8), ("key".into(), "val…e".into()));
        assert_eq!(fit("keykeykeykey", "v", 8), ("keyk…ey".into(), "v".into()));
        assert_eq!(fit("keykeykeykey", "valuevalue", 8), ("ke…y".into(), "va…e".into()));
    }
}
