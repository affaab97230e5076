//! Finished files into a store.

use std::fs::{DirEntry, File};
use std::io::{self, Read};
use std::path::{Path as FilePath, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Mutex, PoisonError};
use std::thread;

use bytes::Bytes;
use futures_util::future::try_join_all;
use object_store::path::Path;
use object_store::{MultipartUpload, ObjectStoreExt, PutPayload};

use crate::error::io_error;
use crate::object_files::note_write;
use crate::runtime;
use crate::store::Store;

/// The least length of a part.
const PART: u64 = 8 << 20;

/// The most parts that S3 accepts.
const MAX_PARTS: u64 = 10_000;

/// Files that are uploaded at a time.
const MAX_FILES: usize = 4;

/// Parts of a file in flight.
const IN_FLIGHT: usize = 4;

/// Uploads a file, in parts if it is long. The object appears when all of it has arrived; nothing is visible of
/// an upload that fails, and its parts are removed.
pub fn upload(store: &Store, path: &Path, file: &FilePath) -> io::Result<()> {
    let uploaded = upload_file(store, path, file);
    note_write();
    uploaded
}

fn upload_file(store: &Store, path: &Path, file: &FilePath) -> io::Result<()> {
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
    let part_length = part_length(length);
    loop {
        let parts = match read_parts(&mut file, part_length) {
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

/// The length of the parts of a file: longer than usual where there would be too many of them.
fn part_length(length: u64) -> u64 {
    length.div_ceil(MAX_PARTS).max(PART)
}

/// The next parts of a file; none at its end.
fn read_parts(file: &mut File, part_length: u64) -> io::Result<Vec<Bytes>> {
    let mut parts = Vec::new();
    while parts.len() < IN_FLIGHT {
        let mut part = Vec::new();
        file.take(part_length).read_to_end(&mut part)?;
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

/// Uploads all files of a folder, several at a time, and that which is called `last` after all others: readers that begin
/// with it find everything, or nothing. If a file fails, those that were uploaded are deleted.
pub fn upload_folder(store: &Store, path: &Path, folder: &FilePath, last: &str) -> io::Result<()> {
    upload_folder_while(store, path, folder, last, &|| true)
}

/// [`upload_folder`] that fails when `keep_going` returns false, which is called before each file.
pub fn upload_folder_while(
    store: &Store,
    path: &Path,
    folder: &FilePath,
    last: &str,
    keep_going: &(dyn Fn() -> bool + Sync),
) -> io::Result<()> {
    let mut files = Vec::new();
    find_files(path, folder, &mut files)?;
    // Several folders inside may have one of that name.
    let (last, others): (Vec<_>, Vec<_>) =
        files.into_iter().partition(|(object, _)| object.filename() == Some(last));
    let uploaded = Mutex::new(Vec::new());
    let upload_one = |(object, file): &(Path, PathBuf)| {
        if !keep_going() {
            return Err(io::Error::other("the upload was interrupted"));
        }
        // Also one that failed may have arrived.
        uploaded.lock().unwrap_or_else(PoisonError::into_inner).push(object.clone());
        upload(store, object, file)
    };
    let result =
        upload_several(&others, &upload_one).and_then(|()| last.iter().try_for_each(upload_one));
    if result.is_err() {
        let uploaded = uploaded.into_inner().unwrap_or_else(PoisonError::into_inner);
        // Readers begin with the last one.
        delete(store, uploaded.into_iter().rev().collect());
    }
    result
}

/// Calls `upload_one` with all files, in several threads, until one fails.
fn upload_several<F: Sync>(
    files: &[F],
    upload_one: &(impl Fn(&F) -> io::Result<()> + Sync),
) -> io::Result<()> {
    let (next, has_failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let work = || {
        while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            if has_failed.load(Ordering::Relaxed) {
                break;
            }
            upload_one(file).inspect_err(|_| has_failed.store(true, Ordering::Relaxed))?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..MAX_FILES.min(files.len())).map(|_| scope.spawn(work)).collect();
        let ended = threads.into_iter().map(|thread| {
            thread.join().unwrap_or_else(|_| Err(io::Error::other("an upload has panicked")))
        });
        ended.collect::<Vec<io::Result<()>>>().into_iter().collect()
    })
}

/// Adds the files of a folder and of the folders in it, with the objects that they become.
fn find_files(path: &Path, folder: &FilePath, files: &mut Vec<(Path, PathBuf)>) -> io::Result<()> {
    let mut entries: Vec<_> = std::fs::read_dir(folder)?.collect::<io::Result<_>>()?;
    entries.sort_by_key(DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name().into_string();
        let name = name.map_err(|name| {
            io::Error::new(io::ErrorKind::InvalidInput, format!("{}: not UTF-8", name.display()))
        })?;
        let object = path.clone().join(name.as_str());
        match entry.file_type()?.is_dir() {
            true => find_files(&object, &entry.path(), files)?,
            false => files.push((object, entry.path())),
        }
    }
    Ok(())
}

/// Deletes objects of an upload that failed. What cannot be deleted stays: the error of the upload says more.
fn delete(store: &Store, objects: Vec<Path>) {
    let store = store.object_store().clone();
    let _ = runtime::run(async move {
        for object in objects {
            let _ = store.delete(&object).await;
        }
        Ok(())
    });
    note_write();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_files_have_long_parts() {
        for length in [0, 1, 80 << 30, 100_000_000_000, (5 << 40) - 1, 5 << 40] {
            let part = part_length(length);
            assert!(part >= PART && length.div_ceil(part) <= MAX_PARTS, "{length}: {part}");
        }
        assert!(part_length(80 << 30) > PART);
        assert_eq!(part_length(1 << 30), PART);
    }
}
