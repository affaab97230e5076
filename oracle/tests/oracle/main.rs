//! RocksDB 11 itself beside sstkit.
//!
//! The seed of a failing case is printed; `SSTKIT_SEED=N` starts from another one, `SSTKIT_CASES=N`
//! says how many there are.

mod databases;
#[path = "../../../crates/engines/src/random.rs"]
mod random;
mod tables;

/// How many cases of a kind.
fn cases(usual: u64) -> u64 {
    std::env::var("SSTKIT_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(usual)
}
