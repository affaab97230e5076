//! What is visible, as text: `testdata/visibility/*.txt`.
//!
//! ```text
//! define                   the tables of the cases that follow, the newest first
//! table
//! a@5 put one              key, sequence number, kind, value
//! b#20@4 put two           the same with the timestamp 20, if `define` has `timestamps`
//! c@3 delete_range e       its value is the end of the range
//!
//! scan                     the visible keys and values: from=KEY to=KEY prefix=KEY sequence=N
//!                          timestamp=N by-sequence
//! get KEY…                 records: sequence=N timestamp=N
//! moves                    the moves of a cursor, one a line; options as of scan
//! ```
//!
//! Every scan is made forward and backward, and over a single table in both ways: as a table, and as a
//! merge of one.

use std::sync::Arc;

use sstkit_table::raw::ColumnValue;
use sstkit_table::raw::{EntryKind, InternalKey, WideColumn, encode_wide_columns};
use sstkit_table::visibility::{ReadView, Recency};
use sstkit_table::{
    Comparator, MergedTables, ReadOptions, Record, RecordValue, Result, Table, TableOptions,
    TableReadOptions, TableWriter, Value,
};
use sstkit_testkit::datadriven::{self, Case, escape, unescape};

use sstkit_testkit::goldens::Concatenate;

#[test]
fn cases() {
    datadriven::run("testdata/visibility", || {
        let mut tables = Tables::default();
        move |case| match case.command() {
            "define" => {
                tables = Tables::define(case);
                String::new()
            }
            "scan" => tables.scan(case),
            "get" => tables.get(case),
            "moves" => tables.moves(case),
            other => panic!("unknown command {other}"),
        }
    });
}

/// The tables of some cases, the newest first.
#[derive(Default)]
struct Tables {
    tables: Vec<Table>,
}

impl Tables {
    fn define(case: &Case) -> Self {
        let comparator = match (case.has("reverse"), case.has("timestamps")) {
            (false, false) => Comparator::Bytewise,
            (true, false) => Comparator::ReverseBytewise,
            (false, true) => Comparator::BytewiseWithTimestamp,
            (true, true) => Comparator::ReverseBytewiseWithTimestamp,
        };
        let has_operator = !case.has("no-operator");
        let parts = case.input().split("table\n").skip(1);
        let tables = parts.map(|entries| table(entries, &comparator, has_operator)).collect();
        Self { tables }
    }

    fn options(&self, case: &Case) -> ReadOptions {
        let options = match case.bytes("prefix") {
            Some(prefix) => ReadOptions::default().prefix(prefix),
            None => match (case.bytes("from"), case.bytes("to")) {
                (None, None) => ReadOptions::default(),
                (Some(from), None) => ReadOptions::default().range(from..),
                (None, Some(to)) => ReadOptions::default().range(..to),
                (Some(from), Some(to)) => ReadOptions::default().range(from..to),
            },
        };
        options.at(&view(case))
    }

    fn merged(&self, case: &Case) -> MergedTables {
        let recency = if case.has("by-sequence") { Recency::BySequence } else { Recency::BySource };
        MergedTables::new(&self.tables, recency).unwrap()
    }

    fn scan(&self, case: &Case) -> String {
        let (merged, options) = (self.merged(case), self.options(case));
        let forward: Vec<_> = merged.iter_with(&options).map(shown).collect();
        let mut backward: Vec<_> = merged.iter_with(&options).rev().map(shown).collect();
        backward.reverse();
        // An error ends the iteration, from whichever end.
        if merged.iter_with(&options).all(|entry| entry.is_ok()) {
            assert_eq!(forward, backward, "forward and backward");
        }
        if let [table] = &self.tables[..] {
            let mut cursor = table.cursor_with(&options);
            let mut alone = Vec::new();
            let mut more = cursor.seek_to_first();
            while let Ok(true) = more {
                alone.push(shown(cursor.value().map(|value| (cursor.key().to_vec(), value))));
                more = cursor.next();
            }
            alone.truncate(forward.len());
            assert_eq!(alone, forward, "alone and merged");
        }
        forward.join("\n")
    }

    fn get(&self, case: &Case) -> String {
        let [table] = &self.tables[..] else { panic!("get needs a single table") };
        let options = ReadOptions::default().at(&view(case));
        let record = |key: &str| match table.get_record_with(&unescape(key), &options) {
            Ok(Some(record)) => show_record(&record),
            Ok(None) => format!("{key}: not found"),
            Err(error) => format!("{key}: {:?}: {error}", error.kind()),
        };
        let keys = case.words();
        keys.iter().map(|key| record(key)).collect::<Vec<_>>().join("\n")
    }

