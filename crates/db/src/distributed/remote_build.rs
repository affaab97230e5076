//! Builds in parts whose output is in an object store.
//!
//! ```text
//! out/_sstkit/plan.json                               the plan, created once
//! out/_sstkit/ID/part-000003.attempt-A/manifest.json  an attempt: appears after its tables
//! out/ID-000003-A-000001.sst …                        its tables, under names that nothing else has
//! out/_sstkit/ID/commit.json                          the manifest to publish, or that there will be none; created once
//! out/manifest.json                                   last of all: which tables count
//! ```
//!
//! The steps are those of a directory, except that nothing is moved: a store cannot rename. The tables that count stay where
//! they were uploaded, and readers know them from the manifest alone. What decides is created by a request that
//! fails if the object exists.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::attempts::{FinishedAttempt, folder_name, parse};
use super::commit::{CommitOptions, CommitSummary};
use super::decision::{chosen, joined};
use super::part_writer::PartSummary;
use super::plan::{PLAN_FOLDER, PLAN_NAME, Plan};
use super::plan_options::PlanOptions;
use crate::bulk_manifest::{BulkManifest, MANIFEST_NAME};
use crate::error::{Error, Result};

/// The objects below the path of an output. Their names are relative to it, with `/` between folders.
///
/// What was created or uploaded must be seen by every later call, of every process; so it is with S3, Google Cloud Storage
/// and Azure.
pub trait ObjectFolder {
    /// The names and sizes of all objects.
    fn list(&self) -> io::Result<Vec<(String, u64)>>;

    /// The contents of an object; `None` if there is none.
    fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>>;

    /// Creates an object; false if there is one. Of several calls at the same time, one returns true.
    fn create(&self, name: &str, contents: Vec<u8>) -> io::Result<bool>;

    /// Creates an object from a file.
    fn upload(&self, name: &str, file: &Path) -> io::Result<()>;

    /// Deletes objects, as far as they exist.
    fn delete(&self, names: &[String]) -> io::Result<()>;
}

/// A build in parts whose output is in an object store. `sstkit-object-store` has the [`ObjectFolder`] for it.
///
/// Workers write parts on disks of their own, with a plan that was [restored](Plan::restore) there, and upload them.
#[derive(Debug)]
pub struct RemoteBuild<F> {
    folder: F,
    output: PathBuf,
}

/// What was decided about a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Decision {
    /// What is to be published; `None` if the plan was discarded.
    manifest: Option<BulkManifest>,
}

const DECISION_NAME: &str = "commit.json";

impl<F: ObjectFolder> RemoteBuild<F> {
    /// A build whose output is in `folder`. Messages call it `output`, and readers find it under this path.
    pub fn new(folder: F, output: impl Into<PathBuf>) -> Self {
        Self { folder, output: output.into() }
    }

    /// Writes a new plan.
    ///
    /// # Errors
    ///
    /// Fails if there is a plan, or anything else, and in the cases of [`Plan::create`].
    pub fn plan(&self, options: &PlanOptions) -> Result<Plan> {
        let plan = Plan::planned(&self.output, options)?;
        // What a plan that was discarded has left does no harm: its id is in the names.
        let mut objects = self.list()?.into_iter().map(|(name, _)| name);
        if let Some(name) = objects.find(|name| !is_of_a_plan(name)) {
            let what = format!("{name} already exists here; use a new path");
            return Err(Error::invalid_input(what).in_file(&self.output));
        }
        match self.create(&plan_name(), plan.to_json().into_bytes())? {
            true => Ok(plan),
            false => Err(Error::invalid_input("there is a plan already").in_file(&self.output)),
        }
    }

    /// Reads the plan.
    pub fn open_plan(&self) -> Result<Plan> {
        let plan = self.plan_if_any()?;
        plan.ok_or_else(|| Error::invalid_input("there is no plan").in_file(&self.output))
    }

