//! Writes record batches as CSV, TSV, raw bytes or Parquet.

use std::io::Write as _;

use anyhow::{Result, bail};
use arrow_array::cast::AsArray as _;
use arrow_array::types::UInt64Type;
use arrow_array::{Array as _, RecordBatch};
use sstkit_arrow::{Batches, Scan, ScanColumn};
use sstkit_db::Ttl;
use sstkit_inspect::Encoding;
use sstkit_table::output::OutputPath;

use super::delimited::{Field, RowWriter};
use super::exported_batches::{ExportedBatches, WRITTEN};
use super::{Args, ScanFormat, Source};
use crate::interrupt;
use crate::output::Page;

impl Args {
    pub(super) fn export(&self, source: &Source, target: Option<OutputPath>) -> Result<()> {
        let has_timestamps = source.comparator().is_some_and(|it| it.timestamp_size() > 0);
        let batches = self.batches(source, &self.columns(has_timestamps))?;
        // Without values there are no times; internal entries are as stored.
        let has_times = self.ttl(source).is_some() && !self.internal && !self.keys_only;
        let batches = ExportedBatches::new(batches, has_times);
        match self.format() {
            #[cfg(feature = "parquet")]
            ScanFormat::Parquet => self.write_parquet(batches, target),
            _ => {
                let mut page = match target {
                    Some(target) => Page::file(target, self.compression())?,
                    None => Page::stdout(),
                };
                let header = self.header(has_timestamps, has_times);
                self.write_rows(batches, &header, &mut page)?;
                Ok(page.finish()?)
            }
        }
    }

    fn ttl(&self, source: &Source) -> Option<Ttl> {
        match source {
            Source::Table(_) => self.owner.of_table(),
            Source::Family(family) => family.ttl(),
        }
    }

    /// Everything that an entry has.
    fn columns(&self, has_timestamps: bool) -> Vec<ScanColumn> {
        let mut columns = vec![ScanColumn::Key];
        columns.extend(has_timestamps.then_some(ScanColumn::Timestamp));
        if self.internal {
            columns.extend([ScanColumn::Sequence, ScanColumn::Kind]);
        }
        if !self.keys_only {
            columns.extend([ScanColumn::Value, ScanColumn::Columns]);
            columns.extend((!self.internal).then_some(ScanColumn::Merge));
        }
        columns
    }

    fn batches(&self, source: &Source, columns: &[ScanColumn]) -> Result<Batches> {
        let range = self.range.decoded(self.encoding)?;
        let view = self.snapshot.view(self.encoding, source.comparator())?;
        let mut scan = Scan::new()
            .columns(columns.iter().copied())
            .reverse(self.reverse)
            .limit(self.limit)
            .versions(self.internal)
            .sequence(self.snapshot.sequence())
            .timestamp(view.timestamp);
        scan = match range.prefix {
            Some(prefix) => scan.prefix(prefix),
            None => scan.range(range.range),
        };
        Ok(match source {
            Source::Table(file) => scan.table(file.table())?,
            Source::Family(family) => scan.column_family(family)?,
        })
    }

    fn write_rows(
        &self,
        mut batches: ExportedBatches,
        header: &[Field<'_>],
        page: &mut Page,
    ) -> Result<()> {
        let format = self.format();
        let mut writer = RowWriter::new(format, self.encoding.given());
        let mut line = Vec::new();
        if format != ScanFormat::Raw && !self.no_header {
            writer.put(header, &mut line)?;
            page.write_all(&line)?;
        }
        let progress = self.progress(None);
        while let Some(batch) = batches.next_batch()? {
            interrupt::check()?;
            for row in 0..batch.num_rows() {
                line.clear();
                self.put_row(&batch, row, &mut writer, &mut line)?;
                page.write_all(&line)?;
            }
            if let Some(progress) = &progress {
                progress.add(batch.num_rows() as u64);
            }
        }
        Ok(())
    }

    fn header(&self, has_timestamps: bool, has_times: bool) -> Vec<Field<'static>> {
        let named = [
            (self.internal, "type"),
            (true, "key"),
            (has_timestamps, "timestamp"),
            (self.internal, "seq"),
            (!self.keys_only, "value"),
            (has_times, WRITTEN),
        ];
        named.into_iter().filter(|it| it.0).map(|it| Field::Text(it.1)).collect()
    }

    fn put_row(
        &self,
        batch: &RecordBatch,
        row: usize,
        writer: &mut RowWriter,
        line: &mut Vec<u8>,
    ) -> Result<()> {
        let column = |column: ScanColumn| batch.column_by_name(column.name());
        let bytes = |of: ScanColumn| {
            let array = column(of)?.as_binary_opt::<i32>()?;
            Some(if array.is_null(row) { &[][..] } else { array.value(row) })
        };
        let is_set = |of| column(of).is_some_and(|array| !array.is_null(row));
        let key = bytes(ScanColumn::Key).unwrap_or_default();
        let shown = || Encoding::Escape.encode(&key[..key.len().min(64)]);
        let name = if self.format() == ScanFormat::Raw { "raw output" } else { "CSV and TSV" };
        if is_set(ScanColumn::Columns) {
            bail!(
                "the value of {} has columns, which {name} cannot represent: use --format json or parquet",
                shown()
            );
        }
        if is_set(ScanColumn::Merge) {
            bail!(
                "the value of {} has merge operands that were not combined: use --merge-operator, or --format json or parquet",
                shown()
            );
        }
        if !self.keys_only && !is_set(ScanColumn::Value) {
            bail!("the value of {} is in another file: pass the database", shown());
        }
        let sequence =
            column(ScanColumn::Sequence).and_then(|it| it.as_primitive_opt::<UInt64Type>());
        let sequence = sequence.map(|it| it.value(row).to_string());
        let written = batch.column_by_name(WRITTEN).filter(|_| self.format() != ScanFormat::Raw);
        let written = written.and_then(|it| it.as_primitive_opt::<UInt64Type>()).map(|times| {
            let time = times.is_valid(row).then(|| times.value(row).to_string());
            time.unwrap_or_default()
        });
        let kind = column(ScanColumn::Kind).and_then(|it| it.as_string_opt::<i32>());
        let fields = [
            kind.map(|it| Field::Text(it.value(row))),
            Some(Field::Bytes(key)),
            bytes(ScanColumn::Timestamp).map(Field::Bytes),
            sequence.as_deref().map(Field::Text),
            bytes(ScanColumn::Value).map(Field::Bytes),
            written.as_deref().map(Field::Text),
        ];
        let fields: Vec<Field<'_>> = fields.into_iter().flatten().collect();
        writer.put(&fields, line)
    }
}
