//! Writers that are stopped: sinks that fail at every byte, system calls that fail, processes that
//! are killed. Nothing partial passes for whole, no temporary file passes for a result, and what was
//! there before is there until all that is new is.
//!
//! # What a kill can leave behind
//!
//! A process that is killed has done a part of its system calls and no others. (A machine that
//! loses its power may besides lose what was not synced: hence the order of syncs and renames, which
//! `steps.rs` goes through call by call.)
//!
//! One file: `TableWriter`, `rewrite_tail`, `Refilter`, `BulkBuilder` and `Compaction` without a file size.
//!
//! | killed before | there is | under its name |
//! |---|---|---|
//! | create `.users.sst.….tmp` | nothing new | what was there |
//! | any write | a part of it, hidden | what was there |
//! | sync of the file | all of it, hidden, maybe not on the disk | what was there |
//! | rename | all of it, hidden, on the disk | what was there |
//! | sync of the folder | the new file; the name maybe not on the disk | the new file |
//!
//! A folder that was not there: all is made in `.out.….tmp/`.
//!
//! | killed before | there is | under its name |
//! |---|---|---|
//! | any write, sync, or rename inside | a hidden folder with a part of it | nothing |
//! | rename of the folder | a hidden folder with all of it | nothing |
//! | sync of the parent | the new folder; the name maybe not on the disk | the new folder |
//!
//! The same for a database, of which CURRENT is the last file, and for a folder of tables that get other
//! filters. A path that exists is never written to.
//!
//! A folder that was there: tables are made in it as `.table.….tmp`.
//!
//! | killed before | there is | `manifest.json` |
//! |---|---|---|
//! | a table is written and synced | hidden tables | as before |
//! | rename of a table | some tables under their names, whole | see below |
//! | rename of the manifest | all tables under their names | see below |
//! | sync of the folder | all of it | the new one |
//!
//! Without an old manifest there is none until the last step: a folder without one is not whole. An
//! old one must stay, with all that it names, until the new one takes its place.

#![cfg(unix)]

mod kills;
mod limits;
mod sinks;
mod state;
mod steps;
