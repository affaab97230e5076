//! Rewriting one table.

use sstkit_filter::{FilterLayout, FilterPolicy};
use sstkit_table::output::{FinishedFile, OutputFile};
use sstkit_table::raw::{Engine, property_names as names};
use sstkit_table::{Summary, Table, TableOptions, TableReadOptions, rewrite_tail_to_output_file};

use crate::error::Result;

/// Buffers of the copy, and a data block.
const BUFFERS: u64 = 4 << 20;

/// Hashes of the keys, and the finished filter.
const BYTES_PER_KEY: u64 = 8 + 2;
/// Equations of a Ribbon filter, and its keys in the order of the slots.
const RIBBON_BYTES_PER_KEY: u64 = 28;

/// A table with another filter, under a temporary name.
pub(super) struct NewTable {
    pub(super) file: FinishedFile,
    pub(super) summary: Summary,
    pub(super) filter_bytes: u64,
}

impl NewTable {
    /// Writes it. `progress` gets the number of bytes of data blocks since the last call.
    pub(super) fn write(
        source: &Table,
        file: OutputFile,
        options: &TableOptions,
        progress: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<Self> {
        let mut stopped = None;
        let mut report = |bytes: u64| {
            progress(bytes).map_err(|error| {
                stopped = Some(error);
                std::io::Error::from(std::io::ErrorKind::Interrupted).into()
            })
        };
        let written = rewrite_tail_to_output_file(source.view(), file, options, &mut report);
        let (summary, file) = match (written, stopped) {
            (Ok(written), _) => written,
            (Err(_), Some(error)) => return Err(error),
            (Err(error), None) => return Err(error),
        };
        let new = Table::open_with(file.path(), &TableReadOptions::default().no_block_cache())?;
        Ok(Self { filter_bytes: filter_bytes(&new), file, summary })
    }
}

/// The size of the filter of a table, with the index of its partitions, without block trailers.
pub(super) fn filter_bytes(table: &Table) -> u64 {
    let Some((layout, _, handle)) = table.metaindex().filters().next() else { return 0 };
    match layout {
        FilterLayout::Partitioned => {
            table.properties().number(names::FILTER_SIZE).unwrap_or(handle.size)
        }
        _ => handle.size,
    }
}

/// About how much memory rewriting a table takes.
pub(super) fn memory(table: &Table, policy: &FilterPolicy) -> u64 {
    let number = |name: &str| table.properties().number(name).unwrap_or(0);
    if table.view().engine() == Engine::LevelDb {
        // Filters of a few dozen keys each, and an index that is copied: a few percent of the file.
        return BUFFERS.saturating_add(table.view().size() / 16);
    }
    let per_key = match policy {
        FilterPolicy::None => 0,
        FilterPolicy::Ribbon { .. } | FilterPolicy::Standard128Ribbon(_) => {
            BYTES_PER_KEY + RIBBON_BYTES_PER_KEY
        }
        _ => BYTES_PER_KEY,
    };
    // The index is built in two forms, and read.
    let index = number(names::INDEX_SIZE).saturating_mul(3);
    let filter = number(names::NUM_ENTRIES).saturating_mul(per_key);
    BUFFERS.saturating_add(index).saturating_add(filter)
}
