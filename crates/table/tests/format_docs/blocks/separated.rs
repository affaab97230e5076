//! A data block whose values follow its keys.

use sstkit_table::raw::{Block, BlockKind};

use crate::annotated::Dump;
use crate::block_dump::{Keys, Tail, dump_key, dump_packed, dump_restarts};
use crate::golden::{data_block, with_table};

/// Entries shown: some at each side of the second restart point.
fn is_shown(entry: usize) -> bool {
    matches!(entry, 0 | 1 | 15..=17)
}

pub(super) fn separated() -> String {
    with_table("sepkv-fv7.sst", |table| {
        let block = table.block(BlockKind::Data, data_block(table, 0)).expect("a block");
        let tail = Tail::of(&block);
        let raw = Block::parse(&block[..]).expect("a block");
        let mut entries = raw.entries();
        let values_start = tail.values_start.expect("separated values");
        let mut dump = Dump::new(&block);
        let mut key = Vec::new();
        let mut values: Vec<usize> = Vec::new();
        let mut restarts = (0..tail.restarts).map(|index| raw.restart(index)).peekable();
        while dump.position() < values_start {
            match is_shown(values.len()) {
                true => dump.show("more keys"),
                false => dump.hide(),
            }
            let so_far: usize = values.iter().sum();
            let [shared, non_shared, length] = match restarts.next_if_eq(&dump.position()) {
                Some(_) => {
                    let [shared, non_shared, length, at] = dump.varints(|[a, b, c, at]| {
                        format!("shared {a}, non-shared {b}, value {c} at {at} of the section")
                    });
                    assert_eq!(at, so_far as u64);
                    [shared, non_shared, length]
                }
                None => dump.varints(|[a, b, c]| format!("shared {a}, non-shared {b}, value {c}")),
            };
            dump_key(&mut dump, &mut key, shared, non_shared, Keys::Internal);
            assert!(entries.advance().expect("an entry"));
            assert_eq!(entries.key(), key);
            let start = values_start + so_far;
            assert_eq!(entries.value_range(), start..start + length as usize);
            values.push(length as usize);
        }
        assert!(!entries.advance().expect("the end"));
        dump.show("more keys");
        dump.note("values section");
        for (number, length) in values.into_iter().enumerate() {
            match number {
                0 | 1 | 16 => dump.show("more values"),
                _ => dump.hide(),
            }
            dump.short(length, format!("value {number}, {length} bytes"));
        }
        dump.show("more values");
        assert_eq!(dump.position(), tail.before);
        dump_restarts(&mut dump, tail.restarts);
        dump.fixed32(|start| format!("the values section starts at {start:#x}"));
        dump_packed(&mut dump);
        dump.finish()
    })
}
