//! What is left of a table: by its footer and index where they are readable, by carving elsewhere.
//!
//! ```text
//! footer ---> metaindex ---> index ---> data blocks          the index names every block
//!   |            |             '--- a partition is lost ---> carve between its neighbours
//!   |            '--- lost ---> carve the tail: properties, range deletions, dictionary
//!   '--- lost ---> infer the checksums ---> carve the file
//! ```

use std::collections::HashSet;
use std::ops::Range;

use sstkit_coding::checksum::ChecksumType;

use super::SalvageOptions;
use super::carver::Carver;
use super::checksum_scheme::ChecksumScheme;
use super::contents::{DataSummary, KeyRules, summarize};
use super::infer::{Inferred, infer};
use super::range_deletions::RangeDeletions;
use super::reading::{Dialect, Reading};
use super::report::{Loss, Uncertainty};
use super::tail::{IndexRead, Tail, lost};
use super::window::Window;
use crate::error::{Error, Result};
use crate::raw::{
    BlockHandle, BlockKind, DecodeOptions, Dictionary, Engine, Footer, FormatVersion, MetaIndex,
    Properties, TableKind, Trailer,
};
use crate::reader::KeyForm;
use crate::visibility::UserKeys;

/// A data block that is readable.
#[derive(Debug)]
pub(super) struct Saved {
    pub(super) handle: BlockHandle,
    pub(super) codec: u8,
    pub(super) dialect: Dialect,
    pub(super) summary: DataSummary,
    /// An index names it.
    pub(super) indexed: bool,
}

impl Saved {
    pub(super) fn end(&self) -> u64 {
        self.handle.offset + self.handle.size + Trailer::LENGTH as u64
    }
}

/// What is left of a table.
#[derive(Debug)]
pub(super) struct Survey {
    pub(super) reading: Reading,
    pub(super) engine: Option<Engine>,
    pub(super) version: Option<FormatVersion>,
    pub(super) checksum: Option<ChecksumType>,
    pub(super) scheme: Option<ChecksumScheme>,
    pub(super) properties: Option<Properties>,
    pub(super) metaindex: Option<MetaIndex>,
    /// In file order.
    pub(super) saved: Vec<Saved>,
    pub(super) range_deletions: Vec<RangeDeletions>,
    pub(super) losses: Vec<Loss>,
    /// Regions that were carved, and the blocks of all kinds found there.
    pub(super) carved: Vec<Range<u64>>,
    pub(super) found: Vec<Range<u64>>,
    /// Ends of blocks after which a footer may follow.
    pub(super) tail_ends: HashSet<u64>,
    pub(super) uncertain: Vec<Uncertainty>,
    /// The name of an order that is not known.
    pub(super) unknown_order: Option<String>,
    /// Blocks that may be the dictionary.
    pub(super) dictionary_candidates: Vec<BlockHandle>,
    /// Compressed blocks that could not be read yet, with their codecs.
    pub(super) undecoded: Vec<(BlockHandle, u8)>,
    /// Bytes that the first and last keys of further blocks may take.
    key_memory: u64,
}

/// The first and last keys of all blocks may take this much, or twice the file.
const MIN_KEY_MEMORY: u64 = 64 << 20;

/// Looks at all of a file.
pub(super) fn survey(window: &mut Window<'_>, options: &SalvageOptions) -> Result<Survey> {
    let size = window.size();
    let last = window.range(size.saturating_sub(Footer::MAX_LENGTH as u64)..size);
    if let Some(kind) = last.last_chunk().and_then(|magic| TableKind::from_magic(*magic))
        && !matches!(kind, TableKind::Legacy | TableKind::BlockBased)
    {
        return Err(Error::unsupported(format!("this is a {kind}")));
    }
    let mut survey = Survey::new(options);
    survey.key_memory = MIN_KEY_MEMORY.max(size.saturating_mul(2));
    match Footer::decode_from(&last, size) {
        Ok(footer) => {
            let blocks =
                DecodeOptions { verify_checksums: true, max_block_size: options.max_block_size };
            let tail = Tail::read(window, footer, &blocks);
            survey.with_footer(window, tail, options);
        }
        Err(error) => {
            // Where it is not is found out when the other blocks are.
            let handle = BlockHandle::new(size, 0);
            survey.losses.push(Loss { length: 0, ..lost(BlockKind::Footer, handle, &error) });
            survey.without_footer(window, size, options);
        }
    }
    survey.decode_with_dictionary(window);
    survey.unreadable(window);
    survey.saved.sort_by_key(|it| it.handle.offset);
    Ok(survey)
}

