//! Point lookups of a table.

use sstkit_filter::HashedKey;

use super::Table;
use crate::error::{Error, Result};
use crate::raw::InternalKey;
use crate::reader::get::batch;
use crate::reader::get::explain::{LookupTrace, TraceRecorder};
use crate::reader::get::fast_path::{self, FastGet, FastPath};
use crate::reader::get::found_entries::FoundEntries;
use crate::reader::get::planner::Planner;
use crate::reader::get::point_lookup::{PointLookup, get, get_batch, get_unfiltered};
use crate::reader::get::probe::{count_prefixless, may_contain_key, prefetch};
use crate::reader::get::recorder::{NoRecorder, Recorder, WithOptions};
use crate::reader::read_options::ReadOptions;
use crate::reader::remote::rounds::{MAX_KEYS_IN_ROUND, read_in_rounds};
use crate::reader::scan::entries::Entry;
use crate::reader::value::Value;
use crate::visibility::{Column, ReadView, Record};

impl Table {
    /// The value of `key`, or `None` if the key is not found: a handle into its block, or a copy if
    /// it is short and its block is in the cache. (Copying is faster than incrementing a reference
    /// count.)
    pub fn get(&self, key: &[u8]) -> Result<Option<Value>> {
        self.core.require_order()?;
        if may_contain_key(&self.core, key) { self.get_unfiltered(key) } else { Ok(None) }
    }

    /// Like [`get`](Self::get), for a key that passed the filter.
    #[inline(never)]
    fn get_unfiltered(&self, key: &[u8]) -> Result<Option<Value>> {
        let view = ReadView::default();
        let mut found = FoundEntries::new(&self.core, key, &view);
        get_unfiltered(&self.core, &HashedKey::new(key), &mut NoRecorder, |entry, value| {
            found.add(entry, value)
        })?;
        found.value()
    }

    /// Like [`get`](Self::get), with options.
    pub fn get_with(&self, key: &[u8], options: &ReadOptions) -> Result<Option<Value>> {
        self.check(options)?;
        let mut found = FoundEntries::new(&self.core, key, options.view());
        get(&self.core, &HashedKey::new(key), &mut WithOptions(options), |entry, value| {
            found.add(entry, value)
        })?;
        found.value()
    }

    /// Fails if the table cannot be read in the state that the options select.
    fn check(&self, options: &ReadOptions) -> Result<()> {
        let order = self.core.keys.user_keys().comparator();
        options.check_timestamp(order).map_err(|error| self.core.blocks.in_file(error))
    }

    /// The values of several keys, in the order of the keys. Probes the filter for all of them
    /// first, overlaps the cache misses of several keys, and reads each block that is not in the
    /// block cache only once. From a [remote source](crate::Source::preferred_read) the blocks of all keys are
    /// read at once: at most partitions of filter and index, data blocks, and data blocks where entries continue.
    pub fn get_many<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<Option<Value>>> {
        if self.core.blocks.remote.is_some() {
            return self.get_in_rounds(keys, &ReadOptions::default());
        }
        self.get_all(keys, &ReadView::default(), FastPath::new(&self.core), &mut NoRecorder)
    }

    /// Like [`get_many`](Self::get_many), with options.
    pub fn get_many_with<K: AsRef<[u8]>>(
        &self,
        keys: &[K],
        options: &ReadOptions,
    ) -> Result<Vec<Option<Value>>> {
        match self.core.blocks.remote {
            Some(_) => self.get_in_rounds(keys, options),
            None => self.get_many_here(keys, options),
        }
    }

    /// [`get_many_with`](Self::get_many_with) for a remote source.
    fn get_in_rounds<K: AsRef<[u8]>>(
        &self,
        keys: &[K],
        options: &ReadOptions,
    ) -> Result<Vec<Option<Value>>> {
        let mut values = Vec::with_capacity(keys.len());
        for keys in keys.chunks(MAX_KEYS_IN_ROUND) {
            let plan = || keys.iter().for_each(|key| self.plan_get(key.as_ref(), options));
            values.extend(read_in_rounds(plan, || self.get_many_here(keys, options))?);
        }
        Ok(values)
    }

