//! The module `sstkit._native`: the library for Python.
//!
//! | file | what |
//! |---|---|
//! | `table.rs`, `database.rs`, `closing.rs` | reading: lookups, scans, descriptions |
//! | `scan.rs`, `scan_rows.rs` | a scan as an Arrow stream, or as tuples |
//! | `build.rs`, `table_writer.rs`, `input_rows.rs`, `staged_output.rs` | Arrow data into tables |
//! | `plan.rs`, `part_writer.rs`, `commit.rs`, `build_output.rs` | builds in parts |
//! | `filter.rs`, `boolean_array.rs` | filters on their own |
//! | `refilter.rs`, `differences.rs`, `salvage.rs` | other filters, differences, what is left of damaged files |
//! | `arrow_capsule.rs` | Arrow data in and out of Python, with the only `unsafe` code |
//! | `settings.rs`, `table_settings.rs`, `read_settings.rs`, `stats_settings.rs` | keyword arguments |
//! | `work.rs`, `open_writer.rs` | work without the interpreter's lock, and Ctrl-C |
//! | `errors.rs`, `json.rs`, `bytes_arg.rs`, `key_list.rs`, `encode_keys.rs` | exceptions, dictionaries, keys |
//! | `location.rs` | paths, of this machine or in an object store |

#![deny(unsafe_code)]

mod arrow_capsule;
mod boolean_array;
mod build;
mod build_output;
mod bytes_arg;
mod closing;
mod commit;
mod database;
mod differences;
mod encode_keys;
mod errors;
mod filter;
mod input_rows;
mod json;
mod key_list;
mod location;
mod open_writer;
mod part_writer;
mod plan;
mod read_settings;
mod refilter;
mod salvage;
mod scan;
mod scan_rows;
mod settings;
mod staged_output;
mod stats_settings;
mod table;
mod table_settings;
mod table_writer;
mod work;

/// The parts of the package `sstkit` that are not written in Python.
#[pyo3::pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::boolean_array::BooleanArray;
    #[pymodule_export]
    use crate::build::build;
    #[pymodule_export]
    use crate::commit::commit;
    #[pymodule_export]
    use crate::database::Database;
    #[pymodule_export]
    use crate::differences::{Differences, diff};
    #[pymodule_export]
    use crate::encode_keys::encode_keys;
    #[pymodule_export]
    use crate::filter::Filter;
    #[pymodule_export]
    use crate::location::is_folder;
    #[pymodule_export]
    use crate::part_writer::PartWriter;
    #[pymodule_export]
    use crate::plan::{Plan, plan};
    #[pymodule_export]
    use crate::refilter::refilter;
    #[pymodule_export]
    use crate::salvage::salvage;
    #[pymodule_export]
    use crate::scan::Scan;
    #[pymodule_export]
    use crate::scan_rows::ScanRows;
    #[pymodule_export]
    use crate::table::Table;
    #[pymodule_export]
    use crate::table_writer::TableWriter;

    /// The version of the package.
    #[pymodule_init]
    fn add_version(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
