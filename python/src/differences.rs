//! What differs between two tables or column families.

use std::ops::Bound as KeyBound;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use sstkit_db::{
    ColumnFamily, DatabaseEntry, Diff, DiffOptions, DiffSide, Difference, InternalDiff,
    InternalDifference, Record,
};
use sstkit_inspect::{DifferenceRecord, Encoding, InspectedTable, JsonRecord};

use crate::bytes_arg::BytesArg;
use crate::database::Database;
use crate::errors::{Failure, Outcome};
use crate::json::to_python;
use crate::table::Table;
use crate::work;

/// Between two looks for signals.
const INTERVAL: Duration = Duration::from_millis(100);

/// What is compared.
enum Comparison {
    Visible(Box<Diff>),
    Internal(Box<(InternalDiff, [Compared; 2])>),
}

impl Comparison {
    fn next(&mut self) -> Outcome<Option<Difference<JsonRecord>>> {
        let encoding = Encoding::default();
        match self {
            Self::Visible(diff) => {
                let show = |record: Record| Ok(JsonRecord::of_visible(&record, encoding));
                diff.next().map(|next| both(next?, show, show)).transpose()
            }
            Self::Internal(compared) => {
                let (diff, [a, b]) = compared.as_mut();
                let shown = diff.next().map(|next| match next? {
                    InternalDifference::Entry(entry) => {
                        both(entry, |it| a.record(&it), |it| b.record(&it))
                    }
                    InternalDifference::RangeTombstone(range) => {
                        let show = |it| Ok(JsonRecord::of_range_deletion(&it, encoding));
                        both(range, show, show)
                    }
                });
                shown.transpose()
            }
        }
    }
}

fn both<T>(
    difference: Difference<T>,
    of_a: impl Fn(T) -> Outcome<JsonRecord>,
    of_b: impl Fn(T) -> Outcome<JsonRecord>,
) -> Outcome<Difference<JsonRecord>> {
    Ok(match difference {
        Difference::Removed(a) => Difference::Removed(of_a(a)?),
        Difference::Added(b) => Difference::Added(of_b(b)?),
        Difference::Changed(a, b) => Difference::Changed(of_a(a)?, of_b(b)?),
    })
}

/// A side of a comparison.
enum Compared {
    Table(Arc<InspectedTable>),
    ColumnFamily(ColumnFamily),
}

impl Compared {
    fn new(side: &Bound<'_, PyAny>, column_family: Option<&str>) -> PyResult<Self> {
        if let Ok(table) = side.cast::<Table>() {
            return Ok(Self::Table(table.get().file()?));
        }
        Ok(Self::ColumnFamily(side.cast::<Database>()?.get().family(column_family)?))
    }

    fn side(&self) -> DiffSide {
        match self {
            Self::Table(file) => file.table().clone().into(),
            Self::ColumnFamily(family) => family.clone().into(),
        }
    }

    /// An entry as stored, with its value resolved.
    fn record(&self, entry: &DatabaseEntry) -> Outcome<JsonRecord> {
        let encoding = Encoding::default();
        Ok(match self {
            Self::Table(file) => JsonRecord::of_table_entry(file, entry, encoding)?,
            Self::ColumnFamily(family) => JsonRecord::of_database_entry(family, entry, encoding)?,
        })
    }
}

/// Iterates over the differences between two tables or column families, as dictionaries.
#[pyclass(frozen, module = "sstkit")]
pub(crate) struct Differences {
    /// `None` while a thread searches for the next one.
    comparison: Mutex<Option<Comparison>>,
    column_family: Option<String>,
}

impl Differences {
    fn take(&self) -> Outcome<Comparison> {
        let comparison = self.comparison.lock().unwrap_or_else(PoisonError::into_inner).take();
        comparison.ok_or_else(|| Failure::invalid("another thread reads these differences"))
    }

    fn put_back(&self, comparison: Comparison) {
        *self.comparison.lock().unwrap_or_else(PoisonError::into_inner) = Some(comparison);
    }
}

#[pymethods]
impl Differences {
    fn __iter__(this: Bound<'_, Self>) -> Bound<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let mut comparison = self.take()?;
        let (comparison, next) = py.detach(move || {
            let next = comparison.next();
            (comparison, next)
        });
        self.put_back(comparison);
        if next.is_err() {
            // It may have been Ctrl-C.
            py.check_signals()?;
        }
        let Some(next) = next? else { return Ok(None) };
        to_python(py, &DifferenceRecord::new(next, self.column_family.as_deref())).map(Some)
    }
}

/// The differences between what is visible in two open tables or databases, or with `internal` between
/// all entries as they are stored.
///
/// Of a database, one column family is compared. Yields what `sst diff --format json` prints: a
/// dictionary for each key that only one side has, or whose values differ.
#[pyfunction]
#[pyo3(signature = (
    a, b, *, start = None, end = None, prefix = None, column_family = None, internal = false
))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub(crate) fn diff(
    py: Python<'_>,
    a: &Bound<'_, PyAny>,
    b: &Bound<'_, PyAny>,
    start: Option<BytesArg>,
    end: Option<BytesArg>,
    prefix: Option<BytesArg>,
    column_family: Option<&str>,
    internal: bool,
) -> PyResult<Differences> {
    let is_table = |side: &Bound<'_, PyAny>| side.cast::<Table>().is_ok();
    let both_are_tables = is_table(a) && is_table(b);
    let sides = [Compared::new(a, column_family)?, Compared::new(b, column_family)?];
    let key = |key: Option<BytesArg>| key.map(|key| key.as_ref().to_vec());
    let lower = key(start).map_or(KeyBound::Unbounded, KeyBound::Included);
    let upper = key(end).map_or(KeyBound::Unbounded, KeyBound::Excluded);
    let checked = Mutex::new(Instant::now());
    let keep_going = move || {
        let mut checked = checked.lock().unwrap_or_else(PoisonError::into_inner);
        if checked.elapsed() < INTERVAL {
            return true;
        }
        *checked = Instant::now();
        !work::is_interrupted()
    };
    let mut options = DiffOptions::default().range((lower, upper)).keep_going(keep_going);
    if let Some(prefix) = key(prefix) {
        options = options.prefix(prefix);
    }
    let start = move || -> Outcome<Comparison> {
        let (a, b) = (sides[0].side(), sides[1].side());
        Ok(match internal {
            false => Comparison::Visible(Box::new(Diff::new(&a, &b, &options)?)),
            true => {
                let diff = InternalDiff::new(&a, &b, &options)?;
                Comparison::Internal(Box::new((diff, sides)))
            }
        })
    };
    let comparison = py.detach(start)?;
    let name = column_family.unwrap_or("default").to_owned();
    Ok(Differences {
        comparison: Mutex::new(Some(comparison)),
        column_family: (!both_are_tables).then_some(name),
    })
}
