//! Writing records, cut into fragments at the ends of blocks.

use std::io::{self, Write};

use sstkit_coding::fixed::{put_fixed16, put_fixed32};

use super::block_reader::{BLOCK_SIZE, HEADER_SIZE, checksum};
use super::record_type::{Part, RecordType};

/// Writes a log that both engines read: a MANIFEST, or a write-ahead log that is neither recycled
/// nor compressed.
///
/// ```
/// use sstkit_db::raw::{LogEvent, LogReader, LogWriter};
/// use sstkit_table::raw::Engine;
///
/// let mut file = Vec::new();
/// LogWriter::new(&mut file).add_record(b"hello")?;
/// assert_eq!(file, b"\x0b\xb9\x57\x58\x05\x00\x01hello");
/// let mut log = LogReader::new(file.as_slice(), Engine::RocksDb, 3);
/// assert!(matches!(log.next_record()?, Some(LogEvent::Record(record)) if record.payload == b"hello"));
/// # Ok::<(), sstkit_db::Error>(())
/// ```
#[derive(Debug)]
pub struct LogWriter<W> {
    out: W,
    /// Bytes of the current block that are written.
    position: usize,
    fragment: Vec<u8>,
}

impl<W: Write> LogWriter<W> {
    /// Writes a new log.
    pub fn new(out: W) -> Self {
        Self { out, position: 0, fragment: Vec::new() }
    }

    /// Writes a record.
    pub fn add_record(&mut self, payload: &[u8]) -> io::Result<()> {
        let mut rest = payload;
        let mut is_first = true;
        loop {
            let room = BLOCK_SIZE - self.position;
            let Some(room) = room.checked_sub(HEADER_SIZE) else {
                // Too short for a header: filled with zeros.
                self.out.write_all(&[0; HEADER_SIZE][..room])?;
                self.position = 0;
                continue;
            };
            let (fragment, after) = rest.split_at(rest.len().min(room));
            let part = match (is_first, after.is_empty()) {
                (true, true) => Part::Full,
                (true, false) => Part::First,
                (false, false) => Part::Middle,
                (false, true) => Part::Last,
            };
            self.write_fragment(part, fragment)?;
            (rest, is_first) = (after, false);
            if rest.is_empty() {
                return Ok(());
            }
        }
    }

    /// What the log was written to.
    pub fn into_inner(self) -> W {
        self.out
    }

    fn write_fragment(&mut self, part: Part, payload: &[u8]) -> io::Result<()> {
        let mut checked = std::mem::take(&mut self.fragment);
        checked.clear();
        checked.push(RecordType::byte_of(part));
        checked.extend_from_slice(payload);
        let mut header = Vec::with_capacity(HEADER_SIZE);
        put_fixed32(&mut header, checksum(&checked));
        // A fragment is shorter than a block.
        put_fixed16(&mut header, payload.len() as u16);
        self.out.write_all(&header)?;
        self.out.write_all(&checked)?;
        self.position += header.len() + checked.len();
        self.fragment = checked;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use sstkit_table::raw::Engine;

    use super::super::reader::{LogEvent, LogReader};
    use super::*;

    /// Records of these lengths are read back, by both engines' rules.
    fn check(lengths: &[usize]) {
        let records: Vec<Vec<u8>> = lengths
            .iter()
            .enumerate()
            .map(|(number, &length)| vec![number as u8; length])
            .collect();
        let mut writer = LogWriter::new(Vec::new());
        records.iter().for_each(|record| writer.add_record(record).unwrap());
        let file = writer.into_inner();
        for engine in [Engine::LevelDb, Engine::RocksDb] {
            let mut log = LogReader::new(file.as_slice(), engine, 0);
            for expected in &records {
                match log.next_record().unwrap() {
                    Some(LogEvent::Record(record)) => assert!(record.payload == expected),
                    other => panic!("{other:?} for a record of {} bytes", expected.len()),
                }
            }
            assert_eq!(log.next_record().unwrap(), None);
        }
    }

    #[test]
    fn records_end_anywhere_in_a_block() {
        for left in 0..=2 * HEADER_SIZE + 2 {
            check(&[BLOCK_SIZE - HEADER_SIZE - left, 5, 0, 1]);
            check(&[BLOCK_SIZE - HEADER_SIZE - left, 3 * BLOCK_SIZE, 7]);
        }
        check(&[0, 0, 100_000, 1]);
        check(&[]);
    }
}
