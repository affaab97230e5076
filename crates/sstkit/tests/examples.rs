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

/// A filter that is parsed at each probe would take hundreds of times as long.
#[test]
fn own_filter() {
    let ratio = own_filter::compare().unwrap();
    assert!(ratio < 3.0, "{ratio:.2} times as long as the built-in filter");
    own_filter::main().unwrap();
}

#[test]
fn pure_rust() {
    pure_rust::main().unwrap();
}
