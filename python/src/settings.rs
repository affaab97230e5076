//! Keyword arguments that several calls share.

use pyo3::conversion::FromPyObjectOwned;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use sstkit_inspect::suggest::hint;

use crate::errors::Failure;

/// Keyword arguments, taken one by one. What is left is unknown.
pub(crate) struct Settings<'py> {
    given: Option<Bound<'py, PyDict>>,
    known: Vec<&'static str>,
}

impl<'py> Settings<'py> {
    pub(crate) fn new(given: Option<&Bound<'py, PyDict>>) -> Self {
        Self { given: given.cloned(), known: Vec::new() }
    }

    /// An argument, if it is given and not `None`.
    pub(crate) fn take<T>(&mut self, name: &'static str) -> PyResult<Option<T>>
    where
        T: FromPyObjectOwned<'py>,
    {
        self.known.push(name);
        let Some(given) = &self.given else { return Ok(None) };
        match given.get_item(name)? {
            Some(value) if !value.is_none() => {
                let py = value.py();
                value.extract().map(Some).map_err(|error: T::Error| {
                    PyTypeError::new_err(format!("{name}: {}", error.into().value(py)))
                })
            }
            _ => Ok(None),
        }
    }

    /// A text that `parse` understands; numbers are taken as text, too.
    pub(crate) fn parse<T, E: ToString>(
        &mut self,
        name: &'static str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> PyResult<Option<T>> {
        let Some(value) = self.take::<Py<PyAny>>(name)? else { return Ok(None) };
        let Some(given) = &self.given else { return Ok(None) };
        let text: Bound<'py, PyString> = value.bind(given.py()).str()?;
        let parsed = parse(text.to_str()?);
        let invalid = |error: E| Failure::invalid(format!("{name}: {}", error.to_string()));
        Ok(Some(parsed.map_err(invalid)?))
    }

    /// Fails if something is given that nobody has taken.
    pub(crate) fn finish(self) -> PyResult<()> {
        let Some(given) = self.given else { return Ok(()) };
        for name in given.keys() {
            let name: String = name.extract()?;
            if !self.known.contains(&name.as_str()) {
                let hint = hint(&name, self.known.iter().copied());
                let what = format!("unexpected keyword argument {name:?}{hint}");
                return Err(PyTypeError::new_err(what));
            }
        }
        Ok(())
    }
}

/// One of some names.
pub(crate) fn one_of<T: Copy>(
    what: &str,
    text: &str,
    known: &[(&'static str, T)],
) -> Result<T, Failure> {
    match known.iter().find(|(name, _)| *name == text) {
        Some((_, value)) => Ok(*value),
        None => {
            let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
            let (list, hint) = (names.join(", "), hint(text, names));
            Err(Failure::invalid(format!("unknown {what} {text:?} (expected {list}){hint}")))
        }
    }
}
