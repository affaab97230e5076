//! Where reading finds user-made policies and prefix extractors again.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::block_filter::FilterBlock;
use crate::error::{Error, ErrorKind, Result};
use crate::prefix::{PrefixExtractor, SliceTransform};
use crate::reader::Filter;

use super::{FilterPolicy, UserPolicy, text};

/// The names that a reader knows: the built-in ones and those registered.
///
/// A table names its filter policy and prefix extractor; a registry turns the names into code. An
/// example is at [`UserPolicy`].
#[derive(Clone, Debug, Default)]
pub struct Registry {
    policies: BTreeMap<String, Arc<dyn UserPolicy>>,
    transforms: BTreeMap<String, Arc<dyn SliceTransform>>,
}

impl Registry {
    /// The user-made policies, in the order of their names.
    pub fn policies(&self) -> impl Iterator<Item = &Arc<dyn UserPolicy>> {
        self.policies.values()
    }

    /// Makes a policy known under its name.
    ///
    /// # Errors
    ///
    /// If the name is taken, or a built-in policy's.
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

    /// Makes a prefix extractor known under its name.
    ///
    /// # Errors
    ///
    /// If the name is taken, or a built-in extractor's.
    pub fn register_extractor(&mut self, transform: Arc<dyn SliceTransform>) -> Result<()> {
        let name = transform.name().to_owned();
        let built_in = !matches!(name.parse::<PrefixExtractor>(), Err(e) if e.kind() == ErrorKind::Unsupported);
        if built_in || self.transforms.contains_key(&name) {
            return Err(taken("prefix extractor", &name));
        }
        self.transforms.insert(name, transform);
        Ok(())
    }

    /// The policy of a text: registered, or built in.
    ///
    /// # Errors
    ///
    /// If it is neither.
    pub fn policy(&self, text: &str) -> Result<FilterPolicy> {
        match self.policies.get(text) {
            Some(policy) => Ok(FilterPolicy::User(Arc::clone(policy))),
            None => text.parse(),
        }
    }

    /// The prefix extractor of a text or name: registered, or built in.
    ///
    /// # Errors
    ///
    /// If it is neither.
    pub fn extractor(&self, text: &str) -> Result<PrefixExtractor> {
        match self.transforms.get(text) {
            Some(transform) => Ok(PrefixExtractor::User(Arc::clone(transform))),
            None => text.parse(),
        }
    }

    /// Reads a full filter, or a partition of one, listed under `name` (without `fullfilter.`). A
    /// name that is not known gives a filter that may contain anything.
    pub fn filter<B: AsRef<[u8]>>(&self, name: &str, bytes: B) -> Filter<B> {
        match self.policies.get(name) {
            _ if name == text::BUILTIN => Filter::from_bytes(bytes),
            Some(policy) => Filter::user(bytes, Arc::clone(policy)),
            None => Filter::unknown(bytes),
        }
    }

    /// Reads a filter block listed under `name` (without `filter.`), if the name is known.
    pub fn filter_block<B: AsRef<[u8]>>(&self, name: &str, bytes: B) -> Option<FilterBlock<B>> {
        match name {
            text::LEVELDB => Some(FilterBlock::leveldb(bytes)),
            text::BUILTIN => Some(FilterBlock::rocksdb(bytes)),
            _ => self.policies.get(name).map(|policy| FilterBlock::user(bytes, Arc::clone(policy))),
        }
    }
}

fn taken(what: &str, name: &str) -> Error {
    Error::invalid_input(format!("the {what} name {name:?} is already registered"))
}