    /// A lookup of `key` up to the first blocks that have to be read, in a round.
    pub(crate) fn plan_get(&self, key: &[u8], options: &ReadOptions) {
        let mut found = FoundEntries::new(&self.core, key, options.view());
        let visit = |entry: &InternalKey<'_>, value| found.add(entry, value);
        if self.plan_lookup(&HashedKey::new(key), options, visit).is_ok() {
            // A value may be a blob.
            let _ = found.value();
        }
    }

    fn get_many_here<K: AsRef<[u8]>>(
        &self,
        keys: &[K],
        options: &ReadOptions,
    ) -> Result<Vec<Option<Value>>> {
        self.check(options)?;
        // The fast path knows neither sequence numbers nor handles, and counts uses of the filter.
        let is_fast =
            *options.view() == ReadView::default() && options.use_filters && !options.pin_data;
        let fast_path = FastPath::new(&self.core).filter(|_| is_fast);
        self.get_all(keys, options.view(), fast_path, &mut WithOptions(options))
    }

    #[inline(always)] // the same code as before there were options
    fn get_all<K: AsRef<[u8]>, R: Recorder>(
        &self,
        keys: &[K],
        view: &ReadView,
        fast_path: Option<FastPath<'_>>,
        recorder: &mut R,
    ) -> Result<Vec<Option<Value>>> {
        let order = self.core.keys.order().map_err(|error| self.core.blocks.in_file(error))?;
        let mut sorted: Vec<usize> = (0..keys.len()).collect();
        sorted
            .sort_by(|&a, &b| order.compare_without_timestamp(keys[a].as_ref(), keys[b].as_ref()));
        let wanted = match recorder.uses_filters() {
            true => batch::probe_filter(&self.core, keys, sorted),
            false => sorted,
        };
        let mut values = vec![None; keys.len()];
        let mut lookup = PointLookup::new(&self.core, recorder);
        let mut get_slowly = |i: usize| {
            let key = keys[i].as_ref();
            let mut found = FoundEntries::new(&self.core, key, view);
            lookup.get(&HashedKey::new(key), |entry, value| found.add(entry, value))?;
            found.value()
        };
        match fast_path {
            Some(fast_path) => {
                let key = |i: usize| (Some(fast_path), keys[i].as_ref());
                fast_path::get_each(&wanted, key, |i, found| {
                    values[i] = match found {
                        Some(FastGet { entry, block_length }) => {
                            fast_path.count(block_length, entry.is_some());
                            entry.map(|(_, value)| value)
                        }
                        None => get_slowly(i)?,
                    };
                    Ok::<_, Error>(())
                })?;
            }
            None => {
                for i in wanted {
                    values[i] = get_slowly(i)?;
                }
            }
        }
        Ok(values)
    }

    /// The complete record of `key`, or `None` if the key is not found: value, timestamp, columns,
    /// and operands that cannot be merged.
    pub fn get_record(&self, key: &[u8]) -> Result<Option<Record>> {
        self.get_record_with(key, &ReadOptions::default())
    }

    /// Like [`get_record`](Self::get_record), with options.
    ///
    /// ```
    /// use sstkit_table::raw::{EntryKind, InternalKey};
    /// use sstkit_table::{ReadOptions, Table, TableOptions, TableWriter};
    ///
    /// let options = TableOptions::rocksdb().external_file(false);
    /// let mut bytes = Vec::new();
    /// let mut writer = TableWriter::to_sink(&mut bytes, &options)?;
    /// for (sequence, value) in [(7, b"new"), (3, b"old")] {
    ///     writer.add(&InternalKey { user_key: b"k", sequence, kind: EntryKind::Value }, value)?;
    /// }
    /// writer.finish()?;
    ///
    /// let table = Table::from_bytes(bytes)?;
    /// let value = |sequence| -> Result<_, sstkit_table::Error> {
    ///     let options = ReadOptions::default().sequence(sequence);
    ///     Ok(table.get_record_with(b"k", &options)?.and_then(|record| record.value.value()))
    /// };
    /// assert_eq!(value(7)?.unwrap(), b"new");
    /// assert_eq!(value(6)?.unwrap(), b"old");
    /// assert_eq!(value(2)?, None);
    /// # Ok::<(), sstkit_table::Error>(())
    /// ```
    pub fn get_record_with(&self, key: &[u8], options: &ReadOptions) -> Result<Option<Record>> {
        self.versions(key, options)?.record()
    }

