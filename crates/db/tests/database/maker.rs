//! Small databases, made byte by byte: logs, edits, batches; tables by way of the writer.

use std::path::{Path, PathBuf};

use sstkit_coding::fixed::{put_fixed16, put_fixed32, put_fixed64};
use sstkit_coding::varint::{put_length_prefixed_slice, put_varint32, put_varint64};
use sstkit_table::raw::{EntryKind, InternalKey, MAX_SEQUENCE_NUMBER};
use sstkit_table::{TableOptions, TableWriter};
use tempfile::TempDir;

/// An entry of a table: key, sequence number, kind, value (of a range deletion, its end).
pub(crate) type Item<'a> = (&'a [u8], u64, EntryKind, &'a [u8]);

/// Builds a database directory.
pub(crate) struct Maker {
    folder: TempDir,
    edits: Vec<Vec<u8>>,
    options: TableOptions,
    last_sequence: u64,
}

/// The numbers that the MANIFEST and the options file of these databases have.
pub(crate) const MANIFEST: u64 = 1;

impl Maker {
    /// A RocksDB database whose logs count from number 1 on.
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().unwrap();
        std::fs::write(folder.path().join("IDENTITY"), "made by a test").unwrap();
        let mut first = Edit::default();
        first.text(1, b"leveldb.BytewiseComparator").numbers(&[2, 1]).numbers(&[3, 1000]);
        first.numbers(&[4, 0]);
        let options = TableOptions::rocksdb().external_file(false);
        Self { folder, edits: vec![first.0], options, last_sequence: 0 }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// How tables are written from here on.
    pub(crate) fn table_options(&mut self, options: TableOptions) {
        self.options = options.external_file(false);
    }

    /// Another order of the keys than bytewise.
    pub(crate) fn comparator(&mut self, name: &[u8]) {
        let mut first = Edit::default();
        first.text(1, name).numbers(&[2, 1]).numbers(&[3, 1000]).numbers(&[4, 0]);
        self.edits[0] = first.0;
    }

    /// Adds an edit to the MANIFEST.
    pub(crate) fn edit(&mut self, edit: &Edit) {
        self.edits.push(edit.0.clone());
    }

    /// Where the table with this number is.
    pub(crate) fn table_path(&self, number: u64) -> PathBuf {
        self.path().join(format!("{number:06}.sst"))
    }

