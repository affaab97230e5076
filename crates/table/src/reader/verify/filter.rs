//! The filter against the keys of a data block: it must let all of them pass, and all their prefixes.
//!
//! A full filter is asked about many keys at once, so that the lines of memory it looks at are on
//! their way together.

use sstkit_filter::{FilterLayout, HashedKey};

use crate::error::Error;
use crate::key_excerpt::KeyExcerpt;
use crate::raw::BlockHandle;
use crate::reader::open::core::Core;

/// Bytes of keys that wait for the filter, at most and but for the last key: by sharing prefixes, those
/// of a small block may be gigabytes.
const BATCH_BYTES: usize = 64 << 10;
/// And keys.
const BATCH_KEYS: usize = 4096;

/// Stored keys of one data block, one after another.
#[derive(Debug, Default)]
pub(crate) struct BlockKeys {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl BlockKeys {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Adds a key; true if the filter must be probed before more are added.
    pub(crate) fn push(&mut self, key: &[u8]) -> bool {
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
        self.bytes.len() >= BATCH_BYTES || self.ends.len() >= BATCH_KEYS
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = [0].into_iter().chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.bytes[start..end])
    }

    /// What the filter denies of these keys, which are those of the block at `handle`.
    pub(crate) fn denied(&self, core: &Core, handle: BlockHandle) -> Vec<Error> {
        let Some(filter) = core.filter.as_ref().filter(|_| core.keys.is_ordered()) else {
            return Vec::new();
        };
        let mut places = Vec::with_capacity(self.ends.len());
        let mut questions = Vec::with_capacity(self.ends.len());
        for stored in self.iter() {
            let bare = core.keys.bare(core.keys.stored_user_key(stored, false));
            let whole = Some(bare).filter(|_| filter.has_whole_keys);
            let prefix = match filter.layout() {
                FilterLayout::Block => None,
                _ => filter.stored_prefix(bare),
            };
            for question in [whole, prefix].into_iter().flatten() {
                places.push((stored, bare));
                questions.push(HashedKey::new(question));
            }
        }
        let mut answers = vec![true; questions.len()];
        match filter.layout() {
            FilterLayout::Full => {
                filter.may_contain_batch(&core.blocks, &questions, &mut answers);
            }
            FilterLayout::Block => {
                for (question, answer) in questions.iter().zip(&mut answers) {
                    let (blocks, offset) = (&core.blocks, handle.offset);
                    *answer = filter.may_contain_in_block(blocks, offset, question);
                }
            }
            _ => {
                for ((question, (_, bare)), answer) in
                    questions.iter().zip(&places).zip(&mut answers)
                {
                    let search = core.keys.newest(bare);
                    let (blocks, keys) = (&core.blocks, &core.keys);
                    *answer = filter.may_contain(blocks, keys, question, &search.before());
                }
            }
        }
        let asked = places.iter().zip(&questions).zip(answers);
        let denied = asked.filter(|&(_, may)| !may);
        denied.map(|((&(stored, _), asked), _)| denial(core, stored, asked.key())).collect()
    }
}

fn denial(core: &Core, stored: &[u8], question: &[u8]) -> Error {
    let question = KeyExcerpt(question);
    match core.keys.decode(stored) {
        Ok(key) => Error::corrupt(format!("the filter does not match {question} of {key:?}")),
        Err(error) => error,
    }
}
