//! Point lookups: one key, many keys, and the same written down.

pub(crate) mod batch;
pub mod explain;
pub(crate) mod fast_path;
pub(crate) mod lookup;
