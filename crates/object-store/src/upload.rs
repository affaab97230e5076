//! Finished files into a store.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path as FilePath;
use std::sync::mpsc::sync_channel;

use bytes::Bytes;
use futures_util::future::try_join_all;
use object_store::path::Path;
use object_store::{MultipartUpload, ObjectStoreExt, PutPayload};

use crate::error::io_error;
use crate::runtime;
use crate::store::Store;

/// The length of a part. S3 accepts 10 000 of them, so 80 GB.
const PART: u64 = 8 << 20;

/// Parts in flight.
const IN_FLIGHT: usize = 4;

/// Uploads a file, in parts if it is long. The object appears when all of it has arrived; nothing is visible of
/// an upload that fails, and its parts are removed.
pub fn upload(store: &Store, path: &Path, file: &FilePath) -> io::Result<()> {
    let mut file = File::open(file)?;
    let length = file.metadata()?.len();
    let (objects, path) = (store.object_store().clone(), path.clone());
    if length <= PART {
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let put = async move { objects.put(&path, bytes.into()).await.map_err(io_error) };
        return runtime::run(put).map(drop);
    }
    let start = async move { objects.put_multipart(&path).await.map_err(io_error) };
    let mut upload = runtime::run(start)?;
    loop {
        let parts = match read_parts(&mut file) {
            Ok(parts) => parts,
            Err(error) => return abort(upload, error),
        };
        let is_last = parts.is_empty();
        // The upload goes to the thread of the client and comes back.
        let (sender, receiver) = sync_channel(1);
        let put = async move {
            let parts = parts.into_iter().map(|part| upload.put_part(PutPayload::from(part)));
            let put = try_join_all(parts.collect::<Vec<_>>()).await;
            let result = match (put, is_last) {
                (Ok(_), true) => upload.complete().await.map(drop),
                (put, _) => put.map(drop),
            };
            drop(sender.send(upload));
            result.map_err(io_error)
        };
        let result = runtime::run(put);
        upload = receiver.recv().map_err(io::Error::other)?;
        match result {
            Ok(()) if is_last => return Ok(()),
            Ok(()) => {}
            Err(error) => return abort(upload, error),
        }
    }
}

/// The next parts of a file; none at its end.
fn read_parts(file: &mut File) -> io::Result<Vec<Bytes>> {
    let mut parts = Vec::new();
    while parts.len() < IN_FLIGHT {
        let mut part = Vec::new();
        file.take(PART).read_to_end(&mut part)?;
        if part.is_empty() {
            break;
        }
        parts.push(part.into());
    }
    Ok(parts)
}

/// Removes the parts of an upload that failed with `error`.
fn abort(mut upload: Box<dyn MultipartUpload>, error: io::Error) -> io::Result<()> {
    // If that fails too, the store removes them by its own rules.
    let _ = runtime::run(async move { upload.abort().await.map_err(io_error) });
    Err(error)
}

/// Uploads all files of a folder, those whose name is `last` after all others: readers that begin with it find
/// everything, or nothing.
pub fn upload_folder(store: &Store, path: &Path, folder: &FilePath, last: &str) -> io::Result<()> {
    let mut files: Vec<_> = std::fs::read_dir(folder)?.collect::<io::Result<_>>()?;
    files.sort_by_key(|file| (file.file_name() == last, file.file_name()));
    for file in files {
        let name = file.file_name().into_string();
        let name = name.map_err(|name| {
            io::Error::new(io::ErrorKind::InvalidInput, format!("{}: not UTF-8", name.display()))
        })?;
        let path = path.clone().join(name.as_str());
        match file.file_type()?.is_dir() {
            true => upload_folder(store, &path, &file.path(), last)?,
            false => upload(store, &path, &file.path())?,
        }
    }
    Ok(())
}
