//! Index blocks, byte by byte.

use sstkit_table::raw::{Block, BlockHandle, IndexEntries, IndexFormat, IndexKind};

use crate::annotated::Dump;
use crate::block_dump::{Keys, Tail, dump_key, dump_packed, dump_restarts};
use crate::wording::handle_text;

/// An index block from here on; `shown` says which entries are.
pub(crate) fn dump_index(
    dump: &mut Dump<'_>,
    block: &[u8],
    format: IndexFormat,
    shown: impl Fn(usize) -> bool,
) {
    const HIDDEN: &str = "more entries";
    let start = dump.position();
    let tail = Tail::of(block);
    let mut entries =
        IndexEntries::new(Block::parse(block).expect("a block"), format).expect("an index");
    let keys = if format.user_keys { Keys::User } else { Keys::Internal };
    let mut key = Vec::new();
    let mut last = BlockHandle::default();
    let mut number = 0;
    while dump.position() < start + tail.before {
        if shown(number) {
            dump.show(HIDDEN);
        } else {
            dump.hide();
        }
        let (shared, non_shared) = dump_header(dump, format);
        dump_key(dump, &mut key, shared, non_shared, keys);
        if format.delta_values && shared != 0 {
            dump.varsigned64(|difference| {
                last.offset += last.size + 5;
                last.size = last.size.checked_add_signed(difference).expect("a size");
                format!("size {difference:+}: {}", handle_text(last))
            });
        } else {
            dump.varints(|[offset, size]| {
                last = BlockHandle::new(offset, size);
                handle_text(last)
            });
        }
        assert!(entries.advance().expect("an entry"));
        if format.kind == IndexKind::BinarySearchWithFirstKey {
            let [length] = dump.varints(|[length]| format!("first key, {length} bytes"));
            let mut first_key = Vec::new();
            dump_key(dump, &mut first_key, 0, length, Keys::Internal);
            assert_eq!(entries.first_key(), Some(&first_key[..]));
        }
        assert_eq!((entries.key(), entries.handle()), (&key[..], last));
        number += 1;
    }
    assert!(!entries.advance().expect("the end"));
    dump.show(HIDDEN);
    dump_restarts(dump, tail.restarts);
    dump_packed(dump);
}

fn dump_header(dump: &mut Dump<'_>, format: IndexFormat) -> (u64, u64) {
    if format.delta_values {
        let [shared, non_shared] = dump
            .varints(|[shared, non_shared]| format!("shared {shared}, non-shared {non_shared}"));
        return (shared, non_shared);
    }
    let [shared, non_shared, _] = dump.varints(|[shared, non_shared, value]| {
        format!("shared {shared}, non-shared {non_shared}, value {value}")
    });
    (shared, non_shared)
}
