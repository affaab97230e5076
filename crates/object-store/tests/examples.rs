//! The example runs, and checks its own results.

#[path = "../examples/async_table.rs"]
mod async_table;

#[test]
fn async_table() {
    async_table::main().unwrap();
}
