//! The examples run, and check their own results; `database` and `filters` only show theirs. `bulk_build`, which looks at the memory of its process, has a
//! test of its own, and so has `quickstart`, whose output is in the README.

#[path = "../examples/custom_comparator.rs"]
mod custom_comparator;
#[expect(dead_code, reason = "its `main` is for the command line")]
#[path = "../examples/database.rs"]
mod database;
#[path = "../examples/error_kinds.rs"]
mod error_kinds;
#[expect(dead_code, reason = "its `main` is for the command line")]
#[path = "../examples/filters.rs"]
mod filters;
#[path = "../examples/filters_alone.rs"]
mod filters_alone;
#[path = "../examples/internal_entries.rs"]
mod internal_entries;
#[path = "../examples/own_filter.rs"]
mod own_filter;
#[path = "../examples/pure_rust.rs"]
mod pure_rust;
#[path = "../examples/remote_source.rs"]
mod remote_source;
#[path = "../examples/threads.rs"]
mod threads;
#[path = "../examples/three_tables.rs"]
mod three_tables;

#[test]
fn custom_comparator() {
    custom_comparator::main().unwrap();
}

#[test]
fn database() {
    let folder = tempfile::tempdir().unwrap();
    let path = database::sample(folder.path()).unwrap();
    database::show(&path, b"user00000/post0002").unwrap();
}

#[test]
fn error_kinds() {
    error_kinds::main().unwrap();
}

#[test]
fn filters() {
    filters::show("a sample", &filters::sample()).unwrap();
}

#[test]
fn filters_alone() {
    filters_alone::main().unwrap();
}

#[test]
fn internal_entries() {
    internal_entries::main().unwrap();
}

#[test]
fn own_filter() {
    own_filter::main().unwrap();
}

#[test]
fn pure_rust() {
    pure_rust::main().unwrap();
}

#[test]
fn remote_source() {
    remote_source::main().unwrap();
}

#[test]
fn three_tables() {
    three_tables::main().unwrap();
}

#[test]
fn threads() {
    threads::main().unwrap();
}