    fn plan_if_any(&self) -> Result<Option<Plan>> {
        let text = self.read(&plan_name())?;
        text.map(|text| Plan::from_json(&self.output, &text)).transpose()
    }

    /// Uploads the tables of a finished attempt, then its manifest.
    ///
    /// # Errors
    ///
    /// Fails if there is an attempt of this name at this part, and if the plan was discarded, or committed without
    /// this attempt. Nothing of it is left then.
    pub fn upload(&self, attempt: &PartSummary) -> Result<()> {
        let PartSummary { part, attempt: name, manifest, folder } = attempt;
        let id = manifest.plan.as_deref().unwrap_or_default();
        if !self.is_wanted(id, *part, name)? {
            return Err(self.too_late());
        }
        let object = attempt_name(id, *part, name);
        let is_new = self.read(&object)?.is_none();
        if is_new {
            for file in &manifest.files {
                let object = table_name(id, *part, name, &file.name);
                let uploaded = self.folder.upload(&object, &file.path(folder)?);
                uploaded.map_err(|error| self.failed(error))?;
            }
        }
        if is_new && self.create(&object, manifest.to_json().into_bytes())? {
            if self.is_wanted(id, *part, name)? {
                return Ok(());
            }
            // What ended the plan may have listed the objects before these were there.
            let tables = manifest.files.iter().map(|file| table_name(id, *part, name, &file.name));
            let objects: Vec<String> = tables.chain([object]).collect();
            self.folder.delete(&objects).map_err(|error| self.failed(error))?;
            return Err(self.too_late());
        }
        let what = format!("there is an attempt {name:?} at part {part} already");
        Err(Error::invalid_input(what).in_file(&self.output))
    }

    /// Chooses an attempt for each part, proves that together they are complete and do not overlap, and publishes
    /// the manifest. After an interruption call it again: it does what was decided.
    ///
    /// # Errors
    ///
    /// Fails if a part has no attempt, if an attempt is not what its manifest says, and if the plan was discarded.
    pub fn commit(&self, options: &CommitOptions) -> Result<CommitSummary> {
        let Some(plan) = self.plan_if_any()? else {
            // It is removed after a commit.
            let published = self.published()?.filter(|manifest| manifest.plan.is_some());
            let none = || Error::invalid_input("there is no plan").in_file(&self.output);
            let manifest = published.ok_or_else(none)?;
            return Ok(CommitSummary { manifest, losers: Vec::new() });
        };
        let decision = match self.decision(plan.id())? {
            Some(decision) => decision,
            None => {
                let manifest = Some(self.choose(&plan, options)?);
                self.decide(&plan, Decision { manifest })?
            }
        };
        let Some(manifest) = decision.manifest else {
            return Err(Error::invalid_input("the plan was discarded").in_file(&self.output));
        };
        if !self.create(MANIFEST_NAME, manifest.to_json().into_bytes())?
            && self.published()?.as_ref() != Some(&manifest)
        {
            let what = "this manifest is not that of the plan";
            return Err(Error::invalid_input(what).in_file(self.output.join(MANIFEST_NAME)));
        }
        let mut others: Vec<String> = self.list()?.into_iter().map(|(name, _)| name).collect();
        others
            .retain(|name| is_of_a_plan(name) && manifest.files.iter().all(|it| it.name != *name));
        if options.clean {
            self.remove(others, &plan)?;
            return Ok(CommitSummary { manifest, losers: Vec::new() });
        }
        let is_loser = |name: &String| !name.starts_with(PLAN_FOLDER);
        let losers = others.into_iter().filter(is_loser).map(|name| self.output.join(name));
        Ok(CommitSummary { manifest, losers: losers.collect() })
    }

