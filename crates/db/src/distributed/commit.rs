//! The commit of a plan: decides, moves the tables, publishes the manifest.
//!
//! ```text
//! decide    one attempt per part, all of it proven ---> commit.json, unless there is one
//! move      each table to its final name, unless it is there
//! publish   manifest.json, unless it is there
//! ```
//!
//! Each step can be repeated by the same commit or another one, from any point: after `commit.json`
//! exists, all do the same.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use sstkit_coding::{setters, with_defaults};

use super::attempts::{attempt_folder, check_size};
use super::decision::{Decision, decision_path};
use super::plan::{Plan, remove};
use super::write_once;
use crate::bulk_manifest::{BulkManifest, MANIFEST_NAME};
use crate::error::{Error, Result};

with_defaults! {
    /// What a commit checks, and which attempts it prefers.
    #[derive(Clone, Debug)]
    pub struct CommitOptions {
        pub(super) attempts: BTreeMap<usize, String>,
        pub(super) entries: Option<u64>,
        pub(super) checksums: bool = true,
        pub(super) clean: bool,
    }
}

setters! {
    impl CommitOptions:

    /// The attempts that count, by part: those whose success the engine has reported. Default: for
    /// each part the first one by name.
    pub fn attempts(mut self, attempts: impl IntoIterator<Item = (usize, String)>) {
        self.attempts = attempts.into_iter().collect();
    }

    /// The number of entries that all parts together must have. Default: not checked.
    pub fn entries(mut self, entries: Option<u64>) { self.entries = entries; }

    /// Whether the checksums of all files are verified, which reads them. Default: yes. Otherwise only
    /// their sizes are compared.
    pub fn checksums(mut self, verify: bool) { self.checksums = verify; }

    /// Whether the plan and all attempts that do not count are removed after the commit. Default: no,
    /// they are listed.
    pub fn clean(mut self, clean: bool) { self.clean = clean; }
}

/// The commit of a plan. [`run`](Self::run) does all of it; [`step`](Self::step) one thing at a time.
///
/// It is safe to run it again, or twice at once, after any interruption.
#[derive(Debug)]
pub struct Commit {
    output: PathBuf,
    options: CommitOptions,
    /// `None` if it was removed after an earlier commit.
    plan: Option<Plan>,
    state: State,
}

#[derive(Debug)]
enum State {
    Deciding,
    Moving { decision: Decision, moves: Vec<(PathBuf, PathBuf)>, moved: usize },
    Published { manifest: BulkManifest, losers: Vec<PathBuf> },
    Done { manifest: BulkManifest, losers: Vec<PathBuf> },
}

/// The result of a commit.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CommitSummary {
    /// What was published.
    pub manifest: BulkManifest,
    /// What does not count and can be removed: attempts, finished or not. Empty if it was removed.
    pub losers: Vec<PathBuf>,
}

impl Commit {
    /// Prepares the commit of the plan of an output directory.
    ///
    /// # Errors
    ///
    /// Fails if there is neither a plan nor the manifest of one that was committed.
    pub fn new(output: impl AsRef<Path>, options: CommitOptions) -> Result<Self> {
        let output = output.as_ref().to_path_buf();
        let plan = Plan::open_if_any(&output)?;
        let state = match published(&output, plan.as_ref())? {
            Some(manifest) => State::Published { losers: Vec::new(), manifest },
            None if plan.is_none() => {
                return Err(Error::invalid_input("there is no plan").in_file(output));
            }
            None => State::Deciding,
        };
        Ok(Self { output, options, plan, state })
    }

    /// Does everything that is left.
    pub fn run(mut self) -> Result<CommitSummary> {
        while self.step()? {}
        match self.state {
            State::Done { manifest, losers } => Ok(CommitSummary { manifest, losers }),
            _ => Err(Error::invalid_input("the commit has not ended")),
        }
    }

    /// Does one thing: decides, moves a table, publishes or cleans up. False if nothing is left.
    pub fn step(&mut self) -> Result<bool> {
        let state = std::mem::replace(&mut self.state, State::Deciding);
        self.state = match state {
            State::Deciding => self.decide()?,
            State::Moving { decision, moves, moved } => match moves.get(moved) {
                Some((from, to)) => {
                    self.move_table(&decision, moved, from, to)?;
                    State::Moving { decision, moves, moved: moved + 1 }
                }
                None => self.publish(decision)?,
            },
            State::Published { manifest, losers } => {
                let losers = match (self.options.clean, self.plan.is_some()) {
                    (true, _) => self.clean()?,
                    (false, true) if losers.is_empty() => self.losers()?,
                    _ => losers,
                };
                State::Done { manifest, losers }
            }
            done @ State::Done { .. } => done,
        };
        Ok(!matches!(self.state, State::Done { .. }))
    }

