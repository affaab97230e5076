//! What the targets start from: files of the engines, pieces of them, and small tables of our own.

use std::fs;
use std::path::{Path, PathBuf};

use sstkit_db::raw::{FileName, LogEvent, LogReader, ManifestState};
use sstkit_filter::{BuildContext, FilterLayout, FilterPolicy};
use sstkit_table::raw::{
    BlockKind, Codec, ColumnValue, Dictionary, Engine, EntryKind, Footer, IndexKind, TableView,
    decode_wide_columns,
};

use crate::directory;
use crate::model::sample_table;
use crate::small_databases::small_databases;
use crate::targets::codecs::WITH_DICTIONARY;
use sstkit_testkit::Random;

/// Larger files take long and show little that smaller ones do not.
const MAX_SIZE: u64 = 12 << 10;

/// Larger pieces of files are left out.
const MAX_PIECE: usize = 4 << 10;

/// Small tables of our own.
const SAMPLES: u64 = 150;

/// Where the files of the engines are.
fn testdata(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(folder)
}

/// All files below a folder that are no larger than `max_size`, in the order of their names.
fn files(folder: &Path, max_size: u64) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("a folder").path()).collect();
    paths.sort();
    let mut found = Vec::new();
    for path in paths {
        if path.is_dir() {
            found.extend(files(&path, max_size));
        } else if path.metadata().expect("a file").len() <= max_size {
            let contents = fs::read(&path).expect("a file");
            found.push((path, contents));
        }
    }
    found
}

/// The name of a file in a database.
fn file_name(path: &Path) -> FileName {
    FileName::parse(&path.file_name().unwrap_or_default().to_string_lossy())
}

/// Files of databases whose names `wanted` likes.
fn database_files(wanted: impl Fn(FileName) -> bool, max_size: u64) -> Vec<Vec<u8>> {
    let files = files(&testdata("databases"), max_size).into_iter();
    files.filter(|(path, _)| wanted(file_name(path))).map(|(_, contents)| contents).collect()
}

/// Tables of the engines and of our own.
pub(crate) fn tables() -> Vec<Vec<u8>> {
    let mut tables = small_tables();
    let engines = files(&testdata("tables"), MAX_SIZE).into_iter();
    let engines = engines.filter(|(path, _)| matches!(path.extension(), Some(it) if it != "zst"));
    tables.extend(engines.filter(|(path, _)| !path.ends_with("README.md")).map(|(_, it)| it));
    tables.extend(database_files(|name| matches!(name, FileName::Table(_)), MAX_SIZE));
    tables
}

/// Tables of our own, in all settings.
fn small_tables() -> Vec<Vec<u8>> {
    let drawings = drawings();
    drawings.iter().filter_map(|drawing| sample_table(drawing)).collect()
}

/// Bytes to draw settings and entries from.
pub(crate) fn drawings() -> Vec<Vec<u8>> {
    (0..SAMPLES)
        .map(|seed| {
            let mut random = Random::new(seed);
            let length = 100 + random.below(900);
            random.bytes(length)
        })
        .collect()
}

/// The ends of tables.
pub(crate) fn footers() -> Vec<Vec<u8>> {
    let mut footers = tables();
    footers.iter_mut().for_each(|table| drop(table.drain(..table.len() - Footer::MAX_LENGTH)));
    footers
}

/// The blocks of tables of one kind, decompressed, after what `form` puts before each; tables
/// without a form are left out.
fn blocks(wanted: BlockKind, form: impl Fn(&TableView<'_>) -> Option<Vec<u8>>) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    for table in tables() {
        let Ok(table) = TableView::open(&table) else { continue };
        let Some(form) = form(&table) else { continue };
        let blocks = table.blocks().unwrap_or_default().into_iter();
        for (kind, handle) in blocks.filter(|&(kind, _)| kind == wanted).take(2) {
            let Ok(contents) = table.block(kind, handle) else { continue };
            if contents.len() <= MAX_PIECE {
                found.push([&form[..], &contents].concat());
            }
        }
    }
    found
}

/// Data blocks.
pub(crate) fn data_blocks() -> Vec<Vec<u8>> {
    blocks(BlockKind::Data, |_| Some(Vec::new()))
}

