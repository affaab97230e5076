//! The objects of a store as files, for databases and everything else that is read by its path.
//!
//! ```text
//! s3://bucket/db/000011.sst
//! '- root --' '- object --'
//! ```
//!
//! Opening a database asks again and again which files exist. One list request answers all of that: a listing is used for
//! some seconds.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::path::{self, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use object_store::path::Path;
use object_store::{ListResult, ObjectStoreExt};
use sstkit_db::file_system::{self, FileStatus, FileSystem};
use sstkit_table::Source;
use url::{Position, Url};

use crate::async_object::AsyncObject;
use crate::error::io_error;
use crate::remote_object::RemoteObject;
use crate::runtime;
use crate::store::{Store, invalid_address};

/// How long a listing is used, and an object that was read ahead.
const LIFETIME: Duration = Duration::from_secs(5);

/// Objects that this process has created and deleted: what was listed before is not used any more.
static WRITES: AtomicU64 = AtomicU64::new(0);

/// Makes later reads list objects again.
pub(crate) fn note_write() {
    WRITES.fetch_add(1, Ordering::Release);
}

/// Objects that are read ahead at a time.
const MAX_PREFETCHES: usize = 32;

/// Objects that are read ahead at all, since their ends are in memory until they are opened.
const MAX_PREFETCHED: usize = 256;

/// Makes the objects of the store of a URL readable by their paths, and returns the path of this one. After that,
/// [`Database::open`](sstkit_db::Database::open) and all other readers of `sstkit-db` and the crates above it take paths
/// that start with the scheme and the bucket of the URL.
///
/// ```no_run
/// use sstkit_db::Database;
///
/// let path = sstkit_object_store::register("s3://bucket/path/to/db")?;
/// let database = Database::open(path)?;
/// println!("{:?}", database.get(b"alice")?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The store is that of [`Store::parse`], with its settings; [`register_store`] takes any other.
pub fn register(url: &str) -> io::Result<PathBuf> {
    let (store, object) = Store::parse(url)?;
    let invalid = |what: &str| invalid_address(url, what);
    let parsed = Url::parse(url).map_err(|error| invalid(&error.to_string()))?;
    let whole = Path::from_url_path(parsed.path()).map_err(|error| invalid(&error.to_string()))?;
    if whole != object {
        return Err(invalid("the bucket is in the path; write s3://bucket/path instead"));
    }
    let root = &parsed[..Position::BeforePath];
    let end = if url.ends_with('/') && !object.as_ref().is_empty() { "/" } else { "" };
    let path = PathBuf::from(format!("{root}/{object}{end}"));
    if !file_system::is_remote(&path) {
        register_store(root, store);
    }
    Ok(path)
}

/// Makes the objects of a store readable by paths that start with `root`: a scheme and a name, such as `s3://bucket`.
pub fn register_store(root: &str, store: Store) {
    let root = root.trim_end_matches('/').to_owned();
    file_system::register(&root, Arc::new(ObjectFiles::new(root.clone(), store)));
}

/// The objects of a store.
struct ObjectFiles {
    root: String,
    store: Store,
    listings: Mutex<HashMap<Path, Listed>>,
    /// Objects that were read ahead.
    prefetched: Mutex<HashMap<Path, (Instant, RemoteObject)>>,
}

/// What is in a folder, by name.
type Listing = HashMap<String, FileStatus>;

/// What was in a folder at some time.
struct Listed {
    since: Instant,
    /// The value of [`WRITES`] before.
    writes: u64,
    listing: Arc<Listing>,
}

impl Listed {
    fn is_recent(&self) -> bool {
        self.since.elapsed() < LIFETIME && self.writes == WRITES.load(Ordering::Acquire)
    }
}

impl ObjectFiles {
    fn new(root: String, store: Store) -> Self {
        Self { root, store, listings: Mutex::default(), prefetched: Mutex::default() }
    }

    /// The object at a path.
    fn object(&self, path: &path::Path) -> io::Result<Path> {
        let invalid = || io::Error::from(io::ErrorKind::NotFound);
        let rest =
            path.to_str().and_then(|text| text.strip_prefix(&self.root)).ok_or_else(invalid)?;
        // Windows joins paths with its own separator.
        let rest = if cfg!(windows) { rest.replace('\\', "/") } else { rest.to_owned() };
        // There are no objects with `..` in their paths.
        Path::parse(rest).map_err(|_| invalid())
    }

    /// What is in a folder, if it was listed a short time ago.
    fn known(&self, folder: &Path) -> Option<Arc<Listing>> {
        let listings = lock(&self.listings);
        let listed = listings.get(folder).filter(|listed| listed.is_recent())?;
        Some(Arc::clone(&listed.listing))
    }

    /// What is in a folder.
    fn listing(&self, folder: &Path) -> io::Result<Arc<Listing>> {
        if let Some(known) = self.known(folder) {
            return Ok(known);
        }
        let writes = WRITES.load(Ordering::Acquire);
        let (store, prefix) = (self.store.object_store().clone(), folder.clone());
        let listed = runtime::run(async move {
            store.list_with_delimiter(Some(&prefix)).await.map_err(io_error)
        })?;
        let listing = Arc::new(by_name(listed));
        let mut listings = lock(&self.listings);
        listings.retain(|_, listed| listed.is_recent());
        let listed = Listed { since: Instant::now(), writes, listing: Arc::clone(&listing) };
        listings.insert(folder.clone(), listed);
        Ok(listing)
    }

