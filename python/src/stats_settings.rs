//! What is counted, from keyword arguments.

use std::ops::Bound as KeyBound;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use sstkit_db::{AnalysisOptions, GroupBy};

use crate::bytes_arg::BytesArg;
use crate::errors::Failure;
use crate::settings::Settings;

/// The length of lists, unless another one is given.
const TOP: usize = 10;

/// What is counted.
pub(crate) struct StatsSettings {
    pub(crate) options: AnalysisOptions,
    pub(crate) sample: bool,
    pub(crate) top: usize,
}

impl StatsSettings {
    pub(crate) fn new(given: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let mut from = Settings::new(given);
        let key = |key: Option<BytesArg>| key.map(|key| key.as_ref().to_vec());
        let lower = key(from.take("start")?).map_or(KeyBound::Unbounded, KeyBound::Included);
        let upper = key(from.take("end")?).map_or(KeyBound::Unbounded, KeyBound::Excluded);
        let sample = from.take("sample")?.unwrap_or(false);
        let top = from.take("top")?.unwrap_or(TOP);
        let mut options =
            AnalysisOptions::default().range((lower, upper)).estimate(sample).top(top);
        if let Some(prefix) = key(from.take("prefix")?) {
            options = options.prefix(prefix);
        }
        if let Some(threads) = from.take("threads")? {
            options = options.threads(threads);
        }
        let by_prefix: Option<usize> = from.take("by_prefix")?;
        let by_delimiter = key(from.take("by_delimiter")?);
        let depth = from.take("depth")?;
        let group_by = match (by_prefix, by_delimiter) {
            (Some(_), Some(_)) => {
                return Err(Failure::invalid("give by_prefix or by_delimiter, not both").into());
            }
            (Some(length), None) => Some(GroupBy::Length(length)),
            (None, Some(delimiter)) => {
                Some(GroupBy::Delimiter { delimiter, depth: depth.unwrap_or(1) })
            }
            (None, None) => None,
        };
        if let Some(group_by) = group_by {
            options = options.group_by(group_by);
        }
        from.finish()?;
        Ok(Self { options, sample, top })
    }
}
