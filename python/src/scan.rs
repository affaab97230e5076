//! Scans as Arrow streams.

use std::ops::Bound as KeyBound;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList, PyTuple};
use sstkit_arrow::{Batches, BinaryLayout, KeyEncoding, ScanColumn, parse_data_type};
use sstkit_db::ColumnFamily;
use sstkit_table::Table;

use crate::arrow_capsule::{schema_capsule, stream_capsule};
use crate::bytes_arg::BytesArg;
use crate::closing::copied;
use crate::errors::{Failure, Outcome};
use crate::scan_rows::ScanRows;
use crate::settings::{Settings, one_of};
use crate::{database, table, work};

const LAYOUTS: [(&str, BinaryLayout); 3] = [
    ("binary", BinaryLayout::Binary),
    ("large_binary", BinaryLayout::LargeBinary),
    ("binary_view", BinaryLayout::BinaryView),
];

/// What is scanned.
#[derive(Clone)]
pub(crate) enum Scanned {
    Table(Table),
    ColumnFamily(ColumnFamily),
}

/// Keys and values of a table or column family, as record batches.
///
/// Anything that reads Arrow streams takes it: `pyarrow.table(scan)`, `polars.DataFrame(scan)`,
/// `duckdb.sql("select count(*) from scan")`. Each of them starts a new scan. Iterating gives rows as
/// tuples. Nothing is read before.
#[pyclass(frozen, module = "sstkit")]
pub(crate) struct Scan {
    /// The Table or Database.
    source: Py<PyAny>,
    column_family: Option<String>,
    scan: sstkit_arrow::Scan,
    schema: SchemaRef,
    /// For pickling.
    arguments: Py<PyDict>,
}

impl Scan {
    /// A scan of a `Table` or `Database`.
    pub(crate) fn new<'py>(
        source: Bound<'py, PyAny>,
        columns: Option<&Bound<'py, PyAny>>,
        given: Option<&Bound<'py, PyDict>>,
        column_family: Option<String>,
    ) -> PyResult<Self> {
        let py = source.py();
        let arguments = copied(py, given)?;
        let mut from = Settings::new(given);
        let mut scan = options(&mut from)?;
        from.finish()?;
        if let Some(columns) = columns.filter(|columns| !columns.is_none()) {
            let names: Vec<String> = columns.extract()?;
            let columns = names.iter().map(|name| name.parse::<ScanColumn>());
            scan = scan.columns(columns.collect::<Result<Vec<_>, _>>().map_err(Failure::from)?);
            arguments.set_item("columns", names)?;
        }
        if let Some(name) = &column_family {
            arguments.set_item("column_family", name)?;
        }
        let schema = scan.schema().map_err(Failure::from)?;
        let (source, arguments) = (source.unbind(), arguments.unbind());
        Ok(Self { source, column_family, scan, schema, arguments })
    }

    /// A new scan.
    pub(crate) fn batches(&self, py: Python<'_>) -> PyResult<Batches> {
        let source = self.source.bind(py);
        let scanned = match source.cast::<table::Table>() {
            Ok(table) => Scanned::Table(table.get().file()?.table().clone()),
            Err(_) => {
                let database = source.cast::<database::Database>()?;
                Scanned::ColumnFamily(database.get().family(self.column_family.as_deref())?)
            }
        };
        let scan = self.scan.clone();
        let start = move || -> Outcome<Batches> {
            Ok(match &scanned {
                Scanned::Table(table) => scan.table(table)?,
                Scanned::ColumnFamily(family) => scan.column_family(family)?,
            })
        };
        Ok(py.detach(start)?)
    }
}

#[pymethods]
impl Scan {
    /// A stream of record batches in an `arrow_array_stream` capsule.
    ///
    /// The requested schema is not followed; consumers cast.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = InterruptibleBatches { batches: self.batches(py)?, checked: Instant::now() };
        stream_capsule(py, Box::new(batches))
    }

    /// The schema in an `arrow_schema` capsule.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.schema)
    }

    /// The names of the columns.
    #[getter]
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.schema.fields().iter().map(|field| field.name()))
    }

    fn __iter__(&self, py: Python<'_>) -> PyResult<ScanRows> {
        ScanRows::new(self.batches(py)?)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let names: Vec<&str> = self.schema.fields().iter().map(|it| it.name().as_str()).collect();
        Ok(format!("<Scan of {} [{}]>", self.source.bind(py).repr()?, names.join(", ")))
    }

    /// The same scan of the same file, elsewhere.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let caller = py.import("operator")?.getattr("methodcaller")?;
        let again = caller.call(("scan",), Some(self.arguments.bind(py)))?;
        PyTuple::new(py, [again, PyTuple::new(py, [self.source.bind(py)])?.into_any()])
    }
}

fn options(from: &mut Settings<'_>) -> PyResult<sstkit_arrow::Scan> {
    let mut scan = sstkit_arrow::Scan::new();
    let key = |key: Option<BytesArg>| key.map(|key| key.as_ref().to_vec());
    let lower = key(from.take("start")?).map_or(KeyBound::Unbounded, KeyBound::Included);
    let upper = key(from.take("end")?).map_or(KeyBound::Unbounded, KeyBound::Excluded);
    scan = scan.range((lower, upper));
    if let Some(prefix) = key(from.take("prefix")?) {
        scan = scan.prefix(prefix);
    }
    scan = scan
        .reverse(from.take("reverse")?.unwrap_or(false))
        .limit(from.take("limit")?)
        .versions(from.take("versions")?.unwrap_or(false))
        .sequence(from.take("sequence")?)
        .timestamp(key(from.take("timestamp")?));
    if let Some(types) = from.take::<Vec<(String, String)>>("key_types")? {
        let columns = types.into_iter().map(|(name, of)| Ok((name, parse_data_type(&of)?)));
        let columns: Outcome<Vec<_>> = columns.collect();
        scan = scan.key_encoding(Some(KeyEncoding::new(columns?).map_err(Failure::from)?));
    }
    if let Some(layout) =
        from.parse("binary_layout", |text| one_of("binary layout", text, &LAYOUTS))?
    {
        scan = scan.binary_layout(layout);
    }
    if let Some(rows) = from.take("batch_rows")? {
        scan = scan.batch_rows(rows);
    }
    if let Some(bytes) = from.take("batch_bytes")? {
        scan = scan.batch_bytes(bytes);
    }
    if let Some(threads) = from.take("threads")? {
        scan = scan.threads(threads);
    }
    Ok(scan)
}

/// Between two looks for signals.
const INTERVAL: Duration = Duration::from_millis(100);

/// Batches that end at Ctrl-C, if they are read in the main thread.
struct InterruptibleBatches {
    batches: Batches,
    checked: Instant,
}

impl Iterator for InterruptibleBatches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.checked.elapsed() >= INTERVAL {
            self.checked = Instant::now();
            if work::is_interrupted() {
                let error = Box::new(std::io::Error::from(std::io::ErrorKind::Interrupted));
                return Some(Err(ArrowError::ExternalError(error)));
            }
        }
        self.batches.next()
    }
}

impl RecordBatchReader for InterruptibleBatches {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.batches.schema())
    }
}
