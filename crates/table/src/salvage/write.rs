//! The entries that are left, and a new table of them.

use std::collections::HashSet;
use std::path::Path;

use bytes::Bytes;
use sstkit_coding::checksum::ChecksumType;

use super::TableSalvage;
use super::range_deletions::RangeDeletions;
use super::report::Loss;
use super::survey::Saved;
use super::window::Window;
use crate::comparator::{Comparator, KeyOrder};
use crate::error::{Error, Result};
use crate::options::{Identity, TableOptions};
use crate::raw::{
    BlobIndex, Block, BlockHandle, BlockKind, Codec, ColumnValue, Engine, EntryKind, FormatVersion,
    InternalKey, Trailer, WideColumn, decode_wide_columns, encode_wide_columns,
    property_names as names,
};
use crate::writer::{Summary, TableWriter};

/// What an unknown column family is called in the properties.
const UNKNOWN_FAMILY: u64 = 0x7fff_ffff;

impl TableSalvage {
    /// Calls `each` with every entry that was saved, in the order of the keys, and then with the range
    /// tombstones, whose values are the ends of the ranges. Values that were embedded in the file are
    /// plain values. Timestamps that the table does not store are zeros, as the engine reads them.
    ///
    /// # Errors
    ///
    /// Those of `each`. A file that has changed meanwhile.
    pub fn for_each(
        &self,
        mut each: impl FnMut(&InternalKey<'_>, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let missing = vec![0; self.missing_timestamp()];
        let padded = |key: &[u8]| [key, &missing].concat();
        let mut window = Window::new(&*self.source)?;
        for saved in &self.survey.saved {
            self.entries_of(&mut window, saved, |key, value| match value {
                Ok((kind, value)) if missing.is_empty() => {
                    each(&InternalKey { kind, ..*key }, value)
                }
                Ok((kind, value)) => {
                    let user_key = &padded(key.user_key);
                    each(&InternalKey { kind, user_key, ..*key }, value)
                }
                // Reported as lost.
                Err(_) => Ok(()),
            })?;
        }
        self.for_each_range_tombstone(each)
    }

    /// Calls `each` with every range tombstone that was saved, as [`for_each`](Self::for_each) does.
    ///
    /// # Errors
    ///
    /// Those of `each`.
    pub fn for_each_range_tombstone(
        &self,
        mut each: impl FnMut(&InternalKey<'_>, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let missing = vec![0; self.missing_timestamp()];
        for block in &self.survey.range_deletions {
            let mut entries = Block::parse(block.contents.clone())?.into_entries();
            while entries.advance()? {
                let key = self.with_sequence(InternalKey::decode_from(entries.key())?);
                let user_key = &[key.user_key, &missing].concat();
                each(&InternalKey { user_key, ..key }, &[entries.value(), &missing].concat())?;
            }
        }
        Ok(())
    }

    /// The options for a table like this one: engine, format version, comparator, codec, column family.
    /// Filters have ten bits per key, if the table had one.
    pub fn table_options(&self) -> TableOptions {
        let (survey, report) = (&self.survey, &self.report);
        let comparator = match (&survey.reading.rules.order, &survey.unknown_order) {
            (Some(keys), _) => keys.comparator().clone(),
            (None, name) => {
                let name = name.clone().unwrap_or_default();
                Comparator::User(std::sync::Arc::new(FileOrder { name }))
            }
        };
        let has_filter = survey.metaindex.as_ref().is_some_and(|it| it.filters().next().is_some());
        let codec = self.codec();
        if report.engine == Engine::LevelDb {
            let codec = match codec {
                // LevelDB's second codec.
                Codec::None | Codec::Snappy => codec,
                _ => Codec::Zstd,
            };
            let options = TableOptions::leveldb()
                .comparator(comparator)
                .compression(codec)
                .bare_keys(!self.has_internal_keys());
            return match "leveldb.BuiltinBloomFilter2:10".parse() {
                Ok(filter) if has_filter => options.filter(filter),
                _ => options,
            };
        }
        let version = report.version.unwrap_or(FormatVersion::V5).max(FormatVersion::V2);
        let mut options = TableOptions::rocksdb()
            .comparator(comparator)
            .format_version(version)
            .checksum(report.checksum.unwrap_or(ChecksumType::Crc32c))
            .compression(codec)
            .external_file(self.is_external())
            .identity(Identity::random());
        if has_filter && let Ok(filter) = "bloomfilter:10".parse() {
            options = options.filter(filter);
        }
        let Some(properties) = &survey.properties else { return options };
        let text =
            |name| properties.get(name).map(|it: &[u8]| String::from_utf8_lossy(it).into_owned());
        if let Some(id) = properties.number(names::COLUMN_FAMILY_ID)
            && id != UNKNOWN_FAMILY
            && let Ok(id) = u32::try_from(id)
        {
            let name = text(names::COLUMN_FAMILY_NAME).unwrap_or_default();
            options = options.column_family(id, name);
        }
        if let Some(name) = text(names::MERGE_OPERATOR).filter(|it| it != "nullptr") {
            options = options.merge_operator(name);
        }
        options
    }

    /// Writes a table of everything that was saved. The file appears when it is complete.
    ///
    /// # Errors
    ///
    /// Those of the writer; a table without any entry.
    pub fn write(&self, path: impl AsRef<Path>, options: &TableOptions) -> Result<Summary> {
        let mut writer = TableWriter::create(path, options)?;
        self.write_to(&mut writer)?;
        writer.finish()
    }

    /// Adds everything that was saved to a table.
    ///
    /// # Errors
    ///
    /// Those of the writer.
    pub fn write_to<W>(&self, writer: &mut TableWriter<'_, W>) -> Result<()> {
        self.for_each(|key, value| writer.add(key, value))
    }

    /// Bytes of the timestamps that the comparator expects and the table does not have.
    fn missing_timestamp(&self) -> usize {
        let keys = self.survey.reading.rules.order.as_ref();
        keys.map_or(0, |it| it.comparator().timestamp_size() - it.timestamp_size())
    }

    /// The smallest and the largest sequence number of all entries and range tombstones.
    pub(super) fn sequences(&self) -> Option<(u64, u64)> {
        let points = self.survey.saved.iter().map(|it| it.summary.sequences);
        let ranges = self.survey.range_deletions.iter().flat_map(RangeDeletions::sequences);
        let all = points.chain(ranges.map(|sequence| (sequence, sequence)));
        let stored = all.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
        Some(self.global_sequence_number.map_or(stored, |number| (number, number)))
    }

    /// Whether the table was made for ingestion, and not ingested.
    fn is_external(&self) -> bool {
        let properties = self.survey.properties.as_ref();
        properties.is_some_and(|it| it.get(names::GLOBAL_SEQNO).is_some())
            && self.global_sequence_number.is_none()
    }

    /// The codec of the first compressed block: most tables have one.
    fn codec(&self) -> Codec {
        let codecs = self.survey.saved.iter().filter_map(|it| Codec::from_byte(it.codec));
        let first = codecs.clone().find(|&it| it != Codec::None);
        match first {
            Some(Codec::Xpress | Codec::ZstdNotFinal) => Codec::Zstd,
            Some(codec) => codec,
            None => Codec::None,
        }
    }

    fn with_sequence<'k>(&self, key: InternalKey<'k>) -> InternalKey<'k> {
        InternalKey { sequence: self.global_sequence_number.unwrap_or(key.sequence), ..key }
    }

