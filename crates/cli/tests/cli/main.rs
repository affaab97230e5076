//! The command, run as a user runs it: whole outputs, exit statuses, what is left behind.

mod advise;
mod backups;
mod bench;
mod build;
mod compact;
mod compare_codecs;
mod corpus;
mod damage;
mod databases;
mod describe;
mod diff;
mod examples;
mod export;
mod faults;
mod files;
mod folders;
mod ingest_check;
mod large_values;
mod ldb;
mod long_keys;
mod lookup;
#[cfg(feature = "parquet")]
mod parquet;
mod parts;
mod place;
mod plain;
mod raw_input;
mod real;
mod refilter;
mod round_trip;
mod run;
mod salvage;
mod scan_range;
mod schemas;
#[cfg(feature = "serve")]
mod serve;
mod signals;
mod stats;
mod statuses;
mod terminal;
mod unused_options;
mod usage;
mod verify;
mod verify_files;
