//! A database, or a directory of tables.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};
use sstkit_db::ColumnFamily;
use sstkit_inspect::suggest::hint;
use sstkit_inspect::{
    DatabaseInfo, Encoding, ExplainedLookup, FilterReport, LayoutDescription, StatsReport,
    filter_reports, open_level_file, verify_database,
};
use sstkit_table::Value;

use crate::bytes_arg::BytesArg;
use crate::closing::{Closable, copied, reduced};
use crate::errors::{Failure, Outcome};
use crate::json::to_python;
use crate::key_list::KeyList;
use crate::location::{Location, to_object};
use crate::read_settings::database_options;
use crate::scan::Scan;
use crate::stats_settings::StatsSettings;
use crate::table::list_of_values;
use crate::work;

/// A database of LevelDB or RocksDB, or a directory of tables, open for reading.
///
/// The directory is never written to or locked. Reads see the state at the time of opening.
#[pyclass(frozen, module = "sstkit")]
pub(crate) struct Database {
    path: PathBuf,
    database: Closable<sstkit_db::Database>,
    arguments: Py<PyDict>,
}

impl Database {
    pub(crate) fn handle(&self) -> Outcome<sstkit_db::Database> {
        self.database.get()
    }

    /// A column family, by default the one called `default`.
    pub(crate) fn family(&self, name: Option<&str>) -> Outcome<ColumnFamily> {
        let database = self.handle()?;
        let Some(name) = name else { return Ok(database.default_column_family()) };
        database.column_families().find(|family| family.name() == name).ok_or_else(|| {
            let names: Vec<String> =
                database.column_families().map(|family| family.name().to_owned()).collect();
            let (list, hint) = (names.join(", "), hint(name, names.iter().map(String::as_str)));
            let path = self.path.display();
            Failure::invalid(format!("{path}: no column family {name:?} (found {list}){hint}"))
        })
    }

    /// One column family, or all of them.
    fn families(&self, name: Option<&str>) -> Outcome<Vec<ColumnFamily>> {
        match name {
            Some(_) => Ok(vec![self.family(name)?]),
            None => Ok(self.handle()?.column_families().collect()),
        }
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }
}

#[pymethods]
impl Database {
    #[new]
    #[pyo3(signature = (path, **options))]
    fn new(py: Python<'_>, path: Location, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let path = path.into_path();
        let (read, tables_only) = database_options(options)?;
        let opened = path.clone();
        let database = work::read(py, move || {
            if tables_only {
                return Ok(sstkit_db::Database::open_tables_with(&opened, &read)?);
            }
            match sstkit_db::Database::open_folder_with(&opened, &read)? {
                Some(folder) => Ok(folder),
                None => Ok(sstkit_db::Database::open_with(&opened, &read)?),
            }
        })?;
        let arguments = copied(py, options)?.unbind();
        Ok(Self { path, database: Closable::new(database), arguments })
    }

