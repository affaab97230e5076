//! `commit.json`: which attempts count, and under which names their tables appear.
//!
//! It is written once, after everything that it says was proven. From then on every commit does the
//! same.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::attempts::{FinishedAttempt, attempt_folder, finished_attempts};
use super::commit::CommitOptions;
use super::plan::{PLAN_FOLDER, Plan};
use crate::bulk_manifest::BulkManifest;
use crate::error::{Error, Result};

/// The name of the file.
const DECISION_NAME: &str = "commit.json";

/// The contents of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Decision {
    /// The attempt that counts, for each part.
    pub(super) attempts: Vec<String>,
    /// For each table, its part and its name there.
    pub(super) sources: Vec<(u64, String)>,
    /// What will be published; its files are in the order of `sources`.
    pub(super) manifest: BulkManifest,
}

/// The path of the file.
pub(super) fn decision_path(output: &Path) -> PathBuf {
    output.join(PLAN_FOLDER).join(DECISION_NAME)
}

impl Decision {
    /// Chooses an attempt for each part, and proves that together they are complete, in order and free
    /// of overlap.
    pub(super) fn choose(plan: &Plan, options: &CommitOptions) -> Result<Self> {
        let mut sources = Vec::new();
        let chosen = chosen(finished_attempts(plan)?, plan, options)?;
        let proven = chosen.iter().map(|attempt| attempt.prove(plan, options.checksums));
        let parts = proven.collect::<Result<Vec<_>>>()?;
        let manifest = joined(plan, parts, options.entries, |part, number, name| {
            let extension = Path::new(name).extension().unwrap_or_default().to_string_lossy();
            let moved = format!("{:06}.{extension}", number + 1);
            sources.push((part, std::mem::replace(name, moved)));
        })?;
        let attempts = chosen.into_iter().map(|attempt| attempt.name).collect();
        Ok(Self { attempts, sources, manifest })
    }

    /// From where to where each table moves.
    pub(super) fn moves(&self, plan: &Plan) -> Result<Vec<(PathBuf, PathBuf)>> {
        if self.attempts.len() != plan.parts() || self.sources.len() != self.manifest.files.len() {
            return Err(Error::corrupt("the decision does not fit the plan"));
        }
        let moves = self.sources.iter().zip(&self.manifest.files).map(|((part, inside), file)| {
            let part = usize::try_from(*part).ok().filter(|&part| part < self.attempts.len());
            let part = part.ok_or_else(|| Error::corrupt("the decision names an unknown part"))?;
            let mut source = file.clone();
            source.name.clone_from(inside);
            let from = source.path(&attempt_folder(plan, part, &self.attempts[part]))?;
            Ok((from, file.path(plan.output())?))
        });
        moves.collect()
    }
}

/// The manifest of all tables of proven attempts, one for each part, in order. Proves that they do not overlap,
/// and that together they have the number of entries that is expected. `rename` gets the number of the part, the number of
/// the table, and its name in the attempt.
pub(super) fn joined(
    plan: &Plan,
    parts: Vec<BulkManifest>,
    entries: Option<u64>,
    mut rename: impl FnMut(u64, usize, &mut String),
) -> Result<BulkManifest> {
    let mut files = Vec::new();
    let mut settings = None;
    for (part, manifest) in (0..).zip(parts) {
        if settings.is_none() && !manifest.files.is_empty() {
            settings = Some(manifest.options);
        }
        for mut file in manifest.files {
            rename(part, files.len(), &mut file.name);
            files.push(file);
        }
    }
    let mut manifest = BulkManifest::new(files, plan.comparator())?;
    manifest.options = settings.unwrap_or_default();
    manifest.plan = Some(plan.id().to_owned());
    match entries.filter(|&expected| expected != manifest.entries) {
        None => Ok(manifest),
        Some(expected) => {
            let what = "the number of entries of all parts";
            Err(Error::mismatch(what, expected, manifest.entries))
        }
    }
}

/// An attempt for each part, of those that are sorted by part and name: the one that was requested, or the first.
pub(super) fn chosen(
    finished: Vec<FinishedAttempt>,
    plan: &Plan,
    options: &CommitOptions,
) -> Result<Vec<FinishedAttempt>> {
    let mut chosen = Vec::with_capacity(plan.parts());
    let mut missing = Vec::new();
    for part in 0..plan.parts() {
        let wanted = options.attempts.get(&part);
        let first = finished.partition_point(|attempt| attempt.part < part);
        let attempt = finished[first..]
            .iter()
            .take_while(|attempt| attempt.part == part)
            .find(|attempt| wanted.is_none_or(|wanted| *wanted == attempt.name));
        match attempt {
            Some(attempt) => chosen.push(attempt.clone()),
            None => missing.push(part.to_string()),
        }
    }
    match missing.len() {
        0 => Ok(chosen),
        count => {
            missing.truncate(20);
            let list = missing.join(", ");
            Err(Error::invalid_input(format!(
                "{count} of {} parts have no finished attempt: {list}{}",
                plan.parts(),
                if count > 20 { ", …" } else { "" }
            ))
            .in_file(plan.output()))
        }
    }
}
