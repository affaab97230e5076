//! Random writes of the past, as tables in levels have them, and what is visible of them.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sstkit_db::{Compaction, CompactionOptions, DatabaseWriter};
use sstkit_table::raw::{EntryKind, InternalKey};
use sstkit_table::{Comparator, Table, TableOptions, TableWriter};
use sstkit_testkit::Random;
use sstkit_testkit::engines::unhex;

use crate::life::{self, hex};

/// What is visible of a column family.
pub(crate) type Visible = BTreeMap<Vec<u8>, Vec<u8>>;

/// A column family of a new database.
#[derive(Clone, Debug)]
pub(crate) struct Family {
    pub(crate) name: String,
    pub(crate) comparator: Comparator,
    /// Operands are joined by commas: RocksDB's `StringAppendOperator`.
    pub(crate) merges: bool,
    /// LevelDB has puts and deletes only.
    pub(crate) is_plain: bool,
    pub(crate) visible: Visible,
}

/// One write.
struct Write {
    key: Vec<u8>,
    sequence: u64,
    kind: EntryKind,
    /// Of a range tombstone, its end.
    value: Vec<u8>,
}

impl Family {
    /// The bounds of a random range of keys, in the order of the family.
    fn range(&self, random: &mut Random) -> (Vec<u8>, Vec<u8>) {
        let (begin, end) = life::some_range(random);
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
        let key = life::some_key(random);
        let value = life::some_value(random);
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
    pub(crate) fn fill(
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

/// Random steps for RocksDB to do next, which are done to what is visible, too.
pub(crate) fn rocksdb_steps(
    random: &mut Random,
    families: &mut [Family],
    count: u64,
) -> Vec<Value> {
    let mut steps = Vec::new();
    for _ in 0..count {
        let number = random.index(families.len());
        let family = &mut families[number];
        let (key, value) = (life::some_key(random), life::some_value(random));
        steps.push(match random.below(200) {
            0..=2 => json!(["flush", family.name]),
            3 => json!(["compact", family.name]),
            4 => json!(["reopen"]),
            5..=9 => {
                let (begin, end) = family.range(random);
                family.delete_range(&begin, &end);
                json!(["delete_range", family.name, hex(begin), hex(end)])
            }
            10..=49 => {
                family.visible.remove(&key);
                json!(["delete", family.name, hex(key)])
            }
            _ => {
                let step = json!(["put", family.name, hex(&key), hex(&value)]);
                family.visible.insert(key, value);
                step
            }
        });
    }
    for family in families.iter() {
        steps.push(json!(["flush", family.name]));
        steps.push(json!(["compact", family.name]));
    }
    steps
}

/// The same for LevelDB.
pub(crate) fn leveldb_steps(random: &mut Random, visible: &mut Visible, count: u64) -> Vec<Value> {
    let mut steps = life::leveldb_steps(random, count);
    steps.push(json!(["compact"]));
    for step in &steps {
        let mut change = |key: &Value, value: &Value| match value {
            Value::Null => drop(visible.remove(&unhex(key))),
            value => drop(visible.insert(unhex(key), unhex(value))),
        };
        match step[0].as_str() {
            Some("put") => change(&step[1], &step[2]),
            Some("delete") => change(&step[1], &Value::Null),
            Some("write") => {
                step[1].as_array().unwrap().iter().for_each(|it| change(&it[0], &it[1]));
            }
            _ => {}
        }
    }
    steps
}
