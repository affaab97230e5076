//! Programs as a user would write them, against this crate alone: that they compile is half of the test.

use std::cmp::Ordering;
use std::io;
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

use sstkit::{
    BlockCache, BulkBuilder, BulkOptions, Codec, ColumnFamily, Comparator, Database,
    DatabaseOptions, EntryKind, ErrorKind, FilterPolicy, KeyOrder, MergeOperator, MergedTables,
    ReadOptions, Result, Source, Table, TableOptions, TableReadOptions, TableWriter, Value,
};

fn table(keys: &[&str]) -> Result<Table> {
    let mut bytes = Vec::new();
    // The errors of policies, of the system and of tables are one.
    let policy: FilterPolicy = "bloomfilter:10".parse()?;
    let options = TableOptions::rocksdb().filter(policy).compression("lz4".parse::<Codec>()?);
    let mut writer = TableWriter::to_sink(&mut bytes, &options)?;
    for key in keys {
        writer.put(key.as_bytes(), key.as_bytes())?;
    }
    writer.finish()?;
    Table::from_bytes(bytes)
}

const DATABASE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/databases/rocksdb-column-families");

#[test]
fn ranges_are_written_as_ranges() -> Result<()> {
    let t = table(&["a", "ab", "b", "c"])?;
    let keys = |iter: sstkit::table::Iter| -> Result<Vec<String>> {
        iter.map(|pair| Ok(String::from_utf8_lossy(&pair?.0).into_owned())).collect()
    };
    assert_eq!(keys(t.range(b"a"..b"b"))?, ["a", "ab"]);
    assert_eq!(keys(t.range(b"a"..=b"b"))?, ["a", "ab", "b"]);
    assert_eq!(keys(t.range(..))?.len(), 4);
    assert_eq!(keys(t.range(b"ab"..))?, ["ab", "b", "c"]);
    assert_eq!(keys(t.range(..b"b"))?, ["a", "ab"]);
    assert_eq!(keys(t.range(..="b"))?, ["a", "ab", "b"]);
    assert_eq!(keys(t.range("a".."ab"))?, ["a"]);
    assert_eq!(keys(t.range(vec![b'b']..vec![b'c', 0]))?, ["b", "c"]);
    assert_eq!(keys(t.range((Bound::Excluded("a"), Bound::Included("b"))))?, ["ab", "b"]);

    let db = Database::open(DATABASE)?;
    let family = db.default_column_family();
    let all = family.iter().count();
    assert_eq!(db.range(..).count(), all);
    assert!(db.range(b"user"..b"uses").count() > 0);
    assert_eq!(family.range(b"a"..).count() + family.range(..b"a").count(), all);
    assert_eq!(MergedTables::new(&[t], Default::default())?.range(b"a"..b"b").count(), 2);
    Ok(())
}

#[test]
fn tables_families_and_databases_are_iterated_over() -> Result<()> {
    let table = table(&["a", "b"])?;
    for entry in &table {
        let (key, value) = entry?;
        assert_eq!(value, key);
    }
    let db = Database::open(DATABASE)?;
    let (mut in_family, mut in_database) = (0, 0);
    for entry in &db.default_column_family() {
        in_family += usize::from(!entry?.0.is_empty());
    }
    for entry in &db {
        in_database += usize::from(!entry?.0.is_empty());
    }
    assert_eq!(in_family, in_database);
    Ok(())
}

#[test]
fn errors_have_kinds() {
    let kind = |error: sstkit::Error| error.kind();
    assert_eq!(kind(Table::open("/no/such/file.sst").unwrap_err()), ErrorKind::NotFound);
    let db = Database::open(DATABASE).unwrap();
    assert_eq!(kind(db.column_family("mata").unwrap_err()), ErrorKind::NotFound);
    assert_eq!(kind(Table::from_bytes("no table").unwrap_err()), ErrorKind::Corrupt);
    // Before the entries are added, not when they are sorted.
    let tables = BulkOptions::new(TableOptions::rocksdb());
    let error = BulkBuilder::create("/no/such/folder/users.sst", &tables).unwrap_err();
    assert_eq!(error.file(), Some(Path::new("/no/such/folder")));
    assert_eq!(kind(error), ErrorKind::NotFound);
    let policy = || -> Result<FilterPolicy> { Ok("nosuchfilter:1".parse()?) };
    assert_eq!(kind(policy().unwrap_err()), ErrorKind::Unsupported);
    let closed = || -> Result<()> { Err(io::Error::from(io::ErrorKind::BrokenPipe))? };
    assert_eq!(kind(closed().unwrap_err()), ErrorKind::Io);
    let timestamp = ReadOptions::default().timestamp(b"12345678");
    assert_eq!(kind(db.get_with(b"key", &timestamp).unwrap_err()), ErrorKind::InvalidInput);
}

