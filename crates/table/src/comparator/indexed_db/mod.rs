//! `idb_cmp1`: the order of the keys of Chromium's IndexedDB, and what they mean.
//!
//! ```text
//! | lengths | database id | object store id | index id | rest        |
//!   1 byte    1 to 8        1 to 8            1 to 4
//!   3 bits, 3 bits and 2 bits: the lengths of the ids in bytes, less 1
//!
//! ids, little-endian       rest
//! 0                        kind of global metadata, fields
//! database, 0, 0           kind of metadata of the database, its object stores and indexes, fields
//! database, store, 1       key: a value of the object store
//! database, store, 2       key: an "exists" entry
//! database, store, 3       key: references to blobs
//! database, store, 30..    index key, [varint sequence number, [primary key]]
//! ```
//!
//! For example, `00 01 02 01 01 02 00 61 00 62` is the value of key "ab" in object store 2 of
//! database 1. Keys are ordered by the ids, then by the rest, field by field.
//!
//! Bytes that are not a valid key come after all valid ones, in their own order, so that the order is
//! total whatever is in a file.

mod encoded_key;
mod key;

use std::cmp::Ordering;

use self::key::IndexedDbKey;
use super::KeyOrder;

/// The name that Chromium has for it.
pub(super) const NAME: &str = "idb_cmp1";

#[derive(Debug)]
pub(super) struct IndexedDbOrder;

impl KeyOrder for IndexedDbOrder {
    fn name(&self) -> &str {
        NAME
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        if a == b {
            return Ordering::Equal;
        }
        match (IndexedDbKey::decode_from(a), IndexedDbKey::decode_from(b)) {
            (Some(a), Some(b)) => a.compare(&b),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => a.cmp(b),
        }
    }

    // Only 0 and -0 are equal and differ. Chromium itself uses filters over the bytes of keys.
    fn equal_means_same_bytes(&self) -> bool {
        true
    }

    fn describe_key(&self, key: &[u8]) -> Option<String> {
        IndexedDbKey::decode_from(key).map(|key| key.to_string())
    }

