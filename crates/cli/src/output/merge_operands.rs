//! A warning for values that are not up to date: those under operands that no operator has combined.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use sstkit_table::RecordValue;

use super::print_message;

static WARNED: AtomicBool = AtomicBool::new(false);

/// Warns once, if operands were not merged into the value that they apply to.
pub(crate) fn warn_if_stale(path: &Path, value: &RecordValue) {
    let RecordValue::Unresolved { operator, base: Some(_), .. } = value else { return };
    if WARNED.swap(true, Ordering::Relaxed) {
        return;
    }
    let name = match operator {
        Some(name) => format!("of the merge operator {name:?}"),
        None => "of a merge operator without a name".to_owned(),
    };
    print_message(&format!(
        "{}: operands {name} are shown as they are stored, and the value beside them is older than \
         they are (use --merge-operator to combine them)",
        path.display()
    ));
}
