//! Salvaging databases: what is lost is what was damaged, nothing is invented, and the source is only
//! read.

mod blob_files;
mod contents;
mod each_file;
mod lost_manifest;
mod write_ahead_logs;
