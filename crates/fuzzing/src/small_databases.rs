//! Small databases of our own: all that a directory may have, within a few kilobytes.
//!
//! ```text
//! default   memory     the log
//!           level 0    [ k0000 ........... k0015 ]     000007
//!           level 1    [ k0000 . k0007 ][ k0008 . k0015 ]   000005, 000006
//! other     level 0    [ k0000 ........... k0015 ]     000008     (RocksDB)
//! ```

use sstkit_coding::varint::{put_length_prefixed_slice, put_varint64};
use sstkit_filter::FilterPolicy;
use sstkit_table::raw::{
    BlobIndex, Codec, ColumnValue, Engine, EntryKind, FormatVersion, IndexKind, InternalKey,
    MAX_SEQUENCE_NUMBER, WideColumn, encode_wide_columns,
};
use sstkit_table::{TableOptions, TableWriter};

use crate::sealing::{log_of, seal_blob_file};

const COUNT: usize = 24;
const KEYS: u64 = 16;
const BLOB_FILE: u64 = 9;
const LOG: u64 = 10;

/// The names and contents of the files of each.
pub(crate) fn small_databases() -> Vec<Vec<(String, Vec<u8>)>> {
    (0..COUNT).map(small_database).collect()
}

fn small_database(i: usize) -> Vec<(String, Vec<u8>)> {
    let engine = if i.is_multiple_of(4) { Engine::LevelDb } else { Engine::RocksDb };
    let mut manifest = Manifest::new(engine);
    let mut tables = Vec::new();
    for (family, level, number, keys, sequence) in
        [(0, 1, 5, 0..8, 1), (0, 1, 6, 8..KEYS, 20), (0, 0, 7, 0..KEYS, 40), (1, 0, 8, 0..KEYS, 60)]
    {
        if family == 1 && engine == Engine::LevelDb {
            continue;
        }
        // The blob file belongs to one column family; the other one has simple entries.
        let kinds = if family == 0 { kinds(engine) } else { kinds(Engine::LevelDb) };
        let entries: Vec<_> = keys.map(|key| entry(i, kinds, key, sequence)).collect();
        let contents = table(&options(i, engine), &entries);
        manifest.table(family, level, number, contents.len(), &entries);
        let extension = if engine == Engine::LevelDb { "ldb" } else { "sst" };
        tables.push((format!("{number:06}.{extension}"), contents));
    }
    let mut files = vec![
        ("CURRENT".to_owned(), b"MANIFEST-000004\n".to_vec()),
        ("MANIFEST-000004".to_owned(), manifest.finish()),
        (format!("{LOG:06}.log"), log(engine)),
    ];
    if engine == Engine::RocksDb {
        files.push(("OPTIONS-000003".to_owned(), OPTIONS.as_bytes().to_vec()));
        files.push((format!("{BLOB_FILE:06}.blob"), blob_file()));
    }
    files.extend(tables);
    files
}

const OPTIONS: &str = "[DBOptions]\nwal_recovery_mode=kPointInTimeRecovery\n\
    [CFOptions \"default\"]\nmerge_operator={id=StringAppendOperator;delimiter=,;}\n\
    prefix_extractor=rocksdb.FixedPrefix.3\nnum_levels=7\n\
    [TableOptions/BlockBasedTable \"default\"]\nfilter_policy=bloomfilter:10:false\n\
    [CFOptions \"other\"]\nmerge_operator=PutOperator\n";

fn options(i: usize, engine: Engine) -> TableOptions {
    if engine == Engine::LevelDb {
        let options = TableOptions::leveldb().block_size(100).compression(Codec::Snappy);
        let policy: Option<FilterPolicy> = "leveldb.BuiltinBloomFilter2:10".parse().ok();
        return policy.into_iter().fold(options, TableOptions::filter);
    }
    let versions = [FormatVersion::V7, FormatVersion::V2, FormatVersion::V5, FormatVersion::V6];
    let options = TableOptions::rocksdb()
        .external_file(false)
        .format_version(versions[i / 2 % 4])
        .block_size(100)
        .compression([Codec::None, Codec::Lz4, Codec::Zstd][i % 3])
        .index_kind([IndexKind::BinarySearch, IndexKind::TwoLevel][i / 5 % 2]);
    let policy: Option<FilterPolicy> =
        ["bloomfilter:10", "ribbonfilter:10"].get(i % 3).and_then(|text| text.parse().ok());
    policy.into_iter().fold(options, TableOptions::filter)
}

/// A user key, a sequence number, a kind, a value.
type Item = (Vec<u8>, u64, EntryKind, Vec<u8>);

fn kinds(engine: Engine) -> &'static [EntryKind] {
    match engine {
        Engine::LevelDb => &[EntryKind::Value, EntryKind::Value, EntryKind::Deletion],
        Engine::RocksDb => &[
            EntryKind::Value,
            EntryKind::Merge,
            EntryKind::Deletion,
            EntryKind::Value,
            EntryKind::BlobIndex,
            EntryKind::WideColumnEntity,
            EntryKind::SingleDeletion,
            EntryKind::RangeDeletion,
        ],
    }
}

fn entry(i: usize, kinds: &[EntryKind], key: u64, sequence: u64) -> Item {
    let kind = kinds[(i + key as usize * 3 + sequence as usize) % kinds.len()];
    let value = match kind {
        EntryKind::Value | EntryKind::Merge => format!("value {i} {key} {sequence}").into_bytes(),
        EntryKind::RangeDeletion => user_key(key + 1),
        EntryKind::BlobIndex => blob_index(key),
        EntryKind::WideColumnEntity => entity(),
        _ => Vec::new(),
    };
    (user_key(key), sequence + key, kind, value)
}

