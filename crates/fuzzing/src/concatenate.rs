//! A merge operator that hides nothing.

use sstkit_table::MergeOperator;

/// Puts operands behind each other: what went in stays in sight.
#[derive(Debug)]
pub(crate) struct Concatenate;

impl MergeOperator for Concatenate {
    fn name(&self) -> &str {
        "fuzzing.Concatenate"
    }

    fn merge(&self, _: &[u8], base: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>> {
        let mut merged = base.unwrap_or_default().to_vec();
        operands.iter().for_each(|operand| merged.extend_from_slice(operand));
        Some(merged)
    }
}
