//! The examples run, and check their own results.

#[path = "../examples/filters_alone.rs"]
mod filters_alone;
#[path = "../examples/own_filter.rs"]
mod own_filter;
#[path = "../examples/pure_rust.rs"]
mod pure_rust;

#[test]
fn filters_alone() {
    filters_alone::main().unwrap();
}

#[test]
fn own_filter() {
    own_filter::main().unwrap();
}

#[test]
fn pure_rust() {
    pure_rust::main().unwrap();
}
