//! Ceph's operators, and the one that chooses among them by the prefix of the key.
//!
//! ```text
//! .T:int64_array.b:bitwise_xor     key "T\0...": int64_array
//!  prefix, operator                key "b\0...": bitwise_xor
//! ```
//!
//! A column family for one prefix has the operator alone.

use std::sync::Arc;

use sstkit_table::MergeOperator;

use super::rocksdb::BytesXor;

pub(super) fn operator(name: &str) -> Option<Arc<dyn MergeOperator>> {
    Some(match name {
        "int64_array" => Arc::new(Int64Array),
        "bitwise_xor" => Arc::new(BytesXor { name: "bitwise_xor" }),
        _ => {
            let routes = name.strip_prefix('.')?.split('.').map(|route| {
                let (prefix, name) = route.split_once(':')?;
                Some((prefix.as_bytes().to_vec(), single(name)?))
            });
            Arc::new(Router { name: name.to_owned(), routes: routes.collect::<Option<_>>()? })
        }
    })
}

/// An operator that is not a router.
fn single(name: &str) -> Option<Arc<dyn MergeOperator>> {
    if name.starts_with('.') { None } else { operator(name) }
}

/// Element-wise sums of little-endian numbers.
#[derive(Debug)]
struct Int64Array;

impl MergeOperator for Int64Array {
    fn name(&self) -> &str {
        "int64_array"
    }

    fn merge(&self, _key: &[u8], base: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>> {
        let mut arrays = base.iter().chain(operands);
        let mut sums = arrays.next()?.to_vec();
        for array in arrays {
            if array.len() != sums.len() || array.len() % 8 != 0 {
                return None;
            }
            for (sum, number) in sums.chunks_exact_mut(8).zip(array.chunks_exact(8)) {
                let value = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
                let total = value(sum).wrapping_add(value(number));
                sum.copy_from_slice(&total.to_le_bytes());
            }
        }
        Some(sums)
    }
}

#[derive(Debug)]
struct Router {
    name: String,
    routes: Vec<(Vec<u8>, Arc<dyn MergeOperator>)>,
}

impl MergeOperator for Router {
    fn name(&self) -> &str {
        &self.name
    }

    fn merge(&self, key: &[u8], base: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>> {
        let is_route = |prefix: &Vec<u8>| {
            key.strip_prefix(&prefix[..]).is_some_and(|rest| rest.first() == Some(&0))
        };
        let (_, operator) = self.routes.iter().find(|(prefix, _)| is_route(prefix))?;
        operator.merge(key, base, operands)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prefix_chooses_the_operator() {
        let router = operator(".T:int64_array.b:bitwise_xor").unwrap();
        let numbers = |numbers: [i64; 2]| numbers.map(i64::to_le_bytes).concat();
        let (a, b) = (numbers([1, -5]), numbers([2, 3]));
        assert_eq!(router.merge(b"T\0x", Some(&a), &[&b]), Some(numbers([3, -2])));
        assert_eq!(router.merge(b"T\0x", None, &[&b]), Some(b.clone()));
        assert_eq!(router.merge(b"T\0x", Some(&a), &[b"short"]), None);
        assert_eq!(router.merge(b"b\0\x01", Some(b"\x03"), &[b"\x05"]), Some(b"\x06".to_vec()));
        assert_eq!(router.merge(b"bb\0", Some(b"\x03"), &[b"\x05"]), None);
        assert_eq!(router.name(), ".T:int64_array.b:bitwise_xor");
        for name in [".T:other", ".T", "..T:int64_array", ".T:.b:bitwise_xor", "example.Mine"] {
            assert!(operator(name).is_none(), "{name}");
        }
    }
}
