//! The operator of a database with a [time to live](crate::Ttl): another one, around which values and
//! operands end with the times of their writes.

use std::sync::Arc;

use sstkit_table::MergeOperator;

use crate::ttl::{MERGE_OPERATORS, Ttl};

#[derive(Debug)]
pub(super) struct TtlOperator {
    pub(super) user: Arc<dyn MergeOperator>,
}

impl MergeOperator for TtlOperator {
    fn name(&self) -> &str {
        MERGE_OPERATORS[0]
    }

    /// The result has the time of the newest operand. (RocksDB takes the time of merging.)
    fn merge(&self, key: &[u8], base: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>> {
        let newest = operands.last().copied().or(base)?;
        let (_, time) = Ttl::split(newest)?;
        let base = match base {
            Some(base) => Some(Ttl::split(base)?.0),
            None => None,
        };
        let operands: Option<Vec<&[u8]>> =
            operands.iter().map(|operand| Ttl::split(operand).map(|(value, _)| value)).collect();
        let mut merged = self.user.merge(key, base, &operands?)?;
        merged.extend_from_slice(&time.to_le_bytes());
        Some(merged)
    }
}
