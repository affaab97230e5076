//! Resolves values of a column family: in its tables, and in blob files.

use std::sync::Arc;

use sstkit_table::raw::BlobIndex;
use sstkit_table::visibility::Resolver;
use sstkit_table::{MergeOperator, Value};

use super::LookupVersions;
use crate::column_family_data::ColumnFamilyData;
use crate::error::{Error, Result};
use crate::version::TableFile;

impl ColumnFamilyData {
    /// The value of `key`, from its entries.
    pub(crate) fn value_of(&self, key: &[u8], mut versions: LookupVersions) -> Result<Value> {
        versions.take_plain_value().map_or_else(|| self.value(key, &versions), Ok)
    }
}

impl Resolver for ColumnFamilyData {
    /// The table of an entry; `None` for the memtable.
    type Origin = Option<Arc<TableFile>>;

    fn blob(
        &self,
        index: &BlobIndex<'_>,
        user_key: &[u8],
        origin: Option<&Self::Origin>,
    ) -> Result<Value> {
        self.stored_blob(index, user_key, origin.and_then(Option::as_deref))
    }

    fn merge_operator(&self) -> Option<&dyn MergeOperator> {
        self.merging().operator.as_deref()
    }

    fn merge_operator_name(&self) -> Option<String> {
        self.merging().name.clone()
    }

    fn column_family(&self) -> Option<&str> {
        Some(&self.name)
    }

    fn in_file(&self, error: Error) -> Error {
        error.in_file(self.files.directory().path())
    }
}
