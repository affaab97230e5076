//! The filters of all levels as they are, and the best ones in a budget.

use serde::Serialize;
use sstkit_db::Database;

use super::situation::Situation;
use super::{AdviceOptions, AdvisedLevel, FilterChange, LookupCost, best_filters};
use crate::error::Result;
use crate::filter_plan::FilterLevels;

/// The filters of all levels as they are, and those with the fewest wasted reads in a budget: the part
/// of [`Advice`](crate::Advice) that follows from [`FilterLevels`] alone, without reading more.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FilterBudget {
    /// What there is now.
    pub now: LookupCost,
    /// Each column family from the newest level to the oldest.
    pub levels: Vec<AdvisedLevel>,
    /// The filters with the fewest wasted reads in the budget.
    pub plan: FilterChange,
}

impl FilterBudget {
    /// The best filters in the budget of `options`. `name` is the path of the database, for the command
    /// line of the plan.
    ///
    /// # Errors
    ///
    /// Fails if a table cannot be read.
    pub fn of(
        database: &Database,
        filters: &FilterLevels,
        name: &str,
        options: &AdviceOptions,
    ) -> Result<Self> {
        Self::of_situation(&Situation::new(database, filters, options), name)
    }

    pub(super) fn of_situation(situation: &Situation<'_>, name: &str) -> Result<Self> {
        Ok(Self {
            now: situation.cost(),
            levels: situation.levels(),
            plan: FilterChange::new(situation, &best_filters::choice(situation), name)?,
        })
    }
}
