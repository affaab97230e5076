//! Finished attempts at the parts of a plan.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sstkit_table::KeyExcerpt;

use super::plan::Plan;
use crate::bulk_manifest::{BulkManifest, MANIFEST_NAME, ManifestFile};
use crate::error::{Error, Result};

/// An attempt that appeared, and is therefore complete.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FinishedAttempt {
    pub(super) part: usize,
    pub(super) name: String,
}

/// The folder of an attempt.
pub(super) fn attempt_folder(plan: &Plan, part: usize, attempt: &str) -> PathBuf {
    plan.parts_folder().join(folder_name(part, attempt))
}

/// The name of that folder.
pub(super) fn folder_name(part: usize, attempt: &str) -> String {
    format!("part-{part:06}.attempt-{attempt}")
}

/// All finished attempts, by part and name. Folders with temporary names are not among them.
pub(super) fn finished_attempts(plan: &Plan) -> Result<Vec<FinishedAttempt>> {
    let folder = plan.parts_folder();
    let failed = |error: io::Error| Error::from(error).in_file(&folder);
    let mut attempts = Vec::new();
    for entry in fs::read_dir(&folder).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        attempts.extend(name.to_str().and_then(parse));
    }
    attempts.retain(|attempt| attempt.part < plan.parts());
    attempts.sort();
    Ok(attempts)
}

/// The attempt that a folder of this name is.
pub(super) fn parse(folder: &str) -> Option<FinishedAttempt> {
    let (part, name) = folder.strip_prefix("part-")?.split_once(".attempt-")?;
    Some(FinishedAttempt { part: part.parse().ok()?, name: name.to_owned() })
}

impl FinishedAttempt {
    pub(super) fn folder(&self, plan: &Plan) -> PathBuf {
        attempt_folder(plan, self.part, &self.name)
    }

    /// Reads the manifest and proves what it says: that it belongs to this part of this plan, that
    /// its keys are in order and within the part, that its counts add up, and that the files have the
    /// sizes and, if `checksums`, the checksums that were written.
    pub(super) fn prove(&self, plan: &Plan, checksums: bool) -> Result<BulkManifest> {
        let folder = self.folder(plan);
        let path = folder.join(MANIFEST_NAME);
        let manifest = BulkManifest::read(&path)?;
        let proven = self.check(plan, &manifest).and_then(|()| match checksums {
            true => manifest.verify(&folder),
            false => manifest.files.iter().try_for_each(|file| check_size(file, &folder)),
        });
        proven.map_err(|error| error.in_file(&path))?;
        Ok(manifest)
    }

    /// Proves what a manifest says, as far as that is possible without the files.
    pub(super) fn check(&self, plan: &Plan, manifest: &BulkManifest) -> Result<()> {
        let found = (&manifest.plan, manifest.part, &manifest.attempt);
        let expected = (&Some(plan.id().into()), Some(self.part as u64), &Some(self.name.clone()));
        if found != expected {
            return Err(Error::corrupt("the attempt belongs to another plan or part"));
        }
        if manifest.comparator != plan.comparator().name() {
            let expected = plan.comparator().name();
            return Err(Error::mismatch("the comparator", expected, &manifest.comparator));
        }
        manifest.check()?;
        let compare = |a: &[u8], b: &[u8]| plan.comparator().compare_without_timestamp(a, b);
        let (lower, upper) = plan.range(self.part);
        for file in &manifest.files {
            let is_before = lower.is_some_and(|lower| compare(&file.smallest, lower).is_lt());
            let is_after = upper.is_some_and(|upper| match file.largest_is_exclusive {
                true => compare(&file.largest, upper).is_gt(),
                false => compare(&file.largest, upper).is_ge(),
            });
            if is_before || is_after {
                let (first, last) = (KeyExcerpt(&file.smallest), KeyExcerpt(&file.largest));
                return Err(Error::corrupt(format!(
                    "{}: the keys {first} to {last} are not all of part {}",
                    file.name, self.part
                )));
            }
        }
        Ok(())
    }
}

/// Compares the size of a file with the manifest.
pub(super) fn check_size(file: &ManifestFile, folder: &Path) -> Result<()> {
    let path = file.path(folder)?;
    let size = fs::metadata(&path).map_err(|error| Error::from(error).in_file(&path))?.len();
    match size == file.bytes {
        true => Ok(()),
        false => Err(Error::mismatch("its size", file.bytes, size).in_file(path)),
    }
}
