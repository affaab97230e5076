//! A sink that goes back to its owner when the table is complete.
//!
//! The writer holds it as `dyn Write`, so that it is compiled once for all sinks. The owner keeps a slot
//! of the original type.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// Where the sink will be.
pub(crate) struct SinkSlot<W>(Arc<Mutex<Option<W>>>);

impl<W> SinkSlot<W> {
    /// The sink, if it was returned.
    pub(crate) fn take(self) -> Option<W> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// A sink with the slot it goes back to.
pub(crate) struct ReturnedSink<W> {
    sink: W,
    slot: Arc<Mutex<Option<W>>>,
}

impl<W> ReturnedSink<W> {
    pub(crate) fn new(sink: W) -> (Self, SinkSlot<W>) {
        let slot = Arc::new(Mutex::new(None));
        (Self { sink, slot: Arc::clone(&slot) }, SinkSlot(slot))
    }
}

/// What the writer of a table needs of the sink of a caller.
pub(crate) trait CallerSink: Write + Send {
    /// Flushes the sink and puts it into its slot.
    fn give_back(self: Box<Self>) -> io::Result<()>;
}

impl<W: Write + Send> CallerSink for ReturnedSink<W> {
    fn give_back(mut self: Box<Self>) -> io::Result<()> {
        self.sink.flush()?;
        let Self { sink, slot } = *self;
        *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(sink);
        Ok(())
    }
}

impl<W: Write> Write for ReturnedSink<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.sink.write(bytes)
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sink.write_all(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}
