//! Prints records as text or JSON.

use anyhow::Result;
use sstkit_db::ColumnFamily;
use sstkit_inspect::{InspectedTable, InternalScan, JsonRecord, OwnerView};
use sstkit_table::visibility::Direction;
use sstkit_table::{Cursor, ReadOptions, RecordValue};

use super::{Args, show};
use crate::output::{Page, merge_operands, print_message, records};

impl Args {
    pub(super) fn list_table(
        &self,
        file: &InspectedTable,
        scan: &ReadOptions,
        page: &mut Page,
    ) -> Result<()> {
        let total = Some(file.table().properties().num_entries()).filter(|&entries| entries > 0);
        if self.internal {
            let scan = InternalScan::within(file, self.encoding(), scan, self.direction());
            return self.print_records(scan.map(|record| Ok(record?)), total, page);
        }
        let view = OwnerView::of_table(file, self.owner.of_table());
        self.print_cursor(file.table().cursor_with(scan), &view, total, page)
    }

    /// Prints the visible keys of a table, nearly all of which have plain values.
    fn print_cursor(
        &self,
        mut cursor: Cursor,
        view: &OwnerView,
        total: Option<u64>,
        page: &mut Page,
    ) -> Result<()> {
        let progress = self.progress(total);
        let encoding = self.encoding();
        let mut pairs = self.pairs(page, self.keys_only);
        for count in 0..self.limit.unwrap_or(u64::MAX) {
            show(progress.as_ref(), count)?;
            let more = match (count, self.reverse) {
                (0, false) => cursor.seek_to_first()?,
                (0, true) => cursor.seek_to_last()?,
                (_, false) => cursor.next()?,
                (_, true) => cursor.prev()?,
            };
            if !more {
                break;
            }
            if self.keys_only {
                self.print_key(cursor.key(), cursor.timestamp(), view, &mut pairs, page)?;
                continue;
            }
            match cursor.plain_value() {
                Some(value) if cursor.timestamp().is_empty() && view.is_plain() => {
                    pairs.print(page, cursor.key(), value)?;
                }
                _ => {
                    if let Some(record) = cursor.record()? {
                        merge_operands::warn_if_stale(&self.path, &record.value);
                        self.print_record(view.visible(&record, encoding), page)?;
                    }
                }
            }
        }
        Ok(())
    }

    pub(super) fn list_family(
        &self,
        family: &ColumnFamily,
        scan: &ReadOptions,
        page: &mut Page,
    ) -> Result<()> {
        if self.internal {
            return self.list_entries(family, scan, page);
        }
        let view = OwnerView::of_family(family);
        let visible = family.iter_with(scan);
        match (self.keys_only, self.reverse) {
            (true, false) => self.print_keys(visible.keys(), &view, page),
            (true, true) => self.print_keys(visible.keys().rev(), &view, page),
            (false, false) => self.print_visible(visible.records(), &view, page),
            (false, true) => self.print_visible(visible.records().rev(), &view, page),
        }
    }

    /// Prints all entries of a database, then its range deletions.
    fn list_entries(
        &self,
        family: &ColumnFamily,
        scan: &ReadOptions,
        page: &mut Page,
    ) -> Result<()> {
        let encoding = self.encoding();
        let view = OwnerView::of_family(family);
        let mut entries = family.entries_with(scan);
        let entries = std::iter::from_fn(|| match self.direction() {
            Direction::Forward => entries.next(),
            Direction::Backward => entries.next_back(),
        });
        let mut is_said = false;
        let records = entries.map(|entry| {
            let entry = entry?;
            let record = match self.keys_only {
                true => JsonRecord::of_entry_key(&entry, encoding),
                false => JsonRecord::of_database_entry(family, &entry, encoding)?,
            };
            if let (Some(None), Some(blob)) = (&record.value, record.blob)
                && !std::mem::replace(&mut is_said, true)
            {
                print_message(&format!(
                    "{}: values are missing, the first of them in blob file {:06}, which is missing \
                     or cannot be opened",
                    self.path.display(),
                    blob.file
                ));
            }
            Ok(view.described(&entry.key, record))
        });
        let mut ranges = family.range_deletions_with(scan)?;
        if self.reverse {
            ranges.reverse();
        }
        let ranges = ranges.iter().map(|range| Ok(JsonRecord::of_range_deletion(range, encoding)));
        self.print_records(records.chain(ranges), None, page)
    }

    /// Prints the visible keys of a database. Their values are not read.
    fn print_keys(
        &self,
        keys: impl Iterator<Item = sstkit_db::Result<(Vec<u8>, Vec<u8>)>>,
        view: &OwnerView,
        page: &mut Page,
    ) -> Result<()> {
        let progress = self.progress(None);
        let mut pairs = self.pairs(page, true);
        let limit = self.limit.unwrap_or(u64::MAX);
        for (count, key) in (0..limit).zip(keys) {
            show(progress.as_ref(), count)?;
            let (key, timestamp) = key?;
            self.print_key(&key, &timestamp, view, &mut pairs, page)?;
        }
        Ok(())
    }

    /// Prints a key alone.
    fn print_key(
        &self,
        key: &[u8],
        timestamp: &[u8],
        view: &OwnerView,
        pairs: &mut records::PairPrinter,
        page: &mut Page,
    ) -> Result<()> {
        if timestamp.is_empty() && view.is_plain() {
            return Ok(pairs.print(page, key, &[])?);
        }
        let encoding = self.encoding();
        let record = JsonRecord::of_key(key, encoding).with_timestamp(timestamp, encoding);
        self.print_record(view.described(key, record), page)
    }

    /// Prints the visible entries of a database. Nearly all have plain values.
    fn print_visible(
        &self,
        records: impl Iterator<Item = sstkit_db::Result<sstkit_db::Record>>,
        view: &OwnerView,
        page: &mut Page,
    ) -> Result<()> {
        let progress = self.progress(None);
        let encoding = self.encoding();
        let mut pairs = self.pairs(page, self.keys_only);
        let limit = self.limit.unwrap_or(u64::MAX);
        for (count, record) in (0..limit).zip(records) {
            show(progress.as_ref(), count)?;
            let record = record?;
            match &record.value {
                RecordValue::Value(value) if record.timestamp.is_empty() && view.is_plain() => {
                    pairs.print(page, &record.key, value)?;
                }
                value => {
                    merge_operands::warn_if_stale(&self.path, value);
                    self.print_record(view.visible(&record, encoding), page)?;
                }
            }
        }
        Ok(())
    }

    fn print_records(
        &self,
        records: impl Iterator<Item = Result<JsonRecord>>,
        total: Option<u64>,
        page: &mut Page,
    ) -> Result<()> {
        let progress = self.progress(total);
        let limit = self.limit.unwrap_or(u64::MAX);
        for (count, record) in (0..limit).zip(records) {
            show(progress.as_ref(), count)?;
            self.print_record(record?, page)?;
        }
        Ok(())
    }

    fn pairs(&self, page: &Page, keys_only: bool) -> records::PairPrinter {
        records::PairPrinter::new(page, self.encoding(), keys_only, self.is_json())
    }

    fn print_record(&self, mut record: JsonRecord, page: &mut Page) -> Result<()> {
        if self.keys_only {
            record.remove_value();
        }
        if !self.is_json() {
            record = self.owner.shown(record);
        }
        Ok(self.print_result(page, &record, records::print)?)
    }
}
