//! The `rusty-leveldb` crate: a database of LevelDB, filled with the same entries. It has no tables
//! without a database, and its blocks are of LevelDB's format, with CRC-32C.

use std::cell::RefCell;
use std::path::Path;

use anyhow::{Result, anyhow};
use rusty_leveldb::{CompressorId as _, DB, LdbIterator as _, Options, compressor};

use crate::comparison::Family;
use crate::data::{Answer, Entries, Key};
use crate::reader::{Scan, TableReader};

pub(crate) struct Database(RefCell<DB>);

impl Database {
    /// Makes one in `folder`, with all entries in tables.
    pub(crate) fn fill(folder: &Path, cache_bytes: u64, entries: &Entries) -> Result<Self> {
        let options = Options {
            block_cache_capacity_bytes: cache_bytes as usize,
            // Tables as large as it makes them, and few of them.
            write_buffer_size: 64 << 20,
            max_file_size: 64 << 20,
            compressor: compressor::NoneCompressor::ID,
            ..Options::default()
        };
        let mut db = DB::open(folder.join("leveldb"), options).map_err(trouble)?;
        for (key, value) in entries.iter() {
            db.put(key, value).map_err(trouble)?;
        }
        db.compact_range(b"0", b"9").map_err(trouble)?;
        Ok(Self(RefCell::new(db)))
    }
}

impl TableReader for Database {
    fn name(&self) -> String {
        "rusty-leveldb".into()
    }

    fn family(&self) -> Family {
        Family::Other
    }

    fn can_scan(&self, backward: bool) -> bool {
        !backward
    }

    fn scan(&self, _: Scan) -> Result<Answer> {
        let mut answer = Answer::default();
        let mut it = self.0.borrow_mut().new_iter().map_err(trouble)?;
        it.seek_to_first();
        while let Some((key, value)) = it.current() {
            answer.entry(&key, &value);
            it.advance();
        }
        Ok(answer)
    }

    fn seek(&self, keys: &[Key], next: usize) -> Result<Answer> {
        let mut answer = Answer::default();
        let mut it = self.0.borrow_mut().new_iter().map_err(trouble)?;
        for key in keys {
            it.seek(key);
            for _ in 0..=next {
                let Some((key, value)) = it.current() else { break };
                answer.entry(&key, &value);
                it.advance();
            }
        }
        Ok(answer)
    }

    fn get(&self, keys: &[Key]) -> Result<Answer> {
        let mut answer = Answer::default();
        let mut db = self.0.borrow_mut();
        for key in keys {
            match db.get(key) {
                Some(value) => answer.got(&value),
                None => answer.missed(),
            }
        }
        Ok(answer)
    }

    fn get_many(&self, keys: &[Key], _: usize) -> Result<Answer> {
        self.get(keys)
    }
}

fn trouble(status: rusty_leveldb::Status) -> anyhow::Error {
    anyhow!("{status:?}")
}
