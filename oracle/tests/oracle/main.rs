//! RocksDB 11 itself beside sstkit.
//!
//! The seed of a failing case is printed; `SSTKIT_SEED=N` starts from another one, `SSTKIT_CASES=N`
//! says how many there are.

mod databases;
mod new_databases;
mod salvage;
mod tables;