/// By length, then by bytes.
#[derive(Debug)]
struct ByLength;

impl KeyOrder for ByLength {
    fn name(&self) -> &str {
        "example.ByLength"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        a.len().cmp(&b.len()).then_with(|| a.cmp(b))
    }
}

#[derive(Debug)]
struct Append;

impl MergeOperator for Append {
    fn name(&self) -> &str {
        "example.Append"
    }

    fn merge(&self, _: &[u8], base: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>> {
        Some([base.unwrap_or_default(), &operands.concat()].concat())
    }
}

#[test]
fn own_order_own_operator_own_source() -> Result<()> {
    let order = Comparator::User(Arc::new(ByLength));
    let mut bytes = Vec::new();
    let mut writer =
        TableWriter::to_sink(&mut bytes, &TableOptions::rocksdb().comparator(order.clone()))?;
    writer.put(b"b", b"1")?;
    writer.merge(b"aa", b"2")?;
    writer.finish()?;

    struct Object(Vec<u8>);
    impl Source for Object {
        fn size(&self) -> io::Result<u64> {
            Ok(self.0.len() as u64)
        }

        fn read_at(&self, offset: u64, length: usize) -> io::Result<bytes::Bytes> {
            let bytes = self.0.get(offset as usize..).and_then(|rest| rest.get(..length));
            bytes.map(bytes::Bytes::copy_from_slice).ok_or(io::ErrorKind::UnexpectedEof.into())
        }
    }
    let cache = BlockCache::new(1 << 20);
    let options = TableReadOptions::default()
        .comparator(order)
        .merge_operator(Arc::new(Append))
        .block_cache(&cache);
    let table = Table::from_source(Object(bytes), &options)?;
    let pairs: Vec<(Vec<u8>, Value)> = table.iter().collect::<Result<_>>()?;
    assert_eq!(pairs, [(b"b".to_vec(), "1".into()), (b"aa".to_vec(), "2".into())]);
    let kinds: Vec<EntryKind> = table.entries().map(|it| it.unwrap().kind).collect();
    assert_eq!(kinds, [EntryKind::Value, EntryKind::Merge]);
    assert_eq!("merge".parse::<EntryKind>()?.to_string(), "merge");
    Ok(())
}

#[test]
fn what_can_be_shared_and_sent() {
    fn shared<T: Send + Sync>() {}
    shared::<Table>();
    shared::<Database>();
    shared::<ColumnFamily>();
    shared::<BlockCache>();
    shared::<Value>();
    shared::<sstkit::Error>();
    shared::<ReadOptions>();
    shared::<TableReadOptions>();
    shared::<DatabaseOptions>();
    shared::<sstkit::table::Cursor>();
    shared::<sstkit::table::Iter>();
    shared::<sstkit::table::Entries>();
    shared::<sstkit::table::EntryCursor>();
    shared::<sstkit::table::MergedCursor>();
    shared::<sstkit::db::DatabaseCursor>();
    shared::<sstkit::db::DatabaseIter>();
    shared::<sstkit::db::DatabaseRecords>();
    shared::<sstkit::db::DatabaseKeys>();
    shared::<sstkit::db::DatabaseEntries>();
    shared::<MergedTables>();
    shared::<sstkit::table::MergedIter>();
    shared::<sstkit::table::Records>();
    shared::<sstkit::table::IndexIter<'_>>();
    shared::<sstkit::db::Diff>();
    shared::<sstkit::db::InternalDiff>();
    shared::<sstkit::Filter<Vec<u8>>>();
    shared::<FilterPolicy>();
    shared::<sstkit::Caveat>();
    fn sent<T: Send>() {}
    sent::<TableWriter<'_, Vec<u8>>>();
    sent::<sstkit::BulkBuilder>();
    sent::<sstkit::Compaction>();
    sent::<sstkit::DatabaseWriter>();
}

#[test]
fn kinds_are_words() -> Result<()> {
    assert_eq!(ErrorKind::InvalidInput.to_string(), "invalid argument");
    assert_eq!(sstkit::CaveatKind::TornTail.to_string(), "torn tail");
    assert_eq!(sstkit::filter::ErrorKind::Unsupported.to_string(), "not supported");
    let version: sstkit::table::raw::FormatVersion = "6".parse()?;
    assert_eq!(version.to_string(), "6");
    Ok(())
}

/// A database answers for its default column family.
#[test]
fn a_database_is_its_default_column_family() -> Result<()> {
    let db = Database::open(DATABASE)?;
    let family = db.default_column_family();
    let (key, value) = db.iter().next().expect("a key")?;
    assert_eq!(db.get_record(&key)?, family.get_record(&key)?);
    assert_eq!(db.get_entity(&key)?, family.get_entity(&key)?);
    assert!(db.get_entity(&key)?.expect("found").iter().any(|column| column.value == value));
    let first = ReadOptions::default().sequence(1);
    assert_eq!(db.get_record_with(&key, &first)?, family.get_record_with(&key, &first)?);
    assert_eq!(db.get_entity_with(&key, &first)?, family.get_entity_with(&key, &first)?);
    assert_eq!(db.records().count(), db.iter().count());
    let entries: Vec<_> = db.entries().collect::<Result<_>>()?;
    assert!(!entries.is_empty());
    assert_eq!(entries, family.entries().collect::<Result<Vec<_>>>()?);
    let prefix = ReadOptions::default().prefix(&key);
    let of_prefix = db.entries_with(&prefix).collect::<Result<Vec<_>>>()?;
    assert!(of_prefix.len() < entries.len() && of_prefix.iter().all(|it| it.key.starts_with(&key)));
    assert_eq!(db.iter_with(&prefix).count(), db.prefix(&key).count());
    assert_eq!(db.explain(&key)?.answer, family.explain(&key)?.answer);
    assert_eq!(db.approximate_size(..)?, family.approximate_size(..)?);
    assert_eq!(db.split_keys(4)?, family.split_keys(4)?);
    Ok(())
}

#[test]
fn merged_tables_are_iterated_over() -> Result<()> {
    let merged = MergedTables::new(&[table(&["a1", "b"])?, table(&["a2"])?], Default::default())?;
    let keys = |iter: sstkit::table::MergedIter| -> Result<Vec<Vec<u8>>> {
        iter.map(|entry| Ok(entry?.0)).collect()
    };
    assert_eq!(keys(merged.prefix("a"))?, [b"a1", b"a2"]);
    assert_eq!(keys(merged.into_iter())?, keys(merged.iter())?);
    Ok(())
}

/// Bytes are printed as text, in every type that has keys or values.
#[test]
fn debug_output_is_readable() -> Result<()> {
    const KEY: &str = "user00000/post0001";
    /// The first bytes of the key and of the name of a property, as numbers.
    const NUMBERS: [&str; 2] = ["117, 115, 101, 114", "101, 120, 97, 109"];
    let table = {
        let options = TableOptions::rocksdb()
            .prefix_extractor("fixed:8".parse()?)
            .filter("bloomfilter:10".parse()?)
            .user_property("example.owner", KEY);
        assert_readable(&options);
        let mut writer = TableWriter::to_sink(Vec::new(), &options)?;
        writer.put(KEY.as_bytes(), b"user")?;
        writer.delete_range(b"user1", b"user2")?;
        let (summary, bytes) = writer.finish_sink()?;
        assert_readable(&summary);
        Table::from_bytes(bytes)?
    };
    fn assert_readable(shown: &impl std::fmt::Debug) {
        let text = format!("{shown:?}");
        assert!(text.contains("user"), "{text}");
        assert!(!NUMBERS.iter().any(|numbers| text.contains(numbers)), "{text}");
    }
    assert_readable(&table.get(KEY.as_bytes())?);
    assert_readable(&table.get_record(KEY.as_bytes())?);
    assert_readable(&table.entries().next());
    assert_readable(&table.range_deletions());
    assert_readable(&table.index()?.next());
    assert_readable(&table.properties());
    assert_readable(&table.explain(KEY.as_bytes())?);
    assert_readable(&table.verify().spans());
    let options = ReadOptions::default().range(KEY..).prefix("user0").timestamp(b"user0000");
    assert_readable(&options);
    assert_readable(&table.iter_with(&options));
    assert_readable(&sstkit::HashedKey::new(KEY.as_bytes()));
    assert_readable(&sstkit::InternalKey {
        user_key: KEY.as_bytes(),
        sequence: 1,
        kind: EntryKind::Value,
    });
    assert_readable(&sstkit::CompactionDecision::Change(KEY.into()));
    assert_readable(&sstkit::db::GroupBy::Delimiter { delimiter: b"user".into(), depth: 1 });

    let db = Database::open(DATABASE)?;
    let family = db.default_column_family();
    assert_readable(&db.manifest());
    assert_readable(&family.levels());
    assert_readable(&family.entries().next());
    assert_readable(&family.explain(KEY.as_bytes())?);
    assert_readable(&family.analyze(&Default::default())?);
    Ok(())
}
