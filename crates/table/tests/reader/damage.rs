//! Damaged tables: an error, or the same data, never other data in silence and never a panic.

use sstkit_coding::checksum::ChecksumType;
use sstkit_table::raw::Footer;
use sstkit_table::{Table, TableReadOptions};
use sstkit_testkit::goldens::{Golden, Model, golden_tables, options};

/// The smallest tables whose blocks have checksums: all their bytes can be tried.
fn smallest_tables(count: usize) -> Vec<Golden> {
    let mut tables = golden_tables();
    tables.retain(|golden| Footer::read(&golden.bytes).unwrap().checksum != ChecksumType::None);
    tables.sort_by_key(|golden| golden.bytes.len());
    tables.truncate(count);
    tables
}

/// Asks everything of a table and compares what it answers.
fn use_table(bytes: &[u8], model: &Model, options: &TableReadOptions, what: &str) {
    let Ok(table) = Table::from_source(bytes.to_vec(), options) else { return };
    let absent = [&b"absent"[..], b"", b"\xff\xff"];
    let keys = model.keys.iter().map(Vec::as_slice).step_by(5).chain(absent);
    for key in keys.clone() {
        if let Ok(value) = table.get(key) {
            assert_eq!(value.as_deref(), model.get(key), "{what}: {}", key.escape_ascii());
        }
    }
    if let Ok(values) = table.get_many(&keys.clone().collect::<Vec<_>>()) {
        assert!(values.iter().zip(keys).all(|(value, key)| value.as_deref() == model.get(key)));
    }
    // Up to an error, iteration shows what is there.
    let forward: Vec<_> = table.iter().collect();
    let complete = forward.iter().all(Result::is_ok);
    assert!(!complete || forward.len() == model.visible.len(), "{what}: forward ends too soon");
    for (entry, expected) in forward.into_iter().flatten().zip(&model.visible) {
        assert_eq!((&entry.0, &*entry.1), (&expected.0, expected.1.as_slice()), "{what}");
    }
    let backward: Vec<_> = table.iter().rev().collect();
    let complete = backward.iter().all(Result::is_ok);
    assert!(!complete || backward.len() == model.visible.len(), "{what}: backward ends too soon");
    for (entry, expected) in backward.into_iter().flatten().zip(model.visible.iter().rev()) {
        assert_eq!((&entry.0, &*entry.1), (&expected.0, expected.1.as_slice()), "{what}");
    }
}

#[test]
fn every_truncation_is_an_error() {
    for golden in smallest_tables(4) {
        for length in 0..golden.bytes.len() {
            let cut = golden.bytes[..length].to_vec();
            assert!(Table::from_bytes(cut).is_err(), "{} cut to {length}", golden.path.display());
        }
    }
}

#[test]
fn every_flipped_bit_is_an_error_or_does_not_matter() {
    for golden in smallest_tables(4) {
        let model = Model::of(&golden);
        let mut bytes = golden.bytes.clone();
        for bit in 0..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            let what = format!("{}, bit {bit}", golden.path.display());
            use_table(&bytes, &model, &options(), &what);
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

/// `verify` sees any damage but to the footer of old versions, which has no checksum, and to the
/// global sequence number, which ingestion may have overwritten.
#[test]
fn every_flipped_bit_is_found_by_verify() {
    for golden in smallest_tables(4) {
        let end = Footer::read(&golden.bytes).unwrap().offset as usize;
        let mut bytes = golden.bytes.clone();
        for bit in (0..end * 8).step_by(3) {
            bytes[bit / 8] ^= 1 << (bit % 8);
            let passes = Table::from_bytes(bytes.clone()).is_ok_and(|table| {
                table.global_sequence_number().is_none() && table.verify().is_sound()
            });
            assert!(!passes, "{}, bit {bit}", golden.path.display());
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

/// One damaged data block does not keep `verify` from reading the others.
#[test]
fn verify_finds_more_than_the_first_problem() {
    let golden = golden_tables().into_iter().find(|g| g.path.ends_with("fv7-bloom10.sst")).unwrap();
    let table = Table::from_bytes(golden.bytes.clone()).unwrap();
    let blocks = table.layout().unwrap().blocks;
    let mut bytes = golden.bytes.clone();
    for block in [&blocks[1], &blocks[3]] {
        bytes[block.handle.offset as usize] ^= 1;
    }
    let found = Table::from_bytes(bytes).unwrap().verify();
    let places: Vec<_> = found.problems().iter().map(|error| error.offset().unwrap()).collect();
    assert_eq!(places, [blocks[1].handle.offset, blocks[3].handle.offset], "{found}");
    assert!(found.entries() > 0);
}

/// Xorshift: the same damage in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

/// Without checksums anything may be read, but nothing panics or hangs.
#[test]
fn no_forged_bytes_panic_unverified() {
    const LIKELY: [u8; 8] = [0x00, 0x01, 0x04, 0x05, 0x7f, 0x80, 0xfe, 0xff];
    let options = options().verify_checksums(false).max_block_size(16 << 20);
    let mut dice = Dice(0x0ddb_a115_eed5_5eed);
    for golden in golden_tables() {
        let end = Footer::read(&golden.bytes).unwrap().offset as usize;
        // Half of the damage goes to the tail, where index, properties and metaindex are.
        let tail = end.saturating_sub(2000);
        for round in 0..20 {
            let mut bytes = golden.bytes.clone();
            for _ in 0..=dice.below(4) {
                let start = if round % 2 == 0 { tail } else { 0 };
                let at = start + dice.below(end - start);
                bytes[at] = match dice.below(3) {
                    0 => dice.below(256) as u8,
                    _ => LIKELY[dice.below(LIKELY.len())],
                };
            }
            let Ok(table) = Table::from_source(bytes, &options) else { continue };
            let _ = table.get(b"key");
            let _ = table.get_many(&["a", "key000", "zzz"]);
            let _ = table.iter().take(5000).count();
            let _ = table.iter().rev().take(5000).count();
            let _ = table.prefix(b"key").rev().take(100).count();
            let _ = table.entries().rev().take(5000).count();
            let mut cursor = table.cursor();
            let _ = cursor.seek(b"key5").and_then(|_| cursor.prev());
            let _ = cursor.seek_for_prev(b"key5").and_then(|_| cursor.next());
            let _ = table.explain(b"key");
            let _ = table.layout();
            let _ = table.verify();
            if let Some(filter) = table.filter() {
                let _ = filter.kind();
                let _ = filter.stats();
                let _ = filter.may_contain(b"key");
                let _ = filter.may_contain_prefix(b"keyprefi");
            }
        }
    }
}
