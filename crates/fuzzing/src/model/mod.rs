//! Random settings and entries, written, read, and compared with a [`BTreeMap`].
//!
//! ```text
//! input ---> settings, entries ---> TableWriter ---> bytes ---> Table == BTreeMap
//!                                                      |
//!                                                      +---> damage ---> Table: an error, or the same
//! ```
//!
//! [`BTreeMap`]: std::collections::BTreeMap

mod checks;
mod damage;
mod entries;
mod options;

use std::sync::Arc;

use arbitrary::Unstructured;
use sstkit_table::raw::{EntryKind, InternalKey};
use sstkit_table::{Error, ErrorKind, Table, TableReadOptions, TableWriter};

use self::entries::Contents;
use self::options::Settings;
use crate::concatenate::Concatenate;

/// What a table was made of comes out of it again, whatever the settings; and damage is an error
/// or makes no difference.
pub fn model(data: &[u8]) {
    let mut input = Unstructured::new(data);
    // An input that ends too soon is continued with zeros, so this is not an error.
    let Ok(settings) = Settings::draw(&mut input) else { return };
    let Ok(contents) = Contents::draw(&mut input, &settings) else { return };
    let bytes = match write(&settings, &contents) {
        Ok(bytes) => bytes,
        // Settings that contradict each other; an external table without entries.
        Err(error) if error.kind() == ErrorKind::InvalidInput => return,
        Err(error) => panic!("a table that cannot be written: {error}"),
    };
    let table = open(&bytes).expect("what was written can be opened");
    let verification = table.verify();
    assert!(verification.is_sound(), "{verification}");
    let visible = contents.visible();
    checks::check_stored(&table, &contents);
    checks::check_visible(&table, &contents, &visible);
    for _ in 0..4 {
        let _ = checks::check_range(&table, &contents, &visible, &mut input);
    }
    let _ = checks::check_cursor(&table, &contents, &visible, &mut input);
    for _ in 0..4 {
        let Ok(damaged) = damage::draw(&bytes, &settings, &mut input) else { return };
        checks::check_damaged(&damaged, &contents, &visible);
    }
}

/// The bytes of a table.
fn write(settings: &Settings, contents: &Contents) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let mut writer = TableWriter::to_sink(&mut bytes, &settings.options)?;
    for point in &contents.points {
        let (user_key, sequence, kind) = (&point.user_key[..], point.sequence, point.kind);
        writer.add(&InternalKey { user_key, sequence, kind }, &point.value)?;
    }
    for range in &contents.ranges {
        let user_key = &[&range.begin[..], &range.timestamp].concat()[..];
        let kind = EntryKind::RangeDeletion;
        let key = InternalKey { user_key, sequence: range.sequence, kind };
        writer.add(&key, &[&range.end[..], &range.timestamp].concat())?;
    }
    let summary = writer.finish()?;
    assert_eq!(summary.file_size, bytes.len() as u64);
    Ok(bytes)
}

fn open(bytes: &[u8]) -> Result<Table, Error> {
    let options = TableReadOptions::default().merge_operator(Arc::new(Concatenate));
    Table::from_source(bytes::Bytes::copy_from_slice(bytes), &options)
}

/// A table made of settings and entries drawn from some bytes, for those who need one to start
/// from.
pub(crate) fn sample_table(data: &[u8]) -> Option<Vec<u8>> {
    let mut input = Unstructured::new(data);
    let settings = Settings::draw(&mut input).ok()?;
    let contents = Contents::draw(&mut input, &settings).ok()?;
    write(&settings, &contents).ok()
}
