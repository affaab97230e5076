//! Options for writing a database, and the description of a column family.

use sstkit_coding::setters;
use sstkit_table::raw::Engine;
use sstkit_table::{Comparator, RocksDbVersion, TableOptions};

use crate::column_family::ColumnFamily;
use crate::database::Database;
use crate::raw::OptionsFile;

/// Options for writing a database.
///
/// ```
/// use sstkit_db::DatabaseWriterOptions;
///
/// let options = DatabaseWriterOptions::rocksdb()
///     .rocksdb_version("9.8".parse()?)
///     .database_option("max_open_files", "1000");
/// # Ok::<(), sstkit_table::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct DatabaseWriterOptions {
    pub(super) engine: Engine,
    pub(super) rocksdb_version: Option<RocksDbVersion>,
    pub(super) options_file: Option<OptionsFile>,
    pub(super) database_options: Vec<(String, String)>,
    pub(super) first_file_number: u64,
}

impl DatabaseWriterOptions {
    /// A RocksDB database: `.sst` tables, OPTIONS and IDENTITY.
    pub fn rocksdb() -> Self {
        Self {
            engine: Engine::RocksDb,
            rocksdb_version: None,
            options_file: None,
            database_options: Vec::new(),
            first_file_number: 1,
        }
    }

    /// A LevelDB database: `.ldb` tables, one column family.
    pub fn leveldb() -> Self {
        Self { engine: Engine::LevelDb, ..Self::rocksdb() }
    }

    /// A database like this one: of its engine and with its OPTIONS. Numbers of new files are larger
    /// than all of its own, so that its files can be taken over under their numbers.
    pub fn like(database: &Database) -> Self {
        let next = database.manifest().map_or(1, |manifest| manifest.next_file_number);
        let options = Self { engine: database.engine(), ..Self::rocksdb() };
        let options = options.first_file_number(next);
        match database.options_file().sections().is_empty() {
            true => options,
            false => options.options_file(database.options_file().clone()),
        }
    }
}

setters! {
    impl DatabaseWriterOptions:

    /// The version of RocksDB that must open the database, 4.2 or later. Default: that of the
    /// [`options_file`](Self::options_file), or else 10.4. Options that it does not know are left out
    /// of the OPTIONS file: RocksDB refuses a file with unknown options. Tables that it cannot read
    /// are refused if the version is given.
    pub fn rocksdb_version(mut self, version: RocksDbVersion) {
        self.rocksdb_version = Some(version);
    }

    /// An OPTIONS file whose options the database gets, except for the paths in it. Default: none,
    /// RocksDB's defaults.
    pub fn options_file(mut self, file: OptionsFile) { self.options_file = Some(file); }

    /// Sets an option of the section `[DBOptions]`, to a value in the form of the file. It is left out
    /// if the version does not know it.
    pub fn database_option(mut self, name: &str, value: &str) {
        self.database_options.push((name.into(), value.into()));
    }

    /// The first number of a new file. Default: 1. Blob files keep their numbers, so files that are
    /// rewritten need others.
    pub fn first_file_number(mut self, number: u64) { self.first_file_number = number.max(1); }
}

/// A column family of a new database.
///
/// ```
/// use sstkit_db::ColumnFamilyDescriptor;
/// use sstkit_table::Comparator;
///
/// let descriptor = ColumnFamilyDescriptor::new("meta")
///     .comparator(Comparator::ReverseBytewise)
///     .option("merge_operator", "uint64add")
///     .table_option("filter_policy", "bloomfilter:10");
/// ```
#[derive(Clone, Debug)]
pub struct ColumnFamilyDescriptor {
    pub(super) name: String,
    pub(super) id: Option<u32>,
    pub(super) comparator_name: String,
    comparator: Option<Comparator>,
    pub(super) options: Vec<(String, String)>,
    pub(super) table_options: Vec<(String, String)>,
    pub(super) persist_timestamps: Option<bool>,
    pub(super) full_history_timestamp_low: Option<Vec<u8>>,
}

