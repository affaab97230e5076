//! A lookup that only finds out which blocks it needs, for [rounds](crate::reader::remote::rounds) of reads.

use crate::error::{Error, Result};
use crate::raw::BlockHandle;
use crate::reader::get::recorder::Recorder;
use crate::reader::open::core::Core;
use crate::reader::read_options::ReadOptions;

/// Counts nothing and fills no cache, since the lookup runs once more for each round.
pub(crate) struct Planner<'o> {
    options: &'o ReadOptions,
    /// Whether the filter has to be read first.
    awaits_filter: bool,
}

impl<'o> Planner<'o> {
    pub(crate) fn new(options: &'o ReadOptions) -> Self {
        Self { options, awaits_filter: false }
    }
}

impl Recorder for Planner<'_> {
    const IS_QUIET: bool = true;

    fn uses_filters(&self) -> bool {
        self.options.use_filters
    }

    fn filter_problem(&mut self, error: impl FnOnce() -> Option<Error>) {
        self.awaits_filter = error().is_some();
    }

    /// A partition of the index is read together with the filter, but a data block only if the key passes it.
    fn data_block(&mut self, _core: &Core, _handle: BlockHandle) -> Result<()> {
        match self.awaits_filter {
            true => Err(Error::cancelled()),
            false => Ok(()),
        }
    }
}
