//! Makes tables byte by byte, for what the golden tables do not have: several versions of a key,
//! sequence numbers, unknown comparators.

use sstkit_coding::checksum::ChecksumType;
use sstkit_coding::fixed::put_fixed32;
use sstkit_coding::varint::put_varint32;
use sstkit_table::raw::{BlockHandle, EntryKind, InternalKey, property_names};

/// Key as stored and value.
pub(crate) type Stored = (Vec<u8>, Vec<u8>);

/// What goes into a table.
pub(crate) struct TableMaker {
    /// In order, by data block.
    pub(crate) blocks: Vec<Vec<Stored>>,
    pub(crate) range_deletions: Vec<Stored>,
    /// Between their restart points; 1 in all tables of the engines.
    pub(crate) range_deletion_interval: usize,
    /// At the start of the file.
    pub(crate) blobs: Vec<Vec<u8>>,
    pub(crate) properties: Vec<(&'static str, Vec<u8>)>,
    /// Entries between restart points of data blocks, and of the index.
    pub(crate) intervals: (usize, usize),
    pub(crate) index: Index,
}

/// What the index looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Index {
    /// One entry a block.
    Plain,
    /// Index entries that all lead to the first block.
    OneBlock(usize),
    /// Index partitions of one entry, all of which lead to the first block.
    PartitionsOfOneBlock(usize),
}

pub(crate) fn internal(user_key: &[u8], sequence: u64, kind: EntryKind) -> Vec<u8> {
    let mut key = Vec::new();
    InternalKey { user_key, sequence, kind }.encode_to(&mut key);
    key
}

impl TableMaker {
    pub(crate) fn new(blocks: Vec<Vec<Stored>>) -> Self {
        let properties = vec![
            (property_names::COMPARATOR, b"leveldb.BytewiseComparator".to_vec()),
            (property_names::INDEX_TYPE, vec![0; 4]),
        ];
        Self {
            blocks,
            range_deletions: Vec::new(),
            range_deletion_interval: 1,
            blobs: Vec::new(),
            properties,
            intervals: (3, 2),
            index: Index::Plain,
        }
    }

    pub(crate) fn comparator(mut self, name: &str) -> Self {
        self.properties[0].1 = name.as_bytes().to_vec();
        self
    }

    /// A RocksDB table of format version 5.
    pub(crate) fn rocksdb(mut self) -> Vec<u8> {
        let mut file = File { bytes: Vec::new(), checksum: ChecksumType::Xxh3 };
        let index = self.data_and_index(&mut file);
        let mut metaindex = Vec::new();
        if !self.range_deletions.is_empty() {
            let handle = file.block(&block(&self.range_deletions, self.range_deletion_interval));
            metaindex.push((b"rocksdb.range_del".to_vec(), encoded(handle)));
        }
        self.properties.sort();
        let properties: Vec<Stored> = self
            .properties
            .iter()
            .map(|(name, value)| (name.as_bytes().to_vec(), value.clone()))
            .collect();
        let handle = file.block(&block(&properties, usize::MAX));
        metaindex.insert(0, (b"rocksdb.properties".to_vec(), encoded(handle)));
        let metaindex = file.block(&block(&metaindex, 1));
        file.footer(Some(5), metaindex, index, 0x88e2_41b7_85f4_cff7)
    }

    /// A LevelDB table.
    pub(crate) fn leveldb(self) -> Vec<u8> {
        let mut file = File { bytes: Vec::new(), checksum: ChecksumType::Crc32c };
        let index = self.data_and_index(&mut file);
        let metaindex = file.block(&block(&[], 1));
        file.footer(None, metaindex, index, 0xdb47_7524_8b80_fb57)
    }

    fn data_and_index(&self, file: &mut File) -> BlockHandle {
        for blob in &self.blobs {
            file.block(blob);
        }
        let mut index = Vec::new();
        for entries in &self.blocks {
            let handle = file.block(&block(entries, self.intervals.0));
            let (last, _) = entries.last().expect("a block has entries");
            index.push((last.clone(), encoded(handle)));
        }
        let separator = |i: usize| internal(format!("{i:08}").as_bytes(), 1, EntryKind::Value);
        match self.index {
            Index::Plain => {}
            Index::OneBlock(count) => {
                let first = index[0].1.clone();
                index = (0..count).map(|i| (separator(i), first.clone())).collect();
            }
            Index::PartitionsOfOneBlock(count) => {
                let first = index[0].1.clone();
                let mut partition =
                    |i| encoded(file.block(&block(&[(separator(i), first.clone())], 1)));
                index = (0..count).map(|i| (separator(i), partition(i))).collect();
            }
        }
        file.block(&block(&index, self.intervals.1))
    }
}

fn encoded(handle: BlockHandle) -> Vec<u8> {
    let mut value = Vec::new();
    handle.encode_to(&mut value);
    value
}

fn block(entries: &[Stored], interval: usize) -> Vec<u8> {
    let (mut bytes, mut restarts) = (Vec::new(), Vec::new());
    let mut last: &[u8] = &[];
    for (i, (key, value)) in entries.iter().enumerate() {
        let shared = match i % interval {
            0 => {
                restarts.push(bytes.len() as u32);
                0
            }
            _ => key.iter().zip(last).take_while(|(a, b)| a == b).count(),
        };
        for length in [shared, key.len() - shared, value.len()] {
            put_varint32(&mut bytes, length as u32);
        }
        bytes.extend_from_slice(&key[shared..]);
        bytes.extend_from_slice(value);
        last = key;
    }
    if restarts.is_empty() {
        restarts.push(0);
    }
    restarts.iter().for_each(|&restart| put_fixed32(&mut bytes, restart));
    put_fixed32(&mut bytes, restarts.len() as u32);
    bytes
}

struct File {
    bytes: Vec<u8>,
    checksum: ChecksumType,
}

impl File {
    fn block(&mut self, contents: &[u8]) -> BlockHandle {
        let handle = BlockHandle::new(self.bytes.len() as u64, contents.len() as u64);
        self.bytes.extend_from_slice(contents);
        self.bytes.push(0);
        put_fixed32(&mut self.bytes, self.checksum.compute(contents, 0));
        handle
    }

    fn footer(
        mut self,
        version: Option<u32>,
        metaindex: BlockHandle,
        index: BlockHandle,
        magic: u64,
    ) -> Vec<u8> {
        let mut footer = Vec::new();
        if version.is_some() {
            footer.push(self.checksum as u8);
        }
        metaindex.encode_to(&mut footer);
        index.encode_to(&mut footer);
        footer.resize(if version.is_some() { 41 } else { 40 }, 0);
        version.iter().for_each(|&version| put_fixed32(&mut footer, version));
        footer.extend_from_slice(&magic.to_le_bytes());
        self.bytes.extend_from_slice(&footer);
        self.bytes
    }
}
