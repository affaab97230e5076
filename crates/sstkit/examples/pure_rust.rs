//! Reads tables of every codec, those in `testdata/tables` of the repository. Without default features and
//! with `ruzstd` in place of `zstd`, no C compiler is needed:
//!
//! ```text
//! cargo run --no-default-features --features ruzstd,lz4,snappy,zlib,bzip2 --example pure_rust
//! cargo run --no-default-features --example pure_rust           uncompressed tables only
//! ```

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

use sstkit::Table;
use sstkit::table::ErrorKind;

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/tables");
    let (mut read, mut entries) = (0, 0);
    let mut left_out: BTreeMap<String, u64> = BTreeMap::new();
    for file in std::fs::read_dir(folder)? {
        let path = file?.path();
        if path.extension().is_none_or(|extension| extension != "sst") {
            continue;
        }
        match count(&path) {
            Ok(count) => {
                read += 1;
                entries += count;
            }
            // A codec that is left out is a kind of error of its own, which names the feature.
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                let text = error.to_string();
                let feature = text.split('"').nth(1).unwrap_or(&text).to_owned();
                *left_out.entry(feature).or_default() += 1;
            }
            Err(error) => return Err(error.into()),
        }
    }
    println!("{read} tables with {entries} entries");
    for (feature, tables) in &left_out {
        println!("{tables} tables need the feature {feature}");
    }
    assert!(left_out.keys().eq(absent_codecs()), "{left_out:?}");
    assert!(read > 0 && entries > 0);
    Ok(())
}

/// The features of the codecs that this program was built without, in the order of their names.
fn absent_codecs() -> impl Iterator<Item = &'static str> {
    let codecs = [
        ("bzip2", cfg!(feature = "bzip2")),
        ("lz4", cfg!(feature = "lz4")),
        ("snappy", cfg!(feature = "snappy")),
        ("zlib", cfg!(feature = "zlib")),
        ("zstd", cfg!(any(feature = "zstd", feature = "ruzstd"))),
    ];
    codecs.into_iter().filter(|(_, is_present)| !is_present).map(|(feature, _)| feature)
}

/// The number of entries of a table, all of which are read.
fn count(path: &Path) -> sstkit::table::Result<u64> {
    let mut count = 0;
    for entry in Table::open(path)?.entries() {
        entry?;
        count += 1;
    }
    Ok(count)
}
