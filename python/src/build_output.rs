//! Where a build in parts has its output: a directory, or an object store.

use std::path::PathBuf;

use sstkit_db::{Commit, CommitOptions, CommitSummary, PartSummary, Plan, PlanOptions};

use crate::errors::Outcome;
use crate::location::{self, Location};
use crate::work::Stop;

/// The output of a build in parts.
pub(crate) enum BuildOutput {
    Folder(PathBuf),
    #[cfg(feature = "remote")]
    Remote(location::RemoteBuild),
}

impl BuildOutput {
    pub(crate) fn new(location: Location) -> Outcome<Self> {
        #[cfg(feature = "remote")]
        if let Some(address) = location.address() {
            return Ok(Self::Remote(location::remote_build(address)?));
        }
        Ok(Self::Folder(location.into_path()))
    }

    /// That of a plan.
    pub(crate) fn of(plan: &Plan) -> Outcome<Self> {
        #[cfg(feature = "remote")]
        if let Some(address) = location::address(plan.output()) {
            return Ok(Self::Remote(location::remote_build(address)?));
        }
        Ok(Self::Folder(plan.output().to_path_buf()))
    }

    pub(crate) fn create_plan(&self, options: &PlanOptions) -> Outcome<Plan> {
        Ok(match self {
            Self::Folder(output) => Plan::create(output, options)?,
            #[cfg(feature = "remote")]
            Self::Remote(build) => build.plan(options)?,
        })
    }

    pub(crate) fn open_plan(&self) -> Outcome<Plan> {
        Ok(match self {
            Self::Folder(output) => Plan::open(output)?,
            #[cfg(feature = "remote")]
            Self::Remote(build) => build.open_plan()?,
        })
    }

    pub(crate) fn discard(&self, plan: Plan) -> Outcome<()> {
        match self {
            Self::Folder(_) => plan.discard()?,
            #[cfg(feature = "remote")]
            Self::Remote(build) => build.discard(&plan)?,
        }
        Ok(())
    }

    pub(crate) fn commit(&self, options: CommitOptions, stop: &Stop) -> Outcome<CommitSummary> {
        match self {
            Self::Folder(output) => {
                let mut commit = Commit::new(output, options)?;
                while commit.step()? {
                    stop.check()?;
                }
                Ok(commit.run()?)
            }
            #[cfg(feature = "remote")]
            Self::Remote(build) => {
                stop.check()?;
                Ok(build.commit(&options)?)
            }
        }
    }

    /// Brings a finished attempt to where the commit looks for it.
    pub(crate) fn deliver(&self, attempt: &PartSummary) -> Outcome<()> {
        match self {
            // It was written there.
            Self::Folder(_) => {
                let _ = attempt;
                Ok(())
            }
            #[cfg(feature = "remote")]
            Self::Remote(build) => Ok(build.upload(attempt)?),
        }
    }
}
