//! Building tables in parts, by any number of threads, processes or machines.
//!
//! ```text
//! out/_sstkit/plan.json                              Plan: id, split keys, settings; written once
//! out/_sstkit/ID/part-000003.attempt-A/000001.sst …  an attempt at a part, which appears whole
//! out/_sstkit/ID/part-000003.attempt-A/manifest.json its counts, bounds and checksums
//! out/_sstkit/commit.json                            which attempts count; written once
//! out/000001.sst …                                   moved here by the commit
//! out/manifest.json                                  last of all: the output is complete
//! ```
//!
//! | who | writes | if it is lost |
//! |---|---|---|
//! | driver | the plan | nothing has happened |
//! | worker | an attempt, under a temporary name until it is complete | the part is tried again; a leftover is never looked at |
//! | several workers, one part | an attempt each | the commit takes one of them |
//! | driver | `commit.json`, the moves, `manifest.json` | a second commit follows the same `commit.json` to the end |
//!
//! The split keys are in the plan, so that a part has the same range in every attempt. The two files
//! that decide are created by a rename that never replaces: of two drivers the first decides,
//! and the other one follows.
//!
//! | file | contents |
//! |---|---|
//! | `plan.rs`, `plan_options.rs` | the plan and its settings |
//! | `part_writer.rs` | writing one attempt |
//! | `attempts.rs` | finished attempts, checked |
//! | `commit.rs`, `decision.rs` | choosing, moving, publishing |
//! | `write_once.rs` | files that are created once |
//! | `remote_build.rs` | the same with an output in an object store |

mod attempts;
mod commit;
mod decision;
mod part_writer;
mod plan;
mod plan_options;
mod remote_build;
mod write_once;

pub use self::commit::{Commit, CommitOptions, CommitSummary};
pub use self::part_writer::{PartOptions, PartSummary, PartWriter};
pub use self::plan::{PLAN_FOLDER, Plan};
pub use self::plan_options::PlanOptions;
pub use self::remote_build::{ObjectFolder, RemoteBuild};
