//! Many threads: whatever they do at once, each sees what it would see alone.

#[path = "../../../db/tests/database/databases.rs"]
mod databases;
#[path = "../../../table/tests/golden/expected.rs"]
mod expected;
#[expect(dead_code, reason = "shared with tests that seek")]
#[path = "../../../table/tests/reader/model.rs"]
mod model;
#[path = "../../../table/tests/golden/tables.rs"]
mod tables;

mod readers;
mod shared_database;
mod writers;
