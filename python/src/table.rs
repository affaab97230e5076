//! One table.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};
use sstkit_db::analyze_table;
use sstkit_inspect::{
    Encoding, ExplainedLookup, FilterReport, InspectedTable, StatsReport, TableInfo, VerifyReport,
    blocks,
};
use sstkit_table::{TableReadOptions, Tickers, Value, VerifyProgress};

use crate::bytes_arg::BytesArg;
use crate::closing::{Closable, copied, reduced};
use crate::errors::{Failure, Outcome};
use crate::json::to_python;
use crate::key_list::KeyList;
use crate::location::{Location, to_object};
use crate::read_settings::table_options;
use crate::scan::Scan;
use crate::stats_settings::StatsSettings;
use crate::work;

/// A table file of LevelDB or RocksDB, open for reading.
///
/// Opening reads only the end of the file. A table never changes while it is open, and many threads
/// can use one.
#[pyclass(frozen, module = "sstkit")]
pub(crate) struct Table {
    path: PathBuf,
    file: Closable<Arc<InspectedTable>>,
    tickers: Arc<Tickers>,
    options: TableReadOptions,
    arguments: Py<PyDict>,
}

impl Table {
    pub(crate) fn file(&self) -> Outcome<Arc<InspectedTable>> {
        self.file.get()
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }
}

/// Opens a table in the order that its keys are in, if nothing names it.
fn open(path: &Path, options: &TableReadOptions) -> Outcome<InspectedTable> {
    let file = InspectedTable::open(path, options)?;
    match file.has_assumed_order() {
        true => Ok(file.in_detected_order()?),
        false => Ok(file),
    }
}

#[pymethods]
impl Table {
    #[new]
    #[pyo3(signature = (path, **options))]
    fn new(py: Python<'_>, path: Location, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let path = path.into_path();
        let tickers = Arc::new(Tickers::default());
        let read = table_options(options, &tickers)?;
        let (opened, given) = (path.clone(), read.clone());
        let file = work::read(py, move || open(&opened, &given))?;
        let arguments = copied(py, options)?.unbind();
        Ok(Self { path, file: Closable::new(Arc::new(file)), tickers, options: read, arguments })
    }