    /// The path of the directory: a `Path`, or the address in an object store as text.
    #[getter]
    fn path<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_object(py, &self.path)
    }

    /// The names of the column families.
    #[getter]
    fn column_families(&self) -> PyResult<Vec<String>> {
        Ok(self.handle()?.column_families().map(|family| family.name().to_owned()).collect())
    }

    /// The last sequence number.
    #[getter]
    fn last_sequence(&self) -> PyResult<u64> {
        Ok(self.handle()?.last_sequence())
    }

    /// Problems that do not prevent reading.
    #[getter]
    fn caveats(&self) -> PyResult<Vec<String>> {
        Ok(self.handle()?.caveats().iter().map(ToString::to_string).collect())
    }

    /// The bytes of all tables together.
    #[getter]
    fn size(&self) -> PyResult<u64> {
        let families: Vec<ColumnFamily> = self.handle()?.column_families().collect();
        let levels = families.iter().flat_map(ColumnFamily::levels);
        Ok(levels.flat_map(|level| level.files).map(|file| file.metadata().size).sum())
    }

    /// The name of the comparator of a column family, if it is known.
    #[pyo3(signature = (*, column_family = None))]
    fn comparator(&self, column_family: Option<&str>) -> PyResult<Option<String>> {
        let family = self.family(column_family)?;
        Ok(family.comparator().ok().map(ToString::to_string))
    }

    /// The value of a key, or None.
    ///
    /// Of an entity it is the default column.
    #[pyo3(signature = (key, *, column_family = None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: BytesArg,
        column_family: Option<&str>,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let family = self.family(column_family)?;
        let value: Outcome<Option<Value>> = py.detach(|| Ok(family.get(key.as_ref())?));
        Ok(value?.map(|value| PyBytes::new(py, &value)))
    }

    /// The values of many keys, with None for those that are not found, in the order of the keys.
    #[pyo3(signature = (keys, *, column_family = None))]
    fn get_many<'py>(
        &self,
        py: Python<'py>,
        keys: KeyList,
        column_family: Option<&str>,
    ) -> PyResult<Bound<'py, PyList>> {
        let family = self.family(column_family)?;
        let values = work::look_up(py, &keys.slices(), |keys| Ok(family.get_many(keys)?))?;
        list_of_values(py, &values)
    }

    /// A scan of keys and values, as an Arrow stream.
    #[pyo3(signature = (columns = None, *, column_family = None, **options))]
    fn scan<'py>(
        this: &Bound<'py, Self>,
        columns: Option<&Bound<'py, PyAny>>,
        column_family: Option<String>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Scan> {
        this.get().family(column_family.as_deref())?;
        Scan::new(this.clone().into_any(), columns, options, column_family)
    }

    /// The steps of a lookup, as `sst get --explain --format json` prints them.
    #[pyo3(signature = (key, *, column_family = None))]
    fn explain<'py>(
        &self,
        py: Python<'py>,
        key: BytesArg,
        column_family: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let family = self.family(column_family)?;
        let explained = work::read(py, move || {
            Ok(ExplainedLookup::in_database(&family, key.as_ref(), Encoding::default())?)
        })?;
        to_python(py, &explained)
    }

    /// What the database contains, as `sst info --format json` prints it.
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (name, database) = (self.name(), self.handle()?);
        let info =
            work::read(py, move || Ok(DatabaseInfo::of(name, &database, Encoding::default())))?;
        to_python(py, &info)
    }

    /// The blocks of all tables: for each table a dictionary with its `file`, `size` and `blocks`, which are
    /// those of `Table.layout`.
    #[pyo3(signature = (*, column_family = None))]
    fn layout<'py>(
        &self,
        py: Python<'py>,
        column_family: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let families = self.families(column_family)?;
        let described = work::read(py, move || {
            let levels = families.iter().flat_map(ColumnFamily::levels);
            let files = levels.flat_map(|level| level.files).map(|file| {
                let name = file.path().display().to_string();
                Ok(LayoutDescription::of(name, &open_level_file(&file)?)?)
            });
            files.collect::<Outcome<Vec<LayoutDescription>>>()
        })?;
        to_python(py, &described)
    }

    /// Statistics of all filters, as `sst filter --format json` prints them.
    #[pyo3(signature = (*, column_family = None, measure = 0))]
    fn filter_report<'py>(
        &self,
        py: Python<'py>,
        column_family: Option<&str>,
        measure: u64,
    ) -> PyResult<Bound<'py, PyAny>> {
        let families = self.families(column_family)?;
        let reports = work::read(py, move || {
            let reports = families.iter().flat_map(|family| filter_reports(family, measure));
            Ok(reports.collect::<Result<Vec<FilterReport>, _>>()?)
        })?;
        to_python(py, &reports)
    }

    /// Reads everything and reports every problem, as `sst verify --format json` prints them: a
    /// dictionary for each file, and last that of the directory.
    fn verify<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (name, database) = (self.name(), self.handle()?);
        let reports = work::read(py, move || {
            let mut reports = Vec::new();
            verify_database(name, &database, None, None, |report| reports.push(report));
            Ok(reports)
        })?;
        to_python(py, &reports)
    }

    /// What the database contains and what its space is used for, as `sst stats --format json` prints
    /// it.
    #[pyo3(signature = (*, column_family = None, **options))]
    fn stats<'py>(
        &self,
        py: Python<'py>,
        column_family: Option<&str>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let settings = StatsSettings::new(options)?;
        let (name, database) = (self.name(), self.handle()?);
        let families = self.families(column_family)?;
        let report = work::read(py, move || {
            let mut report = StatsReport::new(name, settings.sample);
            for family in families {
                let analysis = family.analyze(&settings.options)?;
                let encoding = Encoding::default();
                report.add_column_family(&database, &family, &analysis, encoding, settings.top);
            }
            Ok(report)
        })?;
        to_python(py, &report)
    }

    /// Keys that split the data into about `parts` parts of the same size. Only indexes are read.
    #[pyo3(signature = (parts, *, column_family = None))]
    fn split_keys<'py>(
        &self,
        py: Python<'py>,
        parts: usize,
        column_family: Option<&str>,
    ) -> PyResult<Bound<'py, PyList>> {
        let family = self.family(column_family)?;
        let keys = work::read(py, move || Ok(family.split_keys(parts)?))?;
        PyList::new(py, keys.iter().map(|key| PyBytes::new(py, key)))
    }

    /// Closes the files. Scans that have started go on.
    fn close(&self) {
        self.database.close();
    }

    fn __enter__(this: Bound<'_, Self>) -> Bound<'_, Self> {
        this
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, PyTuple>) {
        self.close();
    }

    fn __repr__(&self) -> String {
        format!("Database({:?})", self.name())
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let database = this.get();
        reduced(this.as_any(), &database.path, &database.arguments)
    }
}
