//! RocksDB's built-in merge operators, by its names for them, and custom ones.
//!
//! | name in OPTIONS and tables | short | value |
//! |---|---|---|
//! | `UInt64AddOperator` | `uint64add` | the sum of little-endian 64-bit numbers, wrapping; operands of another size count as 0 |
//! | `StringAppendOperator`, `StringAppendTESTOperator` | `stringappend`, `stringappendtest` | all operands in order, separated by a delimiter |
//! | `PutOperator` | `put`, `put_v1` | the newest |
//! | `MaxOperator` | `max` | the largest, bytewise |
//! | `BytesXOR` | `bytesxor` | exclusive or, as long as the longest |
//!
//! OPTIONS include the delimiter: `{id=StringAppendOperator;delimiter=,;}`. Tables have only the
//! name.

use std::collections::BTreeMap;
use std::sync::Arc;

use sstkit_table::MergeOperator;

use crate::raw::OptionValue;

const DEFAULT_DELIMITER: &str = ",";

/// Custom operators, found by name before the built-in ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct MergeOperators {
    registered: BTreeMap<String, Arc<dyn MergeOperator>>,
}

impl MergeOperators {
    /// Registers an operator. It replaces a built-in one of the same name.
    pub(crate) fn register(&mut self, operator: Arc<dyn MergeOperator>) {
        self.registered.insert(operator.name().to_owned(), operator);
    }

    /// The operator that OPTIONS describe.
    pub(crate) fn find(&self, description: &Description) -> Option<Arc<dyn MergeOperator>> {
        match self.registered.get(&description.id) {
            Some(operator) => Some(Arc::clone(operator)),
            None => built_in(description),
        }
    }
}

/// The built-in operator for one of RocksDB's names, or for a description in OPTIONS.
///
/// ```
/// let append = sstkit_db::merge_operator("{id=StringAppendOperator;delimiter=|;}").unwrap();
/// assert_eq!(append.merge(b"key", Some(b"a"), &[b"b", b"c"]), Some(b"a|b|c".to_vec()));
/// assert!(sstkit_db::merge_operator("uint64add").is_some());
/// assert!(sstkit_db::merge_operator("example.Mine").is_none());
/// ```
pub fn merge_operator(text: &str) -> Option<Arc<dyn MergeOperator>> {
    built_in(&Description::parse(text)?)
}

/// The description of an operator in OPTIONS or a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Description {
    pub(crate) id: String,
    delimiter: Option<String>,
}

impl Description {
    /// Parses a description; `None` if there is no operator.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let Some(fields) = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')) else {
            return Self::new(text, None);
        };
        let (mut id, mut delimiter) = ("", None);
        for field in split_fields(fields) {
            match field.trim_start().split_once('=') {
                Some(("id", value)) => id = value.trim(),
                Some(("delimiter", value)) => delimiter = Some(unwrap(value).to_owned()),
                _ => {}
            }
        }
        Self::new(id, delimiter)
    }

    /// The description in a parsed value of OPTIONS.
    pub(crate) fn of(value: &OptionValue) -> Option<Self> {
        match value {
            OptionValue::Text(text) => Self::parse(text),
            OptionValue::Object(fields) => {
                let text = |wanted: &str| {
                    fields.iter().find_map(|(name, value)| match value {
                        OptionValue::Text(text) if name == wanted => Some(text.as_str()),
                        _ => None,
                    })
                };
                Self::new(text("id")?, text("delimiter").map(str::to_owned))
            }
        }
    }

    fn new(id: &str, delimiter: Option<String>) -> Option<Self> {
        let is_named = !id.is_empty() && id != "nullptr";
        is_named.then(|| Self { id: id.to_owned(), delimiter })
    }
}