    /// Removes a plan that will not be committed, with everything that was written for it. A small object that
    /// says so is left, for commits that have begun elsewhere.
    ///
    /// # Errors
    ///
    /// Fails if a commit has begun: it can be completed by another one, which loses nothing.
    pub fn discard(&self, plan: &Plan) -> Result<()> {
        let decision = self.decide(plan, Decision { manifest: None })?;
        // A commit removes its decision, but only after it has published.
        let published = self.published()?.and_then(|manifest| manifest.plan);
        if decision.manifest.is_some() || published.as_deref() == Some(plan.id()) {
            let what = "a commit of this plan has begun: commit it again";
            return Err(Error::invalid_input(what).in_file(&self.output));
        }
        let folder = format!("{PLAN_FOLDER}/{}/", plan.id());
        let tables = format!("{}-", plan.id());
        let mut objects: Vec<String> = self.list()?.into_iter().map(|(name, _)| name).collect();
        objects.retain(|name| {
            let is_own = name.starts_with(&folder) || name.starts_with(&tables);
            is_own && *name != decision_name(plan.id())
        });
        objects.push(plan_name());
        self.remove(objects, plan)
    }

    /// Deletes objects, last of all the plan, if it is this one still.
    fn remove(&self, mut names: Vec<String>, plan: &Plan) -> Result<()> {
        let count = names.len();
        names.retain(|name| *name != plan_name());
        let has_plan = names.len() < count;
        self.folder.delete(&names).map_err(|error| self.failed(error))?;
        if has_plan && self.plan_if_any()?.is_some_and(|found| found.id() == plan.id()) {
            self.folder.delete(&[plan_name()]).map_err(|error| self.failed(error))?;
        }
        Ok(())
    }

    /// The manifest of all parts. Sizes are compared with those of the objects.
    fn choose(&self, plan: &Plan, options: &CommitOptions) -> Result<BulkManifest> {
        let objects = self.list()?;
        let folder = format!("{PLAN_FOLDER}/{}/", plan.id());
        let mut finished: Vec<FinishedAttempt> = objects
            .iter()
            .filter_map(|(name, _)| {
                let attempt = name.strip_prefix(&folder)?.strip_suffix(MANIFEST_NAME)?;
                parse(attempt.strip_suffix('/')?).filter(|attempt| attempt.part < plan.parts())
            })
            .collect();
        finished.sort();
        let mut parts = Vec::new();
        for attempt in chosen(finished, plan, options)? {
            let name = attempt_name(plan.id(), attempt.part, &attempt.name);
            let path = self.output.join(&name);
            let text = self.read(&name)?.unwrap_or_default();
            let mut manifest = BulkManifest::from_json(&String::from_utf8_lossy(&text))
                .map_err(|error| error.in_file(&path))?;
            attempt.check(plan, &manifest).map_err(|error| error.in_file(&path))?;
            for file in &mut manifest.files {
                file.name = table_name(plan.id(), attempt.part, &attempt.name, &file.name);
            }
            parts.push(manifest);
        }
        let manifest = joined(plan, parts, options.entries, |_, _, _| {})?;
        let sizes: HashMap<String, u64> = objects.into_iter().collect();
        for file in &manifest.files {
            let path = || self.output.join(&file.name);
            match sizes.get(&file.name) {
                Some(&size) if size == file.bytes => {}
                Some(&size) => {
                    return Err(Error::mismatch("its size", file.bytes, size).in_file(path()));
                }
                None => {
                    return Err(
                        Error::corrupt("this table of an attempt is missing").in_file(path())
                    );
                }
            }
        }
        if options.checksums {
            manifest.verify(&self.output)?;
        }
        Ok(manifest)
    }

