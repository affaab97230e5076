//! From a block handle to a block, and cursors over one block.

pub(crate) mod access;
pub(crate) mod block_cursor;
pub(crate) mod data_cursor;
pub(crate) mod large_blocks;
pub(crate) mod marks;
pub(crate) mod read_ahead;
pub(crate) mod reader;
