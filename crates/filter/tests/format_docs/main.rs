//! Every dump in `docs/formats` is what the library makes today.
//!
//! A dump is a fenced block after a marker, `<!-- dump: NAME -->`. Run with `UPDATE_GOLDENS=1` this
//! test rewrites the blocks instead of comparing them.
//!
//! The bytes come from the library; what they mean is worked out here a second time, from the
//! formulas of the pages. So a dump checks its page, too: a bit that no formula explains fails the
//! test, before any text is compared.
//!
//! Each page has a module, which lists its dumps; the others are what several pages need.

mod filter_block;
mod full_filters;
mod hashes;
mod partitioned_filters;

mod building;
mod hex_dump;
mod probes;
mod runs;
mod wording;