/// Properties blocks.
pub(crate) fn properties() -> Vec<Vec<u8>> {
    blocks(BlockKind::Properties, |_| Some(Vec::new()))
}

/// Metaindex blocks.
pub(crate) fn metaindexes() -> Vec<Vec<u8>> {
    blocks(BlockKind::MetaIndex, |_| Some(Vec::new()))
}

/// Index blocks and their partitions, with their form.
pub(crate) fn indexes() -> Vec<Vec<u8>> {
    let mut found = blocks(BlockKind::Index, |table| Some(vec![index_form(table)]));
    found.extend(blocks(BlockKind::IndexPartition, |table| Some(vec![index_form(table)])));
    found
}

/// The top levels of partitioned filters, with their form.
pub(crate) fn filter_partitions() -> Vec<Vec<u8>> {
    blocks(BlockKind::Filter, |table| {
        let mut filters = table.metaindex().filters();
        let is_partitioned = filters.any(|(layout, ..)| layout == FilterLayout::Partitioned);
        is_partitioned.then(|| vec![index_form(table)])
    })
}

fn index_form(table: &TableView<'_>) -> u8 {
    let format = table.index_format();
    let kind = IndexKind::ALL.iter().position(|&kind| kind == format.kind).unwrap_or(0);
    kind as u8 | u8::from(format.user_keys) << 2 | u8::from(format.delta_values) << 3
}

/// Filter blocks of LevelDB's kind.
pub(crate) fn filter_blocks() -> Vec<Vec<u8>> {
    (0..24)
        .filter_map(|i| {
            let policy: FilterPolicy =
                format!("leveldb.BuiltinBloomFilter2:{}", i + 1).parse().ok()?;
            let mut builder = policy.block_builder().ok()?;
            for block in 0..i {
                builder.start_block(block * 1500);
                (0..block * 3).for_each(|key| builder.add(format!("k{key:04}").as_bytes()));
            }
            builder.finish().ok()
        })
        .collect()
}

/// Full filters of a policy.
fn filters(policy: &str, format_version: u32) -> Vec<Vec<u8>> {
    (0..24)
        .filter_map(|i| {
            let policy: FilterPolicy = format!("{policy}:{}", 2 + i).parse().ok()?;
            let context = BuildContext::default().format_version(format_version);
            let mut builder = policy.builder(&context).ok()?;
            (0..i * i).for_each(|key| builder.add(format!("k{key:04}").as_bytes()));
            builder.finish().ok()
        })
        .collect()
}

/// Bloom filters of format versions below 5.
pub(crate) fn legacy_blooms() -> Vec<Vec<u8>> {
    filters("bloomfilter", 4)
}

/// Cache-local Bloom filters.
pub(crate) fn fast_local_blooms() -> Vec<Vec<u8>> {
    filters("bloomfilter", 5)
}

/// Ribbon filters.
pub(crate) fn ribbons() -> Vec<Vec<u8>> {
    filters("ribbonfilter", 5)
}

/// Blocks as stored, of a codec, with the form of their table.
fn stored_blocks(wanted: Codec) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    for table in tables() {
        let Ok(table) = TableView::open(&table) else { continue };
        let form = table.footer().version.number() as u8
            | u8::from(table.engine() == Engine::LevelDb) << 3;
        let codec = match (table.engine(), wanted) {
            (Engine::LevelDb, Codec::Zstd) => 2,
            (_, codec) => codec as u8,
        };
        for (kind, handle) in table.blocks().unwrap_or_default().into_iter().take(8) {
            let Ok(stored) = table.stored_block(kind, handle) else { continue };
            if stored.trailer.codec != codec || stored.contents.len() > MAX_PIECE {
                continue;
            }
            // Only data blocks are compressed with the dictionary.
            let dictionary = table.dictionary().ok().flatten().filter(|_| kind == BlockKind::Data);
            found.push(match dictionary.map(Dictionary::bytes) {
                Some(dictionary) => {
                    let length = (dictionary.len() as u16).to_le_bytes();
                    [&[form | WITH_DICTIONARY], &length[..], dictionary, &stored.contents].concat()
                }
                None => [&[form][..], &stored.contents].concat(),
            });
        }
    }
    found
}

