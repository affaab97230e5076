//! Builds in parts whose output is in a store.

use std::fmt;
use std::io;
use std::path::Path as FilePath;

use futures_util::TryStreamExt;
use object_store::path::Path;
use object_store::{Error as StoreError, ObjectStoreExt, PutMode, PutOptions, PutPayload};
use sstkit_db::{ObjectFolder, RemoteBuild};

use crate::error::io_error;
use crate::object_files::{note_write, register};
use crate::runtime;
use crate::store::Store;
use crate::upload::upload;

/// The objects below a path of a store.
#[derive(Clone)]
pub struct StoreFolder {
    store: Store,
    path: Path,
}

/// A build in parts whose output is at this address, as `s3://bucket/path`. The store has to create an object only if there is
/// none: S3, Google Cloud Storage and Azure do, HTTP servers do not.
///
/// ```no_run
/// use sstkit_db::{CommitOptions, PartOptions, PartWriter, Plan, PlanOptions};
/// use sstkit_object_store::remote_build;
/// use sstkit_table::TableOptions;
///
/// let build = remote_build("s3://bucket/tables")?;
/// let plan = build.plan(&PlanOptions::new(TableOptions::rocksdb()).splits([b"m"]))?.to_json();
/// for part in 0..2 {
///     // On any machine.
///     let plan = Plan::restore("/tmp/a-part", &plan)?;
///     let mut writer = PartWriter::create(&plan, part, "first", &PartOptions::default())?;
///     writer.put(if part == 0 { b"alice" } else { b"zelda" }, b"1")?;
///     build.upload(&writer.finish()?)?;
/// }
/// let summary = build.commit(&CommitOptions::default().clean(true))?;
/// # Ok::<(), sstkit_db::Error>(())
/// ```
pub fn remote_build(url: &str) -> io::Result<RemoteBuild<StoreFolder>> {
    // Checksums are verified through the path, which readers use, too.
    let output = register(url)?;
    let (store, path) = Store::parse(url)?;
    Ok(RemoteBuild::new(StoreFolder::new(store, path), output))
}

impl StoreFolder {
    /// The objects of `store` below `path`.
    pub fn new(store: Store, path: Path) -> Self {
        Self { store, path }
    }

    fn object(&self, name: &str) -> io::Result<Path> {
        let object = match self.path.as_ref() {
            "" => Path::parse(name),
            folder => Path::parse(format!("{folder}/{name}")),
        };
        object.map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))
    }
}

impl ObjectFolder for StoreFolder {
    fn list(&self) -> io::Result<Vec<(String, u64)>> {
        let (store, path) = (self.store.object_store().clone(), self.path.clone());
        let listed = runtime::run(async move {
            store.list(Some(&path)).try_collect::<Vec<_>>().await.map_err(io_error)
        })?;
        let names = listed.into_iter().filter_map(|object| {
            let parts: Vec<_> = object.location.prefix_match(&self.path)?.collect();
            let parts: Vec<&str> = parts.iter().map(AsRef::as_ref).collect();
            Some((parts.join("/"), object.size))
        });
        Ok(names.collect())
    }

    fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        let (store, object) = (self.store.object_store().clone(), self.object(name)?);
        runtime::run(async move {
            match store.get(&object).await {
                Ok(found) => Ok(Some(found.bytes().await.map_err(io_error)?.to_vec())),
                Err(StoreError::NotFound { .. }) => Ok(None),
                Err(error) => Err(io_error(error)),
            }
        })
    }

    fn create(&self, name: &str, contents: Vec<u8>) -> io::Result<bool> {
        let (store, object) = (self.store.object_store().clone(), self.object(name)?);
        let payload = PutPayload::from(contents.clone());
        let created = runtime::run(async move {
            let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
            match store.put_opts(&object, payload, options).await {
                Ok(_) => Ok(true),
                Err(StoreError::AlreadyExists { .. } | StoreError::Precondition { .. }) => {
                    Ok(false)
                }
                Err(error) => Err(io_error(error)),
            }
        });
        note_write();
        // A request whose response was lost is repeated, and then finds what it has created.
        Ok(created? || self.read(name)?.as_ref() == Some(&contents))
    }

    fn upload(&self, name: &str, file: &FilePath) -> io::Result<()> {
        upload(&self.store, &self.object(name)?, file)
    }

    fn delete(&self, names: &[String]) -> io::Result<()> {
        let store = self.store.object_store().clone();
        let objects: Vec<Path> =
            names.iter().map(|name| self.object(name)).collect::<io::Result<_>>()?;
        let deleted = runtime::run(async move {
            for object in objects {
                match store.delete(&object).await {
                    Ok(()) | Err(StoreError::NotFound { .. }) => {}
                    Err(error) => return Err(io_error(error)),
                }
            }
            Ok(())
        });
        note_write();
        deleted
    }
}

impl fmt::Debug for StoreFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StoreFolder").field(&self.store).field(&self.path).finish()
    }
}
