//! Writers with several threads write what they write with one.

use std::path::Path;

use sstkit_db::{BulkManifest, Database};
use sstkit_table::raw::Codec;
use sstkit_table::{Table, TableOptions, TableWriter};
use sstkit_testkit::cases;
use sstkit_testkit::faults::{Kind, Pause, Work};

type Entries = Vec<(Vec<u8>, Vec<u8>)>;

fn work(kind: Kind, threads: usize, count: u32) -> Work {
    Work { kind, seed: 5, count, threads, replace: false, pause: Pause::Never }
}

fn entries_of(path: &Path) -> Entries {
    let table = Table::open(path).unwrap();
    table.verify().into_result().unwrap();
    table.iter().map(|entry| entry.map(|(key, value)| (key, value.to_vec())).unwrap()).collect()
}

fn entries_of_database(path: &Path) -> Entries {
    let database = Database::open(path).unwrap();
    let family = database.column_family("default").unwrap();
    family.iter().map(|entry| entry.map(|(key, value)| (key, value.to_vec())).unwrap()).collect()
}

#[test]
fn the_same_entries_with_one_thread_and_with_several() {
    for (kind, name) in Kind::ALL {
        for threads in [1, 2, 5] {
            for count in [1, 300, 30_000] {
                let folder = tempfile::tempdir().unwrap();
                let out = folder.path().join("out");
                let work = work(kind, threads, count);
                work.run(&out, &|_| {}).unwrap();
                let found: Entries = if kind.is_database() {
                    entries_of_database(&out)
                } else if kind.is_folder() {
                    let manifest = BulkManifest::read(out.join("manifest.json")).unwrap();
                    manifest.verify(&out).unwrap();
                    let files = manifest.files.iter();
                    files.flat_map(|file| entries_of(&out.join(&file.name))).collect()
                } else {
                    entries_of(&out)
                };
                assert!(found == work.entries(), "{name}, {threads} threads, {count} entries");
            }
        }
    }
}

/// Blocks come back in order, whatever they cost: small and large ones, such that compress well and
/// such that do not.
#[test]
fn the_same_bytes_with_one_thread_and_with_several() {
    let entries = work(Kind::Table, 1, 3000).entries();
    let write = |codec: Codec, threads: usize| {
        let mut bytes = Vec::new();
        let options = TableOptions::rocksdb().compression(codec).threads(threads).block_size(700);
        let mut writer = TableWriter::to_sink(&mut bytes, &options).unwrap();
        for (number, (key, value)) in entries.iter().enumerate() {
            let repeated = value.repeat(if number % 97 == 0 { 400 } else { 1 + number % 5 });
            writer.put(key, &repeated).unwrap();
        }
        writer.finish().unwrap();
        bytes
    };
    for codec in [Codec::None, Codec::Lz4, Codec::Zstd] {
        let one = write(codec, 1);
        for round in 0..3 * cases() {
            let threads = 2 + round % 5;
            assert!(write(codec, threads) == one, "{codec:?} with {threads} threads");
        }
    }
}

/// Writers that are dropped in the middle end their threads, however many blocks are on the way.
#[test]
fn writers_that_are_dropped() {
    let entries = work(Kind::Table, 1, 2000).entries();
    for stop in (0..entries.len()).step_by(40 / cases().min(40)) {
        let options = TableOptions::rocksdb().compression(Codec::Zstd).threads(4).block_size(200);
        let mut bytes = Vec::new();
        let mut writer = TableWriter::to_sink(&mut bytes, &options).unwrap();
        entries[..stop].iter().for_each(|(key, value)| writer.put(key, value).unwrap());
        drop(writer);
        assert!(Table::from_bytes(bytes).is_err());
    }
}
