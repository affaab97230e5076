//! Tests over the golden tables: files that LevelDB and RocksDB wrote.
//!
//! The folder is listed at run time; nothing depends on the name of a table. `SSTKIT_TABLES` may
//! name another folder of the same structure: `NAME.sst` or `NAME.ldb`, and `NAME.ndjson.zst`
//! beside it.

mod corpus;
mod filters;
mod hostile;
