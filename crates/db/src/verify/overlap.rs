//! Whether the files of a level below 0 overlap, according to the MANIFEST.

use std::cmp::Ordering;

use sstkit_coding::fixed::decode_fixed64;
use sstkit_table::Comparator;
use sstkit_table::raw::InternalKey;

use super::report::{FileVerification, VerifyProblem};
use crate::column_family_data::ColumnFamilyData;
use crate::version::Run;

/// The key ranges of neighbours may share at most a user key.
pub(super) fn check_overlap(family: &ColumnFamilyData, run: &Run, report: &mut FileVerification) {
    let order = family.keys.comparator();
    for pair in run.files.windows(2) {
        let (before, after) = (&pair[0].meta, &pair[1].meta);
        if compare(order, &before.largest, &after.smallest) != Ordering::Less {
            report.add(VerifyProblem::damage(format!(
                "tables {} and {} overlap in level {} of column family {:?}",
                before.number, after.number, run.level, family.name
            )));
        }
    }
}

/// Compares internal keys; those that are too short, by their bytes.
fn compare(order: &Comparator, a: &[u8], b: &[u8]) -> Ordering {
    const TAIL: usize = InternalKey::TAIL_LENGTH;
    match (a.split_last_chunk::<TAIL>(), b.split_last_chunk::<TAIL>()) {
        (Some((user_a, tail_a)), Some((user_b, tail_b))) => order
            .compare(user_a, user_b)
            .then_with(|| decode_fixed64(*tail_b).cmp(&decode_fixed64(*tail_a))),
        _ => a.cmp(b),
    }
}

#[cfg(test)]
mod tests {
    use sstkit_table::raw::EntryKind;

    use super::*;

    fn internal(user_key: &[u8], sequence: u64) -> Vec<u8> {
        let mut key = Vec::new();
        InternalKey { user_key, sequence, kind: EntryKind::Value }.encode_to(&mut key);
        key
    }

    #[test]
    fn internal_keys_are_in_order() {
        let order = Comparator::Bytewise;
        for (a, b, expected) in [
            (internal(b"a", 1), internal(b"b", 9), Ordering::Less),
            (internal(b"a", 9), internal(b"a", 1), Ordering::Less),
            (internal(b"a", 1), internal(b"a", 1), Ordering::Equal),
            (internal(b"ab", 1), internal(b"a", 1), Ordering::Greater),
            (b"x".to_vec(), b"y".to_vec(), Ordering::Less),
        ] {
            assert_eq!(compare(&order, &a, &b), expected);
        }
    }
}
