//! Key encodings: the order of the bytes is that of the values, decoding gives the values back, and
//! the examples of `docs/formats/key-encoding.md` are what the library writes.

use std::cmp::Ordering;
use std::fmt::Write;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryArray,
    Float32Array, Float64Array, Int8Array, Int16Array, Int32Array, Int64Array, StringArray,
    TimestampMicrosecondArray, UInt16Array, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema};
use proptest::collection::vec;
use proptest::prelude::*;
use sstkit_arrow::{Error, KeyEncoding, data_type_name};

/// The encoding of these columns.
fn encoding_of(columns: &[ArrayRef]) -> KeyEncoding {
    let types = columns.iter().map(|column| ("column", column.data_type().clone()));
    KeyEncoding::new(types).unwrap()
}

/// Encodes, compares the order of all pairs with `compare`, and decodes.
fn check(columns: &[ArrayRef], compare: impl Fn(usize, usize) -> Ordering) {
    let encoding = encoding_of(columns);
    let keys = encoding.encode(columns).unwrap();
    for one in 0..keys.len() {
        for other in 0..keys.len() {
            let (a, b) = (keys.get(one), keys.get(other));
            assert_eq!(a.cmp(b), compare(one, other), "{one}: {a:?}, {other}: {b:?}");
        }
    }
    assert_eq!(encoding.decode(keys.iter()).unwrap(), columns);
}

macro_rules! keeps_order {
    ($($name:ident: $array:ident of $strategy:expr, $compare:expr;)*) => {
        proptest! {$(
            #[test]
            fn $name(values in vec($strategy, 0..40)) {
                let array: ArrayRef = Arc::new($array::from_iter_values(values.iter().cloned()));
                check(&[array], |one, other| $compare(&values[one], &values[other]));
            }
        )*}
    };
}

keeps_order! {
    int8: Int8Array of any::<i8>(), Ord::cmp;
    int16: Int16Array of any::<i16>(), Ord::cmp;
    int32: Int32Array of any::<i32>(), Ord::cmp;
    int64: Int64Array of any::<i64>(), Ord::cmp;
    uint16: UInt16Array of any::<u16>(), Ord::cmp;
    uint64: UInt64Array of any::<u64>(), Ord::cmp;
    date32: Date32Array of any::<i32>(), Ord::cmp;
    timestamps: TimestampMicrosecondArray of any::<i64>(), Ord::cmp;
    decimal128: Decimal128Array of -(10_i128.pow(38) - 1)..10_i128.pow(38), Ord::cmp;
    strings: StringArray of ".{0,6}", Ord::cmp;
    binary: BinaryArray of vec(any::<u8>(), 0..6), Ord::cmp;
}

/// Few different bytes, above all those of the escapes.
fn hard_bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(prop_oneof![Just(0), Just(1), Just(0xff), any::<u8>()], 0..5)
}

proptest! {
    /// NaNs included, bit by bit.
    #[test]
    fn floats(bits in vec(prop_oneof![any::<u64>(), Just(1 << 63), Just(0)], 0..40)) {
        let doubles: Vec<f64> = bits.iter().map(|&bits| f64::from_bits(bits)).collect();
        let singles: Vec<f32> = bits.iter().map(|&bits| f32::from_bits((bits >> 32) as u32)).collect();
        let encoding = KeyEncoding::new([("x", DataType::Float64), ("y", DataType::Float32)]).unwrap();
        let columns: [ArrayRef; 2] = [
            Arc::new(Float64Array::from(doubles.clone())),
            Arc::new(Float32Array::from(singles.clone())),
        ];
        let keys = encoding.encode(&columns).unwrap();
        for one in 0..keys.len() {
            for other in 0..keys.len() {
                let expected = doubles[one]
                    .total_cmp(&doubles[other])
                    .then(singles[one].total_cmp(&singles[other]));
                prop_assert_eq!(keys.get(one).cmp(keys.get(other)), expected);
            }
        }
        let decoded = encoding.decode(keys.iter()).unwrap();
        let decoded = decoded[0].as_any().downcast_ref::<Float64Array>().unwrap();
        let decoded: Vec<u64> = decoded.values().iter().map(|it| it.to_bits()).collect();
        prop_assert_eq!(decoded, bits);
    }

    #[test]
    fn composite_keys(
        rows in vec((hard_bytes(), -2_i16..3, any::<bool>(), hard_bytes(), any::<[u8; 2]>()), 0..40)
    ) {
        let columns: Vec<ArrayRef> = vec![
            Arc::new(BinaryArray::from_iter_values(rows.iter().map(|row| &row.0))),
            Arc::new(Int16Array::from_iter_values(rows.iter().map(|row| row.1))),
            Arc::new(BooleanArray::from_iter(rows.iter().map(|row| Some(row.2)))),
            Arc::new(BinaryArray::from_iter_values(rows.iter().map(|row| &row.3))),
        ];
        let part = |at: usize| { let row = &rows[at]; (&row.0, row.1, row.2, &row.3) };
        check(&columns, |one, other| part(one).cmp(&part(other)));
        // The last column has a fixed length, so that bytes of variable length are all escaped.
        if !rows.is_empty() {
            let last = FixedSizeBinaryArray::try_from_iter(rows.iter().map(|row| row.4)).unwrap();
            let columns = [columns[0].clone(), columns[3].clone(), Arc::new(last) as ArrayRef];
            let part = |at: usize| { let row = &rows[at]; (&row.0, &row.3, row.4) };
            check(&columns, |one, other| part(one).cmp(&part(other)));
        }
    }

    /// Any bytes decode to columns that encode to the same bytes, or not at all.
    #[test]
    fn decoding_accepts_only_what_encoding_writes(key in hard_bytes()) {
        for types in [
            vec![DataType::Binary, DataType::UInt8],
            vec![DataType::Boolean, DataType::Utf8],
            vec![DataType::Utf8, DataType::Binary],
            vec![DataType::FixedSizeBinary(2), DataType::Int8],
            vec![DataType::LargeBinary, DataType::BinaryView],
        ] {
            let encoding = KeyEncoding::new(types.into_iter().map(|it| ("x", it))).unwrap();
            match encoding.decode([&key[..]]) {
                Ok(columns) => {
                    let keys = encoding.encode(&columns).unwrap();
                    prop_assert_eq!(keys.get(0), &key[..]);
                }
                Err(error) => prop_assert!(matches!(error, Error::Corrupt(_)), "{}", error),
            }
        }
    }
}