    fn moves(&self, case: &Case) -> String {
        let mut cursor = self.merged(case).cursor_with(&self.options(case));
        let mut lines = Vec::new();
        for line in case.input().lines() {
            let (name, key) = line.split_once(' ').unwrap_or((line, ""));
            let key = unescape(key);
            let more = match name {
                "first" => cursor.seek_to_first(),
                "last" => cursor.seek_to_last(),
                "next" => cursor.next(),
                "prev" => cursor.prev(),
                "seek" => cursor.seek(&key),
                "seek_for_prev" => cursor.seek_for_prev(&key),
                other => panic!("unknown move {other}"),
            };
            lines.push(match more {
                Ok(true) => format!("{line}: {}", escape(cursor.key())),
                Ok(false) => format!("{line}: -"),
                Err(error) => format!("{line}: {error}"),
            });
        }
        lines.join("\n")
    }
}

fn view(case: &Case) -> ReadView {
    let timestamp = case.parsed::<u64>("timestamp").map(|it| it.to_le_bytes().to_vec());
    let sequence = case.parsed("sequence").unwrap_or(ReadView::default().sequence);
    ReadView { sequence, timestamp }
}

/// A table of entries given as lines.
fn table(entries: &str, comparator: &Comparator, has_operator: bool) -> Table {
    let options = TableOptions::rocksdb().external_file(false).comparator(comparator.clone());
    let mut bytes = Vec::new();
    let mut writer = TableWriter::to_sink(&mut bytes, &options).unwrap();
    for line in entries.lines() {
        let mut words = line.splitn(3, ' ');
        let mut word = || words.next().unwrap_or_default();
        let (key, kind, value) = (word(), word(), word());
        let (key, sequence) = key.split_once('@').unwrap();
        let (key, time) = key.split_once('#').unwrap_or((key, "0"));
        let timestamp = time.parse::<u64>().unwrap().to_le_bytes();
        let timestamp = &timestamp[..comparator.timestamp_size()];
        let stamped = |key: &str| [&unescape(key)[..], timestamp].concat();
        let (kind, value) = match kind {
            "put" => (EntryKind::Value, unescape(value)),
            "merge" => (EntryKind::Merge, unescape(value)),
            "delete" if timestamp.is_empty() => (EntryKind::Deletion, Vec::new()),
            "delete" => (EntryKind::DeletionWithTimestamp, Vec::new()),
            "single_delete" => (EntryKind::SingleDeletion, Vec::new()),
            "delete_range" => (EntryKind::RangeDeletion, stamped(value)),
            "put_entity" => (EntryKind::WideColumnEntity, entity(value)),
            other => panic!("unknown kind {other}"),
        };
        let (user_key, sequence) = (stamped(key), sequence.parse().unwrap());
        writer.add(&InternalKey { user_key: &user_key, sequence, kind }, &value).unwrap();
    }
    writer.finish().unwrap();
    let mut options = TableReadOptions::default();
    if has_operator {
        options = options.merge_operator(Arc::new(Concatenate));
    }
    Table::from_source(bytes::Bytes::from(bytes), &options).unwrap()
}

/// Columns given as `name=value name=value`; the name of the default column is empty.
fn entity(text: &str) -> Vec<u8> {
    let columns: Vec<_> = text
        .split(' ')
        .map(|column| column.split_once('=').unwrap())
        .map(|(name, value)| WideColumn {
            name: name.as_bytes(),
            value: ColumnValue::Inline(value.as_bytes()),
        })
        .collect();
    let mut entity = Vec::new();
    encode_wide_columns(&columns, &mut entity).unwrap();
    entity
}

fn shown(entry: Result<(Vec<u8>, Value)>) -> String {
    match entry {
        Ok((key, value)) => format!("{} = {}", escape(&key), escape(&value)),
        Err(error) => format!("{:?}: {error}", error.kind()),
    }
}

fn show_record(record: &Record) -> String {
    let time = match record.timestamp.as_slice().try_into() {
        Ok(timestamp) => format!("#{}", u64::from_le_bytes(timestamp)),
        Err(_) => String::new(),
    };
    let value = match &record.value {
        RecordValue::Value(value) => escape(value),
        RecordValue::Entity(columns) => {
            let column =
                |it: &sstkit_table::Column| format!("{}={}", escape(&it.name), escape(&it.value));
            columns.iter().map(column).collect::<Vec<_>>().join(" ")
        }
        RecordValue::Unresolved { base, operands, .. } => {
            format!("{operands:?} on {base:?}")
        }
    };
    format!("{}{time} = {value}", escape(&record.key))
}
