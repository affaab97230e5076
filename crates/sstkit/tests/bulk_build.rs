//! The example `bulk_build` runs, in a process of its own: it looks at the memory that it takes.

#[path = "../examples/bulk_build.rs"]
mod bulk_build;

#[test]
fn bulk_build() {
    bulk_build::main().unwrap();
}
