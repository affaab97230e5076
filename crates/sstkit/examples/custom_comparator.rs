//! A database with a custom comparator and a custom merge operator: written, then read backwards by
//! prefix, and many keys at once.
//!
//! ```text
//! cargo run --release --example custom_comparator
//! ```

use std::cmp::Ordering;
use std::error::Error;
use std::sync::Arc;

use sstkit::{
    ColumnFamilyDescriptor, Comparator, Database, DatabaseOptions, DatabaseWriter,
    DatabaseWriterOptions, EntryKind, ErrorKind, FileSource, InternalKey, KeyOrder, MergeOperator,
    PrefixExtractor, TableOptions, TableWriter,
};

/// `name/number`: by name, then by number, so that 10 comes after 9.
#[derive(Debug)]
struct ByNumber;

fn split(key: &[u8]) -> (&[u8], u64) {
    let slash = key.iter().position(|&byte| byte == b'/').unwrap_or(key.len());
    let (name, rest) = key.split_at(slash);
    let digits = rest.iter().filter(|byte| byte.is_ascii_digit());
    (name, digits.fold(0, |number, digit| number * 10 + u64::from(digit - b'0')))
}

impl KeyOrder for ByNumber {
    fn name(&self) -> &str {
        "example.ByNumber"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        // Keys that are equal here must be equal bytes, so these decide last.
        split(a).cmp(&split(b)).then_with(|| a.cmp(b))
    }
}

/// Adds decimal numbers.
#[derive(Debug)]
struct Sum;

impl MergeOperator for Sum {
    fn name(&self) -> &str {
        "example.Sum"
    }

    fn merge(&self, _: &[u8], base: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>> {
        let number = |bytes: &[u8]| str::from_utf8(bytes).ok()?.parse::<i64>().ok();
        let mut sum = number(base.unwrap_or(b"0"))?;
        for operand in operands {
            sum = sum.checked_add(number(operand)?)?;
        }
        Some(sum.to_string().into())
    }
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("counters");
    let order = Comparator::User(Arc::new(ByNumber));

    // Two levels: values in the lower one, operands in the upper one.
    let mut writer = DatabaseWriter::create(&path, DatabaseWriterOptions::rocksdb())?;
    let family = ColumnFamilyDescriptor::new("counters")
        .comparator(order.clone())
        .option("merge_operator", "example.Sum");
    let family = writer.column_family(family)?;
    let base = TableOptions::rocksdb()
        .external_file(false)
        .comparator(order.clone())
        .prefix_extractor(PrefixExtractor::Fixed(1))
        .filter("bloomfilter:10".parse()?);
    for (level, sequence, kind, value) in
        [(6, 1, EntryKind::Value, "100"), (0, 2, EntryKind::Merge, "5")]
    {
        let table = writer.new_table_path();
        let mut tables = TableWriter::create(&table, &writer.table_options(family, &base)?)?;
        for name in ["a", "b"] {
            for number in 0..30 {
                let key = format!("{name}/{number}");
                let key = InternalKey { user_key: key.as_bytes(), sequence, kind };
                tables.add(&key, value.as_bytes())?;
            }
        }
        tables.finish()?;
        writer.add_table(family, level, &FileSource::Written(table), None)?;
    }
    writer.finish()?;

    let options = DatabaseOptions::default().comparator(order).merge_operator(Arc::new(Sum));
    let db = Database::open_with(&path, &options)?;
    assert!(db.caveats().is_empty(), "{:?}", db.caveats());
    let counters = db.column_family("counters")?;
    assert_eq!(counters.get(b"a/7")?.ok_or("is there")?, "105");

    // Backwards through the keys with a prefix, in the order of the comparator.
    let mut last = Vec::new();
    for entry in counters.prefix(b"a").rev().take(3) {
        let (key, value) = entry?;
        println!("{} = {}", key.escape_ascii(), value.escape_ascii());
        assert_eq!(value, "105");
        last.push(String::from_utf8(key)?);
    }
    assert_eq!(last, ["a/29", "a/28", "a/27"]);

    let values = counters.get_many(&["b/3", "c/3", "b/29", "a/30"])?;
    let found: Vec<bool> = values.iter().map(Option::is_some).collect();
    assert_eq!(found, [true, false, true, false]);

    // Without the operator, keys with operands cannot be read, and the error says what is missing.
    let options = DatabaseOptions::default().comparator(Comparator::User(Arc::new(ByNumber)));
    let error = Database::open_with(&path, &options)?.column_family("counters")?.get(b"a/7");
    let error = error.expect_err("operands need their operator");
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("example.Sum"), "{error}");
    Ok(())
}
