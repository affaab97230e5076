//! Writes record batches as Parquet.

use std::io::{self, Stdout, Write};

use anyhow::Result;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;
use sstkit_arrow::ScanColumn;
use sstkit_table::output::OutputPath;

use super::Args;
use super::exported_batches::ExportedBatches;
use crate::input::SCAN_METADATA;
use crate::interrupt;
use crate::output::FileWriter;

/// A row group ends after this many encoded bytes. All of it is in memory until then.
const ROW_GROUP_BYTES: usize = 64 << 20;

/// A file that appears when it is complete, or a pipe.
enum Out {
    File(FileWriter),
    Stdout(Stdout),
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.write(bytes),
            Self::Stdout(stdout) => stdout.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.flush(),
            Self::Stdout(stdout) => stdout.flush(),
        }
    }
}

impl Args {
    pub(super) fn write_parquet(
        &self,
        mut batches: ExportedBatches,
        target: Option<OutputPath>,
    ) -> Result<()> {
        let out = match &target {
            Some(target) => Out::File(FileWriter::new(target.create()?)),
            None => Out::Stdout(io::stdout()),
        };
        let mut writer = ArrowWriter::try_new(out, batches.schema(), Some(properties()))?;
        let progress = self.progress(None);
        while let Some(batch) = batches.next_batch()? {
            interrupt::check()?;
            writer.write(&batch)?;
            if writer.in_progress_size() >= ROW_GROUP_BYTES {
                writer.flush()?;
            }
            if let Some(progress) = &progress {
                progress.add(batch.num_rows() as u64);
            }
        }
        let mut out = writer.into_inner()?;
        out.flush()?;
        if let (Out::File(file), Some(target)) = (out, target) {
            target.commit(file.finish()?)?;
        }
        Ok(())
    }
}

/// Keys are distinct, so a dictionary of them would only cost. The metadata say that `sst build` finds
/// all there is to an entry.
fn properties() -> WriterProperties {
    let (name, version) = SCAN_METADATA;
    WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_column_dictionary_enabled(ColumnPath::from(ScanColumn::Key.name()), false)
        .set_created_by(concat!("sst ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_key_value_metadata(Some(vec![KeyValue::new(name.to_owned(), version.to_owned())]))
        .build()
}
