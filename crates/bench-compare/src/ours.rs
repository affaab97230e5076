//! sstkit: a table, and a database.

use std::path::Path;

use anyhow::Result;
use sstkit::db::DatabaseOptions;
use sstkit::table::ReadOptions;
use sstkit::{BlockCache, Table, TableReadOptions, TableWriter};

use crate::comparison::Family;
use crate::data::{Answer, Entries, Key};
use crate::reader::{Scan, TableReader};
use crate::settings::Settings;

/// Writes a table. Returns its size.
pub(crate) fn write(path: &Path, settings: Settings, entries: &Entries) -> Result<u64> {
    let mut writer = TableWriter::create(path, &settings.table_options())?;
    for (key, value) in entries.iter() {
        writer.put(key, value)?;
    }
    Ok(writer.finish()?.file_size)
}

/// A table opened by sstkit.
pub(crate) struct Reader(Table);

impl Reader {
    pub(crate) fn open(path: &Path, cache_bytes: u64) -> Result<Self> {
        let options = TableReadOptions::default().block_cache(&BlockCache::new(cache_bytes));
        Ok(Self(Table::open_with(path, &options)?))
    }
}

impl TableReader for Reader {
    fn name(&self) -> String {
        "sstkit".into()
    }

    fn family(&self) -> Family {
        Family::Sstkit
    }

    fn scan(&self, scan: Scan) -> Result<Answer> {
        let mut answer = Answer::default();
        let options = ReadOptions::default().fill_cache(scan.fill_cache);
        let mut cursor = self.0.cursor_with(&options);
        let mut more = match scan.backward {
            true => cursor.seek_to_last()?,
            false => cursor.seek_to_first()?,
        };
        while more {
            answer.entry(cursor.key(), &cursor.value_bytes()?);
            more = match scan.backward {
                true => cursor.prev()?,
                false => cursor.next()?,
            };
        }
        Ok(answer)
    }

    fn seek(&self, keys: &[Key], next: usize) -> Result<Answer> {
        let mut answer = Answer::default();
        let mut cursor = self.0.cursor();
        for key in keys {
            let mut more = cursor.seek(key)?;
            for left in (0..=next).rev() {
                if !more {
                    break;
                }
                answer.entry(cursor.key(), &cursor.value_bytes()?);
                if left > 0 {
                    more = cursor.next()?;
                }
            }
        }
        Ok(answer)
    }

    fn get(&self, keys: &[Key]) -> Result<Answer> {
        let mut answer = Answer::default();
        for key in keys {
            match self.0.get(key)? {
                Some(value) => answer.got(&value),
                None => answer.missed(),
            }
        }
        Ok(answer)
    }

    fn get_many(&self, keys: &[Key], batch: usize) -> Result<Answer> {
        let mut answer = Answer::default();
        for keys in keys.chunks(batch) {
            for value in self.0.get_many(keys)? {
                match value {
                    Some(value) => answer.got(&value),
                    None => answer.missed(),
                }
            }
        }
        Ok(answer)
    }
}

/// A database opened by sstkit: the directory that RocksDB reads, too.
pub(crate) struct Database(sstkit::Database);

impl Database {
    pub(crate) fn open(folder: &Path, cache_bytes: u64) -> Result<Self> {
        let options = DatabaseOptions::default().block_cache_size(cache_bytes);
        Ok(Self(sstkit::Database::open_with(folder, &options)?))
    }
}

impl TableReader for Database {
    fn name(&self) -> String {
        "sstkit, as a database".into()
    }

    fn family(&self) -> Family {
        Family::SstkitDatabase
    }

    fn can_bypass_cache(&self) -> bool {
        false
    }

    fn scan(&self, scan: Scan) -> Result<Answer> {
        let mut answer = Answer::default();
        let mut cursor = self.0.cursor()?;
        let mut more = match scan.backward {
            true => cursor.seek_to_last()?,
            false => cursor.seek_to_first()?,
        };
        while more {
            answer.entry(cursor.key(), &cursor.value_bytes()?);
            more = match scan.backward {
                true => cursor.prev()?,
                false => cursor.next()?,
            };
        }
        Ok(answer)
    }

    fn seek(&self, keys: &[Key], next: usize) -> Result<Answer> {
        let mut answer = Answer::default();
        let mut cursor = self.0.cursor()?;
        for key in keys {
            let mut more = cursor.seek(key)?;
            for left in (0..=next).rev() {
                if !more {
                    break;
                }
                answer.entry(cursor.key(), &cursor.value_bytes()?);
                if left > 0 {
                    more = cursor.next()?;
                }
            }
        }
        Ok(answer)
    }

    fn get(&self, keys: &[Key]) -> Result<Answer> {
        let mut answer = Answer::default();
        for key in keys {
            match self.0.get(key)? {
                Some(value) => answer.got(&value),
                None => answer.missed(),
            }
        }
        Ok(answer)
    }

    fn get_many(&self, keys: &[Key], batch: usize) -> Result<Answer> {
        let mut answer = Answer::default();
        for keys in keys.chunks(batch) {
            for value in self.0.get_many(keys)? {
                match value {
                    Some(value) => answer.got(&value),
                    None => answer.missed(),
                }
            }
        }
        Ok(answer)
    }
}
