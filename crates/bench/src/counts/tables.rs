//! Blocks and tables: writing, scanning, looking up.

use std::hint::black_box;
use std::sync::Arc;

use sstkit_coding::checksum::ChecksumType;
use sstkit_table::raw::{Block, BlockDecoder, BlockKind, Codec, DecodeOptions};
use sstkit_table::{Table, TableOptions, TableWriter};
use sstkit_testkit::random::mix;

use super::HotPath;

pub(super) const ENTRIES: usize = 20_000;
pub(super) const BATCH: usize = 32;
pub(super) const VALUE: usize = 100;

pub(super) fn each(visit: &mut dyn FnMut(HotPath)) {
    checksums(visit);
    for (name, codec) in [("none", Codec::None), ("lz4", Codec::Lz4), ("zstd", Codec::Zstd)] {
        table(name, codec, visit);
    }
    blocks(visit);
}

fn checksums(visit: &mut dyn FnMut(HotPath)) {
    let block: Vec<u8> = (0..512).flat_map(|word| mix(word).to_le_bytes()).collect();
    for (name, checksum) in [
        ("crc32c", ChecksumType::Crc32c),
        ("xxhash", ChecksumType::XxHash),
        ("xxhash64", ChecksumType::XxHash64),
        ("xxh3", ChecksumType::Xxh3),
    ] {
        let block = block.clone();
        visit(HotPath::new(format!("checksum {name} of 4 KiB"), "block", 100, move || {
            for _ in 0..100 {
                black_box(checksum.compute(black_box(&block), 0));
            }
        }));
    }
}

/// Every second number is the key of an entry; the others are absent.
pub(super) fn key(number: usize) -> [u8; 16] {
    let mut key = *b"key0000000000000";
    for (place, digit) in key[3..].iter_mut().rev().enumerate() {
        *digit = b'0' + (number / 10usize.pow(place as u32) % 10) as u8;
    }
    key
}

/// Half of it compresses.
pub(super) fn value(number: usize) -> [u8; VALUE] {
    let mut value = [b'v'; VALUE];
    for (place, piece) in value[..VALUE / 2].chunks_mut(8).enumerate() {
        let word = mix((number * 7 + place) as u64).to_le_bytes();
        piece.copy_from_slice(&word[..piece.len()]);
    }
    value
}

pub(super) fn options(codec: Codec) -> TableOptions {
    TableOptions::rocksdb()
        .filter("bloomfilter:10".parse().expect("a policy"))
        .compression(codec)
        .threads(1)
}

type Entries = Arc<Vec<([u8; 16], [u8; VALUE])>>;

fn write(entries: &Entries, options: &TableOptions) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(entries.len() * (VALUE + 24));
    let mut writer = TableWriter::to_sink(&mut bytes, options).expect("options that fit");
    for (key, value) in entries.iter() {
        writer.put(key, value).expect("keys in order");
    }
    writer.finish().expect("memory takes everything");
    bytes
}

fn table(codec: &str, with: Codec, visit: &mut dyn FnMut(HotPath)) {
    let entries: Entries =
        Arc::new((0..ENTRIES).map(|number| (key(2 * number), value(number))).collect());
    let options = options(with);
    let bytes = write(&entries, &options);
    visit(HotPath::new(format!("write, {codec}"), "entry", ENTRIES, move || {
        black_box(write(&entries, &options));
    }));
    let table = Table::from_bytes(bytes).expect("a table");
    if with == Codec::None {
        lookups(&table, visit);
    }
    let scanned = table.clone();
    visit(HotPath::new(format!("scan, {codec}"), "entry", ENTRIES, move || {
        let mut cursor = scanned.cursor();
        let (mut count, mut more) = (0, cursor.seek_to_first().expect("sound"));
        while more {
            count += usize::from(cursor.value().expect("sound").len() == VALUE);
            more = cursor.next().expect("sound");
        }
        assert_eq!(count, ENTRIES);
    }));
    let scanned = table.clone();
    visit(HotPath::new(format!("reverse scan, {codec}"), "entry", ENTRIES, move || {
        let mut cursor = scanned.cursor();
        let (mut count, mut more) = (0, cursor.seek_to_last().expect("sound"));
        while more {
            count += usize::from(cursor.value().expect("sound").len() == VALUE);
            more = cursor.prev().expect("sound");
        }
        assert_eq!(count, ENTRIES);
    }));
    visit(HotPath::new(format!("verify, {codec}"), "entry", ENTRIES, move || {
        let found = table.verify();
        assert!(found.is_sound() && found.entries() == ENTRIES as u64);
    }));
}

