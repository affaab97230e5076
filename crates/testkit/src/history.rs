//! Random writes to a column family: those of the past, as tables in levels have them, and those that
//! an engine does next. And what is visible of them.

use std::collections::BTreeMap;

use sstkit_db::{Compaction, CompactionOptions, DatabaseWriter};
use sstkit_table::raw::{EntryKind, InternalKey};
use sstkit_table::{Comparator, Table, TableOptions, TableWriter};

use crate::Random;

/// How many different keys there are: few, so that keys are written again and again.
pub const KEYS: u64 = 400;

/// The key of a number. Those that are not even are not written.
pub fn key(number: u64) -> Vec<u8> {
    format!("user{:04}/{:03}", number / 16, number % 16).into_bytes()
}

/// A key that may be written.
pub fn some_key(random: &mut Random) -> Vec<u8> {
    key(2 * random.below(KEYS))
}

/// A value that compresses by half.
pub fn some_value(random: &mut Random) -> Vec<u8> {
    let length = *random.pick(&[0, 5, 30, 200]);
    let half = random.bytes(length / 2);
    [half, vec![b'.'; length.div_ceil(2) as usize]].concat()
}

/// The bounds of a range of keys, in bytewise order.
pub fn some_range(random: &mut Random) -> (Vec<u8>, Vec<u8>) {
    let begin = random.below(2 * KEYS);
    (key(begin), key(begin + 1 + random.below(60)))
}

/// What is visible of a column family.
pub type Visible = BTreeMap<Vec<u8>, Vec<u8>>;

/// A column family of a new database.
#[derive(Clone, Debug)]
pub struct FamilyHistory {
    /// The name.
    pub name: String,
    /// The order of the keys: bytewise or reverse.
    pub comparator: Comparator,
    /// Whether there are operands, which are joined by commas: RocksDB's `StringAppendOperator`.
    pub merges: bool,
    /// Whether there are puts and deletes only, as in LevelDB.
    pub is_plain: bool,
    /// What is visible so far.
    pub visible: Visible,
}

/// One write.
struct Write {
    key: Vec<u8>,
    sequence: u64,
    kind: EntryKind,
    /// Of a range tombstone, its end.
    value: Vec<u8>,
}

impl FamilyHistory {
    /// The bounds of a random range of keys, in the order of the family.
    fn range(&self, random: &mut Random) -> (Vec<u8>, Vec<u8>) {
        let (begin, end) = some_range(random);
        match self.comparator {
            Comparator::ReverseBytewise => (end, begin),
            _ => (begin, end),
        }
    }

    fn delete_range(&mut self, begin: &[u8], end: &[u8]) {
        let order = &self.comparator;
        let is_in =
            |key: &[u8]| order.compare(begin, key).is_le() && order.compare(key, end).is_lt();
        self.visible.retain(|key, _| !is_in(key));
    }

    fn merge(&mut self, key: &[u8], operand: &[u8]) {
        match self.visible.get_mut(key) {
            Some(value) => {
                value.push(b',');
                value.extend_from_slice(operand);
            }
            None => drop(self.visible.insert(key.to_vec(), operand.to_vec())),
        }
    }

    /// A random write, which is done to what is visible.
    fn write(&mut self, random: &mut Random, sequence: u64) -> Write {
        let key = some_key(random);
        let value = some_value(random);
        let write = |key, kind, value| Write { key, sequence, kind, value };
        match random.below(20) {
            0 if !self.is_plain => {
                let (begin, end) = self.range(random);
                self.delete_range(&begin, &end);
                write(begin, EntryKind::RangeDeletion, end)
            }
            1..=4 => {
                self.visible.remove(&key);
                write(key, EntryKind::Deletion, Vec::new())
            }
            5..=8 if self.merges => {
                self.merge(&key, &value);
                write(key, EntryKind::Merge, value)
            }
            _ => {
                self.visible.insert(key.clone(), value.clone());
                write(key, EntryKind::Value, value)
            }
        }
    }

