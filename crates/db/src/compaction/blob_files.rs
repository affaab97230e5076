//! Blob files that are taken over by a new database.

use std::sync::Arc;

use crate::column_family_data::ColumnFamilyData;
use crate::database_writer::{DatabaseWriter, FileSource, LiveBlobs};
use crate::error::{Error, Result};

/// Adds all files that are referred to, and returns how many these are.
pub(super) fn take_over(
    live: &LiveBlobs,
    family: &Arc<ColumnFamilyData>,
    writer: &mut DatabaseWriter,
    column_family: u32,
) -> Result<u64> {
    if !live.is_empty() && column_family != family.id {
        return Err(Error::invalid_input(format!(
            "blob files contain the id of their column family: {} cannot become {column_family}",
            family.id
        )));
    }
    for number in live.numbers() {
        let metadata = family.listed_blob_file(number).cloned();
        let source = FileSource::Link(family.blobs.path(number));
        writer.add_blob_file(column_family, number, &source, metadata)?;
    }
    writer.recount_garbage(column_family, live)?;
    Ok(live.len() as u64)
}
