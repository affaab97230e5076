//! Both variants of the 32-bit hash: one example step by step, and vectors.

use std::fmt::Write;

use sstkit_coding::fixed::decode_fixed32;
use sstkit_coding::hash32::{BLOOM_HASH_SEED, hash32_leveldb, hash32_rocksdb};

use crate::hex_dump::Dump;
use crate::wording::{hex, key_text};

/// The constant of the 32-bit hash.
const M: u32 = 0xc6a4_a793;

/// The hash of five bytes with a tail above 0x7f, step by step in both variants.
pub(super) fn steps() -> String {
    let key = "café".as_bytes();
    let mut h = BLOOM_HASH_SEED ^ (key.len() as u32).wrapping_mul(M);
    let mut dump = Dump::new(key);
    dump.note(format!("\"café\", seed {BLOOM_HASH_SEED:08x}"));
    dump.note(format!("{:31}seed ^ 5·M             {h:08x}", ""));
    h = h.wrapping_add(decode_fixed32(*key.first_chunk().expect("a group"))).wrapping_mul(M);
    h ^= h >> 16;
    dump.bytes(4, format!("group                  {h:08x}"));
    let finish = |tail: u32| {
        let h = h.wrapping_add(tail).wrapping_mul(M);
        h ^ (h >> 24)
    };
    let tail = key[4];
    let (unsigned, signed) = (u32::from(tail), tail as i8 as u32);
    let (leveldb, rocksdb) = (finish(unsigned), finish(signed));
    assert_eq!(leveldb, hash32_leveldb(key, BLOOM_HASH_SEED));
    assert_eq!(rocksdb, hash32_rocksdb(key, BLOOM_HASH_SEED));
    dump.bytes(1, format!("tail, LevelDB          {leveldb:08x}   adds {unsigned:08x}"));
    dump.note(format!("{:31}tail, RocksDB          {rocksdb:08x}   adds {signed:08x}", ""));
    dump.finish()
}

pub(super) fn vectors() -> String {
    let mut out = String::from("input                    seed      LevelDB   RocksDB\n");
    for (input, seed) in [
        (&b""[..], BLOOM_HASH_SEED),
        (b"\x62", BLOOM_HASH_SEED),
        (b"\xff", BLOOM_HASH_SEED),
        (b"\xc3\x97", BLOOM_HASH_SEED),
        (b"\xe2\x99\xa5", BLOOM_HASH_SEED),
        (b"\xe1\x80\xb9\x32", BLOOM_HASH_SEED),
        (b"hello", BLOOM_HASH_SEED),
        (b"world", BLOOM_HASH_SEED),
        (b"", 397),
        (b"key049", 397),
        (b"\xff\xfe\xfd", 397),
    ] {
        let (leveldb, rocksdb) = (hash32_leveldb(input, seed), hash32_rocksdb(input, seed));
        let differ = if leveldb == rocksdb { "" } else { "   differ" };
        let _ = writeln!(
            out,
            "{:<23}  {seed:08x}  {leveldb:08x}  {rocksdb:08x}{differ}",
            input_column(input)
        );
    }
    out
}

/// Short inputs in hexadecimal, and as text if they are ASCII.
fn input_column(input: &[u8]) -> String {
    match input {
        b"" => "(empty)".to_owned(),
        _ if input.is_ascii() => {
            format!("{}  \"{}\"", hex(input).replace(' ', ""), key_text(input))
        }
        _ => hex(input).replace(' ', ""),
    }
}