    /// All columns of `key`, or `None` if the key is not found; for a plain value, only the default
    /// column.
    ///
    /// ```
    /// use sstkit_table::{Table, TableOptions, TableWriter};
    ///
    /// let mut bytes = Vec::new();
    /// let mut writer = TableWriter::to_sink(&mut bytes, &TableOptions::rocksdb())?;
    /// writer.put_entity(b"alice", &[(b"age", b"7"), (b"name", b"Alice")])?;
    /// writer.finish()?;
    ///
    /// let columns = Table::from_bytes(bytes)?.get_entity(b"alice")?.unwrap();
    /// assert_eq!(columns[0].name, "age");
    /// assert_eq!(columns[1].value, "Alice");
    /// # Ok::<(), sstkit_table::Error>(())
    /// ```
    pub fn get_entity(&self, key: &[u8]) -> Result<Option<Vec<Column>>> {
        self.get_entity_with(key, &ReadOptions::default())
    }

    /// Like [`get_entity`](Self::get_entity), with options.
    pub fn get_entity_with(
        &self,
        key: &[u8],
        options: &ReadOptions,
    ) -> Result<Option<Vec<Column>>> {
        self.versions(key, options)?.columns()
    }

    /// The entries that determine what is visible of `key`, none of them left out.
    fn versions<'a>(&'a self, key: &'a [u8], options: &'a ReadOptions) -> Result<FoundEntries<'a>> {
        self.check(options)?;
        let mut found = FoundEntries::new(&self.core, key, options.view());
        get(&self.core, &HashedKey::new(key), &mut WithOptions(options), |entry, value| {
            found.add_version(entry, value)
        })?;
        Ok(found)
    }

    /// All entries of `key`, newest first. Probes the filter.
    pub fn get_entries(&self, key: &[u8]) -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        self.lookup(&HashedKey::new(key), |entry, value| {
            entries.push(Entry::new(entry, value));
            true
        })?;
        Ok(entries)
    }
}

