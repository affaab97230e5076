//! The order of a table that nothing names.

use std::path::Path;

use anyhow::Result;
use sstkit_inspect::InspectedTable;

use crate::output::print_message;

/// Reads all keys of a table whose order is assumed, and opens it in the order they are in. Searches
/// in another order would not find keys that are in the table.
pub(crate) fn detect(file: &InspectedTable, path: &Path) -> Result<InspectedTable> {
    let was_assumed = file.has_assumed_order();
    let file = file.in_detected_order()?;
    if was_assumed {
        let path = path.display();
        match file.table().comparator() {
            Ok(order) if *order == sstkit_table::Comparator::Bytewise => {}
            Ok(order) => print_message(&format!(
                "{path}: the table names no comparator; using {order}, whose order its keys are in"
            )),
            Err(_) => print_message(&format!(
                "{path}: the keys are not in bytewise order, and the table names no comparator (use \
                 --comparator to choose one)"
            )),
        }
    }
    Ok(file)
}
