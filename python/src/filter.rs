//! One filter.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use serde::Serialize;
use sstkit_filter::{BuildContext, Filter as Reader, FilterParameters};
use sstkit_inspect::setting_names as names;

use crate::boolean_array::BooleanArray;
use crate::bytes_arg::BytesArg;
use crate::errors::Failure;
use crate::json::to_python;
use crate::key_list::KeyList;
use crate::work;

/// A full filter of RocksDB: bytes that tell whether a key may be among those it was built from.
///
/// Any bytes can be read; those that are no filter may contain everything.
#[pyclass(frozen, module = "sstkit")]
pub(crate) struct Filter {
    filter: Reader<Vec<u8>>,
}

/// What is known about a filter, with the names of `sst filter --format json`.
#[derive(Serialize)]
struct FilterDescription {
    kind: &'static str,
    bytes: usize,
    probes: Option<u8>,
    fill: Option<f64>,
    estimated_keys: Option<f64>,
    expected_fpr: Option<f64>,
}

#[pymethods]
impl Filter {
    /// Reads the bytes of a filter block.
    #[new]
    fn new(data: BytesArg) -> Self {
        Self { filter: Reader::from_bytes(data.as_ref().to_vec()) }
    }

    /// Builds a filter of keys: an iterable of bytes or str, or an Arrow array.
    ///
    /// The policy is `bloomfilter:BITS` or `ribbonfilter:BITS`; below format version 5 a Bloom filter
    /// is the older kind.
    #[staticmethod]
    #[pyo3(signature = (keys, policy = "bloomfilter:10", *, format_version = 5))]
    fn build(py: Python<'_>, keys: KeyList, policy: &str, format_version: u32) -> PyResult<Self> {
        let policy = names::filter(policy).map_err(Failure::Invalid)?;
        let data = work::read(py, move || {
            let context = BuildContext::default().format_version(format_version);
            let mut builder = policy.builder(&context)?;
            keys.slices().into_iter().for_each(|key| builder.add(key));
            Ok(builder.finish()?)
        })?;
        Ok(Self { filter: Reader::from_bytes(data) })
    }

    /// The rate of false positives to expect of a filter with `keys` keys.
    #[staticmethod]
    #[pyo3(signature = (policy, keys, *, format_version = 5))]
    fn expected_fpr_of(policy: &str, keys: usize, format_version: u32) -> PyResult<Option<f64>> {
        let policy = names::filter(policy).map_err(Failure::Invalid)?;
        Ok(policy.expected_fpr(keys, &BuildContext::default().format_version(format_version)))
    }

    /// The kind: `fast_local_bloom`, `legacy_bloom`, `ribbon128`, `always_false`, `always_true` or
    /// `unknown`.
    #[getter]
    fn kind(&self) -> &'static str {
        self.filter.kind().name()
    }

    /// The rate of false positives to expect, computed from the bits.
    #[getter]
    fn expected_fpr(&self, py: Python<'_>) -> Option<f64> {
        py.detach(|| self.filter.stats().expected_fpr)
    }

    /// Whether the key may be among those of the filter. False means that it is not.
    fn may_contain(&self, key: BytesArg) -> bool {
        self.filter.may_contain(key.as_ref())
    }

    /// The same for many keys: an iterable of bytes or str, or an Arrow array.
    fn may_contain_many(&self, py: Python<'_>, keys: KeyList) -> BooleanArray {
        BooleanArray::new(py.detach(|| {
            let keys = keys.slices();
            let mut answers = vec![false; keys.len()];
            self.filter.may_contain_batch(&keys, &mut answers);
            answers
        }))
    }

    /// Kind, size, probes, fill, estimated number of keys and expected rate of false positives.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let stats = py.detach(|| self.filter.stats());
        let description = FilterDescription {
            kind: stats.kind.name(),
            bytes: stats.bytes,
            probes: match stats.parameters {
                FilterParameters::Bloom { num_probes, .. } => Some(num_probes),
                _ => None,
            },
            fill: stats.fill,
            estimated_keys: stats.estimated_keys,
            expected_fpr: stats.expected_fpr,
        };
        to_python(py, &description)
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.filter.bytes())
    }

    fn __len__(&self) -> usize {
        self.filter.bytes().len()
    }

    fn __repr__(&self) -> String {
        format!("<Filter {}, {} bytes>", self.kind(), self.__len__())
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = this.py();
        let data = this.get().__bytes__(py);
        PyTuple::new(py, [this.get_type().into_any(), PyTuple::new(py, [data])?.into_any()])
    }
}
