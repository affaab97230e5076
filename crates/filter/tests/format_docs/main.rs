//! Checks that every dump in `docs/formats` is what the library produces.
//!
//! A dump is a fenced block after a marker, `<!-- dump: NAME -->`. With `UPDATE_GOLDENS=1` this test
//! rewrites the blocks instead of comparing them.
//!
//! The bytes come from the library. Their meaning is computed here independently, from the formulas
//! of the pages. A dump therefore also checks its page: a bit that no formula explains fails the test
//! before any text is compared.
//!
//! Each page has a module that lists its dumps. The other modules are shared.

mod filter_block;
mod full_filters;
mod hashes;
mod partitioned_filters;

mod building;
mod hex_dump;
mod probes;
mod runs;
mod wording;
