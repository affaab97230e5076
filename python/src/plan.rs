//! Plans of builds in parts.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};
use sstkit_arrow::EntrySink;
use sstkit_db::{KeySamples, Plan as DbPlan, PlanOptions};
use sstkit_table::raw::InternalKey;

use crate::build::duplicates as parse_duplicates;
use crate::build_output::BuildOutput;
use crate::bytes_arg::BytesArg;
use crate::errors::{Failure, Outcome};
use crate::input_rows::{InputRows, RowColumns};
use crate::location::{Location, to_object};
use crate::table_settings::TableSettings;
use crate::work;

/// The plan of a build in parts: split keys and settings, in the output directory.
#[pyclass(frozen, module = "sstkit")]
pub(crate) struct Plan {
    plan: DbPlan,
}

impl Plan {
    pub(crate) fn inner(&self) -> &DbPlan {
        &self.plan
    }
}

#[pymethods]
impl Plan {
    /// Reads the plan of an output directory.
    #[new]
    fn new(py: Python<'_>, path: Location) -> PyResult<Self> {
        let opened: Outcome<DbPlan> = py.detach(|| BuildOutput::new(path)?.open_plan());
        Ok(Self { plan: opened? })
    }

    /// The output directory: a `Path`, or the address in an object store as text.
    #[getter]
    fn path<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_object(py, self.plan.output())
    }

    /// What no other plan has.
    #[getter]
    fn id(&self) -> &str {
        self.plan.id()
    }

    /// The number of parts.
    #[getter]
    fn parts(&self) -> usize {
        self.plan.parts()
    }

    /// The first key of every part but the first.
    #[getter]
    fn splits<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.plan.splits().iter().map(|key| PyBytes::new(py, key)))
    }

    /// The part of a key.
    fn part_of(&self, key: BytesArg) -> usize {
        self.plan.part_of(key.as_ref())
    }

    /// Removes the plan with everything that was written for it. Attempts that are still being written
    /// fail. A plan whose commit has begun is not removed.
    fn discard(&self, py: Python<'_>) -> PyResult<()> {
        let plan = self.plan.clone();
        let discarded: Outcome<()> = py.detach(|| BuildOutput::of(&plan)?.discard(plan));
        Ok(discarded?)
    }

    fn __repr__(&self) -> String {
        format!(
            "<Plan of {:?}, {} parts>",
            self.plan.output().display().to_string(),
            self.plan.parts()
        )
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = this.py();
        let path = this.get().path(py)?;
        PyTuple::new(py, [this.get_type().into_any(), PyTuple::new(py, [path])?.into_any()])
    }
}

/// Plans a build in parts, which any number of processes or machines write.
///
/// The split keys are given, or chosen from Arrow data, which may be a sample: `parts` of about the
/// same number of bytes, none of which contains keys on both sides of one of the `shards`.
#[pyfunction]
#[pyo3(signature = (
    out, *, splits = None, data = None, parts = None, shards = None, max_file_size = None,
    duplicates = "error", **options
))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub(crate) fn plan(
    py: Python<'_>,
    out: Location,
    splits: Option<Vec<BytesArg>>,
    data: Option<&Bound<'_, PyAny>>,
    parts: Option<usize>,
    shards: Option<Vec<BytesArg>>,
    max_file_size: Option<u64>,
    duplicates: &str,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Plan> {
    let (columns, others) = RowColumns::split(options)?;
    let settings = TableSettings::new(others.as_ref())?;
    let owned = |keys: Option<Vec<BytesArg>>| -> Vec<Vec<u8>> {
        keys.unwrap_or_default().iter().map(|key| key.as_ref().to_vec()).collect()
    };
    let splits = match (splits, data, parts) {
        (splits, None, None) if shards.is_none() => owned(splits),
        (None, Some(data), Some(parts)) => {
            let (rows, shards) = (InputRows::new(data, &columns)?, owned(shards));
            let comparator = settings.comparator.clone();
            work::write(py, move |stop| {
                let mut sampler = Sampler(KeySamples::default());
                rows.write_to(&mut sampler, stop)?;
                Ok(sampler.0.split_keys(parts, &shards, &comparator)?)
            })?
        }
        _ => return Err(Failure::invalid("give splits, or data and parts").into()),
    };
    let mut options = PlanOptions::new(settings.table)
        .compression_level(settings.compression_level)
        .comparator(settings.comparator)
        .splits(splits)
        .duplicates(parse_duplicates(duplicates)?);
    if let Some(bytes) = max_file_size {
        options = options.max_file_size(bytes);
    }
    let plan: Outcome<DbPlan> = py.detach(|| BuildOutput::new(out)?.create_plan(&options));
    Ok(Plan { plan: plan? })
}

/// Samples keys.
struct Sampler(KeySamples);

impl EntrySink for Sampler {
    fn add(&mut self, key: &InternalKey<'_>, value: &[u8]) -> sstkit_arrow::Result<()> {
        self.0.offer(key.user_key, (key.user_key.len() + value.len()) as u64);
        Ok(())
    }
}
