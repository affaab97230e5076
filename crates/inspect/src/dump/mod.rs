//! The raw dump of a table, as RocksDB 11.9's `sst_dump --command=raw` writes it.
//!
//! ```text
//! Footer Details:              handles, magic number, format version
//! Block Checksum Type Legend:
//! Metaindex Details:           the meta blocks that the tool knows, with their trailers
//! Table Properties:            not in LevelDB's tables, which have none
//! Index Details:               separator -> handle of each data block
//! Compression Dictionary:      if there is one
//! Range deletions:             cut into fragments; if there are any
//! Data Block # 1 @ handle      each entry in hexadecimal and as it is
//! Data Block Summary:          if there are data blocks
//! ```
//!
//! The text is the tool's to the byte, oddities included: bytes are written as they are, each with a
//! space behind it; a zero byte as `\0` in data blocks but as itself in the index; checksums without
//! their context and without leading zeros. What RocksDB refuses to open (LevelDB's tables, format
//! versions 0 and 1, unknown comparators) is dumped by the same rules.
//!
//! Blocks are read one at a time; nothing but the range deletions is held as a whole.

mod properties;
mod range_deletions;
mod text;

use std::io::{BufWriter, Write};

use sstkit_table::raw::{BlockHandle, BlockKind, Engine, InternalKey, TableKind};

use self::range_deletions::Fragments;
use self::text::{put_entry, put_hex, put_spaced};
use crate::error::Result;
use crate::inspected_table::InspectedTable;

/// Under each heading.
const RULE: &str = "--------------------------------------";

/// Writes the raw dump of a table. Returns the number of data blocks that could not be read to
/// their end; the dump names them.
///
/// # Errors
///
/// Damage outside the data blocks ends the dump where it is found, as does a write error.
pub fn raw_dump(file: &InspectedTable, out: &mut dyn Write) -> Result<u64> {
    let mut dump = Dump {
        file,
        keys: KeyText::of(file),
        out: BufWriter::with_capacity(1 << 16, out),
        text: Vec::new(),
    };
    dump.footer()?;
    dump.metaindex()?;
    if file.table().engine() == Engine::RocksDb {
        properties::write(file.table().properties(), &mut dump.out)?;
    }
    dump.index()?;
    dump.dictionary()?;
    dump.range_deletions()?;
    let unreadable = dump.data_blocks()?;
    dump.out.flush()?;
    Ok(unreadable)
}

/// How the keys of a table are printed: without sequence number and type, and with a timestamp if
/// the comparator has one.
struct KeyText {
    /// Stored keys are internal keys.
    internal: bool,
    /// Bytes of timestamp that were stripped when the table was written. RocksDB's readers
    /// substitute the smallest one, zeros.
    cut_off: usize,
}

impl KeyText {
    fn of(file: &InspectedTable) -> Self {
        let table = file.table();
        let cut_off = match table.comparator() {
            Ok(comparator) if !table.properties().has_persisted_timestamps() => {
                comparator.timestamp_size()
            }
            _ => 0,
        };
        Self { internal: table.has_internal_keys(), cut_off }
    }

    fn put_user_key(&self, user_key: &[u8], key: &mut Vec<u8>) {
        key.extend_from_slice(user_key);
        key.resize(key.len() + self.cut_off, 0);
    }
}

struct Dump<'d, W: Write> {
    file: &'d InspectedTable,
    keys: KeyText,
    out: BufWriter<W>,
    /// The text of the current entry.
    text: Vec<u8>,
}

