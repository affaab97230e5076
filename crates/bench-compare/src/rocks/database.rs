//! RocksDB as Rust programs use it: a database of one ingested file, read with the `rocksdb` crate.

use std::path::Path;

use anyhow::{Context as _, Result};
use rocksdb::{BlockBasedOptions, Cache, DB, IngestExternalFileOptions, Options, ReadOptions};

use super::table::READ_AHEAD;
use crate::comparison::Family;
use crate::data::{Answer, Key};
use crate::reader::{Scan, TableReader};
use crate::settings::{BLOCK_SIZE, FORMAT_VERSION};

/// A database of one table.
pub(crate) struct Database {
    db: DB,
    read: ReadOptions,
}

impl Database {
    /// Creates one at `folder` and ingests a hard link to the table.
    pub(crate) fn around(table: &Path, folder: &Path, cache_bytes: u64) -> Result<Self> {
        let mut blocks = BlockBasedOptions::default();
        blocks.set_block_size(BLOCK_SIZE);
        blocks.set_format_version(FORMAT_VERSION as i32);
        blocks.set_bloom_filter(10.0, false);
        blocks.set_block_cache(&Cache::new_hyper_clock_cache(cache_bytes as usize, 0));
        let mut options = Options::default();
        options.create_if_missing(true);
        options.set_block_based_table_factory(&blocks);
        let db = DB::open_cf_with_opts(&options, folder, [("default", options.clone())])?;
        let link = folder.with_extension("link.sst");
        std::fs::hard_link(table, &link).context("linking the table")?;
        let mut ingest = IngestExternalFileOptions::default();
        ingest.set_move_files(true);
        db.ingest_external_file_opts(&ingest, vec![link])?;
        Ok(Self { db, read: ReadOptions::default() })
    }
}

impl TableReader for Database {
    fn name(&self) -> String {
        "RocksDB, as a database".into()
    }

    fn family(&self) -> Family {
        Family::RocksDbDatabase
    }

    fn read_aheads(&self) -> &[u64] {
        &[READ_AHEAD]
    }

    fn scan(&self, scan: Scan) -> Result<Answer> {
        let mut options = ReadOptions::default();
        options.set_readahead_size(scan.read_ahead as usize);
        options.fill_cache(scan.fill_cache);
        let mut it = self.db.raw_iterator_opt(options);
        let mut answer = Answer::default();
        match scan.backward {
            true => it.seek_to_last(),
            false => it.seek_to_first(),
        }
        while let Some((key, value)) = it.item() {
            answer.entry(key, value);
            match scan.backward {
                true => it.prev(),
                false => it.next(),
            }
        }
        it.status()?;
        Ok(answer)
    }

    fn seek(&self, keys: &[Key], next: usize) -> Result<Answer> {
        let mut it = self.db.raw_iterator();
        let mut answer = Answer::default();
        for key in keys {
            it.seek(key);
            for left in (0..=next).rev() {
                let Some((key, value)) = it.item() else { break };
                answer.entry(key, value);
                if left > 0 {
                    it.next();
                }
            }
        }
        it.status()?;
        Ok(answer)
    }

    fn get(&self, keys: &[Key]) -> Result<Answer> {
        let mut answer = Answer::default();
        for key in keys {
            match self.db.get_pinned_opt(key, &self.read)? {
                Some(value) => answer.got(&value),
                None => answer.missed(),
            }
        }
        Ok(answer)
    }

    fn get_many(&self, keys: &[Key], batch: usize) -> Result<Answer> {
        let family = self.db.cf_handle("default").context("every database has it")?;
        let mut answer = Answer::default();
        for keys in keys.chunks(batch) {
            for value in self.db.batched_multi_get_cf_opt(family, keys, false, &self.read) {
                match value? {
                    Some(value) => answer.got(&value),
                    None => answer.missed(),
                }
            }
        }
        Ok(answer)
    }
}
