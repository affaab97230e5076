use proptest::prelude::*;
use sstkit_coding::fixed::put_fixed32;
use sstkit_coding::varint::put_varint32;

use super::*;
use crate::ErrorKind;

type Entry = (Vec<u8>, Vec<u8>);

fn collect<B: AsRef<[u8]>>(block: &Block<B>) -> Result<Vec<Entry>> {
    let mut entries = block.entries();
    let mut collected = Vec::new();
    while entries.advance()? {
        collected.push((entries.key().to_vec(), entries.value().to_vec()));
    }
    Ok(collected)
}

/// A block of these entries, written as the drawing says.
fn build(entries: &[Entry], interval: usize, separated: bool) -> Vec<u8> {
    let (mut keys, mut values, mut restarts) = (Vec::new(), Vec::new(), Vec::new());
    let mut last_key: &[u8] = &[];
    for (i, (key, value)) in entries.iter().enumerate() {
        let is_restart = i % interval == 0;
        if is_restart {
            restarts.push(keys.len() as u32);
        }
        let shared = if is_restart {
            0
        } else {
            key.iter().zip(last_key).take_while(|(a, b)| a == b).count()
        };
        put_varint32(&mut keys, shared as u32);
        put_varint32(&mut keys, (key.len() - shared) as u32);
        put_varint32(&mut keys, value.len() as u32);
        if separated && is_restart {
            put_varint32(&mut keys, values.len() as u32);
        }
        keys.extend_from_slice(&key[shared..]);
        if separated { &mut values } else { &mut keys }.extend_from_slice(value);
        last_key = key;
    }
    if restarts.is_empty() {
        restarts.push(0);
    }
    let values_start = keys.len() as u32;
    let mut block = keys;
    block.extend_from_slice(&values);
    for &restart in &restarts {
        put_fixed32(&mut block, restart);
    }
    if separated {
        put_fixed32(&mut block, values_start);
    }
    put_fixed32(&mut block, restarts.len() as u32 | if separated { SEPARATED } else { 0 });
    block
}

#[test]
fn the_two_drawn_entries() {
    let mut bytes =
        vec![0x00, 0x0e, 0x02, 0x6b, 0x65, 0x79, 0x30, 0x30, 0x30, 1, 0, 0, 0, 0, 0, 0, 0];
    bytes.extend_from_slice(b"v0");
    bytes.extend_from_slice(&[0x05, 0x09, 0x02, 0x31, 1, 0, 0, 0, 0, 0, 0, 0]);
    bytes.extend_from_slice(b"v1");
    bytes.extend_from_slice(&[0, 0, 0, 0, 1, 0, 0, 0]);
    let entries = collect(&Block::parse(bytes).unwrap()).unwrap();
    assert_eq!(entries[0], (b"key000\x01\0\0\0\0\0\0\0".to_vec(), b"v0".to_vec()));
    assert_eq!(entries[1], (b"key001\x01\0\0\0\0\0\0\0".to_vec(), b"v1".to_vec()));
    assert_eq!(entries.len(), 2);
}

#[test]
fn empty_blocks() {
    for bytes in [[0, 0, 0, 0, 1, 0, 0, 0], [9, 9, 9, 9, 0, 0, 0, 0]] {
        let block = Block::parse(bytes).unwrap();
        assert!(block.is_empty());
        assert_eq!(collect(&block).unwrap(), []);
    }
    assert!(Block::parse([4, 0, 0, 0, 1, 0, 0, 0]).is_err());
    assert!(Block::parse([1, 0, 0, 0]).is_err());
}

/// Each defect of a tail, and the words that name it.
#[test]
fn damaged_tails_are_named() {
    let entry = [0, 1, 0, b'a'];
    let entries: Vec<u8> = [entry, [0, 1, 0, b'b']].concat();
    let with_tail = |words: &[u32]| {
        let mut bytes = entries.clone();
        words.iter().for_each(|&word| put_fixed32(&mut bytes, word));
        Block::parse(bytes).and_then(|block| collect(&block))
    };
    assert_eq!(with_tail(&[0, 4, 2]).unwrap().len(), 2);
    for (words, text) in [
        (&[0, 4, 2 | RESERVED][..], "unknown flag"),
        (&[0, 4, 6], "too many restart points"),
        (&[0, RESTART_COUNT], "too many restart points"),
        (&[4, 4, 2], "restart point 0 is misplaced"),
        (&[0, 0, 2], "restart point 1 is misplaced"),
        (&[0, 8, 2], "restart point 1 is misplaced"),
        (&[0, u32::MAX, 2], "restart point 1 is misplaced"),
        (&[0, 3, 2], "a restart point is no entry"),
        (&[0, 9, 1 | SEPARATED], "after the restart points"),
        (&[0, u32::MAX, 1 | SEPARATED], "after the restart points"),
        (&[0, 1 | HASH_INDEX], "hash buckets"),
    ] {
        let error = with_tail(words).unwrap_err();
        assert!(error.to_string().contains(text), "{words:x?}: {error}");
    }
}

