//! MANIFESTs that never come to an end.

use sstkit_coding::checksum::mask_crc;
use sstkit_coding::varint::{put_length_prefixed_slice, put_varint32, put_varint64};
use sstkit_db::Error;
use sstkit_db::raw::ManifestState;
use sstkit_table::raw::Engine;

use crate::Case;
use crate::memory::MIB;

const BLOCK: usize = 32 << 10;

/// A MANIFEST of edits, each in one physical record.
pub(crate) fn manifest(edits: impl IntoIterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut log = Vec::new();
    for edit in edits {
        let room = BLOCK - log.len() % BLOCK;
        if room < 7 + edit.len() {
            // A record of the rest of the block that is passed over: bit 7 of its type.
            let end = log.len() + room;
            if room >= 7 {
                physical(&mut log, 0x80 | 0x40, &vec![0; room - 7]);
            }
            log.resize(end, 0);
        }
        physical(&mut log, 1, &edit);
    }
    log
}

fn physical(log: &mut Vec<u8>, kind: u8, payload: &[u8]) {
    let start = log.len();
    log.extend_from_slice(&[0; 4]);
    log.extend_from_slice(&(payload.len() as u16).to_le_bytes());
    log.push(kind);
    log.extend_from_slice(payload);
    let sum = mask_crc(crc32c::crc32c(&log[start + 6..])).to_le_bytes();
    log[start..start + 4].copy_from_slice(&sum);
}

/// What every MANIFEST must say: log number, next file, last sequence number.
pub(crate) fn scalars() -> Vec<u8> {
    vec![2, 1, 3, 9, 4, 7]
}

/// An edit of tag and numbers.
pub(crate) fn numbers(numbers: &[u64]) -> Vec<u8> {
    let mut edit = Vec::new();
    numbers.iter().for_each(|&number| put_varint64(&mut edit, number));
    edit
}

fn replay(edits: impl IntoIterator<Item = Vec<u8>>) -> Result<ManifestState, Error> {
    ManifestState::replay(&manifest(edits)[..], Engine::RocksDb)
}

/// A new table (tag 7) in a level.
fn new_file(level: u64, number: u64) -> Vec<u8> {
    let mut edit = numbers(&[7, level, number, 1]);
    put_length_prefixed_slice(&mut edit, b"a\x01\x01\0\0\0\0\0\0");
    put_length_prefixed_slice(&mut edit, b"b\x01\x01\0\0\0\0\0\0");
    edit
}

pub(crate) fn cases() -> Vec<Case> {
    vec![
        Case::of("a million edits that say nothing new", 32 * MIB, || {
            let edits = std::iter::repeat_with(scalars).take(1_000_000);
            assert_eq!(replay(edits).expect("a MANIFEST").edits, 1_000_000);
        }),
        // What is kept of a group is no more than the file has of it.
        Case::of("an atomic group that never ends", 64 * MIB, || {
            let group = (0..500_000u64).map(|i| numbers(&[300, u64::from(u32::MAX) - i]));
            let state = replay([scalars()].into_iter().chain(group)).expect("a MANIFEST");
            assert_eq!(state.edits, 1);
        }),
        Case::small("an atomic group that counts wrongly", || {
            let group = [numbers(&[300, 5]), numbers(&[300, 5])];
            let error = replay([scalars()].into_iter().chain(group)).unwrap_err();
            assert!(error.to_string().contains("atomic group"), "{error}");
        }),
        Case::small("tables in a thousand levels, and one in level 2^32 - 1", || {
            let files = |levels| (0..levels).map(|i| new_file(i, 10 + i));
            let state = replay([scalars()].into_iter().chain(files(1000))).expect("a MANIFEST");
            assert_eq!(state.column_families[&0].files().count(), 1000);
            let deep = files(1000).chain([new_file(u64::from(u32::MAX), 9)]);
            let error = replay([scalars()].into_iter().chain(deep)).unwrap_err();
            assert!(error.to_string().contains("level is out of range"), "{error}");
        }),
        Case::of("100000 logs, and 100000 times the deletion of none of them", 64 * MIB, || {
            let logs = (0..100_000).map(|i| numbers(&[8199, 4, (1 << 14) + i, 1]));
            let deletions = std::iter::repeat_with(|| numbers(&[8200, 1, 5])).take(100_000);
            let state = replay([scalars()].into_iter().chain(logs).chain(deletions));
            assert_eq!(state.expect("a MANIFEST").wals.len(), 100_000);
        }),
        Case::small("names of 4 GiB", || {
            for tag in [1, 201, 8193, 8198, 8199, 8200, 8201, 9000] {
                let mut edit = numbers(&[tag]);
                put_varint32(&mut edit, u32::MAX);
                let error = replay([scalars(), edit]).unwrap_err();
                assert_eq!(error.kind(), sstkit_db::ErrorKind::Corrupt, "{error}");
            }
        }),
        Case::small("a family that is added, dropped and added again", || {
            let family = |i: u64| {
                let mut add = numbers(&[200, 1 + i, 201]);
                put_length_prefixed_slice(&mut add, b"name");
                [add, numbers(&[200, 1 + i, 202])]
            };
            let edits = [scalars()].into_iter().chain((0..50_000).flat_map(family));
            let state = replay(edits).expect("a MANIFEST");
            assert_eq!(state.column_families.len(), 1);
        }),
        Case::small("numbers at their limits", || {
            for tag in [2, 3, 4, 9, 10] {
                let _ = replay([scalars(), numbers(&[tag, u64::MAX])]);
            }
            let _ = replay([scalars(), new_file(0, u64::MAX)]);
            let error = replay([scalars(), vec![3, 0xff, 0xff]]).unwrap_err();
            assert_eq!(error.kind(), sstkit_db::ErrorKind::Corrupt, "{error}");
        }),
    ]
}
