//! Point lookups: one key, many keys, and the same recorded.
//!
//! ```text
//! key ---> filter ---> fast path ----------------------------> value
//!            | no         | not a plain value in a cached block
//!            v            v
//!        not found     index ---> data block ---> entries of the key
//! ```
//!
//! [`point_lookup`] has the one body of all lookups. It tells a [`recorder`] what it does:
//! [`explain`] is a lookup whose recorder keeps all of it.

pub(crate) mod batch;
pub mod explain;
pub(crate) mod fast_path;
pub(crate) mod found_entries;
pub(crate) mod point_lookup;
pub(crate) mod probe;
pub(crate) mod recorder;
