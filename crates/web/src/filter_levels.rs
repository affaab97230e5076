//! The filters of databases by level, as far as they were read: advice on them reads the tails of all
//! tables.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use sstkit_db::Database;
use sstkit_inspect::{FilterLevels, PlannedKeys};

use crate::error::Result;
use crate::inspector::KeepGoing;

/// By source.
#[derive(Default)]
pub(crate) struct KnownFilterLevels(Mutex<HashMap<usize, Arc<FilterLevels>>>);

impl KnownFilterLevels {
    /// The filters of a database.
    pub(crate) fn get(
        &self,
        source: usize,
        database: &Database,
        keep_going: KeepGoing<'_>,
    ) -> Result<Arc<FilterLevels>> {
        let known = self.lock().get(&source).cloned();
        if let Some(levels) = known {
            return Ok(levels);
        }
        // Read without the lock: others need not wait.
        let levels = FilterLevels::of_while(database, &PlannedKeys::default(), keep_going)?
            .with_seeks(database, keep_going)?;
        let levels = Arc::new(levels);
        self.lock().insert(source, Arc::clone(&levels));
        Ok(levels)
    }

    /// Forgets a source.
    pub(crate) fn forget(&self, source: usize) {
        self.lock().remove(&source);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<usize, Arc<FilterLevels>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
