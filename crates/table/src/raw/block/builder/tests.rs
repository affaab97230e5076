use proptest::prelude::*;

use super::super::Block;
use super::*;
use crate::raw::internal_key::EntryKind;

fn builder(format: BlockFormat) -> BlockBuilder {
    BlockBuilder::new(format)
}

#[test]
fn an_empty_block_has_one_restart() {
    let block = builder(BlockFormat::plain(16)).finish().unwrap();
    assert_eq!(block.contents, [0, 0, 0, 0, 1, 0, 0, 0]);
}

#[test]
fn the_drawn_example() {
    let mut block = builder(BlockFormat::plain(16));
    block.add(b"key000\x01\0\0\0\0\0\0\0", &[7; 22]);
    block.add(b"key001\x01\0\0\0\0\0\0\0", &[8; 22]);
    let estimate = block.size_estimate();
    block.seal().unwrap();
    let contents = block.contents();
    assert_eq!(contents.len(), estimate);
    assert_eq!(&contents[..3], [0x00, 0x0e, 0x16]);
    assert_eq!(&contents[39..43], [0x05, 0x09, 0x16, 0x31]);
    block.clear();
    assert!(block.is_empty());
}

#[test]
fn a_builder_that_was_used_builds_the_same() {
    for (restart_interval, share_prefixes) in [(1, true), (3, true), (3, false)] {
        let format = BlockFormat { share_prefixes, ..BlockFormat::plain(restart_interval) };
        let key = |i: u32| format!("key{i:05}\x01\0\0\0\0\0\0\0").into_bytes();
        let mut fresh = builder(format);
        (0..10).for_each(|i| fresh.add(&key(i), b"value"));
        let mut used = builder(format);
        used.add_exchanged(&mut key(0), &[7; 200]);
        used.seal().unwrap();
        used.clear();
        for i in 0..10 {
            let mut exchanged = key(i);
            used.add_exchanged(&mut exchanged, b"value");
            assert_eq!(used.last_key(), key(i));
            assert_eq!(exchanged, key(i.saturating_sub(1)), "the one before");
        }
        used.seal().unwrap();
        assert_eq!(used.contents(), fresh.finish().unwrap().contents);
    }
}

#[test]
fn every_format_is_read_back() {
    for (restart_interval, share_prefixes, separated, hash_index) in [
        (1, true, false, None),
        (3, true, false, Some(0.75)),
        (16, false, false, None),
        (4, true, true, Some(0.5)),
        (1, false, true, None),
    ] {
        let mut block = builder(BlockFormat {
            restart_interval,
            share_prefixes,
            separated,
            hash_index,
            ..BlockFormat::plain(1)
        });
        for i in 0..50u32 {
            let key = format!("key{:05}\x01\0\0\0\0\0\0\0", i * i);
            block.add(key.as_bytes(), format!("value{i}").as_bytes());
        }
        let estimate = block.size_estimate();
        let contents = block.finish().unwrap().contents;
        assert_eq!(contents.len(), estimate);
        let block = Block::parse(&contents).unwrap();
        assert_eq!(block.restart_count(), 50usize.div_ceil(restart_interval));
        assert_eq!(block.has_separated_values(), separated);
        assert_eq!(block.hash_index().is_some(), hash_index.is_some());
        let mut entries = block.entries();
        for i in 0..50u32 {
            assert!(entries.advance().unwrap());
            assert!(entries.key().starts_with(format!("key{:05}", i * i).as_bytes()));
            assert_eq!(entries.value(), format!("value{i}").as_bytes());
        }
        assert!(!entries.advance().unwrap());
    }
}

#[test]
fn a_hash_index_that_overflows_is_gone_for_good() {
    let format = BlockFormat { hash_index: Some(0.75), ..BlockFormat::plain(1) };
    for (intervals, has_index) in [(254, true), (255, false)] {
        let mut block = builder(format);
        for i in 0..intervals {
            block.add(format!("key{i:05}\x01\0\0\0\0\0\0\0").as_bytes(), b"");
        }
        block.seal().unwrap();
        assert_eq!(Block::parse(block.contents()).unwrap().hash_index().is_some(), has_index);
        block.clear();
        block.add(b"key\x01\0\0\0\0\0\0\0", b"");
        let next = block.finish().unwrap().contents;
        assert_eq!(Block::parse(&next).unwrap().hash_index().is_some(), has_index);
    }
}

proptest! {
    #[test]
    fn internal_keys_are_stored_as_their_encoding(
        mut keys in prop::collection::vec("[ab]{0,3}[a-c]{0,12}", 0..60),
        interval in 1usize..5,
        values in prop::collection::vec(0usize..140, 60),
        sequences in prop::collection::vec(0u64..300, 60),
    ) {
        keys.sort();
        let mut whole = builder(BlockFormat::plain(interval));
        let mut parts = builder(BlockFormat::plain(interval));
        for ((key, &length), &sequence) in keys.iter().zip(&values).zip(&sequences) {
            let key = InternalKey { user_key: key.as_bytes(), sequence, kind: EntryKind::Value };
            let mut encoded = Vec::new();
            key.encode_to(&mut encoded);
            let value = vec![sequence as u8; length];
            whole.add(&encoded, &value);
            parts.add_internal(&key, &value);
            prop_assert_eq!(parts.last_key(), &encoded[..]);
        }
        prop_assert_eq!(parts.finish().unwrap().contents, whole.finish().unwrap().contents);
    }
}
