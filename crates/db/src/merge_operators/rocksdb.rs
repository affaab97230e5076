//! RocksDB's own operators.

use std::sync::Arc;

use sstkit_table::MergeOperator;

const DEFAULT_DELIMITER: &str = ",";

/// The operator with this name; `delimiter` is what OPTIONS has for one that appends.
pub(super) fn operator(name: &str, delimiter: Option<&str>) -> Option<Arc<dyn MergeOperator>> {
    let delimiter = || delimiter.unwrap_or(DEFAULT_DELIMITER).as_bytes().to_vec();
    Some(match name {
        "UInt64AddOperator" | "uint64add" => Arc::new(UInt64Add),
        "StringAppendOperator" | "stringappend" => {
            Arc::new(StringAppend { name: "StringAppendOperator", delimiter: delimiter() })
        }
        "StringAppendTESTOperator" | "stringappendtest" => {
            Arc::new(StringAppend { name: "StringAppendTESTOperator", delimiter: delimiter() })
        }
        "PutOperator" | "put" | "put_v1" => Arc::new(Put),
        "MaxOperator" | "max" => Arc::new(Max { name: "MaxOperator" }),
        "Rdb_system_merge_op" => Arc::new(Max { name: "Rdb_system_merge_op" }),
        "BytesXOR" | "bytesxor" => Arc::new(BytesXor { name: "BytesXOR" }),
        "MergeSortOperator" | "sortlist" => Arc::new(SortList),
        _ => return None,
    })
}

#[derive(Debug)]
struct UInt64Add;

impl MergeOperator for UInt64Add {
    fn name(&self) -> &str {
        "UInt64AddOperator"
    }

    fn merge(&self, _key: &[u8], base: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>> {
        // RocksDB logs operands of another size, and uses 0.
        let number = |bytes: &&[u8]| (*bytes).try_into().map_or(0, u64::from_le_bytes);
        let sum = base.iter().chain(operands).map(number).fold(0, u64::wrapping_add);
        Some(sum.to_le_bytes().to_vec())
    }
}

#[derive(Debug)]
struct StringAppend {
    name: &'static str,
    delimiter: Vec<u8>,
}

impl MergeOperator for StringAppend {
    fn name(&self) -> &str {
        self.name
    }

    fn merge(&self, _key: &[u8], base: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>> {
        let parts: Vec<&[u8]> = base.into_iter().chain(operands.iter().copied()).collect();
        Some(parts.join(&self.delimiter[..]))
    }
}

#[derive(Debug)]
struct Put;

impl MergeOperator for Put {
    fn name(&self) -> &str {
        "PutOperator"
    }

    fn merge(&self, _key: &[u8], base: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>> {
        Some(operands.last().copied().or(base)?.to_vec())
    }
}

/// The largest, bytewise. MyRocks keeps the next numbers of tables so, big-endian.
#[derive(Debug)]
struct Max {
    name: &'static str,
}

impl MergeOperator for Max {
    fn name(&self) -> &str {
        self.name
    }

    fn merge(&self, _key: &[u8], base: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>> {
        Some(base.iter().chain(operands).max()?.to_vec())
    }
}

#[derive(Debug)]
pub(super) struct BytesXor {
    pub(super) name: &'static str,
}

impl MergeOperator for BytesXor {
    fn name(&self) -> &str {
        self.name
    }

    fn merge(&self, _key: &[u8], base: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>> {
        let mut result = Vec::new();
        for part in base.iter().chain(operands) {
            result.resize(result.len().max(part.len()), 0);
            result.iter_mut().zip(*part).for_each(|(sum, byte)| *sum ^= byte);
        }
        Some(result)
    }
}

/// Sorted decimal numbers with commas between them.
#[derive(Debug)]
struct SortList;

impl MergeOperator for SortList {
    fn name(&self) -> &str {
        "MergeSortOperator"
    }

    fn merge(&self, _key: &[u8], base: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>> {
        let mut numbers: Vec<i32> = Vec::new();
        for list in base.iter().chain(operands).filter(|list| !list.is_empty()) {
            for number in std::str::from_utf8(list).ok()?.split(',').filter(|it| !it.is_empty()) {
                numbers.push(number.parse().ok()?);
            }
        }
        numbers.sort_unstable();
        let texts: Vec<String> = numbers.iter().map(ToString::to_string).collect();
        Some(texts.join(",").into_bytes())
    }
}
