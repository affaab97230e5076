//! The raw dump against what RocksDB's own tool wrote, and over every table there is.

use std::fs;
use std::path::Path;

use sstkit_inspect::{InspectedTable, raw_dump};
use sstkit_table::TableReadOptions;

use crate::files::{dumps, file_stem, open, tables, tables_folder};

fn dump(path: &Path) -> Vec<u8> {
    let mut text = Vec::new();
    let unreadable = raw_dump(&open(path), &mut text).unwrap();
    assert_eq!(unreadable, 0, "{}", path.display());
    text
}

/// The first line in which two texts differ.
fn difference(ours: &[u8], theirs: &[u8]) -> String {
    let lines = ours.split(|&b| b == b'\n').zip(theirs.split(|&b| b == b'\n'));
    match lines.enumerate().find(|(_, (ours, theirs))| ours != theirs) {
        Some((number, (ours, theirs))) => format!(
            "line {}:\nours:   {}\ntheirs: {}",
            number + 1,
            ours.escape_ascii(),
            theirs.escape_ascii()
        ),
        None => format!("{} bytes instead of {}", ours.len(), theirs.len()),
    }
}

#[test]
fn equal_to_rocksdbs_to_the_byte() {
    let dumps = dumps();
    assert!(dumps.len() >= 13);
    for path in dumps {
        let theirs = zstd::decode_all(fs::File::open(&path).unwrap()).unwrap();
        let name = file_stem(&path);
        let table = tables_folder().join(format!("{name}.sst"));
        let ours = dump(&table);
        assert!(ours == theirs, "{name}: {}", difference(&ours, &theirs));
    }
}

/// The parts that every dump has, in their order, and as many entries as the table has.
#[test]
fn every_table_can_be_dumped() {
    for path in tables() {
        let text = dump(&path);
        let text = String::from_utf8_lossy(&text);
        let name = path.display();
        let mut rest = &*text;
        for heading in [
            "Footer Details:\n",
            "Block Checksum Type Legend:\n",
            "Metaindex Details:\n",
            "Index Details:\n",
            "Data Block",
        ] {
            let at = rest.find(heading).or((heading == "Data Block").then_some(0));
            rest = &rest[at.unwrap_or_else(|| panic!("{name}: no {heading:?}"))..];
        }
        assert!(!text.contains("Skipped"), "{name}");
        let is_leveldb = path.extension().is_some_and(|ending| ending == "ldb");
        assert_eq!(text.contains("Table Properties:\n"), !is_leveldb, "{name}");

        let points = open(&path).table().entries().count();
        let blocks = text.split_once("\nData Block # 1 @ ").map_or("", |(_, blocks)| blocks);
        assert_eq!(blocks.matches("\n  HEX    ").count(), points, "{name}");
    }
}

#[test]
fn keys_have_no_tail_and_bare_keys_are_whole() {
    let first = |name: &str| {
        let text = dump(&tables_folder().join(name));
        let text = String::from_utf8_lossy(&text).into_owned();
        let (_, block) = text.split_once("\nData Block # 1 @ ").unwrap();
        let line = block.lines().find(|line| line.starts_with("  HEX    ")).unwrap();
        line.trim_start_matches("  HEX    ").split(": ").next().unwrap().to_owned()
    };
    let key = |name: &str| {
        let file = open(&tables_folder().join(name));
        let entry = file.table().entries().next().unwrap().unwrap();
        sstkit_inspect::Encoding::Hex.encode(&entry.user_key).to_uppercase()
    };
    for name in ["fv7-bloom10.sst", "timestamps-u64.sst", "leveldb-table-bloom10-c0.ldb"] {
        assert_eq!(first(name), key(name), "{name}");
    }
}

#[test]
fn a_damaged_block_is_named_and_skipped() {
    let mut bytes = fs::read(tables_folder().join("fv7-bloom10.sst")).unwrap();
    bytes[5] ^= 1;
    let file = InspectedTable::from_bytes(bytes, &TableReadOptions::default()).unwrap();
    let mut text = Vec::new();
    assert_eq!(raw_dump(&file, &mut text).unwrap(), 1);
    let text = String::from_utf8_lossy(&text);
    let (_, block) = text.split_once("Data Block # 1 @ ").unwrap();
    let lines: Vec<&str> = block.lines().skip(2).take(4).collect();
    let rule = "--------------------------------------";
    assert_eq!(lines[..3], [rule, "Error reading the block - Skipped ", ""]);
    assert!(lines[3].starts_with("Data Block # 2 @ "));
}

#[test]
fn a_closed_pipe_is_not_damage() {
    struct Closed;
    impl std::io::Write for Closed {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let file = open(&tables_folder().join("one-entry.sst"));
    assert!(raw_dump(&file, &mut Closed).unwrap_err().is_broken_pipe());
}
