//! Values that are more than the user's bytes.

mod blob_index;
mod preferred_seqno;
mod wide_columns;

pub use self::blob_index::BlobIndex;
pub use self::preferred_seqno::split_preferred_seqno;
pub use self::wide_columns::{ColumnValue, WideColumn, decode_wide_columns, encode_wide_columns};
