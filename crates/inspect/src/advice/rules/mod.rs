//! What to change, one file for each rule.

pub(super) mod last_level;

mod allocator_rounding;
mod bits_per_level;
mod block_size;
mod ignored_kind;
mod legacy_bloom;
mod partitions;
mod prefixes;
mod ribbon;
mod whole_keys;

use serde::Serialize;

use super::situation::{FamilyLevels, Situation};
use crate::error::Result;

/// Something that could be changed, and what that buys.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Suggestion {
    /// The name of the rule.
    pub rule: &'static str,
    /// The column family; `None` for all of them together.
    pub column_family: Option<String>,
    /// Whether it is advised; otherwise it depends on how the database is used.
    pub advised: bool,
    /// What to change and why, in a sentence or two.
    pub text: String,
    /// Numbers before and after.
    pub numbers: Vec<ChangedNumber>,
    /// RocksDB's options for it; empty if there are none.
    pub options: String,
}

/// A number before and after a change.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ChangedNumber {
    /// What it is.
    pub what: &'static str,
    /// `bytes` or `reads`.
    pub unit: &'static str,
    /// Now.
    pub before: f64,
    /// After the change.
    pub after: f64,
}

impl ChangedNumber {
    pub(super) fn bytes(what: &'static str, before: u64, after: u64) -> Self {
        Self { what, unit: "bytes", before: before as f64, after: after as f64 }
    }

    pub(super) fn reads(what: &'static str, before: f64, after: f64) -> Self {
        Self { what, unit: "reads", before, after }
    }
}

const FILTER_MEMORY: &str = "memory of filters";
const INDEX_MEMORY: &str = "memory of indexes";
const WASTED_READS: &str = "wasted reads per lookup";

/// A rule for a column family.
type Rule = fn(&Situation<'_>, &FamilyLevels) -> Result<Option<Suggestion>>;

/// Of rules about all filters to those about few.
const RULES: [Rule; 9] = [
    ignored_kind::suggest,
    legacy_bloom::suggest,
    ribbon::suggest,
    last_level::suggest,
    partitions::suggest,
    prefixes::suggest,
    whole_keys::suggest,
    allocator_rounding::suggest,
    block_size::suggest,
];

/// All suggestions, those that are advised first.
pub(super) fn suggestions(situation: &Situation<'_>) -> Result<Vec<Suggestion>> {
    let mut suggestions: Vec<Suggestion> =
        bits_per_level::suggest(situation)?.into_iter().collect();
    let families = situation.families();
    for rule in RULES {
        for family in &families {
            if let Some(mut suggestion) = rule(situation, family)? {
                suggestion.column_family = Some(family.name.clone());
                suggestions.push(suggestion);
            }
        }
    }
    suggestions.sort_by_key(|suggestion| !suggestion.advised);
    Ok(suggestions)
}

/// A number of bits per key, as in a policy.
fn bits(situation: &Situation<'_>, numbers: &[usize]) -> f64 {
    let keys: u64 = numbers.iter().map(|&number| situation.level(number).keys).sum();
    8.0 * situation.filter_bytes(numbers) as f64 / keys.max(1) as f64
}
