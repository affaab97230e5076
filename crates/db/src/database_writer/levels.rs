//! The order of the files in the levels of a column family, as the engines check it.

use std::cmp::Ordering;

use sstkit_coding::fixed::decode_fixed64;
use sstkit_table::Comparator;
use sstkit_table::raw::{Engine, InternalKey};

use crate::error::{Error, Result};
use crate::raw::FileMetaData;

/// The epoch number of the oldest files. RocksDB reserves 1 for files that are ingested behind all
/// others.
const FIRST_EPOCH: u64 = 2;

/// Compares two encoded internal keys: ascending by user key, the newest first. If timestamps are
/// not persisted, the keys have none.
pub(super) fn compare_internal(
    a: &[u8],
    b: &[u8],
    comparator: &Comparator,
    has_timestamps: bool,
) -> Ordering {
    let split = |key: &[u8]| -> (usize, u64) {
        match key.split_last_chunk::<{ InternalKey::TAIL_LENGTH }>() {
            Some((user_key, tail)) => (user_key.len(), decode_fixed64(*tail)),
            None => (key.len(), 0),
        }
    };
    let ((a_length, a_tail), (b_length, b_tail)) = (split(a), split(b));
    let (a, b) = (&a[..a_length], &b[..b_length]);
    let order = match has_timestamps {
        true => comparator.compare(a, b),
        false => comparator.compare_without_timestamp(a, b),
    };
    order.then(b_tail.cmp(&a_tail))
}

/// The number of levels that the files need.
pub(super) fn count(files: &[(u32, FileMetaData)]) -> u32 {
    files.iter().map(|(level, _)| level + 1).max().unwrap_or(0)
}

/// Sorts the files of each level, checks that those above level 0 do not overlap, and gives them
/// epoch numbers if any lacks one. Without a known order of the keys nothing is checked.
pub(super) fn arrange(
    files: &mut [(u32, FileMetaData)],
    comparator: Option<&Comparator>,
    engine: Engine,
) -> Result<()> {
    // Stable: the files of level 0 stay in the order in which they were added.
    files.sort_by_key(|(level, _)| *level);
    for level in files.chunk_by_mut(|(a, _), (b, _)| a == b) {
        match (level.first(), comparator) {
            (Some((1.., _)), Some(comparator)) => sort_level(level, comparator)?,
            (Some((0, _)), _) if engine == Engine::LevelDb => check_numbers(level)?,
            _ => {}
        }
    }
    if engine == Engine::RocksDb && files.iter().any(|(_, file)| file.epoch_number.is_none()) {
        number_epochs(files);
    }
    Ok(())
}

fn sort_level(level: &mut [(u32, FileMetaData)], comparator: &Comparator) -> Result<()> {
    let compare = |a: &[u8], b: &[u8], a_file: &FileMetaData| {
        compare_internal(a, b, comparator, a_file.timestamps_persisted)
    };
    level.sort_by(|(_, a), (_, b)| compare(&a.smallest, &b.smallest, a));
    for (_, file) in level.iter() {
        if compare(&file.smallest, &file.largest, file).is_gt() {
            return Err(Error::invalid_input(format!(
                "the smallest key of table {} is larger than its largest key",
                file.number
            )));
        }
    }
    for pair in level.windows(2) {
        let [(number, a), (_, b)] = pair else { continue };
        if compare(&a.largest, &b.smallest, a).is_ge() {
            return Err(Error::invalid_input(format!(
                "tables {} and {} of level {number} overlap",
                a.number, b.number
            )));
        }
    }
    Ok(())
}

/// LevelDB takes the file with the larger number for the newer one.
fn check_numbers(level: &[(u32, FileMetaData)]) -> Result<()> {
    match level.windows(2).find(|pair| pair[0].1.number >= pair[1].1.number) {
        None => Ok(()),
        Some(pair) => Err(Error::invalid_input(format!(
            "table {} of level 0 is newer than table {}, but has a smaller number",
            pair[1].1.number, pair[0].1.number
        ))),
    }
}

/// As RocksDB does for files without: one for each level, from the last one up, and one for each
/// file of level 0, from the oldest on.
fn number_epochs(files: &mut [(u32, FileMetaData)]) {
    let mut epoch = FIRST_EPOCH;
    let levels: Vec<_> = files.chunk_by_mut(|(a, _), (b, _)| a == b).collect();
    for level in levels.into_iter().rev() {
        let is_level_0 = level.first().is_some_and(|(level, _)| *level == 0);
        for (_, file) in level.iter_mut() {
            file.epoch_number = Some(epoch);
            epoch += u64::from(is_level_0);
        }
        epoch += u64::from(!is_level_0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(number: u64, smallest: &[u8], largest: &[u8]) -> FileMetaData {
        let key = |user_key: &[u8], sequence: u64| {
            let mut key = user_key.to_vec();
            key.extend((sequence << 8 | 1).to_le_bytes());
            key
        };
        FileMetaData::new(number, 100, key(smallest, 9), key(largest, 3))
    }

    fn arranged(mut files: Vec<(u32, FileMetaData)>, engine: Engine) -> Result<Vec<(u64, u64)>> {
        arrange(&mut files, Some(&Comparator::Bytewise), engine)?;
        Ok(files.iter().map(|(_, file)| (file.number, file.epoch_number.unwrap_or(0))).collect())
    }

    #[test]
    fn epochs_grow_from_the_last_level_up() {
        let files = vec![
            (6, file(1, b"m", b"p")),
            (0, file(2, b"a", b"z")),
            (6, file(3, b"a", b"c")),
            (2, file(4, b"a", b"z")),
            (0, file(5, b"b", b"y")),
        ];
        let expected = [(2, 4), (5, 5), (4, 3), (3, 2), (1, 2)];
        assert_eq!(arranged(files, Engine::RocksDb).unwrap(), expected);
    }

    #[test]
    fn overlaps_are_refused_above_level_0() {
        let files = |level| vec![(level, file(1, b"a", b"m")), (level, file(2, b"l", b"z"))];
        assert!(arranged(files(0), Engine::RocksDb).is_ok());
        let error = arranged(files(1), Engine::RocksDb).unwrap_err();
        assert!(error.to_string().contains("tables 1 and 2 of level 1 overlap"), "{error}");
        // Neighbours may share a user key, the newer entries first.
        let mut files = vec![(1, file(1, b"a", b"m")), (1, file(2, b"m", b"z"))];
        assert!(arranged(files.clone(), Engine::RocksDb).is_err());
        files[1].1.smallest[1] = 1;
        files[1].1.smallest[2] = 0;
        files[0].1.largest[2] = 3;
        assert!(arranged(files, Engine::RocksDb).is_ok());
    }

    #[test]
    fn level_0_of_leveldb_is_ordered_by_number() {
        let files = |a, b| vec![(0, file(a, b"a", b"m")), (0, file(b, b"l", b"z"))];
        assert!(arranged(files(1, 2), Engine::LevelDb).is_ok());
        assert!(arranged(files(2, 1), Engine::LevelDb).is_err());
    }
}
