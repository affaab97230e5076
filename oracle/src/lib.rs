//! RocksDB 11 itself as the judge: what sstkit writes it must read, and the other way round.
//!
//! The tests of the workspace do this with RocksDB 9.8 from PyPI, which knows neither format version 7
//! nor zlib. Here RocksDB is compiled from source (the `rocksdb` crate), which takes half an hour of
//! two cores and needs a C++ compiler and libclang; so this is a workspace of its own, which nothing
//! builds unless asked to:
//!
//! ```console
//! $ cd oracle && cargo test
//! ```
//!
//! Data and options are random; a failing case prints its seed, and `SSTKIT_SEED=N` runs it again.
//! `SSTKIT_CASES=N` runs more of them.
