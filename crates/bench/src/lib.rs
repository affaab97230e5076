//! The filters of sstkit measured beside their peers, `fastbloom` and `xorf`.
//!
//! Times mean little on their own: machines differ, and the same machine differs from one minute to the next. So all
//! filters of [`LINEUP`] do the same work in the same run, and what is reported are ratios.
//!
//! | module | what |
//! |---|---|
//! | [`keys`] | keys to build from and to query, created before any measurement |
//! | [`candidate`] | what a filter must do to be measured; ours and the peers |
//! | [`lineup`] | who is measured |
//! | [`subject`] | one filter, or hundreds, and the ways to query them |
//! | [`record`] | from Criterion's files to tables |
//! | [`counts`] | instructions of the hot paths, of tables and databases, too |
//! | [`numbers`] | tables in documents, printed from recorded runs |
//! | [`refilter_run`], [`diff_run`], [`serve_run`] | `sst refilter` beside `cp`; `sst diff` beside `cat`; `sst serve` under load |
//! | [`run_arguments`] | arguments and records of these programs |
//! | `remote_run` | scans of tables on a server with latency, beside downloads; feature `remote` |
//! | [`salvage_comparison`] | what is saved of damaged databases, beside the engines' own repair |
//!
//! The benches are `benches/filter_build.rs` and `benches/filter_query.rs`; the tables come from the program `ratios`.
//!
//! A measurement checks its own answer: a filter that forgets a key, or lets too many pass, ends the run.
//!
//! ```
//! use sstkit_bench::{Keys, LINEUP, Mode, Queries};
//!
//! let keys = Keys::present(1000);
//! let queries = Queries::present(&keys, 500);
//! for entrant in &LINEUP {
//!     let subject = (entrant.build)(&keys);
//!     assert_eq!(subject.pass(Mode::Single, &queries)(), 500, "{}", entrant.name);
//! }
//! ```

#![forbid(unsafe_code)]

pub mod candidate;
pub mod counts;
pub mod diff_run;
pub mod keys;
pub mod lineup;
pub mod numbers;
pub mod record;
pub mod refilter_run;
#[cfg(feature = "remote")]
pub mod remote_run;
pub mod run_arguments;
pub mod salvage_comparison;
pub mod serve_run;
pub mod subject;
mod watched_command;

pub use candidate::Candidate;
pub use keys::Keys;
pub use lineup::{Entrant, LINEUP};
pub use subject::{Mode, Presence, Queries, Subject};

/// The examples of the project's README. Here, since the crate `sstkit` is published without it.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
