//! A table before it is damaged: every block, and the entries of each data block.

use sstkit_table::raw::{BlobIndex, Block, BlockHandle, BlockKind, EntryKind, InternalKey};
use sstkit_table::{SalvageOptions, SalvageReport, Table, TableSalvage};

/// An entry: user key, sequence number, kind and value.
pub(crate) type Entry = (Vec<u8>, u64, EntryKind, Vec<u8>);

/// A table and its parts.
pub(crate) struct Whole {
    /// The file.
    pub bytes: Vec<u8>,
    /// All blocks but the footer, in file order.
    pub blocks: Vec<(BlockKind, BlockHandle)>,
    /// Where the footer is.
    pub footer: usize,
    /// The data blocks with their entries.
    pub data: Vec<(BlockHandle, Vec<Entry>)>,
    /// Range tombstones, with their ends as values.
    pub ranges: Vec<Entry>,
}

impl Whole {
    /// Takes a sound table apart.
    pub(crate) fn new(bytes: &[u8]) -> Self {
        let table = Table::from_bytes(bytes.to_vec()).unwrap();
        let view = table.view();
        let layout = table.layout().unwrap();
        let blocks = layout.blocks.iter().map(|block| (block.kind, block.handle)).collect();
        let mut data = Vec::new();
        let mut index = view.index().unwrap();
        while index.advance().unwrap() {
            let contents = view.block(BlockKind::Data, index.handle()).unwrap();
            let mut entries = Block::parse(contents).unwrap().into_entries();
            let mut of_block = Vec::new();
            while entries.advance().unwrap() {
                let mut value = entries.value().to_vec();
                let mut key = match table.has_internal_keys() {
                    true => InternalKey::decode_from(entries.key()).unwrap(),
                    false => {
                        InternalKey { user_key: entries.key(), sequence: 0, kind: EntryKind::Value }
                    }
                };
                if key.kind == EntryKind::BlobIndex
                    && let Ok(blob @ BlobIndex::Stored { file: 0, .. }) =
                        BlobIndex::decode_from(&value)
                {
                    value = view.embedded_blob(&blob).unwrap().to_vec();
                    key.kind = EntryKind::Value;
                }
                of_block.push((key.user_key.to_vec(), key.sequence, key.kind, value));
            }
            data.push((index.handle(), of_block));
        }
        let mut ranges = Vec::new();
        let mut deletions = view.range_deletions().unwrap();
        while deletions.advance().unwrap() {
            let key = deletions.begin().unwrap();
            let value = deletions.end().to_vec();
            ranges.push((key.user_key.to_vec(), key.sequence, key.kind, value));
        }
        let footer = usize::try_from(layout.footer_offset).unwrap();
        Self { bytes: bytes.to_vec(), blocks, footer, data, ranges }
    }

    /// The entries of the data blocks that pass a test.
    pub(crate) fn entries(&self, keep: impl Fn(BlockHandle) -> bool) -> Vec<Entry> {
        let kept = self.data.iter().filter(|(handle, _)| keep(*handle));
        kept.flat_map(|(_, entries)| entries.clone()).collect()
    }
}

/// What is left of a file: points, range tombstones, report.
pub(crate) fn salvage(bytes: &[u8]) -> (Vec<Entry>, Vec<Entry>, SalvageReport) {
    let salvage = TableSalvage::from_source(bytes.to_vec(), &SalvageOptions::default()).unwrap();
    let (mut points, mut ranges) = (Vec::new(), Vec::new());
    salvage
        .for_each(|key, value| {
            let entry = (key.user_key.to_vec(), key.sequence, key.kind, value.to_vec());
            match key.kind {
                EntryKind::RangeDeletion => ranges.push(entry),
                _ => points.push(entry),
            }
            Ok(())
        })
        .unwrap();
    assert_eq!(points.len() as u64, salvage.report().entries);
    assert_eq!(ranges.len() as u64, salvage.report().range_tombstones);
    (points, ranges, salvage.report().clone())
}
