//! Samples the keys of a table, distributed like its entries.

use sstkit_table::Result;

use crate::inspected_table::InspectedTable;

/// The approximate number of sampled keys, in total and per file.
const KEYS: usize = 1 << 16;
const KEYS_OF_FILE: std::ops::RangeInclusive<usize> = 32..=4096;
/// Bytes per key: in a forged table a few bytes can expand to a long key.
const BYTES_OF_KEY: usize = 128;
/// The approximate number of bytes to read, in total and per table. For larger tables the
/// separators of the index are used, one per data block.
const READ: u64 = 64 << 20;
const READ_OF_FILE: u64 = 1 << 20;
/// The maximum number of entries to read: only forged tables have more in as few bytes.
const MAX_ENTRIES: u64 = 1 << 20;

/// Keeps every n-th key of a sequence; doubles n when there are too many.
pub(super) struct Sampling {
    pub(super) keys: Vec<Vec<u8>>,
    bytes: usize,
    every: u64,
    offered: u64,
    most_keys: usize,
    most_bytes: usize,
}

impl Sampling {
    pub(super) fn new(most_keys: usize, most_bytes: usize) -> Self {
        Self { keys: Vec::new(), bytes: 0, every: 1, offered: 0, most_keys, most_bytes }
    }

    /// Adds the next key of the sequence.
    pub(super) fn offer(&mut self, key: &[u8]) {
        if self.offered.is_multiple_of(self.every) && key.len() <= self.most_bytes {
            self.bytes += key.len();
            self.keys.push(key.to_vec());
        }
        self.offered += 1;
        while self.keys.len() > self.most_keys || self.bytes > self.most_bytes {
            let mut keep = false;
            self.keys.retain(|_| {
                keep = !keep;
                keep
            });
            self.bytes = self.keys.iter().map(Vec::len).sum();
            self.every *= 2;
        }
    }
}

/// The cost limit for sampling one file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SampleBudget {
    keys: usize,
    /// The maximum size of a table that is read.
    read: u64,
}

impl SampleBudget {
    /// The limit for one of this number of files.
    pub(super) fn of_one_in(files: usize) -> Self {
        let files = files.max(1);
        Self {
            keys: (KEYS / files).clamp(*KEYS_OF_FILE.start(), *KEYS_OF_FILE.end()),
            read: (READ / files as u64).min(READ_OF_FILE),
        }
    }
}

/// Keys of a table, without timestamps, as a sample of where its entries are. They need not be in
/// it. Ignores unreadable parts, which are reported elsewhere.
pub(super) fn sample(file: &InspectedTable, budget: SampleBudget) -> Vec<Vec<u8>> {
    let mut sampling = Sampling::new(budget.keys, budget.keys * BYTES_OF_KEY);
    let _ = match file.table().size() <= budget.read {
        true => offer_entries(file, &mut sampling),
        false => offer_separators(file, &mut sampling),
    };
    sampling.keys
}

fn offer_entries(file: &InspectedTable, sampling: &mut Sampling) -> Result<()> {
    let mut entries = file.table().entry_cursor();
    let mut more = entries.seek_to_first()?;
    while more && sampling.offered < MAX_ENTRIES {
        sampling.offer(file.bare(entries.user_key()));
        more = entries.next()?;
    }
    Ok(())
}

fn offer_separators(file: &InspectedTable, sampling: &mut Sampling) -> Result<()> {
    let mut index = file.index()?;
    while index.advance()? {
        sampling.offer(file.separator(index.key()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_spread_and_bounded() {
        let (most, bytes) = (128, 16 << 10);
        for (keys, length) in [(1, 4), (100, 4), (128, 4), (129, 4), (10_000, 4), (1000, 500)] {
            let mut sampling = Sampling::new(most, bytes);
            for key in 0..keys {
                sampling.offer(format!("{key:0length$}").as_bytes());
            }
            let found: Vec<usize> = sampling
                .keys
                .iter()
                .map(|key| std::str::from_utf8(key).unwrap().parse().unwrap())
                .collect();
            let step = sampling.every as usize;
            assert!(found.iter().copied().eq((0..keys).step_by(step)), "{keys}: {found:?}");
            assert!(found.len() <= most && found.len() * length <= bytes, "{keys}: {found:?}");
            assert!(found.len() >= keys.min(16), "{keys}: {found:?}");
        }
        let mut sampling = Sampling::new(most, bytes);
        sampling.offer(&[0; (16 << 10) + 1]);
        assert!(sampling.keys.is_empty());
    }

    #[test]
    fn many_files_have_few_keys_each() {
        for files in [0, 1, 3, 100, 5000, 1_000_000] {
            let SampleBudget { keys, read } = SampleBudget::of_one_in(files);
            assert!(KEYS_OF_FILE.contains(&keys) && keys * files <= KEYS.max(32 * files));
            assert!(read <= READ_OF_FILE && read * files as u64 <= READ, "{files}");
        }
    }
}