#[test]
fn damaged_entries_are_named() {
    for (entries, text) in [
        (&[0, 1, 0, b'a', 2, 1, 0, b'b'][..], "shares more than the previous key"),
        (&[1, 1, 0, b'a'], "shares more than the previous key"),
        (&[0, 9, 0, b'a'], "key beyond the end"),
        (&[0, 1, 9, b'a'], "value beyond the end"),
        (&[0, 1], "unreadable lengths"),
        (&[0x80, 0x80, 0x80, 0x80, 0x80, 0x80], "unreadable lengths"),
        (&[0, 1, 0xff, 0xff, 0xff, 0xff, 0x0f, b'a'], "value beyond the end"),
    ] {
        let bytes = [entries, &[0, 0, 0, 0, 1, 0, 0, 0]].concat();
        let error = collect(&Block::parse(bytes).unwrap()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.to_string().contains(text), "{entries:x?}: {error}");
    }
}

#[test]
fn a_restart_shares_nothing() {
    let mut bytes = vec![0, 1, 0, b'a', 1, 1, 0, b'b'];
    for word in [0, 4, 2] {
        put_fixed32(&mut bytes, word);
    }
    let error = collect(&Block::parse(bytes).unwrap()).unwrap_err();
    assert!(error.to_string().contains("shares more than the previous key"), "{error}");
}

#[test]
fn an_error_comes_again() {
    let bytes = [0, 9, 0, b'a', 0, 0, 0, 0, 1, 0, 0, 0];
    let mut entries = Block::parse(bytes).unwrap().into_entries();
    assert!(entries.advance().is_err());
    assert!(entries.advance().is_err());
    assert_eq!((entries.key(), entries.value()), (&[][..], &[][..]));
}

#[test]
fn a_hash_index_finds_the_interval() {
    let entries: Vec<Entry> =
        (0..40).map(|i| (format!("key{i:03}").into_bytes(), vec![])).collect();
    let mut bytes = build(&entries, 16, false);
    let packed = bytes.split_off(bytes.len() - WORD);
    let buckets = 61;
    let mut map = vec![255u8; buckets];
    for (i, (key, _)) in entries.iter().enumerate() {
        let hash = sstkit_coding::hash32::hash32_rocksdb(key, 397) as usize;
        let bucket = &mut map[hash % buckets];
        *bucket = match *bucket {
            255 => (i / 16) as u8,
            same if same == (i / 16) as u8 => same,
            _ => 254,
        };
    }
    bytes.extend_from_slice(&map);
    bytes.extend_from_slice(&(buckets as u16).to_le_bytes());
    put_fixed32(&mut bytes, u32::from_le_bytes(*packed.first_chunk().unwrap()) | HASH_INDEX);

    let block = Block::parse(&bytes).unwrap();
    let index = block.hash_index().unwrap();
    let mut walk = block.entries();
    let mut direct = 0;
    while walk.advance().unwrap() {
        match index.lookup(walk.key()) {
            HashLookup::Restart(restart) => {
                assert_eq!(usize::from(restart), walk.restart_index());
                direct += 1;
            }
            HashLookup::Collision => {}
            HashLookup::Empty => panic!("{} is in the block", walk.key().escape_ascii()),
        }
    }
    assert!(direct > 20);
    assert_eq!(collect(&block).unwrap(), entries);
}

proptest! {
    #[test]
    fn what_was_put_in_comes_out(
        keys in prop::collection::btree_map("[a-c]{0,6}", prop::collection::vec(any::<u8>(), 0..200), 0..40),
        interval in 1usize..20,
        separated: bool,
    ) {
        let entries: Vec<Entry> = keys.into_iter().map(|(k, v)| (k.into_bytes(), v)).collect();
        let block = Block::parse(build(&entries, interval, separated)).unwrap();
        prop_assert_eq!(block.has_separated_values(), separated);
        prop_assert_eq!(collect(&block).unwrap(), entries);
    }

    #[test]
    fn no_bytes_panic(
        mut bytes in prop::collection::vec(prop_oneof![0u8..20, any::<u8>()], 0..200),
        restarts in 0u32..8,
        flags in 0u32..16,
    ) {
        if let Ok(block) = Block::parse(&bytes) {
            let _ = collect(&block);
        }
        // And with a tail that is at least plausible.
        put_fixed32(&mut bytes, 0);
        put_fixed32(&mut bytes, restarts | flags << 28);
        if let Ok(block) = Block::parse(&bytes) {
            let _ = collect(&block);
            let _ = block.hash_index().map(|index| index.lookup(b"key"));
        }
    }
}
