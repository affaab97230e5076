//! The pieces of a table file, for those who take files apart: honest types over bytes in memory.
//!
//! ```text
//!   file    +---------------------+
//!           | data block 0        |  entries, sorted            Block, BlockEntries
//!           |   trailer           |  codec, checksum            Trailer, BlockDecoder
//!           | data block 1 …      |
//!           +---------------------+
//!           | filter              |
//!           | index               |  one handle a data block    IndexEntries, IndexWalk
//!           | dictionary          |                             Dictionary
//!           | range deletions     |
//!           | properties          |  name -> value              Properties
//!           | metaindex           |  name -> handle             MetaIndex
//!           +---------------------+
//!           | footer              |  where to start             Footer
//!           +---------------------+
//! ```
//!
//! [`TableView`] walks from the footer to the entries. Everything it does can be done by hand with
//! the types below it.
//!
//! What cannot be an [`Iterator`], because each key borrows the buffer the next one is built in, is
//! a cursor: `while cursor.advance()? { … cursor.key() … }`.

mod block;
mod block_decoder;
mod block_kind;
#[cfg_attr(
    not(feature = "codecs"),
    allow(dead_code, clippy::allow_attributes, reason = "what several codecs share")
)]
mod compression;
mod footer;
mod format;
mod handle;
mod index;
mod internal_key;
mod metaindex;
mod named_entries;
mod patched_seqno;
mod properties;
pub mod regular_file;
mod trailer;
mod value;

pub use crate::reader::{
    DataBlock, DataBlocks, IndexWalk, PointEntries, RangeDeletions, TableView,
};
pub(crate) use block::BlockMark;
pub use block::{Block, BlockEntries, HashIndex, HashLookup, KeyExpansion, common_prefix};
#[cfg(feature = "write")]
pub(crate) use block::{BlockBuilder, BlockFormat, DeltaValue, FinishedBlock};
pub(crate) use block::{BlockFences, KeyBuffer, Sought, word};
pub use block_decoder::{
    ALWAYS_JUSTIFIED_EXPANSION, BlockDecoder, DEFAULT_MAX_BLOCK_SIZE, DecodeOptions, StoredBlock,
};
pub use block_kind::BlockKind;
#[cfg(feature = "write")]
pub(crate) use compression::{Attempt, CompressionRecipe, Compressor, Stored};
pub use compression::{Codec, Dictionary, decompress};
pub use footer::Footer;
pub use format::{Engine, FormatVersion, TableKind};
pub use handle::BlockHandle;
pub(crate) use index::IndexMark;
pub use index::{IndexEntries, IndexFormat, IndexKind};
pub use internal_key::{EntryKind, InternalKey, MAX_SEQUENCE_NUMBER};
pub use metaindex::MetaIndex;
#[cfg(feature = "write")]
pub(crate) use metaindex::names as metaindex_names;
pub use properties::{Properties, names as property_names};
pub use trailer::Trailer;
pub use value::{
    BlobIndex, ColumnValue, WideColumn, decode_wide_columns, encode_wide_columns,
    split_preferred_seqno,
};
