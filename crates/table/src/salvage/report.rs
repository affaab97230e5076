//! What was saved of a table, what was lost, and what cannot be known.

use std::fmt;

use sstkit_coding::checksum::ChecksumType;

use crate::key_excerpt::KeyExcerpt;
use crate::raw::{BlockKind, Engine, FormatVersion};

/// A part of a file that is lost.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loss {
    /// What it was; `None` if that is not known.
    pub kind: Option<BlockKind>,
    /// Where it starts in the file.
    pub offset: u64,
    /// Bytes, trailers included. 0 for what is not in the file any more.
    pub length: u64,
    /// Lost entries have keys after this one, or are older versions of it; `None` for the beginning.
    pub after: Option<Vec<u8>>,
    /// Lost entries have keys before this one, or are versions of it; `None` for the end.
    pub before: Option<Vec<u8>>,
    /// The properties show that it held no entries, although what it was is not known.
    pub is_metadata: bool,
    /// Why it is lost.
    pub reason: String,
}

sstkit_coding::debug_struct!(Loss {
    kind,
    offset,
    length,
    after: bytes,
    before: bytes,
    is_metadata,
    reason,
});

impl Loss {
    /// Whether entries are lost: not with an index or a filter, which are rebuilt.
    pub fn has_entries(&self) -> bool {
        !self.is_metadata
            && matches!(
                self.kind,
                None | Some(BlockKind::Data | BlockKind::EmbeddedBlob | BlockKind::RangeDeletion)
            )
    }

    /// The offset after it.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.length)
    }
}

/// What cannot be known of what was saved.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Uncertainty {
    /// The order of the keys was not recorded any more; the one named fits them.
    AssumedOrder(String),
    /// The order of the keys is not known: it was kept as it is in the file, and not checked.
    UnknownOrder(String),
    /// No checksum could be verified.
    Unverified,
    /// Blocks between damaged parts, which no neighbour confirms: this many.
    Detached(u64),
    /// The search for blocks was given up.
    SearchEnded,
    /// The end of the file is lost, and nothing tells whether more entries followed, with larger keys
    /// than this one.
    End(Option<Vec<u8>>),
    /// Range tombstones may be lost: what they deleted may be back.
    RangeTombstones,
    /// Deletions may be lost, of keys between these (`None`: no bound): what they deleted may be back.
    Deletions {
        /// The last key before the loss.
        after: Option<Vec<u8>>,
        /// The first key after it.
        before: Option<Vec<u8>>,
    },
    /// The engine was not recorded any more; the one named was assumed.
    AssumedEngine(Engine),
}

sstkit_coding::debug_enum!(Uncertainty {
    AssumedOrder(order), UnknownOrder(order), Unverified, Detached(length), SearchEnded,
    End(last: bytes), RangeTombstones, Deletions { after: bytes, before: bytes }, AssumedEngine(engine),
});

/// What was saved of a table.
#[derive(Clone)]
#[non_exhaustive]
pub struct SalvageReport {
    /// Bytes of the file.
    pub size: u64,
    /// Nothing is wrong with the table.
    pub sound: bool,
    /// The engine in whose format the table is.
    pub engine: Engine,
    /// The format version, if it is known.
    pub version: Option<FormatVersion>,
    /// The type of the checksums, if it is known.
    pub checksum: Option<ChecksumType>,
    /// Blocks were searched for in the bytes of the file, at least in a part of it.
    pub carved: bool,
    /// Data blocks that were saved.
    pub blocks: u64,
    /// Entries that were saved, without range tombstones.
    pub entries: u64,
    /// Deletions among them.
    pub deletions: u64,
    /// Range tombstones that were saved.
    pub range_tombstones: u64,
    /// How many entries, range tombstones included, the properties say there were.
    pub expected_entries: Option<u64>,
    /// How many deletions, range tombstones included, the properties say there were.
    pub expected_deletions: Option<u64>,
    /// The smallest and the largest user key that were saved.
    pub bounds: Option<(Vec<u8>, Vec<u8>)>,
    /// The smallest and the largest sequence number that were saved.
    pub sequences: Option<(u64, u64)>,
    /// Whether values may be in blob files.
    pub has_references: bool,
    /// What was lost, in the order of the file.
    pub losses: Vec<Loss>,
    /// What cannot be known.
    pub uncertain: Vec<Uncertainty>,
    /// Other problems that verification found.
    pub problems: Vec<String>,
}

sstkit_coding::debug_struct!(SalvageReport {
    size,
    sound,
    engine,
    version,
    checksum,
    carved,
    blocks,
    entries,
    deletions,
    range_tombstones,
    expected_entries,
    expected_deletions,
    bounds: bytes,
    sequences,
    has_references,
    losses,
    uncertain,
    problems,
});

impl SalvageReport {
    /// Entries that were lost, range tombstones included, if that is known.
    pub fn entries_lost(&self) -> Option<u64> {
        let saved = self.entries + self.range_tombstones;
        match self.expected_entries {
            Some(expected) => Some(expected.saturating_sub(saved)),
            None => (!self.losses.iter().any(Loss::has_entries)).then_some(0),
        }
    }

    /// Bytes of the file that held entries and are lost, as far as that is known.
    pub fn bytes_lost(&self) -> u64 {
        self.losses.iter().filter(|it| it.has_entries()).map(|it| it.length).sum()
    }
}

/// A sentence.
impl fmt::Display for Uncertainty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AssumedOrder(name) => {
                write!(f, "the comparator is not recorded any more; {name} fits the keys")
            }
            Self::UnknownOrder(name) => write!(
                f,
                "unknown comparator {name:?}: keys were kept in the order of the file, unchecked"
            ),
            Self::Unverified => f.write_str("no checksum could be verified"),
            Self::Detached(blocks) => write!(
                f,
                "{blocks} blocks between damaged parts are confirmed by no neighbour, only by their \
                 checksums and keys"
            ),
            Self::SearchEnded => f.write_str(
                "the search for blocks was given up before the end: there may be more of them",
            ),
            Self::End(last) => {
                f.write_str("the end of the file is lost: more entries may have followed")?;
                last.as_ref().map_or(Ok(()), |last| write!(f, " {}", KeyExcerpt(last)))
            }
            Self::RangeTombstones => {
                f.write_str("range tombstones may be lost: keys that they deleted may be back")
            }
            Self::Deletions { after, before } => {
                let range = KeyInterval { after: after.as_deref(), before: before.as_deref() };
                write!(f, "deleted keys {range} may be back, overwritten ones may have old values")
            }
            Self::AssumedEngine(engine) => {
                write!(f, "the engine is not recorded any more; {engine} is assumed")
            }
        }
    }
}

/// The keys between two, for a message.
pub(crate) struct KeyInterval<'k> {
    pub(crate) after: Option<&'k [u8]>,
    pub(crate) before: Option<&'k [u8]>,
}

impl fmt::Display for KeyInterval<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.after, self.before) {
            (Some(after), Some(before)) => {
                write!(f, "between {} and {}", KeyExcerpt(after), KeyExcerpt(before))
            }
            (Some(after), None) => write!(f, "from {} on", KeyExcerpt(after)),
            (None, Some(before)) => write!(f, "up to {}", KeyExcerpt(before)),
            (None, None) => f.write_str("anywhere in the table"),
        }
    }
}
