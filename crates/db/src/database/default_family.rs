//! Reads of the default column family: those of [`ColumnFamily`](crate::ColumnFamily), by shorter calls.

use sstkit_table::{Column, KeyBounds, ReadOptions, Record, Value};

use super::Database;
use crate::error::Result;
use crate::read::{DatabaseCursor, DatabaseEntries, DatabaseIter, DatabaseRecords, DatabaseTrace};
use crate::stats::Stats;

impl Database {
    /// The value of `key` in the default column family, or `None` if the key is not found.
    pub fn get(&self, key: &[u8]) -> Result<Option<Value>> {
        self.default.get(key)
    }

    /// The values of several keys of the default column family, in the order of `keys`.
    pub fn get_many<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<Option<Value>>> {
        self.default.get_many(keys)
    }

    /// Like [`get`](Self::get), with options.
    pub fn get_with(&self, key: &[u8], options: &ReadOptions) -> Result<Option<Value>> {
        self.default.get_with(key, options)
    }

    /// Like [`get_many`](Self::get_many), with options.
    pub fn get_many_with<K: AsRef<[u8]>>(
        &self,
        keys: &[K],
        options: &ReadOptions,
    ) -> Result<Vec<Option<Value>>> {
        self.default.get_many_with(keys, options)
    }

    /// All columns of `key`, or `None` if the key is not found: see
    /// [`ColumnFamily::get_entity`](crate::ColumnFamily::get_entity).
    pub fn get_entity(&self, key: &[u8]) -> Result<Option<Vec<Column>>> {
        self.default.get_entity(key)
    }

    /// Like [`get_entity`](Self::get_entity), with options.
    pub fn get_entity_with(
        &self,
        key: &[u8],
        options: &ReadOptions,
    ) -> Result<Option<Vec<Column>>> {
        self.default.get_entity_with(key, options)
    }

    /// The complete record of `key`, or `None` if the key is not found: see
    /// [`ColumnFamily::get_record`](crate::ColumnFamily::get_record).
    pub fn get_record(&self, key: &[u8]) -> Result<Option<Record>> {
        self.default.get_record(key)
    }

    /// Like [`get_record`](Self::get_record), with options.
    pub fn get_record_with(&self, key: &[u8], options: &ReadOptions) -> Result<Option<Record>> {
        self.default.get_record_with(key, options)
    }

    /// Looks up `key` and records the steps: see [`ColumnFamily::explain`](crate::ColumnFamily::explain).
    pub fn explain(&self, key: &[u8]) -> Result<DatabaseTrace> {
        self.default.explain(key)
    }

    /// Iterates over the keys and values of the default column family that `options` select.
    pub fn iter_with(&self, options: &ReadOptions) -> DatabaseIter {
        self.default.iter_with(options)
    }

    /// Like [`cursor`](Self::cursor), with options.
    pub fn cursor_with(&self, options: &ReadOptions) -> Result<DatabaseCursor> {
        self.default.cursor_with(options)
    }

    /// Iterates over all keys and values of the default column family.
    pub fn iter(&self) -> DatabaseIter {
        self.default.iter()
    }

    /// Iterates over a range of the default column family.
    pub fn range(&self, range: impl KeyBounds) -> DatabaseIter {
        self.default.range(range)
    }

    /// Iterates over the keys of the default column family that start with `start`.
    pub fn prefix(&self, start: impl AsRef<[u8]>) -> DatabaseIter {
        self.default.prefix(start)
    }

    /// A cursor over the keys and values of the default column family.
    pub fn cursor(&self) -> Result<DatabaseCursor> {
        self.default.cursor()
    }

    /// Iterates over the complete records of the default column family: see
    /// [`ColumnFamily::records`](crate::ColumnFamily::records).
    pub fn records(&self) -> DatabaseRecords {
        self.default.records()
    }

    /// Iterates over all entries of the default column family, visible or not: see
    /// [`ColumnFamily::entries`](crate::ColumnFamily::entries).
    ///
    /// ```no_run
    /// # use sstkit_db::Database;
    /// for entry in Database::open("path/to/db")?.entries() {
    ///     let entry = entry?;
    ///     println!("{} at {}: {}", entry.key.escape_ascii(), entry.sequence, entry.kind);
    /// }
    /// # Ok::<(), sstkit_db::Error>(())
    /// ```
    pub fn entries(&self) -> DatabaseEntries {
        self.default.entries()
    }

    /// Like [`entries`](Self::entries), with options: see
    /// [`ColumnFamily::entries_with`](crate::ColumnFamily::entries_with).
    pub fn entries_with(&self, options: &ReadOptions) -> DatabaseEntries {
        self.default.entries_with(options)
    }

    /// The approximate size of a range of the default column family: see
    /// [`ColumnFamily::approximate_size`](crate::ColumnFamily::approximate_size).
    pub fn approximate_size(&self, range: impl KeyBounds) -> Result<u64> {
        self.default.approximate_size(range)
    }

    /// Keys that split the tables of the default column family into parts: see
    /// [`ColumnFamily::split_keys`](crate::ColumnFamily::split_keys).
    pub fn split_keys(&self, parts: usize) -> Result<Vec<Vec<u8>>> {
        self.default.split_keys(parts)
    }

    /// The counters of the default column family since the database was opened.
    pub fn stats(&self) -> Stats {
        self.default.stats()
    }
}

/// Iterates over all keys and values of the default column family.
impl IntoIterator for &Database {
    type Item = Result<(Vec<u8>, Value)>;
    type IntoIter = DatabaseIter;

    fn into_iter(self) -> DatabaseIter {
        self.iter()
    }
}
