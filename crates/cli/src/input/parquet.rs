//! Parquet: a column of keys and a column of values.
//!
//! | column | bytes |
//! |---|---|
//! | binary, fixed-size binary | unchanged |
//! | string | its UTF-8 |
//! | integers, signed or unsigned | big-endian, as wide as the column, so that they sort by value |
//!
//! A negative integer would sort after all others, so it is rejected as a key; as a value it is in
//! two's complement. Other types are rejected: the exporting program has to choose their encoding.
//! A null is an error, too.
//!
//! The parquet crate panics on some malformed files. All calls into it go through [`guarded`],
//! which turns a panic into an error.

use std::cell::Cell;
use std::fs::File;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::{Arc, Once};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::reader::RowIter;
use parquet::record::{Field, Row};
use parquet::schema::types::{Type, TypePtr};

use super::{InputRecord, InputRecords, InputSettings};
use crate::suggest::hint;

/// Reads Parquet row by row.
pub(super) struct Parquet {
    rows: RowIter<'static>,
    name: String,
    /// The positions of the key and the value among the columns read.
    key: usize,
    value: usize,
    row: u64,
}

impl Parquet {
    pub(super) fn open(path: &Path, name: String, settings: &InputSettings) -> Result<Self> {
        let file = File::open(path).with_context(|| name.clone())?;
        let open = || {
            let reader = SerializedFileReader::new(file)?;
            Self::new(Box::new(reader), name.clone(), settings)
        };
        guarded(open).with_context(|| name)
    }

    fn new(reader: Box<dyn FileReader>, name: String, settings: &InputSettings) -> Result<Self> {
        let schema = reader.metadata().file_metadata().schema_descr().root_schema_ptr();
        let key = column(&schema, &settings.key_column)?;
        let value = column(&schema, &settings.value_column)?;
        // Both may be the same column; columns are read in file order.
        let mut places = vec![key, value];
        places.sort_unstable();
        places.dedup();
        let fields = places.iter().map(|&place| Arc::clone(&schema.get_fields()[place])).collect();
        let wanted = Type::group_type_builder(schema.name()).with_fields(fields).build()?;
        let rows = RowIter::from_file_into(reader).project(Some(wanted))?;
        let place = |wanted: usize| places.iter().position(|&place| place == wanted).unwrap_or(0);
        Ok(Self { rows, name, key: place(key), value: place(value), row: 0 })
    }
}

fn column(schema: &TypePtr, name: &str) -> Result<usize> {
    let fields = schema.get_fields();
    fields.iter().position(|field| field.name() == name).ok_or_else(|| {
        let names: Vec<&str> = fields.iter().map(|field| field.name()).collect();
        let list = names.join(", ");
        let hint = hint(name, names);
        anyhow!("no column {name:?} (found {list}): use --key and --value{hint}")
    })
}

/// The bytes of a key, which must sort by value.
fn key(row: &Row, column: usize) -> Result<Vec<u8>> {
    let number = match row.get_column_iter().nth(column) {
        Some((_, Field::Byte(number))) => i64::from(*number),
        Some((_, Field::Short(number))) => i64::from(*number),
        Some((_, Field::Int(number))) => i64::from(*number),
        Some((_, Field::Long(number))) => *number,
        _ => 0,
    };
    ensure!(number >= 0, "the key {number} is negative, so it would sort after all other keys");
    bytes(row, column, "key")
}

fn bytes(row: &Row, column: usize, what: &str) -> Result<Vec<u8>> {
    let (name, field) =
        row.get_column_iter().nth(column).ok_or_else(|| anyhow!("the row has no {what}"))?;
    Ok(match field {
        Field::Bytes(bytes) => bytes.data().to_vec(),
        Field::Str(text) => text.as_bytes().to_vec(),
        Field::Byte(number) => number.to_be_bytes().to_vec(),
        Field::Short(number) => number.to_be_bytes().to_vec(),
        Field::Int(number) => number.to_be_bytes().to_vec(),
        Field::Long(number) => number.to_be_bytes().to_vec(),
        Field::UByte(number) => number.to_be_bytes().to_vec(),
        Field::UShort(number) => number.to_be_bytes().to_vec(),
        Field::UInt(number) => number.to_be_bytes().to_vec(),
        Field::ULong(number) => number.to_be_bytes().to_vec(),
        Field::Null => bail!("the {what} (column {name:?}) is null"),
        _ => bail!("the {what} (column {name:?}) is neither binary, string nor integer"),
    })
}

thread_local! {
    /// Whether a panic on this thread becomes an error.
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Calls into the parquet crate. A panic becomes an error and prints nothing. What panicked is not
/// used again, since the error ends the reading.
fn guarded<T>(call: impl FnOnce() -> Result<T>) -> Result<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !IS_GUARDED.get() {
                usual(info);
            }
        }));
    });
    IS_GUARDED.set(true);
    let result = panic::catch_unwind(AssertUnwindSafe(call));
    IS_GUARDED.set(false);
    result.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it panicked");
        let first = text.lines().next().unwrap_or_default();
        Err(anyhow!("the Parquet file is malformed: {first}"))
    })
}

impl InputRecords for Parquet {
    fn next(&mut self, record: &mut InputRecord) -> Result<bool> {
        self.row += 1;
        let row = guarded(|| Ok(self.rows.next().transpose()?));
        let Some(row) = row.with_context(|| self.location())? else { return Ok(false) };
        let key = key(&row, self.key).with_context(|| self.location())?;
        let value = bytes(&row, self.value, "value").with_context(|| self.location())?;
        *record = InputRecord { key, value, ..InputRecord::default() };
        Ok(true)
    }

    fn location(&self) -> String {
        format!("{}: row {}", self.name, self.row)
    }
}