fn user_key(key: u64) -> Vec<u8> {
    format!("k{key:04}").into_bytes()
}

fn entity() -> Vec<u8> {
    let column = |name, value| WideColumn { name, value: ColumnValue::Inline(value) };
    let mut entity = Vec::new();
    encode_wide_columns(&[column(b"", b"1"), column(b"name", b"2")], &mut entity)
        .expect("names that ascend");
    entity
}

/// Every blob of the blob file; there is one for each key.
const BLOB: &[u8] = b"a blob";
/// Of lengths, checksums, key and value.
const BLOB_RECORD: u64 = 32 + 5 + BLOB.len() as u64;

fn blob_file() -> Vec<u8> {
    let mut file = 0x0024_8f37u32.to_le_bytes().to_vec();
    file.extend_from_slice(&1u32.to_le_bytes());
    file.resize(30, 0);
    for key in 0..KEYS {
        let key = user_key(key);
        file.extend_from_slice(&(key.len() as u64).to_le_bytes());
        file.extend_from_slice(&(BLOB.len() as u64).to_le_bytes());
        file.extend_from_slice(&[0; 16]);
        file.extend_from_slice(&[&key, BLOB].concat());
    }
    file.extend_from_slice(&0x0024_8f37u32.to_le_bytes());
    file.extend_from_slice(&KEYS.to_le_bytes());
    file.extend_from_slice(&[0; 20]);
    seal_blob_file(&file)
}

fn blob_index(key: u64) -> Vec<u8> {
    let size = BLOB.len() as u64;
    let offset = 30 + (key + 1) * BLOB_RECORD - size;
    let mut index = Vec::new();
    BlobIndex::Stored { expiration: None, file: BLOB_FILE, offset, size, codec: 0 }
        .encode_to(&mut index);
    index
}

fn table(options: &TableOptions, entries: &[Item]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = TableWriter::to_sink(&mut bytes, options).expect("settings");
    for (user_key, sequence, kind, value) in entries {
        let key = InternalKey { user_key, sequence: *sequence, kind: *kind };
        writer.add(&key, value).expect("keys that ascend");
    }
    writer.finish().expect("memory");
    bytes
}

/// Two batches: a put, a deletion, and a put into the other column family.
fn log(engine: Engine) -> Vec<u8> {
    let batch = |sequence: u64, count: u32, writes: &[u8]| {
        [&sequence.to_le_bytes()[..], &count.to_le_bytes(), writes].concat()
    };
    let both = batch(100, 2, b"\x01\x05k0001\x03new\x00\x05k0004");
    let other = batch(102, 1, b"\x05\x01\x05k0002\x03new");
    match engine {
        Engine::LevelDb => log_of(&[&both]),
        Engine::RocksDb => log_of(&[&both, &other]),
    }
}

/// The edits of a MANIFEST.
struct Manifest {
    engine: Engine,
    edits: Vec<Vec<u8>>,
}

impl Manifest {
    fn new(engine: Engine) -> Self {
        let mut first = Vec::new();
        numbers(&mut first, &[1]);
        put_length_prefixed_slice(&mut first, b"leveldb.BytewiseComparator");
        // Log number, next file number, last sequence number.
        numbers(&mut first, &[2, LOG, 3, 20, 4, 99]);
        let mut edits = vec![first];
        if engine == Engine::RocksDb {
            // A column family; a blob file with its number of blobs and bytes.
            let mut family = Vec::new();
            numbers(&mut family, &[200, 1, 201]);
            put_length_prefixed_slice(&mut family, b"other");
            let mut blobs = Vec::new();
            numbers(&mut blobs, &[400, BLOB_FILE, KEYS, KEYS * BLOB_RECORD, 0, 0, 0]);
            edits.extend([family, blobs]);
        }
        Self { engine, edits }
    }

    fn table(&mut self, family: u64, level: u64, number: u64, size: usize, entries: &[Item]) {
        let mut edit = Vec::new();
        if family > 0 {
            numbers(&mut edit, &[200, family]);
        }
        let tag = if self.engine == Engine::LevelDb { 7 } else { 103 };
        numbers(&mut edit, &[tag, level, number, size as u64]);
        let mut bound = |user_key: &[u8], sequence, kind| {
            let mut key = Vec::new();
            InternalKey { user_key, sequence, kind }.encode_to(&mut key);
            put_length_prefixed_slice(&mut edit, &key);
        };
        let (Some(first), Some(last)) = (entries.first(), entries.last()) else { return };
        bound(&first.0, first.1, first.2);
        match last.2 {
            EntryKind::RangeDeletion => bound(&last.3, MAX_SEQUENCE_NUMBER, last.2),
            _ => bound(&last.0, last.1, last.2),
        }
        if tag == 103 {
            // Sequence numbers; a field of one byte, the oldest blob file; the end.
            numbers(&mut edit, &[first.1, last.1]);
            numbers(&mut edit, if family == 0 { &[4, 1, BLOB_FILE, 1] } else { &[1] });
        }
        self.edits.push(edit);
    }

    fn finish(&self) -> Vec<u8> {
        log_of(&self.edits.iter().map(Vec::as_slice).collect::<Vec<_>>())
    }
}

fn numbers(edit: &mut Vec<u8>, numbers: &[u64]) {
    numbers.iter().for_each(|&number| put_varint64(edit, number));
}