/// `a=1;b={c;d};` is `a=1` and `b={c;d}`.
fn split_fields(text: &str) -> Vec<&str> {
    let (mut fields, mut start, mut depth) = (Vec::new(), 0, 0usize);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            b';' if depth == 0 => {
                fields.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    fields.push(&text[start..]);
    fields
}

/// A value with several fields is in braces.
fn unwrap(value: &str) -> &str {
    value.strip_prefix('{').and_then(|value| value.strip_suffix('}')).unwrap_or(value)
}

fn built_in(description: &Description) -> Option<Arc<dyn MergeOperator>> {
    let delimiter = description.delimiter.as_deref().unwrap_or(DEFAULT_DELIMITER);
    let delimiter = || delimiter.as_bytes().to_vec();
    Some(match description.id.as_str() {
        "UInt64AddOperator" | "uint64add" => Arc::new(UInt64Add),
        "StringAppendOperator" | "stringappend" => {
            Arc::new(StringAppend { name: "StringAppendOperator", delimiter: delimiter() })
        }
        "StringAppendTESTOperator" | "stringappendtest" => {
            Arc::new(StringAppend { name: "StringAppendTESTOperator", delimiter: delimiter() })
        }
        "PutOperator" | "put" | "put_v1" => Arc::new(Put),
        "MaxOperator" | "max" => Arc::new(Max),
        "BytesXOR" | "bytesxor" => Arc::new(BytesXor),
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

#[derive(Debug)]
struct Max;

impl MergeOperator for Max {
    fn name(&self) -> &str {
        "MaxOperator"
    }

    fn merge(&self, _key: &[u8], base: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>> {
        Some(base.iter().chain(operands).max()?.to_vec())
    }
}

#[derive(Debug)]
struct BytesXor;

impl MergeOperator for BytesXor {
    fn name(&self) -> &str {
        "BytesXOR"
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

#[cfg(test)]
mod tests {
    use super::*;

    fn merge(text: &str, base: Option<&[u8]>, operands: &[&[u8]]) -> Vec<u8> {
        merge_operator(text).unwrap().merge(b"key", base, operands).unwrap()
    }

    #[test]
    fn rocksdb_merges_operands_the_same_way() {
        let (two, three) = (2u64.to_le_bytes(), 3u64.to_le_bytes());
        let five = 5u64.to_le_bytes();
        assert_eq!(merge("uint64add", Some(&two), &[&three]), five);
        assert_eq!(merge("UInt64AddOperator", Some(b"bad"), &[&two, b"", &three]), five);
        assert_eq!(merge("uint64add", Some(&[0xff; 8]), &[&three]), two);
        assert_eq!(merge("stringappend", Some(b""), &[b"a"]), b",a");
        assert_eq!(merge("StringAppendTESTOperator", None, &[b"a", b"b"]), b"a,b");
        assert_eq!(merge("put", Some(b"z"), &[b"b", b"a"]), b"a");
        assert_eq!(merge("MaxOperator", Some(b"b"), &[b"a", b"ab"]), b"b");
        assert_eq!(merge("max", None, &[b"a", b"\xff", b"ab"]), b"\xff");
        assert_eq!(merge("bytesxor", Some(b"\x01\x02"), &[b"\x03"]), b"\x02\x02");
    }

    #[test]
    fn delimiters_of_options() {
        for (text, expected) in [
            ("StringAppendOperator", &b"a,b"[..]),
            ("{id=StringAppendOperator;delimiter=|;}", b"a|b"),
            ("{delimiter={;};id=StringAppendOperator;}", b"a;b"),
            ("{id=StringAppendOperator;delimiter=;}", b"ab"),
            ("{id=StringAppendOperator;delimiter=::}", b"a::b"),
        ] {
            assert_eq!(merge(text, Some(b"a"), &[b"b"]), expected, "{text}");
        }
        assert_eq!(Description::parse("nullptr"), None);
        assert_eq!(Description::parse("{id=Mine;x=1;}").unwrap().id, "Mine");
        let object = [("id", "stringappend"), ("delimiter", "-")]
            .map(|(name, value)| (name.to_owned(), OptionValue::Text(value.to_owned())));
        let append = built_in(&Description::of(&OptionValue::Object(object.into())).unwrap());
        assert_eq!(append.unwrap().merge(b"", None, &[b"a", b"b"]).unwrap(), b"a-b");
    }

    #[test]
    fn the_users_operator_goes_first() {
        #[derive(Debug)]
        struct Mine;
        impl MergeOperator for Mine {
            fn name(&self) -> &str {
                "PutOperator"
            }
            fn merge(&self, _: &[u8], _: Option<&[u8]>, _: &[&[u8]]) -> Option<Vec<u8>> {
                Some(b"mine".to_vec())
            }
        }
        let mut operators = MergeOperators::default();
        operators.register(Arc::new(Mine));
        let merged = |name| {
            let description = Description::parse(name).unwrap();
            operators.find(&description).unwrap().merge(b"", None, &[b"x"])
        };
        assert_eq!(merged("PutOperator").as_deref(), Some(&b"mine"[..]));
        assert_eq!(merged("max").as_deref(), Some(&b"x"[..]));
    }
}
