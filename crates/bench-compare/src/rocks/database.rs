//! RocksDB as Rust programs use it: a database of ingested files, read with the `rocksdb` crate.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use rocksdb::{
    BlockBasedOptions, Cache, DB, IngestExternalFileOptions, Options, ReadOptions, SliceTransform,
    SstFileWriter,
};

use super::table::READ_AHEAD;
use crate::comparison::Family;
use crate::data::{Answer, Key};
use crate::reader::{Scan, TableReader};
use crate::settings::{BLOCK_SIZE, FORMAT_VERSION, PREFIX};

/// Of a database that is only written: RocksDB refuses a cache without memory.
const CREATION_CACHE: u64 = 1 << 20;

/// A database.
pub(crate) struct Database {
    db: DB,
    read: ReadOptions,
}

/// An entry of a file to ingest.
pub(crate) type Entry<'a> = (&'a Key, &'a [u8]);

impl Database {
    /// Creates one at `folder` and ingests a hard link to the table.
    pub(crate) fn around(table: &Path, folder: &Path, cache_bytes: u64) -> Result<Self> {
        let options = options(cache_bytes);
        let db = DB::open_cf_with_opts(&options, folder, [("default", options.clone())])?;
        let link = folder.with_extension("link.sst");
        std::fs::hard_link(table, &link).context("linking the table")?;
        let mut ingest = IngestExternalFileOptions::default();
        ingest.set_move_files(true);
        db.ingest_external_file_opts(&ingest, vec![link])?;
        Ok(Self { db, read: ReadOptions::default() })
    }

    /// Creates one at `folder` of several levels, the last one first. Files of a level have separate
    /// key ranges, and overlap those of the level below.
    pub(crate) fn create(folder: &Path, levels: &[Vec<Vec<Entry<'_>>>]) -> Result<()> {
        let mut options = several_files(CREATION_CACHE);
        options.set_disable_auto_compactions(true);
        // Otherwise there would be no level between the first and the last.
        options.set_level_compaction_dynamic_level_bytes(false);
        let db = DB::open_cf_with_opts(&options, folder, [("default", options.clone())])?;
        for files in levels {
            let mut paths = Vec::new();
            for (number, entries) in files.iter().enumerate() {
                let path = folder.join(format!("ingested-{number}"));
                let mut writer = SstFileWriter::create(&options);
                writer.open(&path)?;
                entries.iter().try_for_each(|(key, value)| writer.put(key, value))?;
                writer.finish()?;
                paths.push(path);
            }
            let mut ingest = IngestExternalFileOptions::default();
            ingest.set_move_files(true);
            db.ingest_external_file_opts(&ingest, paths)?;
        }
        let mut found: Vec<usize> = Vec::new();
        for file in db.live_files()? {
            let level = file.level as usize;
            found.resize(found.len().max(level + 1), 0);
            found[level] += 1;
        }
        found.retain(|&files| files > 0);
        let expected: Vec<usize> = levels.iter().rev().map(Vec::len).collect();
        ensure!(found == expected, "levels of {found:?} files instead of {expected:?}");
        Ok(())
    }

    /// Opens what [`create`](Self::create) has made.
    pub(crate) fn open(folder: &Path, cache_bytes: u64) -> Result<Self> {
        let options = several_files(cache_bytes);
        let families = [("default", options.clone())];
        let db = DB::open_cf_with_opts_for_read_only(&options, folder, families, false)?;
        Ok(Self { db, read: ReadOptions::default() })
    }

    /// All entries with the prefix of each key.
    pub(crate) fn scan_prefixes(&self, keys: &[Key]) -> Result<Answer> {
        let mut options = ReadOptions::default();
        options.set_prefix_same_as_start(true);
        let mut it = self.db.raw_iterator_opt(options);
        let mut answer = Answer::default();
        for key in keys {
            it.seek(&key[..PREFIX]);
            while let Some((key, value)) = it.item() {
                answer.entry(key, value);
                it.next();
            }
        }
        it.status()?;
        Ok(answer)
    }
}

/// The settings that are measured.
fn options(cache_bytes: u64) -> Options {
    let mut blocks = BlockBasedOptions::default();
    blocks.set_block_size(BLOCK_SIZE);
    blocks.set_format_version(FORMAT_VERSION as i32);
    blocks.set_bloom_filter(10.0, false);
    blocks.set_block_cache(&Cache::new_hyper_clock_cache(cache_bytes as usize, 0));
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_block_based_table_factory(&blocks);
    options
}

/// The same without compression and with prefixes in the filters.
fn several_files(cache_bytes: u64) -> Options {
    let mut options = options(cache_bytes);
    options.set_compression_type(rocksdb::DBCompressionType::None);
    options.set_prefix_extractor(SliceTransform::create_fixed_prefix(PREFIX));
    options
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
        options.set_total_order_seek(true);
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
        // Without it, what comes after the prefix of a key is not defined.
        let mut options = ReadOptions::default();
        options.set_total_order_seek(true);
        let mut it = self.db.raw_iterator_opt(options);
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