impl<W: Write> Dump<'_, W> {
    fn footer(&mut self) -> Result<()> {
        let footer = self.file.table().footer();
        writeln!(self.out, "Footer Details:\n{RULE}")?;
        for (name, handle) in [
            ("metaindex", footer.metaindex),
            // Since format version 6 there is none, and the tool prints zeros.
            ("index", footer.index.unwrap_or_default()),
        ] {
            write!(self.out, "  {name} handle: ")?;
            self.handle_in_hex(handle)?;
            writeln!(self.out, " offset: {} size: {}", handle.offset, handle.size)?;
        }
        let magic = u64::from_le_bytes(footer.kind.magic());
        writeln!(self.out, "  table_magic_number: {magic}")?;
        writeln!(self.out, "  format version: {}\n", footer.version)?;
        writeln!(self.out, "Block Checksum Type Legend:\n{RULE}")?;
        for (number, name) in
            ["kNoChecksum", "kCRC32c", "kxxHash", "kxxHash64", "kXXH3"].iter().enumerate()
        {
            writeln!(self.out, "  {number} = {name}")?;
        }
        let checksum = footer.checksum as u8;
        Ok(writeln!(self.out, "  (This file uses checksum type: {checksum})\n")?)
    }

    fn metaindex(&mut self) -> Result<()> {
        writeln!(self.out, "Metaindex Details:\n{RULE}")?;
        let handle = self.file.table().footer().metaindex;
        let mut entries = self.file.block(BlockKind::MetaIndex, handle)?.into_entries();
        self.trailer("Metaindex block", handle)?;
        while entries.advance()? {
            let mut value = entries.value();
            // Opening the table has decoded them all.
            let Some(handle) = BlockHandle::decode_from(&mut value) else { continue };
            let Some(name) = self.meta_block_name(entries.key()) else { continue };
            self.text.clear();
            put_hex(entries.value(), &mut self.text);
            write!(self.out, "  {name} handle: ")?;
            self.out.write_all(&self.text)?;
            writeln!(self.out)?;
            self.trailer(name, handle)?;
        }
        Ok(writeln!(self.out)?)
    }

    /// The tool's name for the block called `key`, if it knows it. It knows filters by their
    /// policy, which must be one of RocksDB's; it does not open LevelDB tables.
    fn meta_block_name(&self, key: &[u8]) -> Option<&'static str> {
        let contains = |part: &[u8]| key.windows(part.len()).any(|window| window == part);
        match BlockKind::of_metaindex_name(key) {
            BlockKind::Properties => Some("Properties block"),
            BlockKind::CompressionDictionary => Some("Compression dictionary block"),
            BlockKind::RangeDeletion => Some("Range deletion block"),
            BlockKind::Filter if self.file.table().footer().kind == TableKind::Legacy => {
                Some("Filter block")
            }
            _ if contains(b"filter.rocksdb.") => Some("Filter block"),
            _ => None,
        }
    }

    /// Writes the line about the trailer of a block.
    fn trailer(&mut self, name: &str, handle: BlockHandle) -> Result<()> {
        let footer = self.file.table().footer();
        let size = handle.size;
        match self.file.trailer(handle)? {
            Some(trailer) => {
                let checksum =
                    trailer.checksum.wrapping_sub(footer.context_modifier(handle.offset));
                writeln!(
                    self.out,
                    "  {name} checksum type: {}  checksum value: {checksum:#x}  offset: {}  \
                     size: {size}  compression type: {}",
                    footer.checksum as u8, handle.offset, trailer.codec
                )?;
            }
            None => {
                let expected = size.saturating_add(5);
                let read = self.file.table().size().saturating_sub(handle.offset).min(expected);
                writeln!(
                    self.out,
                    "  ERROR: Failed to read {name} checksum info - read {read} bytes, expected \
                     {expected}"
                )?;
            }
        }
        Ok(())
    }

    fn index(&mut self) -> Result<()> {
        writeln!(self.out, "Index Details:\n{RULE}")?;
        self.trailer("Index block", self.file.index_handle())?;
        writeln!(self.out, "  Block key hex dump: Data block handle\n  Block key ascii\n")?;
        let mut index = self.file.index()?;
        let (mut key, mut value) = (Vec::new(), Vec::new());
        while index.advance()? {
            key.clear();
            self.put_separator(index.key(), &mut key);
            value.clear();
            index.handle().encode_to(&mut value);
            if let Some(first_key) = index.first_key() {
                self.put_first_key(first_key, &mut value);
            }
            self.text.clear();
            self.text.extend_from_slice(b"  HEX    ");
            put_hex(&key, &mut self.text);
            self.text.extend_from_slice(b": ");
            put_hex(&value, &mut self.text);
            let BlockHandle { offset, size } = index.handle();
            writeln!(self.text, " offset {offset} size {size}")?;
            self.text.extend_from_slice(b"  ASCII  ");
            put_spaced(&key, b"\0", &mut self.text);
            self.text.extend_from_slice(b"\n  ------\n");
            self.out.write_all(&self.text)?;
        }
        Ok(writeln!(self.out)?)
    }

    /// Appends a key of the index without sequence number and type.
    fn put_separator(&self, stored: &[u8], key: &mut Vec<u8>) {
        let has_tail = self.keys.internal && !self.file.index_format().user_keys;
        let user_key = match stored.split_last_chunk::<{ InternalKey::TAIL_LENGTH }>() {
            Some((user_key, _)) if has_tail => user_key,
            _ => stored,
        };
        self.keys.put_user_key(user_key, key);
    }

    /// Appends the first key of a data block after its handle: an internal key, with the global
    /// sequence number of the table if there is one.
    fn put_first_key(&self, stored: &[u8], value: &mut Vec<u8>) {
        let mut key = Vec::new();
        match InternalKey::decode_from(stored) {
            Ok(mut first) => {
                self.keys.put_user_key(first.user_key, &mut key);
                first.user_key = &[];
                if let Some(global) = self.file.table().global_sequence_number() {
                    first.sequence = global;
                }
                first.encode_to(&mut key);
            }
            Err(_) => key.extend_from_slice(stored),
        }
        sstkit_coding::varint::put_length_prefixed_slice(value, &key);
    }

    fn dictionary(&mut self) -> Result<()> {
        let Some(dictionary) = self.file.dictionary()? else { return Ok(()) };
        let bytes = dictionary.bytes();
        writeln!(self.out, "Compression Dictionary:\n{RULE}\n  size (bytes): {}\n", bytes.len())?;
        self.text.clear();
        put_hex(bytes, &mut self.text);
        write!(self.out, "  HEX    ")?;
        self.out.write_all(&self.text)?;
        Ok(writeln!(self.out, "\n")?)
    }

    fn range_deletions(&mut self) -> Result<()> {
        let fragments = Fragments::read(self.file)?;
        let mut is_first = true;
        fragments.for_each(|start, end| {
            if std::mem::take(&mut is_first) {
                writeln!(self.out, "Range deletions:\n{RULE}")?;
            }
            self.text.clear();
            put_entry(start, end, &mut self.text);
            Ok(self.out.write_all(&self.text)?)
        })?;
        if !is_first {
            writeln!(self.out)?;
        }
        Ok(())
    }

    /// Writes all data blocks; returns the number that could not be read to their end.
    fn data_blocks(&mut self) -> Result<u64> {
        let mut index = self.file.index()?;
        let (mut count, mut unreadable) = (0u64, 0);
        let (mut smallest, mut largest, mut sum) = (u64::MAX, 0, 0u64);
        while index.advance()? {
            let handle = index.handle();
            count += 1;
            smallest = smallest.min(handle.size);
            largest = largest.max(handle.size);
            // No overflow: the blocks of an index do not overlap.
            sum += handle.size;
            write!(self.out, "Data Block # {count} @ ")?;
            self.handle_in_hex(handle)?;
            writeln!(self.out)?;
            self.trailer("Data block", handle)?;
            writeln!(self.out, "{RULE}")?;
            unreadable += u64::from(!self.data_block(handle)?);
        }
        if count > 0 {
            let average = sum as f64 / count as f64;
            writeln!(
                self.out,
                "Data Block Summary:\n{RULE}\n  # data blocks: {count}\n  min data block size: \
                 {smallest}\n  max data block size: {largest}\n  avg data block size: {average:.6}"
            )?;
        }
        Ok(unreadable)
    }

    /// Writes the entries of a data block; false if there may be more than could be read.
    fn data_block(&mut self, handle: BlockHandle) -> Result<bool> {
        let Ok(block) = self.file.block(BlockKind::Data, handle) else {
            writeln!(self.out, "Error reading the block - Skipped \n")?;
            return Ok(false);
        };
        let mut entries = block.into_entries();
        let mut key = Vec::new();
        let is_whole = loop {
            match entries.advance() {
                Ok(true) => {}
                // The tool does not report that there was more.
                ended => break ended.is_ok(),
            }
            let user_key = match (self.keys.internal, InternalKey::decode_from(entries.key())) {
                (false, _) => entries.key(),
                (true, Ok(key)) => key.user_key,
                (true, Err(_)) => {
                    writeln!(self.out, "Error parsing internal key - Skipped ")?;
                    continue;
                }
            };
            key.clear();
            self.keys.put_user_key(user_key, &mut key);
            self.text.clear();
            put_entry(&key, entries.value(), &mut self.text);
            self.out.write_all(&self.text)?;
        };
        writeln!(self.out)?;
        Ok(is_whole)
    }

    fn handle_in_hex(&mut self, handle: BlockHandle) -> Result<()> {
        let mut encoded = Vec::with_capacity(BlockHandle::MAX_ENCODED_LENGTH);
        handle.encode_to(&mut encoded);
        self.text.clear();
        put_hex(&encoded, &mut self.text);
        Ok(self.out.write_all(&self.text)?)
    }
}
