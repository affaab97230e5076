//! Damaged and forged tables: an error or the same data, never a panic.
//!
//! Damage is what checksums see. A forger recomputes them, which is the same to a reader as not
//! verifying them: so the second half of these tests switches them off.

use sstkit_coding::checksum::ChecksumType;
use sstkit_table::raw::{
    BlobIndex, Block, BlockKind, DecodeOptions, Footer, TableView, decode_wide_columns,
    property_names,
};
use sstkit_table::{Error, ErrorKind, Result};
use sstkit_testkit::goldens::{Golden, golden_tables};

type Contents = Vec<(Vec<u8>, Vec<u8>)>;

/// The smallest tables of the collection: all their bytes can be tried.
fn smallest_tables(count: usize) -> Vec<Golden> {
    let mut tables = golden_tables();
    tables.sort_by_key(|golden| golden.bytes.len());
    tables.truncate(count);
    tables
}

/// All points and range deletions, or the first error.
fn contents(file: &[u8]) -> Result<Contents> {
    let table = TableView::open(file)?;
    let mut contents = Vec::new();
    let mut entries = table.entries()?;
    while entries.advance()? {
        contents.push((entries.key().to_vec(), entries.value().to_vec()));
    }
    let mut ranges = table.range_deletions()?;
    while ranges.advance()? {
        contents.push((ranges.begin()?.user_key.to_vec(), ranges.end().to_vec()));
    }
    Ok(contents)
}

/// Reads whatever can be read, without verifying anything, and continues after errors.
fn read_unverified(file: &[u8]) {
    let mut options = DecodeOptions::default();
    options.verify_checksums = false;
    options.max_block_size = 16 << 20;
    let Ok(table) = TableView::open_with(file, &options) else { return };
    let _ = table.properties().global_sequence_number();
    let _ = table.properties().embedded_blobs();
    if let Ok(blocks) = table.blocks() {
        for (kind, handle) in blocks {
            let _ = table.block(kind, handle);
        }
    }
    if let Ok(mut entries) = table.entries() {
        let mut more = Ok(true);
        // An error ends a data block, and damage to the index ends them all: this terminates.
        while !matches!(more, Ok(false)) {
            more = entries.advance();
            let _ = entries.internal_key();
            let _ = decode_wide_columns(entries.value());
            if let Ok(blob) = BlobIndex::decode_from(entries.value()) {
                let _ = table.embedded_blob(&blob);
            }
        }
    }
    if let Ok(blocks) = table.data_blocks() {
        for block in blocks.flatten() {
            if let Ok(block) = Block::parse(block.contents)
                && let Some(index) = block.hash_index()
            {
                let _ = index.lookup(b"key");
            }
        }
    }
    if let Ok(mut ranges) = table.range_deletions() {
        while let Ok(true) = ranges.advance() {
            let _ = ranges.begin();
        }
    }
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

#[test]
fn every_truncation_is_an_error() {
    for golden in smallest_tables(6) {
        for length in 0..golden.bytes.len() {
            assert!(
                contents(&golden.bytes[..length]).is_err(),
                "{} cut to {length}",
                golden.path.display()
            );
        }
    }
}

#[test]
fn a_missing_start_is_an_error() {
    for golden in smallest_tables(6) {
        for start in 1..golden.bytes.len() {
            assert!(
                contents(&golden.bytes[start..]).is_err(),
                "{} from {start}",
                golden.path.display()
            );
        }
    }
}

/// Bytes that no entry depends on (filters, padding) may differ: then the data are the same.
#[test]
fn every_flipped_bit_is_an_error_or_does_not_matter() {
    for golden in smallest_tables(6) {
        let original = contents(&golden.bytes).unwrap();
        let mut bytes = golden.bytes.clone();
        for bit in 0..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            if let Ok(damaged) = contents(&bytes) {
                assert!(damaged == original, "{}, bit {bit}: other data", golden.path.display());
            }
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

#[test]
fn errors_name_the_block_and_its_offset() {
    for golden in smallest_tables(6) {
        let blocks = TableView::open(&golden.bytes).unwrap().blocks().unwrap();
        for (kind, handle) in blocks {
            let mut bytes = golden.bytes.clone();
            bytes[handle.offset as usize] ^= 0x10;
            let error = read_all_blocks(&bytes).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt);
            assert_eq!((error.block(), error.offset()), (Some(kind), Some(handle.offset)));
            assert!(error.to_string().contains(&format!("{kind} at offset")), "{error}");
        }
    }
}

fn read_all_blocks(bytes: &[u8]) -> Result<(), Error> {
    let table = TableView::open(bytes)?;
    table.blocks()?.into_iter().try_for_each(|(kind, handle)| table.block(kind, handle).map(drop))
}

#[test]
fn no_flipped_bit_panics_unverified() {
    for golden in smallest_tables(6) {
        let mut bytes = golden.bytes.clone();
        // Every fifth bit: no place in a byte is left out.
        for bit in (0..bytes.len() * 8).step_by(5) {
            bytes[bit / 8] ^= 1 << (bit % 8);
            read_unverified(&bytes);
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

/// A few bytes at a time, in every table: what they are set to is where off-by-one errors live.
#[test]
fn no_forged_bytes_panic_unverified() {
    const LIKELY: [u8; 8] = [0x00, 0x01, 0x04, 0x05, 0x7f, 0x80, 0xfe, 0xff];
    let mut dice = Dice(0x5eed_5eed_5eed_5eed);
    for golden in golden_tables() {
        // The footer has been tried above: here the way must lead past it.
        let end = Footer::read(&golden.bytes).unwrap().offset as usize;
        // Half of the damage goes to the tail, where index, properties and metaindex are.
        let tail = end.saturating_sub(2000);
        for round in 0..60 {
            let mut bytes = golden.bytes.clone();
            for _ in 0..=dice.below(4) {
                let start = if round % 2 == 0 { tail } else { 0 };
                let at = start + dice.below(end - start);
                bytes[at] = match dice.below(3) {
                    0 => dice.below(256) as u8,
                    _ => LIKELY[dice.below(LIKELY.len())],
                };
            }
            read_unverified(&bytes);
        }
    }
}

/// Ingestion may have overwritten the global sequence number without a new checksum; nothing else
/// in the properties can be changed unseen.
#[test]
fn a_patched_global_sequence_number_is_accepted() {
    let mut tried = 0;
    for golden in golden_tables() {
        let table = TableView::open(&golden.bytes).unwrap();
        if table.footer().checksum == ChecksumType::None {
            continue;
        }
        let Some(handle) = table.metaindex().properties() else { continue };
        let block = Block::parse(table.block(BlockKind::Properties, handle).unwrap()).unwrap();
        let place_of = |name: &str| {
            let mut entries = block.entries();
            while entries.advance().unwrap() {
                if entries.key() == name.as_bytes() {
                    return Some(handle.offset as usize + entries.value_range().start);
                }
            }
            None
        };
        let Some(seqno) = place_of(property_names::GLOBAL_SEQNO) else { continue };
        let mut patched = golden.bytes.clone();
        patched[seqno..seqno + 8].copy_from_slice(&4242u64.to_le_bytes());
        let table = TableView::open(&patched).unwrap();
        assert_eq!(table.properties().global_sequence_number().unwrap(), Some(4242));
        drop(table);

        let entries = place_of(property_names::NUM_ENTRIES).unwrap();
        patched[entries] ^= 1;
        let error = TableView::open(&patched).unwrap_err();
        assert_eq!(error.block(), Some(BlockKind::Properties));
        tried += 1;
    }
    assert!(tried > 0);
}