    fn is_valid_key(&self, key: &[u8]) -> bool {
        IndexedDbKey::decode_from(key).is_some()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn compare(a: &[u8], b: &[u8]) -> Ordering {
        IndexedDbOrder.compare(a, b)
    }

    fn number(value: f64) -> Vec<u8> {
        [&[3][..], &value.to_le_bytes()].concat()
    }

    fn text(value: &str) -> Vec<u8> {
        let units: Vec<u8> = value.encode_utf16().flat_map(u16::to_be_bytes).collect();
        [&[1, (units.len() / 2) as u8][..], &units].concat()
    }

    fn data(key: &[u8]) -> Vec<u8> {
        [&[0, 1, 2, 1], key].concat()
    }

    #[test]
    fn keys_ascend_as_in_indexeddb() {
        let array = |keys: &[Vec<u8>]| [&[4, keys.len() as u8][..], &keys.concat()].concat();
        let date = |value: f64| [&[2][..], &value.to_le_bytes()].concat();
        let index = |rest: &[&[u8]]| [&[0, 1, 2, 30], &rest.concat()[..]].concat();
        let ascending = [
            vec![0, 0, 0, 0, 0],
            vec![0, 0, 0, 0, 2],
            vec![0, 0, 0, 0, 50, 1, 2],
            vec![0, 0, 0, 0, 100, 0x80, 1],
            vec![0, 0, 0, 0, 201, 1, 0, b'a', 1, 0, b'z'],
            vec![0, 0, 0, 0, 201, 2, 0, b'a', 0, b'b', 0],
            vec![0, 1, 0, 0, 1],
            vec![0, 1, 0, 0, 50, 1, 7],
            vec![0, 1, 0, 0, 50, 0x80, 1, 0],
            vec![0, 1, 0, 0, 100, 1, 31, 0],
            vec![0, 1, 2, 1],
            data(&[5]),
            data(&number(-3.5)),
            data(&number(2.0)),
            data(&number(10.0)),
            data(&date(1.0)),
            data(&text("")),
            data(&text("ab")),
            data(&text("b")),
            data(&[6, 1, 0xff]),
            data(&[6, 2, 0xff, 0]),
            data(&array(&[])),
            data(&array(&[number(1.0)])),
            data(&array(&[number(1.0), text("x")])),
            data(&array(&[number(1.0), array(&[text("a")])])),
            data(&array(&[number(2.0)])),
            data(&[0]),
            vec![0, 1, 2, 2, 1, 0],
            vec![0, 1, 2, 3, 1, 0],
            index(&[&text("k")]),
            index(&[&text("k"), &[0], &number(1.0)]),
            index(&[&text("k"), &[0], &number(2.0)]),
            index(&[&text("l"), &[0], &number(1.0)]),
            vec![0b0000_0100, 1, 0, 1, 1, 1, 0],
            vec![0, 2, 0, 0, 0],
            // No valid keys.
            vec![],
            vec![0, 1, 2],
        ];
        for (i, a) in ascending.iter().enumerate() {
            for (j, b) in ascending.iter().enumerate() {
                assert_eq!(compare(a, b), i.cmp(&j), "{a:?} {b:?}");
            }
        }
        assert!(compare(&data(&number(0.0)), &data(&number(-0.0))).is_eq());
    }

    #[test]
    fn what_keys_mean() {
        let describe = |key: &[u8]| IndexedDbOrder.describe_key(key).unwrap_or_default();
        for (key, meaning) in [
            (vec![0, 0, 0, 0, 0], "schema version"),
            (vec![0, 0, 0, 0, 201, 1, 0, b'o', 1, 0, b'd'], r#"id of database "d" of origin "o""#),
            (vec![0, 7, 0, 0, 1], "metadata of database 7: name"),
            (vec![0, 7, 0, 0, 50, 3, 1], "metadata of database 7, object store 3: key path"),
            (
                vec![0, 7, 0, 0, 100, 3, 30, 1],
                "metadata of database 7, object store 3, index 30: unique",
            ),
            (data(&text("a\"b\u{1f600}")), r#"database 1, object store 2: "a\"b😀""#),
            (data(&number(-1.5)), "database 1, object store 2: -1.5"),
            (
                data(&[&[4, 2][..], &number(1.0), &[6, 2, 0xab, 1]].concat()),
                "database 1, object store 2: [1, 0xab01]",
            ),
            (vec![0, 1, 2, 2, 1, 0], r#"database 1, object store 2, exists: """#),
            (
                [&[0, 1, 2, 30][..], &text("k"), &[0], &number(5.0)].concat(),
                r#"database 1, object store 2, index 30: "k" of 5"#,
            ),
        ] {
            assert_eq!(describe(&key), meaning);
        }
        assert_eq!(IndexedDbOrder.describe_key(b"no key"), None);
        // The ids of an object store, without that of an index.
        assert!(!IndexedDbOrder.is_valid_key(&[0, 1, 2]));
        assert!(IndexedDbOrder.is_valid_key(&[0, 1, 2, 1]));
    }

    #[test]
    fn nesting_does_not_overflow_the_stack() {
        let deep = data(&[[4, 1].repeat(1 << 20), vec![5]].concat());
        let deeper = data(&[[4, 1].repeat(1 << 20), vec![3; 9]].concat());
        assert_eq!(compare(&deep, &deeper), Ordering::Less);
        assert!(IndexedDbOrder.describe_key(&deep).is_some());
    }

    proptest! {
        /// Small alphabets make many valid keys, and many that are nearly equal.
        #[test]
        fn the_order_is_total(
            a in prop::collection::vec(0u8..8, 0..12),
            b in prop::collection::vec(0u8..8, 0..12),
            c in prop::collection::vec(0u8..8, 0..12),
        ) {
            prop_assert_eq!(compare(&a, &b), compare(&b, &a).reverse());
            if compare(&a, &b).is_le() && compare(&b, &c).is_le() {
                prop_assert!(compare(&a, &c).is_le());
            }
        }
    }
}