    /// Writes a table of these entries, and says how large it is.
    pub(crate) fn write_table(&self, number: u64, items: &[Item<'_>]) -> u64 {
        let mut writer = TableWriter::create(self.table_path(number), &self.options).unwrap();
        for &(user_key, sequence, kind, value) in items {
            writer.add(&InternalKey { user_key, sequence, kind }, value).unwrap();
        }
        writer.finish().unwrap();
        std::fs::metadata(self.table_path(number)).unwrap().len()
    }

    /// Adds a table whose bounds are those of its entries, range deletions up to their ends.
    pub(crate) fn table(&mut self, level: u32, number: u64, items: &[Item<'_>]) {
        let starts = items.iter().map(|&(key, sequence, kind, _)| internal(key, sequence, kind));
        let points = items.iter().filter(|item| item.2 != EntryKind::RangeDeletion);
        let ends = items.iter().filter(|item| item.2 == EntryKind::RangeDeletion);
        let ends = ends.map(|item| sentinel(item.3));
        let lasts = points.map(|&(key, sequence, kind, _)| internal(key, sequence, kind));
        let smallest = starts.min_by(|a, b| order(a).cmp(&order(b))).unwrap();
        let largest = lasts.chain(ends).max_by(|a, b| order(a).cmp(&order(b))).unwrap();
        self.bounded_table(level, number, &smallest, &largest, items);
    }

    /// Adds a table with these bounds.
    pub(crate) fn bounded_table(
        &mut self,
        level: u32,
        number: u64,
        smallest: &[u8],
        largest: &[u8],
        items: &[Item<'_>],
    ) {
        let size = self.write_table(number, items);
        let sequences = items.iter().map(|item| item.1);
        let (low, high) = (sequences.clone().min().unwrap(), sequences.max().unwrap());
        let mut edit = Edit::default();
        self.last_sequence = self.last_sequence.max(high);
        edit.new_file(level, number, size, smallest, largest, low, high);
        edit.numbers(&[4, self.last_sequence]);
        self.edit(&edit);
    }

    /// Writes a log of these batches.
    pub(crate) fn log(&self, number: u64, batches: &[Vec<u8>]) {
        std::fs::write(self.path().join(format!("{number:06}.log")), log(batches)).unwrap();
    }

    /// Writes MANIFEST and CURRENT.
    pub(crate) fn finish(&self) {
        self.write_manifest(MANIFEST);
    }

    /// Writes a MANIFEST with this number, and CURRENT.
    pub(crate) fn write_manifest(&self, number: u64) {
        let name = format!("MANIFEST-{number:06}");
        std::fs::write(self.path().join(&name), log(&self.edits)).unwrap();
        std::fs::write(self.path().join("CURRENT"), format!("{name}\n")).unwrap();
    }

    /// Writes the state as the MANIFEST with this number of a folder, and makes it the current one as
    /// the engines do.
    pub(crate) fn switch_manifest(&self, folder: &Path, number: u64) {
        let name = format!("MANIFEST-{number:06}");
        std::fs::write(folder.join(&name), log(&self.edits)).unwrap();
        std::fs::write(folder.join("000000.dbtmp"), format!("{name}\n")).unwrap();
        std::fs::rename(folder.join("000000.dbtmp"), folder.join("CURRENT")).unwrap();
    }
}

/// An encoded internal key.
pub(crate) fn internal(user_key: &[u8], sequence: u64, kind: EntryKind) -> Vec<u8> {
    let mut key = Vec::new();
    InternalKey { user_key, sequence, kind }.encode_to(&mut key);
    key
}

/// The bound of a file that a range deletion ends.
pub(crate) fn sentinel(user_key: &[u8]) -> Vec<u8> {
    internal(user_key, MAX_SEQUENCE_NUMBER, EntryKind::RangeDeletion)
}

fn order(key: &[u8]) -> (Vec<u8>, std::cmp::Reverse<u64>) {
    let key = InternalKey::decode_from(key).unwrap();
    (key.user_key.to_vec(), std::cmp::Reverse(key.sequence << 8 | key.kind as u64))
}

/// An edit of a MANIFEST.
#[derive(Default)]
pub(crate) struct Edit(pub(crate) Vec<u8>);

impl Edit {
    /// A tag and numbers.
    pub(crate) fn numbers(&mut self, numbers: &[u64]) -> &mut Self {
        numbers.iter().for_each(|&number| put_varint64(&mut self.0, number));
        self
    }

    /// A tag and bytes.
    pub(crate) fn text(&mut self, tag: u32, text: &[u8]) -> &mut Self {
        put_varint32(&mut self.0, tag);
        put_length_prefixed_slice(&mut self.0, text);
        self
    }

    /// A new file, with tag 100.
    #[expect(clippy::too_many_arguments, reason = "the fields of the tag")]
    pub(crate) fn new_file(
        &mut self,
        level: u32,
        number: u64,
        size: u64,
        smallest: &[u8],
        largest: &[u8],
        low: u64,
        high: u64,
    ) -> &mut Self {
        self.numbers(&[100, u64::from(level), number, size]);
        put_length_prefixed_slice(&mut self.0, smallest);
        put_length_prefixed_slice(&mut self.0, largest);
        self.numbers(&[low, high])
    }
}

/// A write batch.
pub(crate) struct Batch {
    records: Vec<u8>,
    count: u32,
}

impl Batch {
    pub(crate) fn new() -> Self {
        Self { records: Vec::new(), count: 0 }
    }

    /// A write of a column family, by the tag of the default one: key and value, or key alone.
    pub(crate) fn write(mut self, family: u32, tag: u8, slices: &[&[u8]]) -> Self {
        let of_family = match tag {
            0x00 => 0x04,
            0x01 => 0x05,
            0x02 => 0x06,
            0x07 => 0x08,
            0x0f => 0x0e,
            0x11 => 0x10,
            other => panic!("no writes with tag {other}"),
        };
        self.records.push(if family == 0 { tag } else { of_family });
        if family != 0 {
            put_varint32(&mut self.records, family);
        }
        slices.iter().for_each(|slice| put_length_prefixed_slice(&mut self.records, slice));
        self.count += 1;
        self
    }

    pub(crate) fn put(self, key: &[u8], value: &[u8]) -> Self {
        self.write(0, 0x01, &[key, value])
    }

    /// A mark of a transaction, with its id where it has one.
    pub(crate) fn mark(mut self, tag: u8, id: Option<&[u8]>) -> Self {
        self.records.push(tag);
        if let Some(id) = id {
            put_length_prefixed_slice(&mut self.records, id);
        }
        self
    }

    pub(crate) fn at(self, sequence: u64) -> Vec<u8> {
        let mut batch = Vec::new();
        put_fixed64(&mut batch, sequence);
        put_fixed32(&mut batch, self.count);
        batch.extend_from_slice(&self.records);
        batch
    }
}

/// A log of these records, each in one piece.
pub(crate) fn log(records: &[Vec<u8>]) -> Vec<u8> {
    const BLOCK: usize = 32768;
    const HEADER: usize = 7;
    const FULL: u8 = 1;
    let mut log = Vec::new();
    for record in records {
        assert!(record.len() + HEADER <= BLOCK, "such long records are not needed here");
        let left = BLOCK - log.len() % BLOCK;
        if left < record.len() + HEADER {
            log.resize(log.len() + left, 0);
        }
        put_fixed32(&mut log, masked_crc(&[&[FULL], &record[..]].concat()));
        put_fixed16(&mut log, record.len() as u16);
        log.push(FULL);
        log.extend_from_slice(record);
    }
    log
}

/// As it is stored.
pub(crate) fn masked_crc(bytes: &[u8]) -> u32 {
    crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}

/// Bit by bit, so that nothing of the crate is needed.
fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            (crc >> 1) ^ (0x82f6_3b78 & (crc & 1).wrapping_neg())
        })
    })
}
