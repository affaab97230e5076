//! What differs between two tables or column families.

use std::ops::Bound as KeyBound;
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use sstkit_db::{Diff, DiffOptions, DiffSide, Difference, Record};
use sstkit_inspect::{DifferenceRecord, Encoding, JsonRecord};

use crate::bytes_arg::BytesArg;
use crate::database::Database;
use crate::errors::{Failure, Outcome};
use crate::json::to_python;
use crate::table::Table;

/// Iterates over the differences between two tables or column families, as dictionaries.
#[pyclass(frozen, module = "sstkit")]
pub(crate) struct Differences {
    /// `None` while a thread searches for the next one.
    diff: Mutex<Option<Diff>>,
    column_family: Option<String>,
}

impl Differences {
    fn take(&self) -> Outcome<Diff> {
        let diff = self.diff.lock().unwrap_or_else(PoisonError::into_inner).take();
        diff.ok_or_else(|| Failure::invalid("another thread reads these differences"))
    }

    fn put_back(&self, diff: Diff) {
        *self.diff.lock().unwrap_or_else(PoisonError::into_inner) = Some(diff);
    }
}

#[pymethods]
impl Differences {
    fn __iter__(this: Bound<'_, Self>) -> Bound<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let mut diff = self.take()?;
        let (diff, next) = py.detach(move || {
            let next = diff.next();
            (diff, next)
        });
        self.put_back(diff);
        let Some(next) = next.transpose().map_err(Failure::from)? else { return Ok(None) };
        let show = |record: Record| JsonRecord::of_visible(&record, Encoding::default());
        let shown = match next {
            Difference::Removed(a) => Difference::Removed(show(a)),
            Difference::Added(b) => Difference::Added(show(b)),
            Difference::Changed(a, b) => Difference::Changed(show(a), show(b)),
        };
        to_python(py, &DifferenceRecord::new(shown, self.column_family.as_deref())).map(Some)
    }
}

/// The differences between what is visible in two open tables or databases.
///
/// Of a database, one column family is compared. Yields what `sst diff --format json` prints: a
/// dictionary for each key that only one side has, or whose values differ.
#[pyfunction]
#[pyo3(signature = (a, b, *, start = None, end = None, prefix = None, column_family = None))]
pub(crate) fn diff(
    py: Python<'_>,
    a: &Bound<'_, PyAny>,
    b: &Bound<'_, PyAny>,
    start: Option<BytesArg>,
    end: Option<BytesArg>,
    prefix: Option<BytesArg>,
    column_family: Option<&str>,
) -> PyResult<Differences> {
    let is_table = |side: &Bound<'_, PyAny>| side.cast::<Table>().is_ok();
    let both_are_tables = is_table(a) && is_table(b);
    let (a, b) = (side(a, column_family)?, side(b, column_family)?);
    let key = |key: Option<BytesArg>| key.map(|key| key.as_ref().to_vec());
    let lower = key(start).map_or(KeyBound::Unbounded, KeyBound::Included);
    let upper = key(end).map_or(KeyBound::Unbounded, KeyBound::Excluded);
    let mut options = DiffOptions::default().range((lower, upper));
    if let Some(prefix) = key(prefix) {
        options = options.prefix(prefix);
    }
    let diff: Outcome<Diff> = py.detach(|| Ok(Diff::new(&a, &b, &options)?));
    let name = column_family.unwrap_or("default").to_owned();
    Ok(Differences {
        diff: Mutex::new(Some(diff?)),
        column_family: (!both_are_tables).then_some(name),
    })
}

fn side(side: &Bound<'_, PyAny>, column_family: Option<&str>) -> PyResult<DiffSide> {
    if let Ok(table) = side.cast::<Table>() {
        return Ok(table.get().file()?.table().clone().into());
    }
    Ok(side.cast::<Database>()?.get().family(column_family)?.into())
}