    /// The path of the file: a `Path`, or the address in an object store as text.
    #[getter]
    fn path<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_object(py, &self.path)
    }

    /// The size of the file in bytes.
    #[getter]
    fn size(&self) -> PyResult<u64> {
        Ok(self.file()?.table().size())
    }

    /// The name of the comparator, if it is known.
    #[getter]
    fn comparator(&self) -> PyResult<Option<String>> {
        let file = self.file()?;
        Ok(file.comparator_name().map(|name| Encoding::Escape.encode(name)))
    }

    /// The value of a key, or None.
    ///
    /// Of an entity it is the default column.
    fn get<'py>(&self, py: Python<'py>, key: BytesArg) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let file = self.file()?;
        let value: Outcome<Option<Value>> = py.detach(|| Ok(file.table().get(key.as_ref())?));
        Ok(value?.map(|value| PyBytes::new(py, &value)))
    }

    /// The values of many keys, with None for those that are not found, in the order of the keys.
    fn get_many<'py>(&self, py: Python<'py>, keys: KeyList) -> PyResult<Bound<'py, PyList>> {
        let file = self.file()?;
        let values = work::look_up(py, &keys.slices(), |keys| Ok(file.table().get_many(keys)?))?;
        list_of_values(py, &values)
    }

    /// A scan of keys and values, as an Arrow stream.
    #[pyo3(signature = (columns = None, **options))]
    fn scan<'py>(
        this: &Bound<'py, Self>,
        columns: Option<&Bound<'py, PyAny>>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Scan> {
        Scan::new(this.clone().into_any(), columns, options, None)
    }

    /// The steps of a lookup, as `sst get --explain --format json` prints them.
    fn explain<'py>(&self, py: Python<'py>, key: BytesArg) -> PyResult<Bound<'py, PyAny>> {
        let (file, tickers) = (self.file()?, Arc::clone(&self.tickers));
        let explained = work::read(py, move || {
            let encoding = Encoding::default();
            Ok(ExplainedLookup::in_table(&file, &tickers, key.as_ref(), encoding)?)
        })?;
        to_python(py, &explained)
    }

    /// What the table contains, as `sst info --format json` prints it.
    #[pyo3(signature = (*, full = false))]
    fn info<'py>(&self, py: Python<'py>, full: bool) -> PyResult<Bound<'py, PyAny>> {
        let (name, file) = (self.name(), self.file()?);
        let info = work::read(py, move || match full {
            true => Ok(TableInfo::full(name, &file, Encoding::default())?),
            false => Ok(TableInfo::of(name, &file, Encoding::default())?),
        })?;
        to_python(py, &info)
    }

    /// The blocks in file order, as `sst layout --format json` prints them.
    #[pyo3(signature = (*, blocks = false))]
    fn layout<'py>(&self, py: Python<'py>, blocks: bool) -> PyResult<Bound<'py, PyAny>> {
        let file = self.file()?;
        let described = work::read(py, move || {
            let contents = blocks.then_some(Encoding::default());
            let described = self::blocks(&file, contents)?;
            let json = described.map(|block| serde_json::to_value(&block));
            json.collect::<Result<Vec<_>, _>>().map_err(|error| Failure::invalid(error.to_string()))
        })?;
        to_python(py, &described)
    }

    /// Statistics of the filter, as `sst filter --format json` prints them. `measure` absent keys are
    /// probed to measure the false-positive rate.
    #[pyo3(signature = (*, measure = 0))]
    fn filter_report<'py>(&self, py: Python<'py>, measure: u64) -> PyResult<Bound<'py, PyAny>> {
        let (name, file) = (self.name(), self.file()?);
        let report = work::read(py, move || Ok(FilterReport::of(name, &file, measure)?))?;
        to_python(py, &report)
    }

    /// Reads everything and reports every problem, as `sst verify --format json` prints them.
    fn verify<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (path, options) = (self.path.clone(), self.options.clone());
        let report = work::read(py, move || {
            Ok(VerifyReport::of_table_file(&path, &options, &VerifyProgress::default())?)
        })?;
        to_python(py, &report)
    }

    /// What the table contains and what its space is used for, as `sst stats --format json` prints it.
    #[pyo3(signature = (**options))]
    fn stats<'py>(
        &self,
        py: Python<'py>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let settings = StatsSettings::new(options)?;
        let (name, file) = (self.name(), self.file()?);
        let report = work::read(py, move || {
            let analysis = analyze_table(file.table(), &settings.options)?;
            let mut report = StatsReport::new(name, settings.sample);
            report.add_table(&analysis, Encoding::default(), settings.top);
            Ok(report)
        })?;
        to_python(py, &report)
    }

    /// Keys that split the data into about `parts` parts of the same size. Only indexes are read.
    fn split_keys<'py>(&self, py: Python<'py>, parts: usize) -> PyResult<Bound<'py, PyList>> {
        let file = self.file()?;
        let keys = work::read(py, move || Ok(file.table().split_keys(parts)?))?;
        PyList::new(py, keys.iter().map(|key| PyBytes::new(py, key)))
    }

    /// Closes the file. Scans that have started go on.
    fn close(&self) {
        self.file.close();
    }

    fn __enter__(this: Bound<'_, Self>) -> Bound<'_, Self> {
        this
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, PyTuple>) {
        self.close();
    }

    fn __repr__(&self) -> String {
        format!("Table({:?})", self.name())
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let table = this.get();
        reduced(this.as_any(), &table.path, &table.arguments)
    }
}

/// Values as `bytes` or `None`.
pub(crate) fn list_of_values<'py>(
    py: Python<'py>,
    values: &[Option<Value>],
) -> PyResult<Bound<'py, PyList>> {
    PyList::new(py, values.iter().map(|value| value.as_ref().map(|value| PyBytes::new(py, value))))
}
