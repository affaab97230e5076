//! [`Advice`](sstkit_inspect::Advice) about made databases: what it predicts is what lookups count, before
//! and after its filters are in place; and RocksDB counts the same.

mod found_keys;
mod live;
mod made;
mod predictions;
mod rules;