    fn plan(&self) -> Result<&Plan> {
        self.plan.as_ref().ok_or_else(|| Error::invalid_input("there is no plan"))
    }

    /// Follows the decision of another commit, or makes one.
    fn decide(&self) -> Result<State> {
        let plan = self.plan()?;
        let path = decision_path(&self.output);
        let existing = || write_once::read::<Decision>(&path, "the decision of a commit");
        let decision = match existing()? {
            Some(decision) => decision,
            None => {
                let decided = Decision::choose(plan, &self.options).and_then(|decision| {
                    let first = write_once::write_once(&path, &decision)?;
                    Ok(if first { Some(decision) } else { existing()? })
                });
                match decided {
                    Ok(Some(decision)) => decision,
                    // Another commit has decided, or even ended, and moved what was looked at.
                    failed => match (existing()?, published(&self.output, Some(plan))?) {
                        (Some(decision), _) => decision,
                        (None, Some(manifest)) => {
                            return Ok(State::Published { manifest, losers: Vec::new() });
                        }
                        (None, None) => {
                            return Err(failed.err().unwrap_or_else(|| {
                                Error::new(crate::ErrorKind::Changed, "the plan was removed")
                                    .in_file(&self.output)
                            }));
                        }
                    },
                }
            }
        };
        if decision.manifest.plan.as_deref() != Some(plan.id()) {
            return Err(Error::corrupt("the decision belongs to another plan").in_file(path));
        }
        let moves = decision.moves(plan).map_err(|error| error.in_file(path))?;
        Ok(State::Moving { decision, moves, moved: 0 })
    }

    /// Gives a table its final name, unless another commit has done that.
    fn move_table(&self, decision: &Decision, at: usize, from: &Path, to: &Path) -> Result<()> {
        let failed = |error: io::Error| Error::from(error).in_file(to);
        let is_there = || fs::symlink_metadata(to).is_ok();
        if is_there() && from.exists() {
            let what = "this file is in the way; move it elsewhere and commit again";
            return Err(Error::invalid_input(what).in_file(to));
        }
        match fs::rename(from, to) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound && is_there() => {
                check_size(&decision.manifest.files[at], &self.output)
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// Makes the names durable, then writes the manifest, which makes the output complete.
    fn publish(&self, decision: Decision) -> Result<State> {
        let failed = |error: io::Error| Error::from(error).in_file(&self.output);
        if cfg!(unix) {
            File::open(&self.output).and_then(|folder| folder.sync_all()).map_err(failed)?;
        }
        let path = self.output.join(MANIFEST_NAME);
        if !write_once::write_once(&path, &decision.manifest)?
            && BulkManifest::read(&path)? != decision.manifest
        {
            let what = "this manifest is not that of the plan";
            return Err(Error::invalid_input(what).in_file(path));
        }
        Ok(State::Published { losers: Vec::new(), manifest: decision.manifest })
    }

    /// What is left of the plan, except empty folders of the attempts that count.
    fn losers(&self) -> Result<Vec<PathBuf>> {
        let plan = self.plan()?;
        let decision = write_once::read::<Decision>(&decision_path(&self.output), "a decision")?;
        let attempts = decision.map(|decision| decision.attempts).unwrap_or_default();
        let winners: Vec<PathBuf> = attempts
            .iter()
            .enumerate()
            .map(|(part, attempt)| attempt_folder(plan, part, attempt))
            .collect();
        let mut losers = Vec::new();
        match fs::read_dir(plan.parts_folder()) {
            Ok(entries) => {
                for entry in entries {
                    losers.push(entry.map_err(|error| self.failed(error))?.path());
                }
            }
            // Another commit has removed it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(self.failed(error)),
        }
        losers.retain(|path| !winners.contains(path));
        losers.sort();
        Ok(losers)
    }

    /// Removes the plan and all attempts. They disappear at once, so that no other commit sees some of
    /// them, and no late attempt finds a place.
    fn clean(&self) -> Result<Vec<PathBuf>> {
        let id = self.plan.as_ref().map(Plan::id);
        remove(&self.output, id).map_err(|error| self.failed(error))?;
        Ok(Vec::new())
    }

    fn failed(&self, error: io::Error) -> Error {
        Error::from(error).in_file(&self.output)
    }
}

/// The manifest of an output directory, if it is that of the plan; without a plan, of any.
fn published(output: &Path, plan: Option<&Plan>) -> Result<Option<BulkManifest>> {
    let path = output.join(MANIFEST_NAME);
    if !path.exists() {
        return Ok(None);
    }
    let manifest = BulkManifest::read(&path)?;
    let is_ours = match plan {
        Some(plan) => manifest.plan.as_deref() == Some(plan.id()),
        None => manifest.plan.is_some(),
    };
    match is_ours {
        true => Ok(Some(manifest)),
        false => Err(Error::invalid_input("this manifest is not that of the plan").in_file(path)),
    }
}
