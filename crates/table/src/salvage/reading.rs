//! How the blocks of a damaged file are decoded: what is known of it, or may be so.

use std::borrow::Cow;

use super::contents::{Contents, KeyRules, classify};
use super::extent::Extents;
use crate::error::Result;
use crate::raw::{
    self, ALWAYS_JUSTIFIED_EXPANSION, BlockHandle, Dictionary, Engine, FormatVersion,
};

/// The meaning of codec bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dialect {
    pub(super) engine: Engine,
    pub(super) version: FormatVersion,
}

impl Dialect {
    /// All that differ, the most common first.
    pub(super) const ALL: [Self; 3] = [
        Self { engine: Engine::RocksDb, version: FormatVersion::V5 },
        Self { engine: Engine::LevelDb, version: FormatVersion::V0 },
        Self { engine: Engine::RocksDb, version: FormatVersion::V1 },
    ];
}

/// What is known of a file, for decoding its blocks.
#[derive(Debug)]
pub(super) struct Reading {
    /// Those that come into question: at least one.
    pub(super) dialects: Vec<Dialect>,
    pub(super) rules: KeyRules,
    pub(super) dictionary: Option<Dictionary>,
    pub(super) max_block_size: usize,
}

impl Reading {
    /// The contents of a block.
    pub(super) fn decompress<'b>(
        &self,
        dialect: Dialect,
        codec: u8,
        stored: &'b [u8],
    ) -> Result<Cow<'b, [u8]>> {
        let max_size =
            self.max_block_size.max(stored.len().saturating_mul(ALWAYS_JUSTIFIED_EXPANSION));
        let dictionary = self.dictionary.as_ref();
        raw::decompress(dialect.engine, dialect.version, codec, stored, dictionary, max_size)
    }

    /// What a stored block is, in which dialect, and how many bytes were looked at to find out.
    pub(super) fn classify(
        &self,
        stored: &[u8],
        offset: u64,
        codec: u8,
        contradicts: impl Fn(BlockHandle) -> bool,
    ) -> (Contents, Dialect, u64) {
        let mut best = (Contents::Undecoded, self.dialects[0]);
        let mut size = stored.len() as u64;
        for &dialect in &self.dialects {
            let Ok(contents) = self.decompress(dialect, codec, stored) else { continue };
            size += contents.len() as u64;
            let contents = classify(&contents, offset, &self.rules, &contradicts);
            if contents.is_evident() || codec == 0 {
                return (contents, dialect, size);
            }
            best = (contents, dialect);
        }
        (best.0, best.1, size)
    }

    pub(super) fn extents(&self) -> Extents {
        Extents::new(self.rules.internal == Some(true), self.dictionary.is_some())
    }
}
