//! Tables put together by hand, without checksums: format version 2 with checksum type 0.
//!
//! ```text
//! blocks, each with a trailer of five bytes
//! | 00 | metaindex handle, index handle, zeros up to 40 bytes | fixed32 version | magic |
//! ```

use sstkit_coding::varint::put_varint32;
use sstkit_table::raw::{BlockHandle, MetaIndex, Properties, property_names};
use sstkit_table::{Error, Table, TableReadOptions};

const MAGIC: u64 = 0x88e2_41b7_85f4_cff7;
const VERSION: u32 = 2;
const HANDLES: usize = 40;

/// Builds a table file.
#[derive(Default)]
pub(crate) struct Forged {
    pub(crate) bytes: Vec<u8>,
    pub(crate) metaindex: MetaIndex,
    pub(crate) properties: Properties,
}

impl Forged {
    /// Appends a block with its trailer.
    pub(crate) fn block(&mut self, contents: &[u8], codec: u8) -> BlockHandle {
        let handle = BlockHandle { offset: self.bytes.len() as u64, size: contents.len() as u64 };
        self.bytes.extend_from_slice(contents);
        self.bytes.push(codec);
        self.bytes.extend_from_slice(&[0; 4]);
        handle
    }

    /// The file with an index block of these contents.
    pub(crate) fn finish(mut self, index: &[u8]) -> Vec<u8> {
        let index = self.block(index, 0);
        self.finish_at(index)
    }

    /// The file with an index at this offset.
    pub(crate) fn finish_at(mut self, index: BlockHandle) -> Vec<u8> {
        if self.properties.get(property_names::INDEX_TYPE).is_none() {
            self.properties.insert(property_names::INDEX_TYPE, 0u32.to_le_bytes());
        }
        let properties = self.properties.encode().expect("properties");
        let properties = self.block(&properties, 0);
        self.metaindex.insert("rocksdb.properties", properties);
        let metaindex = self.metaindex.encode(1).expect("a metaindex");
        let metaindex = self.block(&metaindex, 0);
        self.footer(metaindex, index)
    }

    /// The file with these handles in its footer.
    pub(crate) fn footer(mut self, metaindex: BlockHandle, index: BlockHandle) -> Vec<u8> {
        let mut handles = Vec::new();
        metaindex.encode_to(&mut handles);
        index.encode_to(&mut handles);
        handles.resize(HANDLES, 0);
        self.bytes.push(0);
        self.bytes.extend_from_slice(&handles);
        self.bytes.extend_from_slice(&VERSION.to_le_bytes());
        self.bytes.extend_from_slice(&MAGIC.to_le_bytes());
        self.bytes
    }
}

/// A block of these entries, each with a restart point.
pub(crate) fn block_of(entries: &[(&[u8], &[u8])]) -> Vec<u8> {
    let (mut block, mut restarts) = (Vec::new(), Vec::new());
    for (key, value) in entries {
        restarts.push(block.len() as u32);
        put_varint32(&mut block, 0);
        put_varint32(&mut block, key.len() as u32);
        put_varint32(&mut block, value.len() as u32);
        block.extend_from_slice(key);
        block.extend_from_slice(value);
    }
    for restart in &restarts {
        block.extend_from_slice(&restart.to_le_bytes());
    }
    block.extend_from_slice(&(restarts.len() as u32).to_le_bytes());
    block
}

/// A user key as data blocks have it: sequence number 1, a value.
pub(crate) fn internal(key: &str) -> Vec<u8> {
    [key.as_bytes(), &0x101u64.to_le_bytes()].concat()
}

/// A handle as index blocks have it.
pub(crate) fn encoded(handle: BlockHandle) -> Vec<u8> {
    let mut bytes = Vec::new();
    handle.encode_to(&mut bytes);
    bytes
}

/// An index block of these separators and handles.
pub(crate) fn index_of(entries: &[(&str, BlockHandle)]) -> Vec<u8> {
    let entries: Vec<_> =
        entries.iter().map(|&(key, handle)| (internal(key), encoded(handle))).collect();
    let entries: Vec<_> = entries.iter().map(|(key, value)| (&key[..], &value[..])).collect();
    block_of(&entries)
}

/// A table with one data block of these contents.
pub(crate) fn with_data_block(contents: &[u8], codec: u8) -> Vec<u8> {
    let mut forged = Forged::default();
    let data = forged.block(contents, codec);
    forged.finish(&index_of(&[("k", data)]))
}

/// The first error that reading a whole table meets: opening, both scans, a lookup, all blocks.
pub(crate) fn first_error(bytes: Vec<u8>) -> Option<Error> {
    let options = TableReadOptions::default().max_block_size(8 << 20);
    let table = match Table::from_source(bytes::Bytes::from(bytes), &options) {
        Ok(table) => table,
        Err(error) => return Some(error),
    };
    let scan = table.iter().find_map(Result::err);
    let back = table.iter().rev().find_map(Result::err);
    let lookup = table.get(b"k").err();
    let _ = (table.explain(b"k"), table.layout());
    let verification = table.verify().into_result().err();
    scan.or(back).or(lookup).or(verification)
}