impl ColumnFamilyDescriptor {
    /// A column family of this name with bytewise order.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            id: None,
            comparator_name: Comparator::Bytewise.name().into_owned(),
            comparator: None,
            options: Vec::new(),
            table_options: Vec::new(),
            persist_timestamps: None,
            full_history_timestamp_low: None,
        }
    }

    /// A column family with the name, id and order of this one. Its options are those of the
    /// OPTIONS file, by name: see [`DatabaseWriterOptions::like`].
    pub fn like(database: &Database, family: &ColumnFamily) -> Self {
        let mut descriptor = Self::new(family.name()).id(family.id());
        if let Ok(comparator) = family.comparator() {
            descriptor = descriptor.comparator(comparator.clone());
        }
        let state = database.manifest().and_then(|state| state.column_family(family.name()));
        if let Some(state) = state {
            if let Some(name) = &state.comparator {
                descriptor.comparator_name.clone_from(name);
            }
            descriptor.persist_timestamps = state.persist_timestamps;
            descriptor.full_history_timestamp_low.clone_from(&state.full_history_timestamp_low);
        }
        descriptor
    }

    /// Sets the options that make RocksDB write tables like these: compression, filter policy, and
    /// others.
    #[must_use]
    pub fn tables_like(self, tables: &TableOptions) -> Self {
        self.set_tables(None, tables)
    }

    /// Sets those of the options above in which `tables` differs from `base`, which is what the
    /// [OPTIONS file](DatabaseWriterOptions::options_file) says.
    #[must_use]
    pub fn table_changes(self, base: &TableOptions, tables: &TableOptions) -> Self {
        self.set_tables(Some(base), tables)
    }

    fn set_tables(mut self, base: Option<&TableOptions>, tables: &TableOptions) -> Self {
        let (old, old_of_tables) = base.map(TableOptions::rocksdb_options).unwrap_or_default();
        let (options, of_tables) = tables.rocksdb_options();
        let new = options.into_iter().filter(|option| !old.contains(option));
        self.options.extend(new.map(|(name, value)| (name.into(), value)));
        let new = of_tables.into_iter().filter(|option| !old_of_tables.contains(option));
        self.table_options.extend(new.map(|(name, value)| (name.into(), value)));
        self
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The order of the keys, if it is known.
    pub(super) fn order(&self) -> Option<Comparator> {
        self.comparator.clone().or_else(|| self.comparator_name.parse().ok())
    }
}

setters! {
    impl ColumnFamilyDescriptor:

    /// The id. Default: one more than the largest. Blob files contain the id.
    pub fn id(mut self, id: u32) { self.id = Some(id); }

    /// The order of the keys. Default: bytewise.
    pub fn comparator(mut self, comparator: Comparator) {
        self.comparator_name = comparator.name().into_owned();
        self.comparator = Some(comparator);
    }

    /// The name of the order of the keys. Unless it is one of the built-in orders, it is not checked
    /// that tables of a level do not overlap.
    pub fn comparator_name(mut self, name: impl Into<String>) {
        self.comparator_name = name.into();
        self.comparator = None;
    }

    /// Sets an option of the section `[CFOptions]`, to a value in the form of the file.
    pub fn option(mut self, name: &str, value: &str) {
        self.options.push((name.into(), value.into()));
    }

    /// Sets an option of the section `[TableOptions/BlockBasedTable]`, to a value in the form of the
    /// file.
    pub fn table_option(mut self, name: &str, value: &str) {
        self.table_options.push((name.into(), value.into()));
    }

    /// Whether keys in tables keep their timestamps (RocksDB's
    /// `persist_user_defined_timestamps`).
    pub fn persist_timestamps(mut self, persist: bool) { self.persist_timestamps = Some(persist); }

    /// History below this timestamp may be gone.
    pub fn full_history_timestamp_low(mut self, timestamp: Vec<u8>) {
        self.full_history_timestamp_low = Some(timestamp);
    }
}