    /// Random writes as a table.
    fn table(&mut self, random: &mut Random, sequence: &mut u64, options: &TableOptions) -> Table {
        let mut writes: Vec<Write> = (0..1 + random.below(600))
            .map(|_| {
                *sequence += 1;
                self.write(random, *sequence)
            })
            .collect();
        writes.sort_by(|a, b| {
            let ranges_last = |it: &Write| it.kind == EntryKind::RangeDeletion;
            let keys = self.comparator.compare(&a.key, &b.key);
            ranges_last(a).cmp(&ranges_last(b)).then(keys).then(b.sequence.cmp(&a.sequence))
        });
        let mut bytes = Vec::new();
        let options = options.clone().external_file(false).comparator(self.comparator.clone());
        let mut writer = TableWriter::to_sink(&mut bytes, &options).unwrap();
        for Write { key, sequence, kind, value } in &writes {
            let key = InternalKey { user_key: key, sequence: *sequence, kind: *kind };
            writer.add(&key, value).unwrap();
        }
        writer.finish().unwrap();
        Table::from_bytes(bytes).unwrap()
    }

    /// Fills random levels of a new database, from the last one up.
    ///
    /// # Panics
    ///
    /// If that fails.
    pub fn fill(
        &mut self,
        random: &mut Random,
        sequence: &mut u64,
        (writer, id): (&mut DatabaseWriter, u32),
        options: &TableOptions,
    ) {
        for level in (1..=6).rev() {
            if random.below(2) == 0 {
                continue;
            }
            // Cut into files that do not overlap, with everything in them.
            let table = self.table(random, sequence, options);
            let all = CompactionOptions::new(options.clone())
                .keep_versions(true)
                .max_file_size(Some(1 + random.below(20_000)));
            let mut compaction = Compaction::new(&all);
            compaction.add_table(&table).unwrap();
            compaction.run_into(writer, id, level).unwrap();
        }
        for _ in 0..random.below(4) {
            let table = self.table(random, sequence, options);
            let all = CompactionOptions::new(options.clone()).keep_versions(true);
            let mut compaction = Compaction::new(&all);
            compaction.add_table(&table).unwrap();
            compaction.run_into(writer, id, 0).unwrap();
        }
    }
}

/// What an engine does next.
#[derive(Clone, Debug)]
pub enum Step {
    /// Sets a key to a value.
    Put(Vec<u8>, Vec<u8>),
    /// Deletes a key.
    Delete(Vec<u8>),
    /// Deletes the keys from the first one up to the second.
    DeleteRange(Vec<u8>, Vec<u8>),
    /// Flushes the memtable.
    Flush,
    /// Compacts everything.
    Compact,
    /// Closes the database and opens it again.
    Reopen,
}

/// Random steps, each of one of the column families; what is visible of these is changed, too. At the
/// end all are flushed and compacted.
pub fn steps(
    random: &mut Random,
    families: &mut [FamilyHistory],
    count: u64,
) -> Vec<(usize, Step)> {
    let mut steps = Vec::new();
    for _ in 0..count {
        let number = random.index(families.len());
        let family = &mut families[number];
        let (key, value) = (some_key(random), some_value(random));
        let step = match random.below(200) {
            0..=2 => Step::Flush,
            3 => Step::Compact,
            4 => Step::Reopen,
            5..=9 => {
                let (begin, end) = family.range(random);
                family.delete_range(&begin, &end);
                Step::DeleteRange(begin, end)
            }
            10..=49 => {
                family.visible.remove(&key);
                Step::Delete(key)
            }
            _ => {
                family.visible.insert(key.clone(), value.clone());
                Step::Put(key, value)
            }
        };
        steps.push((number, step));
    }
    for number in 0..families.len() {
        steps.extend([(number, Step::Flush), (number, Step::Compact)]);
    }
    steps
}
