//! Reads that fail, come back short, or change from one time to the next: an error or the right
//! answer, never another answer in silence and never a panic; and a failure that has passed leaves
//! nothing behind.

#[path = "../../../db/tests/database/databases.rs"]
mod databases;
#[path = "../../../table/tests/golden/expected.rs"]
mod expected;
#[expect(dead_code, reason = "shared with tests that also seek")]
#[path = "../../../table/tests/reader/model.rs"]
mod model;
#[path = "../../../table/tests/golden/tables.rs"]
mod tables;

mod changing_files;
mod faulty_reads;
mod questions;
mod replaced;
