//! What [`BulkBuilder`](sstkit_db::BulkBuilder) and [`Compaction`](sstkit_db::Compaction) write,
//! compared with models in memory.

mod bulk;
mod cases;
mod compaction;
mod compaction_output;
mod database_writer;
mod databases;
mod folders;
mod model;
mod refilter;
mod rewriting;
mod semantics;
