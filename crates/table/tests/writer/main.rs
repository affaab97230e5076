//! Tests of `TableWriter`: against tables that the engines wrote, and against what reads them.
//!
//! `SSTKIT_TABLES` may name another folder of golden tables.

mod entities;
mod rebuild;
mod refusals;
mod rewrite_tail;
mod round_trip;
mod sinks;
