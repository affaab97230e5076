//! Point lookups: one key, several keys, and lookups with a recorder.
//!
//! ```text
//! key ---> filter ---> fast path ----------------------------> value
//!            | no         | not a plain value in a cached block
//!            v            v
//!        not found     index ---> data block ---> entries of the key
//! ```
//!
//! All lookups share the one body in [`point_lookup`], which reports its steps to a [`recorder`].
//! [`explain`] is a lookup whose recorder keeps them.

pub(crate) mod batch;
pub mod explain;
pub(crate) mod fast_path;
pub(crate) mod found_entries;
pub(crate) mod planner;
pub(crate) mod point_lookup;
pub(crate) mod probe;
pub(crate) mod recorder;
