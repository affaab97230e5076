//! What the blocks are that carving found, and how they are read.

use std::collections::HashSet;

use super::SalvageOptions;
use super::carver::Found;
use super::contents::{Contents, summarize};
use super::range_deletions::RangeDeletions;
use super::reading::Dialect;
use super::survey::{Saved, Survey};
use super::tail::lost;
use super::window::Window;
use crate::raw::{
    BlockHandle, BlockKind, Dictionary, Engine, FormatVersion, MetaIndex, property_names,
};

/// Blocks that are decoded with each block that may be the dictionary.
const WITNESSES: usize = 8;

impl Survey {
    /// Takes over what was found.
    pub(super) fn take(
        &mut self,
        window: &mut Window<'_>,
        found: Vec<Found>,
        options: &SalvageOptions,
    ) {
        let found = without_foreign(found);
        // Properties are near the end of a file, but say how to read what comes before.
        for block in &found {
            match &block.contents {
                Contents::Properties(properties) if self.properties.is_none() => {
                    self.adopt(properties, options);
                    let version = properties
                        .number(property_names::FORMAT_VERSION)
                        .and_then(|number| u32::try_from(number).ok())
                        .and_then(FormatVersion::from_number);
                    self.version = self.version.max(version.filter(|&it| it > FormatVersion::V0));
                    self.properties = Some((**properties).clone());
                }
                Contents::MetaIndex(metaindex) if self.metaindex.is_none() => {
                    if metaindex.properties().is_none() && self.engine.is_none() {
                        self.engine = Some(Engine::LevelDb);
                    }
                    self.metaindex = Some((**metaindex).clone());
                }
                _ => {}
            }
        }
        let dictionary = self.metaindex.as_ref().and_then(MetaIndex::compression_dictionary);
        for block in found {
            let (handle, codec, dialect) = (block.handle, block.codec, block.dialect);
            self.found.push(handle.offset..block.end());
            if !matches!(block.contents, Contents::Data(_) | Contents::Undecoded) {
                self.tail_ends.insert(block.end());
            }
            match block.contents {
                Contents::Data(summary) => {
                    self.save(Saved { handle, codec, dialect, summary, indexed: false });
                }
                Contents::RangeDeletions => {
                    let stored = window.range(handle.offset..handle.offset + handle.size);
                    if let Ok(contents) = self.reading.decompress(dialect, codec, &stored) {
                        let contents = contents.into_owned().into();
                        self.range_deletions.push(RangeDeletions { handle, contents });
                    }
                }
                Contents::Opaque if codec == 0 && dictionary == Some(handle) => {
                    self.reading.dictionary = read_dictionary(window, handle);
                }
                Contents::Opaque if codec == 0 && dictionary.is_none() => {
                    self.dictionary_candidates.push(handle);
                }
                Contents::Undecoded => self.undecoded.push((handle, codec)),
                _ => {}
            }
        }
    }

    /// Reads the blocks that could not be read without a dictionary.
    pub(super) fn decode_with_dictionary(&mut self, window: &mut Window<'_>) {
        let undecoded = std::mem::take(&mut self.undecoded);
        if undecoded.is_empty() {
            return;
        }
        if self.reading.dictionary.is_none() {
            let mut best = 0;
            for handle in std::mem::take(&mut self.dictionary_candidates) {
                let before = std::mem::replace(
                    &mut self.reading.dictionary,
                    read_dictionary(window, handle),
                );
                let first = undecoded.iter().take(WITNESSES);
                let decoded = first.filter(|it| self.decode(window, it.0, it.1).is_ok()).count();
                match decoded > best {
                    true => best = decoded,
                    false => self.reading.dictionary = before,
                }
            }
        }
        for (handle, codec) in undecoded {
            match self.decode(window, handle, codec) {
                Ok(saved) => self.save(saved),
                // What is no data block is no loss of data: it is rebuilt.
                Err(reason) => self.losses.push(lost(BlockKind::Data, handle, &reason)),
            }
        }
    }

    fn decode(
        &self,
        window: &mut Window<'_>,
        handle: BlockHandle,
        codec: u8,
    ) -> Result<Saved, String> {
        let stored = window.range(handle.offset..handle.offset + handle.size);
        let read = |dialect: Dialect| {
            let contents = self
                .reading
                .decompress(dialect, codec, &stored)
                .map_err(|error| format!("{error}; its dictionary may be lost"))?;
            let summary = summarize(&contents, &self.reading.rules)?;
            Ok(Saved { handle, codec, dialect, summary, indexed: false })
        };
        let mut failed = String::new();
        for &dialect in &self.reading.dialects {
            match read(dialect) {
                Ok(saved) => return Ok(saved),
                Err(reason) => failed = reason,
            }
        }
        Err(failed)
    }
}

fn read_dictionary(window: &mut Window<'_>, handle: BlockHandle) -> Option<Dictionary> {
    let contents = window.range(handle.offset..handle.offset + handle.size);
    Dictionary::new(contents.to_vec()).ok()
}

/// Leaves out the blocks of another table inside a damaged value: the handles of its metaindex
/// count from its own beginning, and lead nowhere. The table that it is in continues behind it; without
/// that, bytes were taken out of the file or put in, and these are the table's own.
fn without_foreign(mut found: Vec<Found>) -> Vec<Found> {
    let mut segments: Vec<(u64, u64)> = Vec::new();
    for block in &found {
        match segments.last_mut() {
            Some((_, end)) if *end == block.handle.offset => *end = block.end(),
            _ => segments.push((block.handle.offset, block.end())),
        }
    }
    let handles: HashSet<(u64, u64)> =
        found.iter().map(|it| (it.handle.offset, it.handle.size)).collect();
    let is_foreign = |block: &Found| {
        let Contents::MetaIndex(metaindex) = &block.contents else { return false };
        !metaindex.iter().any(|(_, handle)| handles.contains(&(handle.offset, handle.size)))
    };
    // The segment that an offset is in; nothing lies around what starts the file.
    let segment_of = |offset: u64| segments.partition_point(|(_, end)| *end <= offset);
    let mut foreign: HashSet<usize> = found
        .iter()
        .filter(|it| is_foreign(it))
        .map(|it| segment_of(it.handle.offset))
        .filter(|&segment| segments.get(segment).is_some_and(|(start, _)| *start > 0))
        .collect();
    let last_native = (0..segments.len()).rev().find(|it| !foreign.contains(it));
    foreign.retain(|&it| last_native.is_some_and(|last| it < last));
    if !foreign.is_empty() {
        found.retain(|block| !foreign.contains(&segment_of(block.handle.offset)));
    }
    found
}
