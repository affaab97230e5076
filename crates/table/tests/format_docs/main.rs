//! Every dump in the table pages of `docs/formats` is what the golden tables hold.
//!
//! A dump is a fenced block after a marker, `<!-- dump: NAME -->`. Run with `UPDATE_GOLDENS=1` this
//! test rewrites the blocks instead of comparing them.
//!
//! The bytes are those that LevelDB and RocksDB wrote. They are read twice: here, by the drawings of
//! the pages, and by `sstkit_table::raw`; where the two readings differ the test fails, before any
//! text is compared.
//!
//! Each page has a module, which lists its dumps; the others are what several pages need.

mod blocks;
mod index;
mod table;

mod annotated;
mod block_dump;
mod golden;
mod index_dump;
mod trailer_dump;
mod wording;
