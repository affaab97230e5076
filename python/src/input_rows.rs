//! Rows of Arrow data as entries.

use arrow_schema::SchemaRef;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sstkit_arrow::{BatchColumns, BatchWriter, EntrySink};
use sstkit_table::raw::InternalKey;

use crate::arrow_capsule::{BatchSource, batches};
use crate::errors::{Failure, Outcome};
use crate::read_settings::OneOrMany;
use crate::settings::{Settings, one_of};
use crate::work::Stop;

/// How several value columns become one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ValuesAs {
    Entity,
    Json,
}

const VALUES_AS: [(&str, ValuesAs); 2] = [("entity", ValuesAs::Entity), ("json", ValuesAs::Json)];

/// The names of the column arguments.
pub(crate) const COLUMN_ARGUMENTS: [&str; 6] =
    ["key", "value", "values_as", "kind", "timestamp", "sequence"];

/// Which columns make the entries; those of a scan, if none are named.
#[derive(Clone, Debug)]
pub(crate) struct RowColumns {
    key: Option<Vec<String>>,
    value: Option<Vec<String>>,
    values_as: Option<ValuesAs>,
    kind: Option<String>,
    timestamp: Option<String>,
    sequence: Option<String>,
}

impl RowColumns {
    /// Takes the column arguments, and gives back all others.
    pub(crate) fn split<'py>(
        given: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<(Self, Option<Bound<'py, PyDict>>)> {
        let Some(given) = given else { return Ok((Self::take(None)?, None)) };
        let (own, others) = (PyDict::new(given.py()), PyDict::new(given.py()));
        for (name, value) in given.iter() {
            let text: String = name.extract()?;
            match COLUMN_ARGUMENTS.contains(&text.as_str()) {
                true => own.set_item(name, value)?,
                false => others.set_item(name, value)?,
            }
        }
        Ok((Self::take(Some(&own))?, Some(others)))
    }

    /// Takes all arguments; none may be left.
    pub(crate) fn take(given: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let mut from = Settings::new(given);
        let names = |given: Option<OneOrMany>| given.map(OneOrMany::into_names);
        let is_list = matches!(from.take("value")?, Some(OneOrMany::Many(_)));
        let (key, value) = (names(from.take("key")?), names(from.take("value")?));
        let values_as =
            from.parse("values_as", |text| one_of("form of values", text, &VALUES_AS))?;
        let columns = Self {
            key,
            value,
            values_as: values_as.or(is_list.then_some(ValuesAs::Entity)),
            kind: from.take("kind")?,
            timestamp: from.take("timestamp")?,
            sequence: from.take("sequence")?,
        };
        from.finish()?;
        Ok(columns)
    }

    fn columns(&self, schema: &SchemaRef) -> Outcome<BatchColumns> {
        let (key, value) = match (&self.key, &self.value) {
            (None, None) if self.values_as.is_none() => {
                let mut columns = BatchColumns::of_scan(schema);
                columns = self.others(columns);
                return Ok(columns);
            }
            (Some(key), Some(value)) if !key.is_empty() => (key, value),
            _ => return Err(Failure::invalid("give both key and value, or neither")),
        };
        let columns = BatchColumns::new(key, value.first().cloned().unwrap_or_default());
        Ok(self.others(match self.values_as {
            Some(ValuesAs::Entity) => columns.entity(value),
            Some(ValuesAs::Json) => columns.json(value),
            None => columns,
        }))
    }

    fn others(&self, mut columns: BatchColumns) -> BatchColumns {
        if let Some(name) = &self.kind {
            columns = columns.kind(name);
        }
        if let Some(name) = &self.timestamp {
            columns = columns.timestamp(name);
        }
        if let Some(name) = &self.sequence {
            columns = columns.sequence(name);
        }
        columns
    }
}

/// Arrow data and which of its columns are written.
pub(crate) struct InputRows {
    batches: BatchSource,
    writer: BatchWriter,
}

impl InputRows {
    pub(crate) fn new(data: &Bound<'_, PyAny>, columns: &RowColumns) -> PyResult<Self> {
        let batches = batches(data)?;
        let schema = batches.schema();
        let columns = columns.columns(&schema)?;
        Ok(Self { writer: BatchWriter::new(schema, &columns).map_err(Failure::from)?, batches })
    }

    /// Writes everything, and returns the number of rows.
    pub(crate) fn write_to(mut self, sink: &mut impl EntrySink, stop: &Stop) -> Outcome<u64> {
        let mut sink = StoppableSink { sink, stop, entries: 0 };
        for batch in self.batches {
            stop.check()?;
            self.writer.write(&batch?, &mut sink)?;
        }
        Ok(self.writer.rows())
    }
}

/// Entries between two looks at whether to stop.
const STEP: u64 = 4096;

/// Stops in the middle of a large batch.
struct StoppableSink<'s, S> {
    sink: &'s mut S,
    stop: &'s Stop,
    entries: u64,
}

impl<S> StoppableSink<'_, S> {
    fn check(&self) -> sstkit_arrow::Result<()> {
        match self.stop.check() {
            Ok(()) => Ok(()),
            Err(_) => {
                let stopped = std::io::Error::from(std::io::ErrorKind::Interrupted);
                Err(sstkit_db::Error::from(stopped).into())
            }
        }
    }
}

impl<S: EntrySink> EntrySink for StoppableSink<'_, S> {
    #[inline]
    fn add(&mut self, key: &InternalKey<'_>, value: &[u8]) -> sstkit_arrow::Result<()> {
        self.entries += 1;
        if self.entries.is_multiple_of(STEP) {
            self.check()?;
        }
        self.sink.add(key, value)
    }

    #[inline]
    fn add_run<'r, I>(&mut self, run: I) -> sstkit_arrow::Result<()>
    where
        I: DoubleEndedIterator<Item = (&'r [u8], &'r [u8])> + Clone,
    {
        self.check()?;
        self.sink.add_run(run)
    }
}
