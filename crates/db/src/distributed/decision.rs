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
        let mut files = Vec::new();
        let mut settings = None;
        let chosen = chosen(plan, options)?;
        for attempt in &chosen {
            let manifest = attempt.prove(plan, options.checksums)?;
            if settings.is_none() && !manifest.files.is_empty() {
                settings = Some(manifest.options);
            }
            for mut file in manifest.files {
                let extension = Path::new(&file.name).extension().unwrap_or_default();
                let name = format!("{:06}.{}", files.len() + 1, extension.to_string_lossy());
                let inside = std::mem::replace(&mut file.name, name);
                sources.push((attempt.part as u64, inside));
                files.push(file);
            }
        }
        let mut manifest = BulkManifest::new(files, plan.comparator())?;
        manifest.options = settings.unwrap_or_default();
        manifest.plan = Some(plan.id().to_owned());
        if let Some(expected) = options.entries.filter(|&expected| expected != manifest.entries) {
            let what = "the number of entries of all parts";
            return Err(Error::mismatch(what, expected, manifest.entries));
        }
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

/// An attempt for each part: the one that was requested, or the first by name.
fn chosen(plan: &Plan, options: &CommitOptions) -> Result<Vec<FinishedAttempt>> {
    let finished = finished_attempts(plan)?;
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