/// The steps of a lookup in several tables, as databases make it: the entries of each, before they are merged.
impl Table {
    /// Passes the entries of a key to `visit`, newest first, until it returns `false`. Returns
    /// whether there were any. Probes the filter first.
    ///
    /// For lookups in several tables: the key is hashed once for the filters of all of them. (A
    /// filter without whole keys is probed for a prefix, which is hashed each time.)
    ///
    /// ```no_run
    /// use sstkit_filter::HashedKey;
    /// # let tables: Vec<sstkit_table::Table> = Vec::new();
    ///
    /// let key = HashedKey::new(b"alice");
    /// let mut newest = None;
    /// for table in &tables {
    ///     let found = table.lookup(&key, |entry, value| {
    ///         newest = Some((entry.sequence, entry.kind, value));
    ///         false
    ///     })?;
    ///     if found {
    ///         break;
    ///     }
    /// }
    /// # Ok::<(), sstkit_table::Error>(())
    /// ```
    pub fn lookup(
        &self,
        key: &HashedKey<'_>,
        visit: impl FnMut(&InternalKey<'_>, Value) -> bool,
    ) -> Result<bool> {
        get(&self.core, key, &mut NoRecorder, visit)
    }

    /// Prefetches the memory that the probe of the filter reads for a [`lookup`](Self::lookup) of `key`,
    /// as far as that is known without reading. To look it up in several tables, prefetch for all of them
    /// first.
    #[inline]
    pub fn prefetch_filter(&self, key: &HashedKey<'_>) {
        prefetch(&self.core, key);
    }

    /// Like [`lookup`](Self::lookup), reading as the options say. Entries that their sequence number
    /// or timestamp excludes are passed, too.
    pub fn lookup_with(
        &self,
        key: &HashedKey<'_>,
        options: &ReadOptions,
        visit: impl FnMut(&InternalKey<'_>, Value) -> bool,
    ) -> Result<bool> {
        get(&self.core, key, &mut WithOptions(options), visit)
    }

    /// Like [`lookup_with`](Self::lookup_with), for the plan of [rounds](crate::rounds) of reads: counts nothing, fills
    /// no cache, and fails where a block has to be read first.
    pub fn plan_lookup(
        &self,
        key: &HashedKey<'_>,
        options: &ReadOptions,
        visit: impl FnMut(&InternalKey<'_>, Value) -> bool,
    ) -> Result<bool> {
        get(&self.core, key, &mut Planner::new(options), visit)
    }

    /// Like [`lookup`](Self::lookup), for several keys, each in a table, with the number of the key for
    /// `visit`. Probes all filters first, and overlaps the cache misses of several keys.
    ///
    /// Filter results are counted like those of RocksDB's `MultiGet`: a filter of prefixes counts as
    /// checked for each key, including those without a prefix.
    pub fn lookup_batch(
        lookups: &[(&Self, &HashedKey<'_>)],
        visit: impl FnMut(usize, &InternalKey<'_>, Value) -> bool,
    ) -> Result<()> {
        let mut in_cores = Vec::with_capacity(lookups.len());
        for &(table, key) in lookups {
            count_prefixless(&table.core, key.key());
            in_cores.push((&*table.core, key));
        }
        get_batch(&in_cores, visit)
    }

    /// Like [`lookup`](Self::lookup), and returns its trace. Counts and fills the cache like any
    /// other lookup. [Cancelled](crate::Error::is_cancelled) when `keep_going` returns false before a
    /// data block.
    pub fn lookup_traced(
        &self,
        key: &HashedKey<'_>,
        keep_going: &dyn Fn() -> bool,
        visit: impl FnMut(&InternalKey<'_>, Value) -> bool,
    ) -> Result<LookupTrace> {
        let mut recorder = TraceRecorder::<false>::new(keep_going);
        get(&self.core, key, &mut recorder, visit)?;
        Ok(recorder.finish(&self.core, key.key()))
    }
}

/// Explained lookups.
impl Table {
    /// The steps of [`get`](Self::get) for `key`: filter, index, data block, entries. Counts
    /// nothing, and adds nothing to the cache.
    ///
    /// ```no_run
    /// # use sstkit_table::Table;
    /// let trace = Table::open("users.sst")?.explain(b"alice")?;
    /// for probe in trace.filter.iter().filter_map(|it| it.trace.as_ref()).flat_map(|it| &it.probes) {
    ///     println!("bit {} is {}", probe.position, u8::from(probe.found));
    /// }
    /// println!("{:?}", trace.answer);
    /// # Ok::<(), sstkit_table::Error>(())
    /// ```
    pub fn explain(&self, key: &[u8]) -> Result<LookupTrace> {
        self.explain_while(key, &|| true)
    }

    /// Like [`explain`](Self::explain), [cancelled](crate::Error::is_cancelled) when `keep_going`
    /// returns false before a data block.
    pub fn explain_while(&self, key: &[u8], keep_going: &dyn Fn() -> bool) -> Result<LookupTrace> {
        let mut recorder = TraceRecorder::<true>::new(keep_going);
        get(&self.core, &HashedKey::new(key), &mut recorder, |_, _| false)?;
        Ok(recorder.finish(&self.core, key))
    }
}