    /// Whether a plan is open, or was committed with this attempt.
    ///
    /// ```text
    /// commit     decide --> publish --> list, delete --> delete decision, plan
    /// discard    decide --> list, delete
    /// upload     tables, manifest --> decision? --> plan? --> published?
    /// ```
    ///
    /// In this order, who ends a plan sees the attempt in the list, or the attempt sees that the plan has ended.
    fn is_wanted(&self, id: &str, part: usize, attempt: &str) -> Result<bool> {
        let prefix = table_name(id, part, attempt, "");
        let has_it = |manifest: &BulkManifest| {
            manifest.files.iter().any(|file| file.name.starts_with(&prefix))
        };
        let decision = self.decision(id)?;
        let is_open = self.plan_if_any()?.is_some_and(|plan| plan.id() == id);
        // It comes before a decision: another commit may have decided again after the removal of the first.
        match self.published()?.filter(|manifest| manifest.plan.as_deref() == Some(id)) {
            Some(manifest) => Ok(has_it(&manifest)),
            None => Ok(decision.map_or(is_open, |it| it.manifest.as_ref().is_some_and(has_it))),
        }
    }

    fn too_late(&self) -> Error {
        let what = "the plan was discarded, or committed without this attempt";
        Error::new(crate::ErrorKind::Changed, what).in_file(&self.output)
    }

    fn decision(&self, id: &str) -> Result<Option<Decision>> {
        let name = decision_name(id);
        let Some(text) = self.read(&name)? else { return Ok(None) };
        let decision = serde_json::from_slice(&text);
        decision.map(Some).map_err(|error| {
            let error = Error::corrupt("not the decision of a commit").with_source(error);
            error.in_file(self.output.join(name))
        })
    }

    /// Makes a decision, or returns the one that was made before.
    fn decide(&self, plan: &Plan, decision: Decision) -> Result<Decision> {
        let text = serde_json::to_vec(&decision)
            .map_err(|error| Error::invalid_input(error.to_string()))?;
        match self.create(&decision_name(plan.id()), text)? {
            true => Ok(decision),
            false => self.decision(plan.id())?.ok_or_else(|| {
                let what = "the plan was committed and removed";
                Error::new(crate::ErrorKind::Changed, what).in_file(&self.output)
            }),
        }
    }

    fn published(&self) -> Result<Option<BulkManifest>> {
        let Some(text) = self.read(MANIFEST_NAME)? else { return Ok(None) };
        let manifest = BulkManifest::from_json(&String::from_utf8_lossy(&text));
        manifest.map(Some).map_err(|error| error.in_file(self.output.join(MANIFEST_NAME)))
    }

    fn list(&self) -> Result<Vec<(String, u64)>> {
        self.folder.list().map_err(|error| self.failed(error))
    }

    fn read(&self, name: &str) -> Result<Option<Vec<u8>>> {
        self.folder.read(name).map_err(|error| Error::from(error).in_file(self.output.join(name)))
    }

    fn create(&self, name: &str, contents: Vec<u8>) -> Result<bool> {
        let created = self.folder.create(name, contents);
        created.map_err(|error| Error::from(error).in_file(self.output.join(name)))
    }

    fn failed(&self, error: io::Error) -> Error {
        Error::from(error).in_file(&self.output)
    }
}

fn plan_name() -> String {
    format!("{PLAN_FOLDER}/{PLAN_NAME}")
}

fn decision_name(id: &str) -> String {
    format!("{PLAN_FOLDER}/{id}/{DECISION_NAME}")
}

fn attempt_name(id: &str, part: usize, attempt: &str) -> String {
    format!("{PLAN_FOLDER}/{id}/{}/{MANIFEST_NAME}", folder_name(part, attempt))
}

fn table_name(id: &str, part: usize, attempt: &str, file: &str) -> String {
    format!("{id}-{part:06}-{attempt}-{file}")
}

/// Whether an object is a plan or was written for one.
fn is_of_a_plan(name: &str) -> bool {
    let is_table = |(id, rest): (&str, &str)| {
        let is_id = id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_id && !rest.contains('/') && rest.ends_with(".sst")
    };
    name.strip_prefix(PLAN_FOLDER).is_some_and(|rest| rest.starts_with('/'))
        || name.split_once('-').is_some_and(is_table)
}
