//! Building a filter block.

use alloc::boxed::Box;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use sstkit_coding::fixed::put_fixed32;

use crate::error::{Error, Result};
use crate::hashed_key::HashedKey;
use crate::policy::{UserBuilder, UserPolicy, finish_user};
use crate::prefix::KeyFiltering;

use super::{BASE_LG, BlockBloom};

/// Builds a filter block.
///
/// The sequence of calls is `(start_block add*)* finish`.
pub struct FilterBlockBuilder {
    pending: Pending,
    last_prefix: Vec<u8>,
    num_entries: u64,
    result: Vec<u8>,
    offsets: Vec<u32>,
    failure: Option<Error>,
}

sstkit_coding::debug_struct!(FilterBlockBuilder {
    pending,
    last_prefix: bytes,
    num_entries,
    result: bytes,
    offsets,
    failure,
});

/// Offsets are 32 bits wide. A longer offset array could not be addressed.
const MAX_FILTERS: u64 = 1 << 30;

/// The keys of the current filter.
enum Pending {
    Bloom { bloom: BlockBloom, bits_per_key: u32, hashes: Vec<u32> },
    User { policy: Arc<dyn UserPolicy>, builder: Option<Box<dyn UserBuilder>> },
}

impl FilterBlockBuilder {
    /// A builder of Bloom filters with `bits_per_key` bits per key.
    pub fn bloom(bloom: BlockBloom, bits_per_key: u32) -> Self {
        Self::new(Pending::Bloom { bloom, bits_per_key, hashes: Vec::new() })
    }

    /// A builder of filters of a custom policy.
    pub fn user(policy: Arc<dyn UserPolicy>) -> Self {
        Self::new(Pending::User { policy, builder: None })
    }

    fn new(pending: Pending) -> Self {
        Self {
            pending,
            last_prefix: Vec::new(),
            num_entries: 0,
            result: Vec::new(),
            offsets: Vec::new(),
            failure: None,
        }
    }

    /// Starts a data block at file offset `block_offset`. The following keys belong to it.
    pub fn start_block(&mut self, block_offset: u64) {
        let index = block_offset >> BASE_LG;
        if index > MAX_FILTERS {
            self.failure.get_or_insert(Error::invalid_input(format!(
                "the data block at offset {block_offset} is beyond the range of a filter block"
            )));
            return;
        }
        while index > self.offsets.len() as u64 {
            self.generate();
        }
    }

    /// Adds a key to the filter of the current data block.
    pub fn add(&mut self, key: &[u8]) {
        self.num_entries += 1;
        match &mut self.pending {
            Pending::Bloom { bloom, hashes, .. } => hashes.push(bloom.hash(key)),
            Pending::User { policy, builder } => {
                builder.get_or_insert_with(|| policy.builder()).add(&HashedKey::new(key));
            }
        }
    }

    /// Adds what RocksDB's block-based filter contains for a key: its prefix, unless it equals the
    /// previous prefix in this filter, then the whole key, even if it is a duplicate.
    pub fn add_filtered(&mut self, key: &[u8], filtering: &KeyFiltering) {
        if let Some(prefix) = filtering.prefix(key) {
            let repeated = !self.last_prefix.is_empty() && self.last_prefix == prefix;
            if !repeated {
                self.last_prefix.clear();
                self.last_prefix.extend_from_slice(prefix);
                self.add(prefix);
            }
        }
        if filtering.whole_key() {
            self.add(key);
        }
    }

    /// Keys and prefixes added so far.
    pub fn num_entries(&self) -> u64 {
        self.num_entries
    }

    /// Returns the finished block.
    ///
    /// # Errors
    ///
    /// If a custom policy failed, or if the filters exceed 4 GiB.
    pub fn finish(mut self) -> Result<Vec<u8>> {
        if !self.pending.is_empty() {
            self.generate();
        }
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let array_offset = self.result_length()?;
        for &offset in &self.offsets {
            put_fixed32(&mut self.result, offset);
        }
        put_fixed32(&mut self.result, array_offset);
        self.result.push(BASE_LG);
        Ok(self.result)
    }

    /// Ends the current filter. Without pending keys it is empty.
    fn generate(&mut self) {
        let offset = self.result_length().unwrap_or_else(|failure| {
            self.failure.get_or_insert(failure);
            0
        });
        self.offsets.push(offset);
        self.last_prefix.clear();
        if let Err(failure) = self.pending.take_filter(&mut self.result) {
            self.failure.get_or_insert(failure);
        }
    }

    fn result_length(&self) -> Result<u32> {
        u32::try_from(self.result.len())
            .map_err(|_| Error::invalid_input("the filter block is larger than 4 GiB"))
    }
}

impl Pending {
    fn is_empty(&self) -> bool {
        match self {
            Self::Bloom { hashes, .. } => hashes.is_empty(),
            Self::User { builder, .. } => builder.is_none(),
        }
    }

    /// Appends the filter of the pending keys, if any, and clears them.
    fn take_filter(&mut self, out: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::Bloom { bloom, bits_per_key, hashes } => {
                if !hashes.is_empty() {
                    bloom.create_filter(hashes, *bits_per_key, out);
                    hashes.clear();
                }
            }
            Self::User { policy, builder } => {
                if let Some(builder) = builder.take() {
                    out.extend_from_slice(&finish_user(&**policy, builder)?);
                }
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bloom { bloom, bits_per_key, hashes } => f
                .debug_struct("Bloom")
                .field("bloom", bloom)
                .field("bits_per_key", bits_per_key)
                .field("pending", &hashes.len())
                .finish(),
            Self::User { policy, .. } => f.debug_struct("User").field("policy", policy).finish(),
        }
    }
}
