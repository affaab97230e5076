//! The steps of a lookup.

use std::time::Instant;

use serde::Serialize;
use sstkit_inspect::{Explanation, FilterAnswer, KeyAxis, LookupStep, ProbedPlace};

use super::{database, lookup_limits, to_json};
use crate::error::{PageError, Result};
use crate::inspector::Request;
use crate::source::Opened;

#[derive(Serialize)]
struct LookupPage {
    #[serde(flatten)]
    explanation: Explanation,
    /// Whether a part of the value, operands, entries or blocks are left out, since there are too many.
    is_cut: bool,
    /// Microseconds that the same lookup takes without being explained, with its blocks in the cache.
    elapsed_micros: u64,
    touched: Touched,
    /// The slot of the key on the axis of the map; `None` for a single table, or before all keys.
    slot: Option<usize>,
}

/// What a lookup reads.
#[derive(Debug, Default, Serialize)]
struct Touched {
    /// Tables whose filter was probed.
    filters: u64,
    /// Tables whose index was searched.
    indexes: u64,
    /// Data blocks that were searched.
    data_blocks: u64,
    /// Values that were read from blob files.
    blobs: u64,
    /// Stored bytes of the data blocks, of partitions of filter and index, and of values in blob files.
    stored_bytes: u64,
    /// Bytes of the data blocks when decompressed, and of the probed parts of filters.
    decoded_bytes: u64,
}

/// A lookup: parameters `key`, `cf`; or `file` for one table of a database.
pub(super) fn lookup(request: &Request<'_>) -> Result<Vec<u8>> {
    let query = request.query;
    let encoding = query.encoding()?;
    let key = query.key("key")?.ok_or_else(|| PageError::bad_request("key: which key?"))?;
    let number = query.number("file")?;
    let (mut slot, mut explanation, elapsed);
    if let (Opened::Database(..), None) = (request.opened, number) {
        let family = request.opened.column_family(query.get("cf"))?;
        // First, so that it says what was in the cache.
        let keep_going = request.keep_going;
        let (explained, error) =
            Explanation::in_column_family_while(&family, &key, encoding, keep_going)?;
        explanation = explained;
        if let Some(error) = error.map(PageError::from)
            && error.is_changed
            && !request.is_reopened
        {
            return Err(error);
        }
        let start = Instant::now();
        // A value that cannot be merged or found is part of the explanation.
        let _ = family.get_record(&key);
        elapsed = start.elapsed();
        let files = database::level_files(&family);
        let bounds: Vec<_> =
            files.iter().flat_map(|(_, file)| [file.smallest(), file.largest()]).collect();
        slot = KeyAxis::slot_of(bounds, family.comparator().ok(), &key);
    } else {
        let table = request.opened.find_table(request.name, number)?;
        explanation =
            Explanation::in_table_while(table.file(), &key, encoding, request.keep_going)?;
        let start = Instant::now();
        let _ = table.file().table().get_record(&key);
        elapsed = start.elapsed();
        slot = None;
    }
    if explanation.steps.is_empty() {
        slot = None;
    }
    let touched = Touched::by(&explanation);
    let is_cut = lookup_limits::shorten(&mut explanation, encoding);
    to_json(&LookupPage {
        explanation,
        is_cut,
        touched,
        elapsed_micros: u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX),
        slot,
    })
}

impl Touched {
    fn by(explanation: &Explanation) -> Self {
        let mut touched = Self::default();
        for step in &explanation.steps {
            if let LookupStep::Blob { length, .. } = step {
                touched.blobs += 1;
                touched.stored_bytes = touched.stored_bytes.saturating_add(*length);
            }
            let LookupStep::Table(table) = step else { continue };
            if let Some(filter) = &table.filter {
                touched.probe(filter);
            }
            touched.indexes += u64::from(!table.blocks.is_empty());
            for block in &table.blocks {
                let partition = block.index_partition.as_ref();
                touched.stored_bytes += partition.map_or(0, |partition| partition.length);
                if let Some(filter) = &block.filter {
                    touched.probe(filter);
                }
                if let Some(search) = &block.search {
                    touched.data_blocks += 1;
                    touched.stored_bytes += block.length;
                    touched.decoded_bytes += search.uncompressed;
                }
            }
        }
        touched
    }

    fn probe(&mut self, filter: &FilterAnswer) {
        self.filters += u64::from(!filter.probes.is_empty());
        self.stored_bytes += filter.partition.as_ref().map_or(0, |partition| partition.length);
        self.decoded_bytes += match &filter.place {
            Some(ProbedPlace::Line { length, .. }) => *length,
            // Two segments of 16 bytes for each column that was probed.
            Some(ProbedPlace::Slots { .. }) => 32 * filter.probes.len() as u64,
            _ => 0,
        };
    }
}
