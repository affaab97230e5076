//! RocksDB's built-in merge operators, by its names for them, those of some other software, and custom
//! ones.
//!
//! | name in OPTIONS and tables | short | value |
//! |---|---|---|
//! | `UInt64AddOperator` | `uint64add` | the sum of little-endian 64-bit numbers, wrapping; operands of another size count as 0 |
//! | `StringAppendOperator`, `StringAppendTESTOperator` | `stringappend`, `stringappendtest` | all operands in order, separated by a delimiter |
//! | `PutOperator` | `put`, `put_v1` | the newest |
//! | `MaxOperator` | `max` | the largest, bytewise |
//! | `BytesXOR` | `bytesxor` | exclusive or, as long as the longest |
//! | `MergeSortOperator` | `sortlist` | decimal numbers with commas between them, sorted |
//! | `TtlMergeOperator` | | another operator, without the times at the end of values: see `ttl` |
//! | `int64_array`, `bitwise_xor`, `.T:int64_array.b:bitwise_xor` | | Ceph's: see `ceph` |
//! | `Rdb_system_merge_op` | | MyRocks': the largest number |
//!
//! OPTIONS include the delimiter: `{id=StringAppendOperator;delimiter=,;}`. Tables have only the
//! name.

mod ceph;
mod rocksdb;
mod ttl;

use std::collections::BTreeMap;
use std::sync::Arc;

use sstkit_table::MergeOperator;

use crate::raw::OptionValue;
use crate::ttl::MERGE_OPERATORS as TTL_OPERATORS;

/// Operators within operators, deeper than any engine has them.
const MAX_DEPTH: usize = 4;

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
        if let Some(operator) = self.registered.get(&description.id) {
            return Some(Arc::clone(operator));
        }
        if TTL_OPERATORS.contains(&description.id.as_str()) {
            let user = self.find(description.user_operator.as_deref()?)?;
            return Some(Arc::new(ttl::TtlOperator { user }));
        }
        rocksdb::operator(&description.id, description.delimiter.as_deref())
            .or_else(|| ceph::operator(&description.id))
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
    MergeOperators::default().find(&Description::parse(text)?)
}

/// The description of an operator in OPTIONS or a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Description {
    pub(crate) id: String,
    delimiter: Option<String>,
    /// The operator that this one is around.
    user_operator: Option<Box<Description>>,
}

impl Description {
    /// Parses a description; `None` if there is no operator.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        Self::parse_within(text, MAX_DEPTH)
    }

    fn parse_within(text: &str, depth: usize) -> Option<Self> {
        let text = text.trim();
        let Some(fields) = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')) else {
            return Self::new(text);
        };
        let (mut id, mut delimiter, mut user_operator) = ("", None, None);
        for field in split_fields(fields) {
            match field.trim_start().split_once('=') {
                Some(("id", value)) => id = value.trim(),
                Some(("delimiter", value)) => delimiter = Some(unwrap(value).to_owned()),
                Some(("user_operator", value)) if depth > 0 => {
                    user_operator = Self::parse_within(value, depth - 1).map(Box::new);
                }
                _ => {}
            }
        }
        Some(Self { delimiter, user_operator, ..Self::new(id)? })
    }

    /// The description in a parsed value of OPTIONS.
    pub(crate) fn of(value: &OptionValue) -> Option<Self> {
        let field = |name: &str| value.get(name);
        Some(Self {
            delimiter: field("delimiter").and_then(|it| it.as_text()).map(str::to_owned),
            // OPTIONS limits the depth of its objects.
            user_operator: field("user_operator").and_then(Self::of).map(Box::new),
            ..Self::new(value.as_name()?)?
        })
    }

    fn new(id: &str) -> Option<Self> {
        let is_named = !id.is_empty() && id != "nullptr";
        is_named.then(|| Self { id: id.to_owned(), delimiter: None, user_operator: None })
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
        assert_eq!(merge("sortlist", Some(b"1,10"), &[b"", b"-3,7"]), b"-3,1,7,10");
        assert_eq!(merge_operator("sortlist").unwrap().merge(b"", Some(b"x"), &[]), None);
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
        let description = Description::of(&OptionValue::Object(object.into())).unwrap();
        let append = MergeOperators::default().find(&description);
        assert_eq!(append.unwrap().merge(b"", None, &[b"a", b"b"]).unwrap(), b"a-b");
    }

    #[test]
    fn operators_around_others() {
        let text = "{id=TtlMergeOperator;user_operator={id=StringAppendOperator;delimiter=;};}";
        let stamped = |value: &str, time: u32| [value.as_bytes(), &time.to_le_bytes()].concat();
        let (a, b) = (stamped("a", 5), stamped("b", 7));
        assert_eq!(merge(text, Some(&a), &[&b]), stamped("ab", 7));
        let operator = merge_operator(text).unwrap();
        assert_eq!(operator.merge(b"", Some(b"abc"), &[&b]), None, "too short for a time");
        for text in ["TtlMergeOperator", "{id=TtlMergeOperator;user_operator=nullptr;}"] {
            assert!(merge_operator(text).is_none(), "{text}");
        }
        let nested = "{id=TtlMergeOperator;user_operator=".repeat(50) + "max" + &"}".repeat(50);
        assert!(merge_operator(&nested).is_none());
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
