//! The files that all databases of a process keep open.
//!
//! ```text
//! held      from when a database is opened on: a third of the limit, for all databases of the process
//! pools     tables and blob files that were in use: a quarter of the limit each, for each database
//! pinned    of these, tables that stay open: an eighth of the limit, for all databases of the process
//! ```
//!
//! The pools of several databases may exceed the limit. When opening a file fails, all databases
//! close the files they are not using, and the open is retried.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, UnitWeighter};
use sstkit_table::Source;

use crate::files::OpenBlobFile;
use crate::open_file_limit::open_file_limit;
use crate::open_tables::OpenTables;

/// The share of the limit for the tables of a database, and for its blob files.
const POOL_SHARE: u64 = 4;

/// Files that are held.
pub(crate) static HELD: FileBudget = FileBudget::new(3);

/// Tables that are pinned.
pub(crate) static PINNED: FileBudget = FileBudget::new(8);

/// All open databases.
static ALL: Mutex<Vec<Weak<OpenFiles>>> = Mutex::new(Vec::new());

pub(crate) struct OpenFiles {
    pub(crate) tables: OpenTables,
    /// By number.
    pub(crate) blobs: Pool<Arc<OpenBlobFile>>,
    pub(crate) held: Arc<HeldFiles>,
}

type Pool<V> = Cache<u64, V>;

/// Files that are kept open even if they are deleted, by number.
#[derive(Default)]
pub(crate) struct HeldFiles(Mutex<BTreeMap<u64, HeldFile>>);

struct HeldFile {
    path: PathBuf,
    file: Arc<dyn Source>,
    _permit: FilePermit,
}

/// A share of the limit on open files, for all databases of the process.
#[derive(Debug)]
pub(crate) struct FileBudget {
    used: AtomicU64,
    /// The limit is divided by this.
    share: u64,
}

/// Permission to keep one file open, even if others cannot be opened.
#[derive(Debug)]
pub(crate) struct FilePermit(&'static FileBudget);

impl FileBudget {
    const fn new(share: u64) -> Self {
        Self { used: AtomicU64::new(0), share }
    }

    /// `None` if the limit is reached.
    pub(crate) fn take(&'static self) -> Option<FilePermit> {
        self.take_below(open_file_limit() / self.share)
    }

    fn take_below(&'static self, limit: u64) -> Option<FilePermit> {
        let more = |used| (used < limit).then_some(used + 1);
        let taken = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        taken.ok().map(|_| FilePermit(self))
    }
}

impl Drop for FilePermit {
    fn drop(&mut self) {
        self.0.used.fetch_sub(1, Ordering::Relaxed);
    }
}

impl OpenFiles {
    /// At most this number of tables and of blob files in pools, or fewer if the limit is low.
    pub(crate) fn new(max_open_files: usize, held: Arc<HeldFiles>) -> Arc<Self> {
        let limit = usize::try_from(open_file_limit() / POOL_SHARE).unwrap_or(usize::MAX);
        let files = max_open_files.min(limit);
        let new = Arc::new(Self { tables: OpenTables::new(files), blobs: pool(files), held });
        let mut all = lock(&ALL);
        all.retain(|it| it.strong_count() > 0);
        all.push(Arc::downgrade(&new));
        new
    }

    /// Closes files that are not in use. Returns whether there were any.
    fn give_back(&self) -> bool {
        // One by one: a slot stays while its file is being opened.
        let blobs = self.blobs.iter().filter(|(number, _)| self.blobs.remove(number).is_some());
        self.tables.close_unused() + blobs.count() + self.held.give_back() > 0
    }
}

impl HeldFiles {
    pub(crate) fn insert(
        &self,
        number: u64,
        path: PathBuf,
        file: Arc<dyn Source>,
        permit: FilePermit,
    ) {
        lock(&self.0).insert(number, HeldFile { path, file, _permit: permit });
    }

    pub(crate) fn get(&self, number: u64) -> Option<(PathBuf, Arc<dyn Source>)> {
        lock(&self.0).get(&number).map(|held| (held.path.clone(), Arc::clone(&held.file)))
    }

    /// Closes the older half, which an engine deletes later. Returns the number of closed files.
    pub(crate) fn give_back(&self) -> usize {
        let mut files = lock(&self.0);
        let count = files.len().div_ceil(2);
        (0..count).for_each(|_| drop(files.pop_first()));
        count
    }
}

/// Whether an error is that too many files are open.
pub(crate) fn is_limit(error: &io::Error) -> bool {
    #[cfg(unix)]
    {
        use rustix::io::Errno;
        let limits = [Errno::MFILE, Errno::NFILE].map(Errno::raw_os_error);
        error.raw_os_error().is_some_and(|code| limits.contains(&code))
    }
    #[cfg(not(unix))]
    {
        let _ = error;
        false
    }
}

/// Runs something that needs a file descriptor. If there is none, retries after the databases of
/// this process have closed the files they are not using.
pub(crate) fn with_room<T>(mut open: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    match open() {
        Err(error) if is_limit(&error) && give_back() => open(),
        opened => opened,
    }
}

fn give_back() -> bool {
    let all: Vec<_> = lock(&ALL).iter().filter_map(Weak::upgrade).collect();
    all.iter().filter(|it| it.give_back()).count() > 0
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn pool<V: Clone>(files: usize) -> Pool<V> {
    let files = files.max(1);
    // One shard: several would split the limit, and hits only share a lock.
    let options = OptionsBuilder::new()
        .shards(1)
        .estimated_items_capacity(files)
        .weight_capacity(files as u64)
        .build();
    match options {
        Ok(options) => Cache::with_options(
            options,
            UnitWeighter,
            DefaultHashBuilder::default(),
            DefaultLifecycle::default(),
        ),
        // Fails only if an option without a default is not set.
        Err(_) => Cache::new(files),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permits_are_returned() {
        static BUDGET: FileBudget = FileBudget::new(1);
        let both = [BUDGET.take_below(2), BUDGET.take_below(2)];
        assert!(both.iter().all(Option::is_some) && BUDGET.take_below(2).is_none());
        drop(both);
        assert!(BUDGET.take_below(1).is_some());
    }
}