    /// The entries of a block; values that are embedded elsewhere in the file are read from there.
    fn entries_of(
        &self,
        window: &mut Window<'_>,
        saved: &Saved,
        mut each: impl FnMut(&InternalKey<'_>, Result<(EntryKind, &[u8]), BlockHandle>) -> Result<()>,
    ) -> Result<()> {
        let handle = saved.handle;
        let located = |error: Error| error.in_block(BlockKind::Data, handle.offset);
        let stored = window.range(handle.offset..handle.offset + handle.size);
        let contents = self.survey.reading.decompress(saved.dialect, saved.codec, &stored)?;
        let mut entries = Block::parse(contents).map_err(located)?.into_entries();
        while entries.advance().map_err(located)? {
            let key = match saved.summary.internal {
                true => InternalKey::decode_from(entries.key()).map_err(located)?,
                false => {
                    InternalKey { user_key: entries.key(), sequence: 0, kind: EntryKind::Value }
                }
            };
            let (key, value) = (self.with_sequence(key), entries.value());
            match embedded(&key, value) {
                None => each(&key, Ok((key.kind, value)))?,
                Some(parts) => match self.resolve(window, &key, value, &parts) {
                    Ok((kind, value)) => each(&key, Ok((kind, &value)))?,
                    Err(handle) => each(&key, Err(handle))?,
                },
            }
        }
        Ok(())
    }

    /// An entry with all of its value, or the part of the file where that is lost.
    fn resolve(
        &self,
        window: &mut Window<'_>,
        key: &InternalKey<'_>,
        value: &[u8],
        parts: &[BlockHandle],
    ) -> Result<(EntryKind, Vec<u8>), BlockHandle> {
        let mut values = Vec::with_capacity(parts.len());
        for &handle in parts {
            values.push(self.embedded_blob(window, handle).ok_or(handle)?);
        }
        let mut values = values.into_iter();
        if key.kind == EntryKind::BlobIndex {
            return Ok((EntryKind::Value, values.next().unwrap_or_default().to_vec()));
        }
        let columns = decode_wide_columns(value).unwrap_or_default();
        let stored: Vec<_> = columns
            .iter()
            .map(|column| match embedded_column(column) {
                Some(_) => values.next(),
                None => None,
            })
            .collect();
        let columns: Vec<_> = columns
            .into_iter()
            .zip(&stored)
            .map(|(column, stored)| match stored {
                Some(value) => WideColumn { name: column.name, value: ColumnValue::Inline(value) },
                None => column,
            })
            .collect();
        let mut entity = Vec::new();
        match encode_wide_columns(&columns, &mut entity) {
            Ok(()) => Ok((key.kind, entity)),
            Err(_) => Err(parts[0]),
        }
    }

    /// A value between the data blocks, if its checksum fits.
    fn embedded_blob(&self, window: &mut Window<'_>, handle: BlockHandle) -> Option<Bytes> {
        let range = handle.stored_range(window.size()).ok()?;
        let stored = window.range(range.start as u64..range.end as u64);
        let (contents, trailer) = Trailer::split(&stored)?;
        let scheme = self.survey.scheme?;
        let plain = scheme.checksum.compute(contents, trailer.codec);
        let fits = scheme.stored(plain, handle.offset) == trailer.checksum && trailer.codec == 0;
        fits.then(|| stored.slice(..contents.len()))
    }

    /// Counts the entries whose values are lost as lost.
    pub(super) fn check_embedded_blobs(&mut self) {
        let mut losses: Vec<Loss> = Vec::new();
        let mut lost = 0;
        let Ok(mut window) = Window::new(&*self.source) else { return };
        for saved in self.survey.saved.iter().filter(|it| it.summary.has_references) {
            // What cannot be read any more has changed since; writing says so.
            let _ = self.entries_of(&mut window, saved, |key, value| {
                if let Err(handle) = value {
                    lost += 1;
                    let reason = "the value of a key is damaged";
                    losses.push(Loss {
                        after: Some(key.user_key.to_vec()),
                        before: Some(key.user_key.to_vec()),
                        ..super::tail::lost(BlockKind::EmbeddedBlob, handle, &reason)
                    });
                }
                Ok(())
            });
        }
        self.report.entries = self.report.entries.saturating_sub(lost);
        // Under its own name, not as a gap between blocks.
        let named: HashSet<u64> = losses.iter().map(|it| it.offset).collect();
        self.report.losses.retain(|loss| !named.contains(&loss.offset));
        self.report.sound &= losses.is_empty();
        self.report.losses.append(&mut losses);
        self.report.losses.sort_by_key(|it| (it.offset, it.length));
    }
}

/// Where the parts of a value are that are embedded in the file; `None` if it has no such parts.
fn embedded(key: &InternalKey<'_>, value: &[u8]) -> Option<Vec<BlockHandle>> {
    match key.kind {
        EntryKind::BlobIndex => Some(vec![embedded_handle(&BlobIndex::decode_from(value).ok()?)?]),
        EntryKind::WideColumnEntity => {
            let columns = decode_wide_columns(value).ok()?;
            let parts: Vec<_> = columns.iter().filter_map(embedded_column).collect();
            (!parts.is_empty()).then_some(parts)
        }
        _ => None,
    }
}

fn embedded_column(column: &WideColumn<'_>) -> Option<BlockHandle> {
    match &column.value {
        ColumnValue::Blob(index) => embedded_handle(index),
        ColumnValue::Inline(_) => None,
    }
}

fn embedded_handle(index: &BlobIndex<'_>) -> Option<BlockHandle> {
    match *index {
        BlobIndex::Stored { file: 0, offset, size, .. } => Some(BlockHandle::new(offset, size)),
        _ => None,
    }
}

/// The order of a file whose comparator is not known: what comes later is larger.
#[derive(Debug)]
struct FileOrder {
    name: String,
}

impl KeyOrder for FileOrder {
    fn name(&self) -> &str {
        &self.name
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
        match a == b {
            true => std::cmp::Ordering::Equal,
            // Only asked whether one key may follow another.
            false => std::cmp::Ordering::Less,
        }
    }
}
