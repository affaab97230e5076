//! Tests of salvaging tables: what is lost is what was damaged, and nothing is invented.

mod carving;
mod goldens;
mod whole;
