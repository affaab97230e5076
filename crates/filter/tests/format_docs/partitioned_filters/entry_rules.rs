//! Which keys and prefixes are added to a filter.

use std::fmt::Write;

use sstkit_filter::BuildContext;

use crate::building::builder;
use crate::wording::key_list;

/// The entries of a filter by the rules of the page, with names instead of hashes.
#[derive(Default)]
pub(super) struct Entries {
    pub(super) list: Vec<Vec<u8>>,
    last_prefix: Option<Vec<u8>>,
}

impl Entries {
    pub(super) fn add(&mut self, key: &[u8]) {
        if self.list.last().is_none_or(|last| last != key) {
            self.list.push(key.to_vec());
        }
    }

    pub(super) fn add_with_prefix(&mut self, key: &[u8], prefix: &[u8]) {
        let last = self.list.last().cloned();
        let last_prefix = self.last_prefix.replace(prefix.to_vec());
        if last_prefix.as_deref() != Some(prefix)
            && prefix != key
            && last.as_deref() != Some(prefix)
        {
            self.list.push(prefix.to_vec());
        }
        if last.as_deref() != Some(key) && last_prefix.as_deref() != Some(key) {
            self.list.push(key.to_vec());
        }
    }
}

pub(super) fn de_duplication() -> String {
    let mut builder = builder("bloomfilter:10", &BuildContext::default());
    let mut entries = Entries::default();
    let mut out = String::from("added           entries so far  new\n");
    for (key, prefix) in [
        ("abc", None),
        ("abc1", Some("abc")),
        ("bcd", Some("bcd")),
        ("cde-1", Some("cde")),
        ("cde", Some("cde")),
        ("cde1", Some("cde")),
        ("def-1", Some("def")),
        ("def", Some("def")),
        ("def$$", None),
        ("def$$", None),
        ("efg42", Some("efg")),
        ("efg", Some("efg")),
    ] {
        let before = entries.list.len();
        let added = match prefix {
            Some(prefix) => {
                builder.add_with_prefix(key.as_bytes(), prefix.as_bytes());
                entries.add_with_prefix(key.as_bytes(), prefix.as_bytes());
                format!("{key} with {prefix}")
            }
            None => {
                builder.add(key.as_bytes());
                entries.add(key.as_bytes());
                key.to_owned()
            }
        };
        assert_eq!(builder.num_entries(), entries.list.len());
        let new = key_list(&entries.list[before..]);
        let new = if new.is_empty() { "-" } else { &new };
        let _ = writeln!(out, "{added:<14}  {:>14}  {new}", entries.list.len());
    }
    out
}
