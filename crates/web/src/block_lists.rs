//! The lists of blocks of the tables that were looked at last.

use std::sync::{Arc, Mutex, PoisonError};

use sstkit_inspect::{BlockList, InspectedTable};

use crate::error::Result;
use crate::inspector::KeepGoing;

/// Blocks in all lists; a block takes 24 bytes.
const MAX_BLOCKS: usize = 1 << 20;

/// The source and the number of a table.
type Key = (usize, Option<u64>);

/// Lists of blocks, the last used one last.
#[derive(Default)]
pub(crate) struct BlockLists(Mutex<Vec<(Key, Arc<BlockList>)>>);

impl BlockLists {
    /// The blocks of a table, unless the client goes before they are listed.
    pub(crate) fn get(
        &self,
        key: Key,
        file: &InspectedTable,
        keep_going: KeepGoing<'_>,
    ) -> Result<Arc<BlockList>> {
        if let Some(list) = self.take(key) {
            return Ok(self.put(key, list));
        }
        let list = Arc::new(BlockList::of(file, keep_going)?);
        Ok(self.put(key, list))
    }

    fn take(&self, key: Key) -> Option<Arc<BlockList>> {
        let mut lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = lists.iter().position(|(known, _)| *known == key)?;
        Some(lists.remove(at).1)
    }

    fn put(&self, key: Key, list: Arc<BlockList>) -> Arc<BlockList> {
        let mut lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lists.retain(|(known, _)| *known != key);
        lists.push((key, Arc::clone(&list)));
        let mut total: usize = lists.iter().map(|(_, list)| list.len()).sum();
        // The newest one stays, however large.
        while total > MAX_BLOCKS && lists.len() > 1 {
            total -= lists.remove(0).1.len();
        }
        list
    }

    /// Forgets the tables of a source.
    pub(crate) fn forget(&self, source: usize) {
        let mut lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lists.retain(|((of, _), _)| *of != source);
    }
}
