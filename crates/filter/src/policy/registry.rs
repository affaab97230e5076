//! The registry of custom policies and prefix extractors.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::filter_block::FilterBlock;
use crate::prefix::{PrefixExtractor, SliceTransform};
use crate::reader::Filter;

use super::{FilterPolicy, UserPolicy, text};

/// Maps names to filter policies and prefix extractors: the built-in ones and those registered.
///
/// A table stores the names of its filter policy and prefix extractor. Reading it looks them up in a
/// registry. See [`UserPolicy`] for an example.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    policies: BTreeMap<String, Arc<dyn UserPolicy>>,
    transforms: BTreeMap<String, Arc<dyn SliceTransform>>,
}

impl Registry {
    /// The custom policies, sorted by name.
    pub fn policies(&self) -> impl Iterator<Item = &Arc<dyn UserPolicy>> {
        self.policies.values()
    }

    /// Registers a policy under its name.
    ///
    /// # Errors
    ///
    /// If the name is already registered or is that of a built-in policy.
    pub fn register_policy(&mut self, policy: Arc<dyn UserPolicy>) -> Result<()> {
        let name = policy.name().to_owned();
        let built_in =
            !matches!(name.parse::<FilterPolicy>(), Err(e) if e.kind() == ErrorKind::Unsupported);
        if built_in || self.policies.contains_key(&name) {
            return Err(taken("filter policy", &name));
        }
        self.policies.insert(name, policy);
        Ok(())
    }

    /// Registers a prefix extractor under its name.
    ///
    /// # Errors
    ///
    /// If the name is already registered or is that of a built-in extractor.
    pub fn register_extractor(&mut self, transform: Arc<dyn SliceTransform>) -> Result<()> {
        let name = transform.name().to_owned();
        let built_in = !matches!(name.parse::<PrefixExtractor>(), Err(e) if e.kind() == ErrorKind::Unsupported);
        if built_in || self.transforms.contains_key(&name) {
            return Err(taken("prefix extractor", &name));
        }
        self.transforms.insert(name, transform);
        Ok(())
    }

    /// The registered policy with this name, or the built-in policy with this text form.
    ///
    /// # Errors
    ///
    /// If there is neither.
    pub fn policy(&self, text: &str) -> Result<FilterPolicy> {
        match self.policies.get(text) {
            Some(policy) => Ok(FilterPolicy::User(Arc::clone(policy))),
            None => text.parse(),
        }
    }

    /// The registered prefix extractor with this name, or the built-in one with this name or text
    /// form.
    ///
    /// # Errors
    ///
    /// If there is neither.
    pub fn extractor(&self, text: &str) -> Result<PrefixExtractor> {
        match self.transforms.get(text) {
            Some(transform) => Ok(PrefixExtractor::User(Arc::clone(transform))),
            None => text.parse(),
        }
    }

    /// Reads a full filter or a filter partition with this name in the metaindex, without
    /// `fullfilter.`. With an unknown name, the filter may contain anything.
    pub fn filter<B: AsRef<[u8]>>(&self, name: &str, bytes: B) -> Filter<B> {
        match self.policies.get(name) {
            _ if name == text::BUILTIN => Filter::from_bytes(bytes),
            Some(policy) => Filter::user(bytes, &**policy),
            None => Filter::unknown(bytes),
        }
    }

    /// Reads a filter block with this name in the metaindex, without `filter.`. `None` if the name is
    /// unknown.
    pub fn filter_block<B: AsRef<[u8]>>(&self, name: &str, bytes: B) -> Option<FilterBlock<B>> {
        match name {
            text::LEVELDB | text::GOLEVELDB => Some(FilterBlock::leveldb(bytes)),
            text::BUILTIN => Some(FilterBlock::rocksdb(bytes)),
            _ => self.policies.get(name).map(|policy| FilterBlock::user(bytes, Arc::clone(policy))),
        }
    }
}

fn taken(what: &str, name: &str) -> Error {
    Error::invalid_input(format!("the {what} name {name:?} is already registered"))
}
