//! Records as the software that wrote them shows them: keys with a meaning, and values without the
//! time that a database with a time to live appends.
//!
//! ```text
//! idb_cmp1    {"key":"\\x00\\x01…","value":"…","decoded_key":"database 1, object store 2: \"ab\""}
//! TTL         {"key":"k1","value":"v1","written":1794829050,"expires":1794829110}
//! ```

use sstkit_db::{ColumnFamily, Ttl};
use sstkit_table::{Column, Comparator, Record, RecordValue, Value};

use crate::encoding::Encoding;
use crate::inspected_table::InspectedTable;
use crate::record::JsonRecord;

/// What is known about the keys and values of a table or column family, besides their bytes.
#[derive(Clone, Debug, Default)]
pub struct OwnerView {
    /// A comparator that may say what a key means.
    order: Option<Comparator>,
    ttl: Option<Ttl>,
}

impl OwnerView {
    /// What a database says about a column family.
    pub fn of_family(family: &ColumnFamily) -> Self {
        let order = family.comparator().ok().filter(|order| is_user_made(order)).cloned();
        Self { order, ttl: family.ttl() }
    }

    /// What a table says. It does not say whether its values end with the time of their write.
    pub fn of_table(file: &InspectedTable, ttl: Option<Ttl>) -> Self {
        let order = file.table().comparator().ok().filter(|order| is_user_made(order)).cloned();
        Self { order, ttl }
    }

    /// Whether records are shown as they are stored.
    pub fn is_plain(&self) -> bool {
        self.order.is_none() && self.ttl.is_none()
    }

    /// A visible record.
    pub fn visible(&self, record: &Record, encoding: Encoding) -> JsonRecord {
        let Some(ttl) = self.ttl else {
            return self.described(&record.key, JsonRecord::of_visible(record, encoding));
        };
        let mut record = record.clone();
        let written = remove_time(&mut record.value);
        let mut json = JsonRecord::of_visible(&record, encoding);
        json.written = written;
        json.expires = written.and_then(|written| ttl.expires(written));
        self.described(&record.key, json)
    }

    /// The record of a key with its meaning.
    pub fn described(&self, key: &[u8], mut record: JsonRecord) -> JsonRecord {
        record.decoded_key = self.order.as_ref().and_then(|order| order.describe_key(key));
        record
    }
}

/// Whether it is not one of the built-in orders, whatever its name.
fn is_user_made(comparator: &Comparator) -> bool {
    matches!(comparator.order(), Comparator::User(_))
}

/// Removes the time from a value; returns the time. A value that is too short stays as it is.
fn remove_time(value: &mut RecordValue) -> Option<u32> {
    let remove = |value: &mut Value| {
        let (bytes, time) = Ttl::split(value)?;
        *value = value.slice_ref(bytes);
        Some(time)
    };
    match value {
        RecordValue::Value(value) => remove(value),
        RecordValue::Entity(columns) => match columns.first_mut() {
            Some(Column { name, value }) if name.is_empty() => remove(value),
            _ => None,
        },
        RecordValue::Unresolved { base, operands, .. } => {
            let of_base = base.as_mut().and_then(remove);
            operands.iter_mut().filter_map(remove).last().or(of_base)
        }
    }
}
