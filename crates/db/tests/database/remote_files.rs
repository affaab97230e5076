//! The files of a directory as those of a far machine: each read is logged, and costs a round trip.

use std::ffi::OsString;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use bytes::Bytes;
use sstkit_db::file_system::{FileStatus, FileSystem, register};
use sstkit_table::{PreferredRead, Source};

/// Reads that are made at the same time are one round: it ends when no further read has begun for this time.
const QUIET: Duration = Duration::from_millis(60);

/// The ranges of a file that one call has read.
pub(crate) type Read = (String, Vec<Range<u64>>);

/// A directory, at another root.
pub(crate) struct RemoteFiles {
    root: String,
    folder: PathBuf,
    tail: u64,
    network: Arc<Network>,
}

/// Counts rounds.
#[derive(Default)]
struct Network {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    log: Vec<Read>,
    /// Rounds that have ended.
    rounds: usize,
    is_counting: bool,
    is_down: bool,
}

impl RemoteFiles {
    /// The files of `folder`, with tables whose last `tail` bytes are read first.
    pub(crate) fn register(root: &str, folder: &Path, tail: u64) -> Arc<Self> {
        let (root, folder) = (root.to_owned(), folder.to_owned());
        let files = Arc::new(Self { root, folder, tail, network: Arc::default() });
        register(&files.root, files.clone());
        files
    }

    pub(crate) fn path(&self) -> PathBuf {
        PathBuf::from(format!("{}/", self.root))
    }

    /// What `work` returns, what it has read, and in how many rounds.
    pub(crate) fn count<T>(&self, work: impl FnOnce() -> T) -> (T, Vec<Read>, usize) {
        *self.network.state.lock().unwrap() = State { is_counting: true, ..State::default() };
        let result = work();
        let state = std::mem::take(&mut *self.network.state.lock().unwrap());
        (result, state.log, state.rounds)
    }

    /// Whether all reads fail.
    pub(crate) fn set_down(&self, is_down: bool) {
        self.network.state.lock().unwrap().is_down = is_down;
    }

    fn local(&self, path: &Path) -> PathBuf {
        let rest = path.to_str().unwrap().strip_prefix(&self.root).unwrap();
        self.folder.join(rest.trim_matches('/'))
    }
}

impl Network {
    fn read(&self, read: Read) -> io::Result<()> {
        let mut state = self.state.lock().unwrap();
        if state.is_down {
            return Err(io::Error::other("the network is down"));
        }
        state.log.push(read);
        if !state.is_counting {
            return Ok(());
        }
        self.changed.notify_all();
        let round = state.rounds;
        loop {
            let reads = state.log.len();
            let (next, quiet) = self
                .changed
                .wait_timeout_while(state, QUIET, |it| it.rounds == round && it.log.len() == reads)
                .unwrap();
            state = next;
            if state.rounds != round {
                return Ok(());
            }
            if quiet.timed_out() {
                state.rounds += 1;
                self.changed.notify_all();
            }
        }
    }
}

impl FileSystem for RemoteFiles {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn Source>> {
        let bytes = std::fs::read(self.local(path))?.into();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let network = Arc::clone(&self.network);
        Ok(Arc::new(RemoteFile { name, bytes, tail: self.tail, network }))
    }

    fn status(&self, path: &Path) -> io::Result<FileStatus> {
        let found = std::fs::metadata(self.local(path))?;
        Ok(match found.is_dir() {
            true => FileStatus::Folder,
            false => FileStatus::File { size: found.len() },
        })
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<OsString>> {
        std::fs::read_dir(self.local(folder))?.map(|entry| Ok(entry?.file_name())).collect()
    }
}

struct RemoteFile {
    name: String,
    bytes: Bytes,
    tail: u64,
    network: Arc<Network>,
}

impl Source for RemoteFile {
    fn size(&self) -> io::Result<u64> {
        self.bytes.size()
    }

    fn read_at(&self, offset: u64, length: usize) -> io::Result<Bytes> {
        let range = offset..offset + length as u64;
        Ok(self.read_many(std::slice::from_ref(&range))?.remove(0))
    }

    fn read_many(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Bytes>> {
        self.network.read((self.name.clone(), ranges.to_vec()))?;
        let read = |range: &Range<u64>| {
            self.bytes.read_at(range.start, (range.end - range.start) as usize)
        };
        ranges.iter().map(read).collect()
    }

    fn preferred_read(&self) -> Option<PreferredRead> {
        Some(PreferredRead::default().tail(self.tail))
    }
}
