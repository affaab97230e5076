//! The entries of each partition of the example, and probes.

use std::fmt::Write;

use sstkit_filter::Filter;

use super::example::{BLOCK_SIZE, Example, POLICY, PREFIX_EXTRACTOR, example_partitions};
use crate::wording::{answer, key_text};

pub(super) fn entries() -> String {
    let (capacity, examples) = example_partitions();
    let mut out = format!("{POLICY}, prefix extractor {PREFIX_EXTRACTOR}, ");
    let _ = writeln!(out, "metadata_block_size {BLOCK_SIZE}: capacity {capacity}");
    for (i, example) in examples.iter().enumerate() {
        let (first, last) = (example.first_key, key_text(&example.last_key));
        let (size, count) = (example.filter.len(), example.entries.len());
        let kind = Filter::from_bytes(&example.filter).kind();
        let _ = writeln!(
            out,
            "partition {i}: {first} to {last}, {count} entries, {kind} of {size} bytes"
        );
        for (entry, reason) in &example.entries {
            let _ = writeln!(out, "  {:<6}  {reason}", key_text(entry));
        }
    }
    out
}

pub(super) fn answers() -> String {
    let (_, examples) = example_partitions();
    let mut out = String::from("get      partition  probe      answer\n");
    for key in ["ant/2", "ant/4", "bee/2", "bee/3", "cow/2", "dog/1"] {
        let _ = writeln!(out, "{}", query_line(&examples, key, key));
    }
    out.push_str("\nseek     partition  probe      answer\n");
    for key in ["ant/0", "ant/9", "bat/1", "bee/", "bee/9", "cow/9"] {
        let _ = writeln!(out, "{}", query_line(&examples, key, &key[..3]));
    }
    out
}

/// Probes the partition of a key for an entry.
fn query_line(examples: &[Example], key: &str, entry: &str) -> String {
    let partition = partition_of(examples, key.as_bytes());
    let filter = Filter::from_bytes(&examples[partition].filter);
    let answer = answer(filter.may_contain(entry.as_bytes()));
    format!("{key:<7}  {partition:>9}  {entry:<9}  {answer}")
}

/// The partition for a key: the first whose last key is not before it, or the last.
fn partition_of(examples: &[Example], key: &[u8]) -> usize {
    let found = examples.iter().position(|example| example.last_key.as_slice() >= key);
    found.unwrap_or(examples.len() - 1)
}