/// Numbers of keys in no order, and the same over and over.
pub(super) fn scattered(presence: usize) -> Vec<[u8; 16]> {
    (0..ENTRIES as u64).map(|it| key(2 * (mix(it) as usize % ENTRIES) + presence)).collect()
}

/// All blocks are in the cache.
fn lookups(table: &Table, visit: &mut dyn FnMut(HotPath)) {
    for (name, presence, found) in [("present", 0, ENTRIES), ("absent", 1, 0)] {
        let keys = scattered(presence);
        let (asked, asked_keys) = (table.clone(), keys.clone());
        visit(HotPath::new(format!("get, {name}"), "key", ENTRIES, move || {
            let get = |key: &&[u8; 16]| asked.get(*key).expect("sound").is_some();
            assert_eq!(asked_keys.iter().filter(get).count(), found);
        }));
        let asked = table.clone();
        visit(HotPath::new(format!("get_many, {name}"), "key", ENTRIES, move || {
            let batches = keys.chunks(BATCH).map(|batch| asked.get_many(batch).expect("sound"));
            assert_eq!(batches.flatten().flatten().count(), found);
        }));
    }
    let (sought, keys) = (table.clone(), scattered(0));
    visit(HotPath::new("seek and next 50", "seek", ENTRIES / 20, move || {
        let mut cursor = sought.cursor();
        for key in &keys[..ENTRIES / 20] {
            let mut more = cursor.seek(key).expect("sound");
            for _ in 0..50 {
                more = more && cursor.next().expect("sound");
            }
            black_box(more);
        }
    }));
}

/// One data block, decoded again and again.
fn blocks(visit: &mut dyn FnMut(HotPath)) {
    let entries: Entries = Arc::new((0..1000).map(|it| (key(2 * it), value(it))).collect());
    let bytes = write(&entries, &options(Codec::Lz4));
    let table = Table::from_bytes(bytes.clone()).expect("a table");
    let layout = table.layout().expect("sound");
    let handle = layout.blocks.iter().find(|block| block.kind == BlockKind::Data);
    let handle = handle.expect("a data block").handle;
    let decoder = BlockDecoder::new(table.footer(), table.engine(), &DecodeOptions::default());
    let decode = move || {
        let range = handle.stored_range(bytes.len() as u64).expect("in the file");
        let stored = &bytes[range.start as usize..range.end as usize];
        let block = decoder.verify(BlockKind::Data, handle, stored).expect("sound");
        decoder.decompress(&block, None).expect("sound").into_owned()
    };
    let contents = decode();
    visit(HotPath::new("block, checksum and lz4", "block", 100, move || {
        for _ in 0..100 {
            black_box(decode());
        }
    }));
    let count = |contents: &[u8]| {
        let mut entries = Block::parse(contents).expect("a block").into_entries();
        let mut count = 0;
        while entries.advance().expect("sound") {
            count += usize::from(entries.value().len() == VALUE);
        }
        count
    };
    let expected = count(&contents);
    visit(HotPath::new("block, entries", "entry", 100 * expected, move || {
        for _ in 0..100 {
            assert_eq!(count(black_box(&contents)), expected);
        }
    }));
}