impl Survey {
    fn new(options: &SalvageOptions) -> Self {
        let internal = match options.key_form {
            KeyForm::Internal => Some(true),
            KeyForm::User => Some(false),
            _ => None,
        };
        let is_possible = |it: &Dialect| options.engine.is_none_or(|engine| it.engine == engine);
        let reading = Reading {
            dialects: Dialect::ALL.into_iter().filter(is_possible).collect(),
            rules: KeyRules { internal, order: options.comparator.clone().map(UserKeys::new) },
            dictionary: None,
            max_block_size: options.max_block_size,
        };
        Self {
            reading,
            engine: None,
            version: None,
            checksum: None,
            scheme: None,
            properties: None,
            metaindex: None,
            saved: Vec::new(),
            range_deletions: Vec::new(),
            losses: Vec::new(),
            carved: Vec::new(),
            found: Vec::new(),
            tail_ends: HashSet::new(),
            uncertain: Vec::new(),
            unknown_order: None,
            dictionary_candidates: Vec::new(),
            undecoded: Vec::new(),
            key_memory: MIN_KEY_MEMORY,
        }
    }

    fn with_footer(&mut self, window: &mut Window<'_>, mut tail: Tail, options: &SalvageOptions) {
        self.engine = tail.engine();
        self.version = Some(tail.footer.version);
        self.checksum = Some(tail.footer.checksum);
        self.reading.dialects = tail.dialects();
        if self.engine == Some(Engine::RocksDb) && options.key_form != KeyForm::User {
            self.reading.rules.internal = Some(true);
        }
        if let Some(properties) = tail.properties.take() {
            self.adopt(&properties, options);
            // The format of the index is in them.
            tail.properties = Some(properties.clone());
            self.properties = Some(properties);
        }
        self.meta_blocks(window, &mut tail);
        let index = tail.index(window, &self.reading);
        let scheme = ChecksumScheme::of(&tail.footer);
        self.scheme = Some(scheme);
        let limit = tail
            .metaindex
            .iter()
            .flat_map(|it| it.iter().map(|(_, handle)| handle.offset))
            .chain([tail.footer.offset])
            .min()
            .unwrap_or(tail.footer.offset);
        let mut data_end = None;
        match index {
            Some(read) => {
                let end = read.blocks.last().and_then(|(handle, _)| handle.end());
                data_end = Some(end.unwrap_or(0)).filter(|_| read.holes.is_empty());
                let holes = holes(&read, limit);
                self.indexed(window, &tail, read);
                for hole in holes {
                    self.carve(window, scheme, hole, options);
                }
            }
            None => self.carve(window, scheme, 0..limit, options),
        }
        self.losses.append(&mut tail.losses);
        if tail.metaindex.is_none() {
            // In a LevelDB table the index follows the metaindex, and has been read.
            let start = data_end.filter(|_| !self.carved.iter().any(|it| it.end == limit));
            if let Some(start) = start {
                self.carve(window, scheme, start..tail.footer.metaindex.offset.max(start), options);
            }
        }
        self.metaindex = self.metaindex.take().or(tail.metaindex);
    }

    fn without_footer(&mut self, window: &mut Window<'_>, size: u64, options: &SalvageOptions) {
        match infer(window, &self.reading, 0..size) {
            Inferred::Scheme(scheme) => {
                self.checksum = Some(scheme.checksum);
                self.scheme = Some(scheme);
                if scheme.base != 0 {
                    self.engine = Some(Engine::RocksDb);
                    self.version = Some(FormatVersion::V6);
                    self.reading.dialects =
                        vec![Dialect { engine: Engine::RocksDb, version: FormatVersion::V6 }];
                    self.reading.rules.internal.get_or_insert(true);
                }
                self.carve(window, scheme, 0..size, options);
            }
            Inferred::Unconfirmed(found) => {
                self.uncertain.push(Uncertainty::Unverified);
                self.carved.push(0..size);
                self.take(window, vec![found], options);
            }
            Inferred::Nothing => self.carved.push(0..size),
        }
    }

    /// Names what the file system could not read, unless it is lost under its own name.
    fn unreadable(&mut self, window: &Window<'_>) {
        self.losses.sort_by_key(|it| it.offset);
        let mut unnamed = Vec::new();
        let mut losses = self.losses.iter().peekable();
        for range in window.unreadable() {
            while losses.next_if(|it| it.end() <= range.start).is_some() {}
            if losses.peek().is_none_or(|it| it.offset >= range.end) {
                let reason = "the file system could not read it".to_owned();
                let (offset, length) = (range.start, range.end - range.start);
                let (kind, after, before) = (None, None, None);
                unnamed.push(Loss {
                    kind,
                    offset,
                    length,
                    after,
                    before,
                    is_metadata: false,
                    reason,
                });
            }
        }
        self.losses.append(&mut unnamed);
    }

    /// Keeps a data block, unless its keys take more memory than the file justifies.
    pub(super) fn save(&mut self, saved: Saved) {
        let kept = (saved.summary.first.len() + saved.summary.last.len()) as u64;
        match self.key_memory.checked_sub(kept) {
            Some(left) => {
                self.key_memory = left;
                self.saved.push(saved);
            }
            None => {
                let reason = "its keys are larger than the file justifies";
                self.losses.push(lost(BlockKind::Data, saved.handle, &reason));
            }
        }
    }