/// Snappy.
pub(crate) fn snappy() -> Vec<Vec<u8>> {
    stored_blocks(Codec::Snappy)
}

/// Deflate.
pub(crate) fn zlib() -> Vec<Vec<u8>> {
    stored_blocks(Codec::Zlib)
}

/// bzip2.
pub(crate) fn bzip2() -> Vec<Vec<u8>> {
    stored_blocks(Codec::Bzip2)
}

/// LZ4.
pub(crate) fn lz4() -> Vec<Vec<u8>> {
    stored_blocks(Codec::Lz4)
}

/// Zstandard.
pub(crate) fn zstd() -> Vec<Vec<u8>> {
    stored_blocks(Codec::Zstd)
}

/// Values of entries of a kind.
fn values(wanted: EntryKind) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let large = files(&testdata("tables"), 64 << 10).into_iter().map(|(_, contents)| contents);
    let databases = database_files(|name| matches!(name, FileName::Table(_)), 64 << 10);
    for table in large.chain(databases).chain(small_tables()) {
        let Ok(table) = TableView::open(&table) else { continue };
        let Ok(mut entries) = table.entries() else { continue };
        let mut of_table = Vec::new();
        while let Ok(true) = entries.advance() {
            if entries.internal_key().is_ok_and(|key| key.kind == wanted) {
                of_table.push(entries.value().to_vec());
            }
        }
        of_table.truncate(10);
        found.extend(of_table);
    }
    found
}

/// Entities.
pub(crate) fn wide_columns() -> Vec<Vec<u8>> {
    values(EntryKind::WideColumnEntity)
}

/// References to blobs, on their own and in columns.
pub(crate) fn blob_indexes() -> Vec<Vec<u8>> {
    let mut found = values(EntryKind::BlobIndex);
    for entity in wide_columns() {
        for column in decode_wide_columns(&entity).unwrap_or_default() {
            if let ColumnValue::Blob(index) = column.value {
                found.push(Vec::new());
                index.encode_to(found.last_mut().expect("just pushed"));
            }
        }
    }
    found
}

/// The beginnings of logs and MANIFESTs, with their form: of both engines, numbered or not.
pub(crate) fn logs() -> Vec<Vec<u8>> {
    let is_log = |name| matches!(name, FileName::Log(_) | FileName::Manifest(_));
    let mut logs = database_files(is_log, 1 << 20);
    logs.iter_mut().for_each(|log| log.truncate(MAX_PIECE));
    logs.iter().flat_map(|log| [0u8, 1, 2].map(|form| [&[form], &log[..]].concat())).collect()
}

/// The records of a log.
fn records(log: &[u8]) -> Vec<Vec<u8>> {
    let number =
        log.get(7..11).and_then(|it| it.first_chunk()).map_or(0, |it| u32::from_le_bytes(*it));
    [0, u64::from(number)]
        .into_iter()
        .map(|number| {
            let mut reader = LogReader::new(log, Engine::RocksDb, number);
            let mut records = Vec::new();
            while let Ok(Some(event)) = reader.next_record() {
                if let LogEvent::Record(record) = event {
                    records.push(record.payload.to_vec());
                }
            }
            records
        })
        .max_by_key(Vec::len)
        .unwrap_or_default()
}

/// Batches of writes.
pub(crate) fn write_batches() -> Vec<Vec<u8>> {
    let logs = database_files(|name| matches!(name, FileName::Log(_)), 1 << 20);
    let mut batches: Vec<_> =
        logs.iter().flat_map(|log| records(log).into_iter().take(20)).collect();
    batches.retain(|batch| batch.len() <= MAX_PIECE);
    batches
}

/// The edits of MANIFESTs, with their lengths and their engines.
pub(crate) fn manifests() -> Vec<Vec<u8>> {
    let manifests = database_files(|name| matches!(name, FileName::Manifest(_)), 1 << 20);
    let of = |manifest: &Vec<u8>| {
        let is_leveldb = ManifestState::replay(&manifest[..], Engine::LevelDb).is_ok();
        let mut input = vec![u8::from(is_leveldb)];
        for edit in records(manifest) {
            input.extend_from_slice(&(edit.len() as u16).to_le_bytes());
            input.extend_from_slice(&edit);
        }
        input
    };
    manifests.iter().map(of).collect()
}

