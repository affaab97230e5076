//! Many keys as one argument.

use pyo3::prelude::*;
use sstkit_arrow::{KeyEncoding, Keys};

use crate::arrow_capsule::arrays;
use crate::bytes_arg::BytesArg;
use crate::errors::Outcome;
use crate::work;

/// Keys: an iterable of `bytes` or `str`, or an Arrow array, whose values are encoded as key columns
/// are.
pub(crate) enum KeyList {
    Listed(Vec<BytesArg>),
    Encoded(Vec<Keys>),
}

impl KeyList {
    /// The bytes of the keys.
    pub(crate) fn slices(&self) -> Vec<&[u8]> {
        match self {
            Self::Listed(keys) => keys.iter().map(AsRef::as_ref).collect(),
            Self::Encoded(chunks) => chunks.iter().flat_map(Keys::iter).collect(),
        }
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for KeyList {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if !object.hasattr("__arrow_c_array__")? && !object.hasattr("__arrow_c_stream__")? {
            let keys = object.try_iter()?.map(|key| key?.extract());
            return keys.collect::<PyResult<_>>().map(Self::Listed);
        }
        let chunks = arrays(&object)?;
        let encoded = work::write(object.py(), move |stop| {
            let encoded = chunks.map(|chunk| {
                stop.check()?;
                let chunk = chunk?;
                let encoding = KeyEncoding::new([("key", chunk.data_type().clone())])?;
                Ok(encoding.encode(&[chunk])?)
            });
            encoded.collect::<Outcome<Vec<Keys>>>()
        })?;
        Ok(Self::Encoded(encoded))
    }
}
