//! Tests with the real engines, installed by the tests themselves: RocksDB and LevelDB from PyPI.
//!
//! Data is random; the seed of a failing case is printed. `SSTKIT_SEED=N` starts from another one,
//! `SSTKIT_CASES=N` says how many there are.

mod engine_filters;
mod our_tables;
