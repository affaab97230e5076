//! A writer that many calls use, one at a time.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;

use crate::errors::{Failure, Outcome};
use crate::work::{self, Stop};

/// A writer, until it is finished or has failed.
pub(crate) struct OpenWriter<W>(Mutex<Option<W>>);

impl<W: Send + 'static> OpenWriter<W> {
    pub(crate) fn new(writer: W) -> Self {
        Self(Mutex::new(Some(writer)))
    }

    /// The writer. It is gone then.
    pub(crate) fn take(&self) -> Outcome<W> {
        let writer = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        writer.ok_or_else(|| Failure::invalid("the writer is finished, failed, or in use"))
    }

    fn put_back(&self, writer: W) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(writer);
    }

    /// Drops the writer, which leaves nothing behind.
    pub(crate) fn abandon(&self) {
        drop(self.take());
    }

    /// Adds an entry or two. The writer stays usable after an error.
    pub(crate) fn add(
        &self,
        py: Python<'_>,
        add: impl FnOnce(&mut W) -> Outcome<()> + Send,
    ) -> PyResult<()> {
        let mut writer = self.take()?;
        let (writer, added) = py.detach(move || {
            let added = add(&mut writer);
            (writer, added)
        });
        self.put_back(writer);
        Ok(added?)
    }

    /// Adds many entries. After an error it is unknown which of them were added, so the writer is dropped.
    pub(crate) fn add_many<T: Send + 'static>(
        &self,
        py: Python<'_>,
        add: impl FnOnce(&mut W, &Stop) -> Outcome<T> + Send + 'static,
    ) -> PyResult<T> {
        let mut writer = self.take()?;
        let (writer, added) = work::write(py, move |stop| {
            let added = add(&mut writer, stop)?;
            Ok((writer, added))
        })?;
        self.put_back(writer);
        Ok(added)
    }
}
