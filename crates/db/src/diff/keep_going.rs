//! Cancelling a comparison.

use std::fmt;
use std::sync::Arc;

use crate::error::{Error, Result};

/// Keys and entries between two calls.
const STEP: u32 = 4096;

/// A callback that says whether to go on.
#[derive(Clone, Default)]
pub(super) struct KeepGoing {
    callback: Option<Arc<dyn Fn() -> bool + Send + Sync>>,
    steps: u32,
}

impl KeepGoing {
    pub(super) fn new(callback: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self { callback: Some(Arc::new(callback)), steps: 0 }
    }

    /// Counts a step; fails if the callback says so.
    #[inline]
    pub(super) fn check(&mut self) -> Result<()> {
        self.steps += 1;
        if self.steps < STEP {
            return Ok(());
        }
        self.steps = 0;
        self.ask()
    }

    /// Fails if the callback says so.
    pub(super) fn ask(&self) -> Result<()> {
        match &self.callback {
            Some(callback) if !callback() => Err(Error::cancelled()),
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for KeepGoing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeepGoing").field("callback", &self.callback.is_some()).finish()
    }
}
