//! A range of keys, or a prefix of keys.

use std::ops::Bound;

use anyhow::{Result, ensure};
use clap::Args;
use sstkit_table::{Comparator, KeyExcerpt, ReadOptions};

use super::EncodingArgs;

/// Which keys.
#[derive(Args, Clone, Debug)]
pub(crate) struct RangeArgs {
    /// First key (inclusive)
    #[arg(long, value_name = "KEY")]
    from: Option<String>,

    /// Last key (exclusive)
    #[arg(long, value_name = "KEY")]
    to: Option<String>,

    /// Only keys with this prefix
    #[arg(short, long, value_name = "START", conflicts_with_all = ["from", "to"])]
    prefix: Option<String>,
}

/// The same, decoded.
pub(crate) struct SelectedKeys {
    pub(crate) range: (Bound<Vec<u8>>, Bound<Vec<u8>>),
    pub(crate) prefix: Option<Vec<u8>>,
}

impl RangeArgs {
    /// Whether not all keys are selected.
    pub(crate) fn is_given(&self) -> bool {
        self.from.is_some() || self.to.is_some() || self.prefix.is_some()
    }

    /// Whether a first or last key is given, which only an order tells the keys between.
    pub(crate) fn has_bounds(&self) -> bool {
        self.from.is_some() || self.to.is_some()
    }

    pub(crate) fn decoded(&self, encoding: EncodingArgs) -> Result<SelectedKeys> {
        let key = |text: &Option<String>| text.as_ref().map(|it| encoding.key(it)).transpose();
        let lower = key(&self.from)?.map_or(Bound::Unbounded, Bound::Included);
        let upper = key(&self.to)?.map_or(Bound::Unbounded, Bound::Excluded);
        Ok(SelectedKeys { range: (lower, upper), prefix: key(&self.prefix)? })
    }
}

impl SelectedKeys {
    /// Refuses bounds that are no keys of the order: those come after all keys, whatever they start
    /// with.
    pub(crate) fn check(&self, order: Option<&Comparator>) -> Result<()> {
        let Some(order) = order else { return Ok(()) };
        for (name, bound) in [("--from", &self.range.0), ("--to", &self.range.1)] {
            if let Bound::Included(key) | Bound::Excluded(key) = bound {
                ensure!(
                    order.is_valid_key(key),
                    "{name}: {} is not a whole key of {order}, and has no place in its order (use --prefix \
                     for the keys that start with it)",
                    KeyExcerpt(key)
                );
            }
        }
        Ok(())
    }

    /// A scan of these keys.
    pub(crate) fn scan_options(&self) -> ReadOptions {
        match &self.prefix {
            Some(prefix) => ReadOptions::default().prefix(prefix),
            None => ReadOptions::default().range(self.range.clone()),
        }
    }
}
