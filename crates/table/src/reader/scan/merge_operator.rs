//! Merge operators.

use std::fmt;

/// Combines merge operands into one value. Tables record its name.
///
/// ```
/// use sstkit_table::MergeOperator;
///
/// /// Adds little-endian numbers.
/// #[derive(Debug)]
/// struct Add;
///
/// impl MergeOperator for Add {
///     fn name(&self) -> &str {
///         "example.Add"
///     }
///
///     fn merge(&self, _key: &[u8], base: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>> {
///         let mut sum = 0u64;
///         for number in base.iter().chain(operands) {
///             sum = sum.wrapping_add(u64::from_le_bytes((*number).try_into().ok()?));
///         }
///         Some(sum.to_le_bytes().to_vec())
///     }
/// }
///
/// let one = 1u64.to_le_bytes();
/// assert_eq!(Add.merge(b"key", None, &[&one, &one]), Some(2u64.to_le_bytes().to_vec()));
/// ```
pub trait MergeOperator: fmt::Debug + Send + Sync {
    /// The name that tables record.
    fn name(&self) -> &str;

    /// The value of `key`, from an older value (if any) and operands, oldest first. `None` means
    /// that the operands are invalid, which is reported as corruption.
    fn merge(&self, key: &[u8], base: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>>;
}