#[test]
fn what_has_no_encoding_is_refused() {
    let list = DataType::List(Arc::new(Field::new("item", DataType::Int8, true)));
    for (data_type, what) in [(list, "list"), (DataType::Null, "null")] {
        assert!(
            matches!(KeyEncoding::new([("x", data_type)]), Err(Error::Unsupported(_))),
            "{what}"
        );
    }
    assert!(KeyEncoding::new(Vec::<(&str, DataType)>::new()).is_err());
    let schema = Schema::new(vec![Field::new("id", DataType::Int64, true)]);
    let missing = KeyEncoding::of_columns(&schema, &["name"]).unwrap_err().to_string();
    assert!(missing.contains("\"name\" (found id)"), "{missing}");
    let encoding = KeyEncoding::of_columns(&schema, &["id"]).unwrap();
    let nulls: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None]));
    let error = encoding.encode(&[nulls]).unwrap_err().to_string();
    assert!(error.contains("row 1") && error.contains("null"), "{error}");
}

#[test]
fn the_examples_of_the_page() {
    sstkit_testkit::page::check_page("key-encoding.md", &[("examples", examples)]);
}

/// Columns and the bytes of their keys.
fn examples() -> String {
    let text = |text: &str| Arc::new(StringArray::from(vec![text])) as ArrayRef;
    let rows: [(&str, Vec<ArrayRef>); 16] = [
        ("\"ab\"", vec![text("ab")]),
        ("258", vec![Arc::new(UInt16Array::from(vec![258]))]),
        ("-1", vec![Arc::new(Int16Array::from(vec![-1]))]),
        ("0", vec![Arc::new(Int16Array::from(vec![0]))]),
        ("1", vec![Arc::new(Int16Array::from(vec![1]))]),
        ("1", vec![Arc::new(Int64Array::from(vec![1]))]),
        ("1970-01-02", vec![Arc::new(Date32Array::from(vec![1]))]),
        ("1969-12-31 23:59:59.999999", vec![Arc::new(TimestampMicrosecondArray::from(vec![-1]))]),
        ("-1.0", vec![Arc::new(Float32Array::from(vec![-1.0]))]),
        ("-0.0", vec![Arc::new(Float32Array::from(vec![-0.0]))]),
        ("0.0", vec![Arc::new(Float32Array::from(vec![0.0]))]),
        ("1.0", vec![Arc::new(Float32Array::from(vec![1.0]))]),
        ("true", vec![Arc::new(BooleanArray::from(vec![true]))]),
        ("\"de\", 7", vec![text("de"), Arc::new(Int32Array::from(vec![7]))]),
        ("\"a\\0b\", \"c\\0d\"", vec![text("a\0b"), text("c\0d")]),
        ("7, \"de\"", vec![Arc::new(Int32Array::from(vec![7])), text("de")]),
    ];
    let mut out = format!("{:<30}{:<16}{}\n", "value", "type", "key");
    for (shown, columns) in rows {
        let encoding = encoding_of(&columns);
        let key = encoding.encode(&columns).unwrap();
        assert_eq!(encoding.decode(key.iter()).unwrap(), columns);
        let types: Vec<_> = columns.iter().map(|it| data_type_name(it.data_type())).collect();
        let bytes: Vec<_> = key.get(0).iter().map(|byte| format!("{byte:02x}")).collect();
        let _ = writeln!(out, "{shown:<30}{:<16}{}", types.join(", "), bytes.join(" "));
    }
    out
}
