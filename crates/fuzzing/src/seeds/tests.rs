//! That seeds get behind the first checks of their targets: what does not, fuzzes nothing else.

use std::collections::BTreeSet;

use sstkit_db::raw::ManifestState;
use sstkit_db::{Database, DatabaseOptions};
use sstkit_filter::{Filter, FilterKind};
use sstkit_table::raw::FormatVersion;

use super::*;
use crate::sealing::seal_footer;
use crate::targets::codecs::decode;

/// `fuzz/run` cuts inputs off here.
const MAX_LENGTH: usize = 16384;

#[test]
fn footers_of_all_versions() {
    let read = |footer: &Vec<u8>| Footer::decode_from(&seal_footer(footer, 100_000), 100_000);
    let versions: BTreeSet<_> =
        footers().iter().map(|footer| read(footer).expect("a footer").version.number()).collect();
    assert!(versions.into_iter().eq(FormatVersion::ALL.iter().map(|version| version.number())));
}

#[test]
fn blocks_of_all_codecs_and_with_dictionaries() {
    let all = [
        (Codec::Snappy, snappy()),
        (Codec::Zlib, zlib()),
        (Codec::Bzip2, bzip2()),
        (Codec::Lz4, lz4()),
        (Codec::Zstd, zstd()),
    ];
    for (codec, seeds) in all {
        assert!(seeds.len() >= 40, "{} of {codec:?}", seeds.len());
        assert!(seeds.iter().all(|seed| decode(codec, seed)), "{codec:?}");
        assert!(seeds.iter().any(|seed| seed[0] & WITH_DICTIONARY != 0), "{codec:?}");
    }
}

#[test]
fn filters_of_all_kinds() {
    for (kind, seeds) in [
        (FilterKind::LegacyBloom, legacy_blooms()),
        (FilterKind::FastLocalBloom, fast_local_blooms()),
        (FilterKind::Ribbon128, ribbons()),
    ] {
        let found = seeds.iter().filter(|seed| Filter::from_bytes(seed.as_slice()).kind() == kind);
        assert!(found.count() >= 10, "{kind:?}");
    }
}

#[test]
fn logs_of_all_kinds() {
    let (mut recycled, mut compressed) = (0, 0);
    for log in logs() {
        let number = log[8..12].first_chunk().map_or(0, |it| u32::from_le_bytes(*it));
        let mut reader = LogReader::new(&log[1..], Engine::RocksDb, u64::from(number));
        while let Ok(Some(_)) = reader.next_record() {}
        recycled += usize::from(reader.is_recycled());
        compressed += usize::from(reader.is_compressed());
    }
    assert!(recycled > 0 && compressed > 0);
}

#[test]
fn manifests_of_both_engines() {
    let manifests = database_files(|name| matches!(name, FileName::Manifest(_)), 1 << 20);
    let forms: BTreeSet<u8> = super::manifests().iter().map(|input| input[0]).collect();
    assert!(forms.into_iter().eq([0, 1]));
    for manifest in &manifests {
        ManifestState::replay(&manifest[..], Engine::RocksDb).expect("a MANIFEST of either");
    }
}

/// Each can be opened from what a fuzzer leaves of it, and most show all they have.
#[test]
fn databases_that_can_be_read() {
    let seeds = databases();
    let mut whole = 0;
    for seed in &seeds {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        directory::write(folder.path(), &directory::decode(&seed[..seed.len().min(MAX_LENGTH)]));
        let database = Database::open(folder.path()).expect("a database");
        let mut entries = database.column_families().flat_map(|family| family.iter());
        let is_whole = entries.all(|entry| entry.is_ok());
        let has_tables = database.column_families().any(|family| !family.levels().is_empty());
        whole += usize::from(is_whole && has_tables);
        Database::open_tables_with(folder.path(), &DatabaseOptions::default()).expect("tables");
    }
    assert!(whole * 2 > seeds.len(), "{whole} of {}", seeds.len());
}
