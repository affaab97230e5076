//! Salvaging databases: what is lost is what was damaged, nothing is invented, and the source is only
//! read.

mod blob_files;
mod contents;
mod each_file;
mod ingested;
mod lost_manifest;
mod lost_orders;
mod other_directories;
mod range_tombstones;
mod small_database;
mod write_ahead_logs;
mod wrong_files;