    /// Takes over what properties say about the keys.
    pub(super) fn adopt(&mut self, properties: &Properties, options: &SalvageOptions) {
        self.engine = Some(Engine::RocksDb);
        if options.key_form != KeyForm::User {
            self.reading.rules.internal = Some(true);
        }
        let Some(name) = properties.comparator().map(String::from_utf8_lossy) else { return };
        let given = options.comparator.clone().filter(|it| it.name() == name);
        match given.or_else(|| name.parse().ok()) {
            Some(comparator) => {
                self.reading.rules.order = Some(match properties.has_persisted_timestamps() {
                    true => UserKeys::new(comparator),
                    false => UserKeys::without_timestamps(comparator),
                });
            }
            None => {
                self.reading.rules.order = None;
                self.unknown_order = Some(name.into_owned());
            }
        }
    }

    /// Dictionary and range deletions; the others are only verified.
    fn meta_blocks(&mut self, window: &mut Window<'_>, tail: &mut Tail) {
        let handles: Vec<_> = tail
            .metaindex
            .iter()
            .flat_map(|it| it.iter().map(|(name, it)| (BlockKind::of_metaindex_name(name), it)))
            .collect();
        for (kind, handle) in handles {
            if matches!(kind, BlockKind::Index | BlockKind::Properties) {
                continue;
            }
            match (kind, tail.block(window, kind, handle)) {
                (BlockKind::CompressionDictionary, Ok(contents)) => {
                    self.reading.dictionary = Dictionary::new(contents.to_vec()).ok();
                }
                (BlockKind::RangeDeletion, Ok(contents)) => {
                    self.range_deletions.push(RangeDeletions { handle, contents });
                }
                (_, Ok(_)) => {}
                (_, Err(error)) => self.losses.push(lost(kind, handle, &error)),
            }
        }
    }

    /// Reads the blocks that an index names.
    fn indexed(&mut self, window: &mut Window<'_>, tail: &Tail, read: IndexRead) {
        let mut previous: Option<Vec<u8>> = None;
        for (handle, separator) in read.blocks {
            match self.data_block(window, tail, handle) {
                Ok(saved) => self.save(saved),
                Err(reason) => self.losses.push(Loss {
                    after: previous.take(),
                    before: Some(separator.clone()),
                    ..lost(BlockKind::Data, handle, &reason)
                }),
            }
            previous = Some(separator);
        }
    }

    fn data_block(
        &self,
        window: &mut Window<'_>,
        tail: &Tail,
        handle: BlockHandle,
    ) -> Result<Saved, String> {
        let text = |error: Error| error.to_string();
        let range = handle.stored_range(tail.footer.offset).map_err(text)?;
        let stored = window.range(range.start as u64..range.end as u64);
        let block = tail.decoder.verify(BlockKind::Data, handle, &stored).map_err(text)?;
        let codec = block.trailer.codec;
        let mut failed = String::from("no dialect is known");
        for &dialect in &self.reading.dialects {
            let read = self.reading.decompress(dialect, codec, block.contents).map_err(text);
            match read.and_then(|contents| summarize(&contents, &self.reading.rules)) {
                Ok(summary) => {
                    return Ok(Saved { handle, codec, dialect, summary, indexed: true });
                }
                Err(reason) => failed = reason,
            }
        }
        Err(failed)
    }

    /// Finds the blocks of a region.
    fn carve(
        &mut self,
        window: &mut Window<'_>,
        scheme: ChecksumScheme,
        region: Range<u64>,
        options: &SalvageOptions,
    ) {
        if region.is_empty() {
            return;
        }
        let mut carver = Carver::new(window, &self.reading, scheme);
        carver.largest = self.saved.iter().map(|it| it.handle.size).max().unwrap_or(0);
        carver.carve(region.clone());
        let (found, footer, exhausted) = (carver.found, carver.footer, carver.exhausted);
        if exhausted {
            self.uncertain.push(Uncertainty::SearchEnded);
        }
        self.carved.push(region);
        if let Some(footer) = footer {
            let length = if footer.kind == TableKind::Legacy {
                Footer::MIN_LENGTH
            } else {
                Footer::MAX_LENGTH
            };
            self.found.push(footer.offset..footer.offset + length as u64);
            self.version = Some(footer.version);
            if footer.kind == TableKind::BlockBased {
                self.engine = Some(Engine::RocksDb);
            }
        }
        self.take(window, found, options);
    }
}

/// Between which blocks others are missing.
fn holes(read: &IndexRead, limit: u64) -> Vec<Range<u64>> {
    let regions = read.holes.iter().map(|&place| {
        let before = place.checked_sub(1).and_then(|it| read.blocks.get(it));
        let start = before.and_then(|(handle, _)| handle.end()).unwrap_or(0);
        let end = read.blocks.get(place).map_or(limit, |(handle, _)| handle.offset);
        start..end
    });
    let mut regions: Vec<_> = regions.filter(|it| !it.is_empty()).collect();
    // Neighbouring partitions leave one hole.
    regions.dedup();
    regions
}