/// CURRENT files, and OPTIONS files in parts of some twenty lines: whole ones repeat themselves.
pub(crate) fn options_files() -> Vec<Vec<u8>> {
    const PARTS: usize = 12;
    let mut found = database_files(|name| matches!(name, FileName::Current), MAX_SIZE);
    for file in database_files(|name| matches!(name, FileName::Options(_)), 64 << 10) {
        let part = |part| some_lines(&file, |number, _| number % PARTS == part);
        found.extend((0..PARTS).map(part));
    }
    found
}

/// The titles of an OPTIONS file, and those of its other lines that `wanted` likes.
fn some_lines(file: &[u8], wanted: impl Fn(usize, &str) -> bool) -> Vec<u8> {
    let text = String::from_utf8_lossy(file);
    let lines = text.lines().enumerate();
    let lines = lines.filter(|(number, line)| line.starts_with('[') || wanted(*number, line));
    lines.flat_map(|(_, line)| [line, "\n"]).collect::<String>().into_bytes()
}

/// Meta files of backups, of both schemas.
pub(crate) fn backup_metas() -> Vec<Vec<u8>> {
    let first = "1794963245\n125\n2\n\
                 shared_checksum/000040_sD9ZWQ4IMC9QC9USR3EVE_1013.sst crc32 155580884\n\
                 private/2/MANIFEST-000042 crc32 13208881\n";
    let second = "schema_version 2.0\n1794963245\n125\nmetadata 6e6f7465\n2\n\
                  shared/000040.sst crc32 155580884 size 1013 temp kWarm\n\
                  private/2/CURRENT ni::excluded true\n// FOOTER\nname value\n";
    [first, second].map(|text| text.as_bytes().to_vec()).into()
}

/// Blob files, cut to a few records.
pub(crate) fn blob_files() -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    for file in database_files(|name| matches!(name, FileName::Blob(_)), 1 << 20) {
        for size in [100, 400, 3000] {
            if file.len() > size + 32 {
                // The footer counts more blobs, which is an error after the last one.
                found.push([&file[..size], &file[file.len() - 32..]].concat());
            }
        }
    }
    found
}

/// Whole directories: small ones of our own, and those of the engines without their largest files.
pub(crate) fn databases() -> Vec<Vec<u8>> {
    let folders = fs::read_dir(testdata("databases")).expect("a folder");
    let mut folders: Vec<_> = folders.map(|entry| entry.expect("a folder").path()).collect();
    folders.retain(|path| path.is_dir());
    folders.sort();
    let small = small_databases().into_iter();
    let engines = folders.iter().map(|folder| smaller_files(folder));
    small.chain(engines).map(|files| directory::encode(&files)).collect()
}

/// The files of a database, those first without which it cannot be opened: a fuzzer cuts long
/// inputs off.
fn smaller_files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    // These are read; an opened database shows nothing else of them.
    const OPTIONS: [&str; 6] =
        ["wal_dir", "wal_rec", "comparator", "merge_operator", "prefix_extractor", "filter_policy"];
    let mut found = Vec::new();
    for (path, mut contents) in files(folder, 1 << 20) {
        let place = match file_name(&path) {
            FileName::Other | FileName::InfoLog => continue,
            FileName::Current | FileName::Manifest(_) | FileName::Identity => 0,
            FileName::Options(_) => {
                let is_asked_for =
                    |_, line: &str| OPTIONS.iter().any(|name| line.trim_start().starts_with(name));
                contents = some_lines(&contents, is_asked_for);
                1
            }
            FileName::Log(_) => {
                contents.truncate(MAX_PIECE);
                2
            }
            _ if contents.len() as u64 > 2 * MAX_SIZE => continue,
            _ => 3,
        };
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        found.push((place, contents.len(), name, contents));
    }
    found.sort();
    found.into_iter().map(|(_, _, name, contents)| (name, contents)).collect()
}

#[cfg(test)]
mod tests;