    /// The status of an object, if its folder was listed a short time ago.
    fn known_status(&self, object: &Path) -> Option<io::Result<FileStatus>> {
        let (folder, name) = split(object)?;
        let status = self.known(&folder)?.get(name).copied();
        Some(status.ok_or_else(|| io::ErrorKind::NotFound.into()))
    }
}

impl FileSystem for ObjectFiles {
    fn open(&self, path: &path::Path) -> io::Result<Arc<dyn Source>> {
        let object = self.object(path)?;
        if let Some((since, prefetched)) = lock(&self.prefetched).remove(&object)
            && since.elapsed() < LIFETIME
        {
            return Ok(Arc::new(prefetched));
        }
        // There is no range of an empty object.
        if matches!(self.known_status(&object), Some(Ok(FileStatus::File { size: 0 }))) {
            return Ok(Arc::new(Bytes::new()));
        }
        let opened = RemoteObject::open(&self.store, object.clone());
        if let (Err(error), Some((folder, _))) = (&opened, split(&object))
            && error.kind() == io::ErrorKind::NotFound
        {
            // The listing may have it still.
            lock(&self.listings).remove(&folder);
        }
        Ok(Arc::new(opened?))
    }

    fn status(&self, path: &path::Path) -> io::Result<FileStatus> {
        let object = self.object(path)?;
        if let Some(known) = self.known_status(&object) {
            return known;
        }
        let is_folder = || match self.listing(&object) {
            Ok(listing) if !listing.is_empty() => Ok(FileStatus::Folder),
            Ok(_) => Err(io::ErrorKind::NotFound.into()),
            Err(error) => Err(error),
        };
        let names_folder =
            object.as_ref().is_empty() || path.to_str().is_some_and(|it| it.ends_with('/'));
        if names_folder || self.known(&object).is_some() {
            return is_folder();
        }
        let (store, asked) = (self.store.object_store().clone(), object.clone());
        let head = async move { store.head(&asked).await.map_err(io_error) };
        match runtime::run(head) {
            Ok(meta) => Ok(FileStatus::File { size: meta.size }),
            // Most HTTP servers list nothing: what they say about the object counts.
            Err(error) if error.kind() == io::ErrorKind::NotFound => is_folder().map_err(|_| error),
            Err(error) => Err(error),
        }
    }

    fn list(&self, folder: &path::Path) -> io::Result<Vec<OsString>> {
        let listing = self.listing(&self.object(folder)?)?;
        match listing.is_empty() {
            // Folders exist only as parts of the paths of objects.
            true => Err(io::ErrorKind::NotFound.into()),
            false => Ok(listing.keys().map(OsString::from).collect()),
        }
    }

    fn prefetch(&self, paths: &[PathBuf]) {
        let known_empty = |object: &Path| {
            matches!(self.known_status(object), Some(Ok(FileStatus::File { size: 0 })))
        };
        let objects = paths.iter().filter_map(|path| self.object(path).ok());
        let objects: Vec<Path> =
            objects.filter(|object| !known_empty(object)).take(MAX_PREFETCHED).collect();
        let store = self.store.clone();
        let read = async move {
            let reads = objects.into_iter().map(|object| {
                let opened = RemoteObject::read_first(AsyncObject::new(&store, object.clone()));
                async move { (object, opened.await) }
            });
            let reads: Vec<_> = reads.collect();
            Ok(stream::iter(reads).buffer_unordered(MAX_PREFETCHES).collect::<Vec<_>>().await)
        };
        // What fails is tried again when it is opened, which reports the reason.
        let Ok(read) = runtime::run(read) else { return };
        let now = Instant::now();
        let mut prefetched = lock(&self.prefetched);
        prefetched.retain(|_, (since, _)| since.elapsed() < LIFETIME);
        let read = read.into_iter().filter_map(|(object, opened)| Some((object, opened.ok()?)));
        prefetched.extend(read.map(|(object, opened)| (object, (now, opened))));
    }
}

/// The folder and the name of an object.
fn split(object: &Path) -> Option<(Path, &str)> {
    let (folder, name) = object.as_ref().rsplit_once('/').unwrap_or(("", object.as_ref()));
    (!name.is_empty()).then(|| Some((Path::parse(folder).ok()?, name)))?
}

fn by_name(listed: ListResult) -> Listing {
    let folders = listed.common_prefixes.iter();
    let folders = folders.filter_map(|folder| Some((split(folder)?.1, FileStatus::Folder)));
    let files = listed.objects.iter();
    let files =
        files.filter_map(|it| Some((split(&it.location)?.1, FileStatus::File { size: it.size })));
    // A store may have an object and a folder of the same name: then the object counts.
    folders.chain(files).map(|(name, status)| (name.to_owned(), status)).collect()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
