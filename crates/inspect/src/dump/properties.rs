//! The properties of a table as RocksDB's tools print them.
//!
//! A missing number is printed as the default of RocksDB's reader, a missing text as `N/A`.

use std::io::{self, Write};

use sstkit_coding::varint::get_varint64;
use sstkit_table::UniqueId;
use sstkit_table::raw::{Properties, property_names as names};

use super::RULE;

const UNKNOWN_COLUMN_FAMILY: u64 = i32::MAX as u64;

pub(super) fn write(properties: &Properties, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "Table Properties:\n{RULE}")?;
    let mut lines = Lines { properties, out };
    lines.counts()?;
    lines.sizes()?;
    lines.names()?;
    lines.origin()?;
    // The tool prints two spaces after the end of every line.
    writeln!(lines.out, "  ")
}

struct Lines<'p, W> {
    properties: &'p Properties,
    out: W,
}

impl<W: Write> Lines<'_, W> {
    fn counts(&mut self) -> io::Result<()> {
        let compression_rejected = names::NUM_DATA_BLOCKS_COMPRESSION_REJECTED;
        let compression_bypassed = names::NUM_DATA_BLOCKS_COMPRESSION_BYPASSED;
        self.number("# data blocks", names::NUM_DATA_BLOCKS)?;
        self.number("# data blocks compression rejected", compression_rejected)?;
        self.number("# data blocks compression bypassed", compression_bypassed)?;
        self.number("# uniform blocks", names::NUM_UNIFORM_BLOCKS)?;
        self.number("# entries", names::NUM_ENTRIES)?;
        self.number("# deletions", names::DELETED_KEYS)?;
        self.number("# merge operands", names::MERGE_OPERANDS)?;
        self.number("# range deletions", names::NUM_RANGE_DELETIONS)
    }

    fn sizes(&mut self) -> io::Result<()> {
        self.number("raw key size", names::RAW_KEY_SIZE)?;
        self.average("raw average key size", names::RAW_KEY_SIZE)?;
        self.number("raw value size", names::RAW_VALUE_SIZE)?;
        self.average("raw average value size", names::RAW_VALUE_SIZE)?;
        self.number("data block size", names::DATA_SIZE)?;
        // A property that is not stored anywhere.
        self.line("data uncompressed size", 0)?;
        let (user_key, delta_value) = (
            self.get(names::INDEX_KEY_IS_USER_KEY) as i32,
            self.get(names::INDEX_VALUE_IS_DELTA_ENCODED) as i32,
        );
        let name = format!("index block size (user-key? {user_key}, delta-value? {delta_value})");
        self.number(&name, names::INDEX_SIZE)?;
        if self.get(names::INDEX_PARTITIONS) != 0 {
            self.number("# index partitions", names::INDEX_PARTITIONS)?;
            self.number("top-level index size", names::TOP_LEVEL_INDEX_SIZE)?;
        }
        self.number("filter block size", names::FILTER_SIZE)?;
        self.number("# entries for filter", names::NUM_FILTER_ENTRIES)?;
        let estimate = [names::DATA_SIZE, names::INDEX_SIZE, names::FILTER_SIZE]
            .into_iter()
            .fold(0, |sum: u64, name| sum.wrapping_add(self.get(name)));
        self.line("(estimated) table size", estimate)
    }

    fn names(&mut self) -> io::Result<()> {
        self.name("filter policy name", names::FILTER_POLICY)?;
        self.name("prefix extractor name", names::PREFIX_EXTRACTOR_NAME)?;
        match self.properties.number(names::COLUMN_FAMILY_ID) {
            None | Some(UNKNOWN_COLUMN_FAMILY) => self.line("column family ID", "N/A")?,
            Some(id) => self.line("column family ID", id)?,
        }
        self.name("column family name", names::COLUMN_FAMILY_NAME)?;
        self.name("comparator name", names::COMPARATOR)?;
        let persisted = self.properties.has_persisted_timestamps();
        self.line("user defined timestamps persisted", persisted)?;
        for (name, property) in [
            ("largest sequence number in file", names::KEY_LARGEST_SEQNO),
            ("smallest sequence number in file", names::KEY_SMALLEST_SEQNO),
        ] {
            self.line(name, self.properties.number(property).unwrap_or(u64::MAX))?;
        }
        self.name("merge operator name", names::MERGE_OPERATOR)?;
        self.name("property collectors names", names::PROPERTY_COLLECTORS)?;
        self.name("SST file compression algo", names::COMPRESSION)?;
        self.name("SST file compression options", names::COMPRESSION_OPTIONS)
    }

    fn origin(&mut self) -> io::Result<()> {
        let (slow, fast) = (
            names::SLOW_COMPRESSION_ESTIMATED_DATA_SIZE,
            names::FAST_COMPRESSION_ESTIMATED_DATA_SIZE,
        );
        self.number("creation time", names::CREATION_TIME)?;
        self.number("time stamp of earliest key", names::OLDEST_KEY_TIME)?;
        self.number("time stamp of newest key", names::NEWEST_KEY_TIME)?;
        self.number("file creation time", names::FILE_CREATION_TIME)?;
        self.number("slow compression estimated data size", slow)?;
        self.number("fast compression estimated data size", fast)?;
        // Unlike the names above, these are empty if unknown.
        for (name, property) in [
            ("DB identity", names::DB_IDENTITY),
            ("DB session identity", names::DB_SESSION_IDENTITY),
            ("DB host id", names::DB_HOST_IDENTITY),
        ] {
            self.bytes(name, self.properties.get(property).unwrap_or_default())?;
        }
        self.number("original file number", names::ORIGINAL_FILE_NUMBER)?;
        match UniqueId::of(self.properties) {
            Some(id) => self.line("unique ID", id)?,
            None => self.line("unique ID", "N/A")?,
        }
        let map = self.properties.get(names::SEQNO_TIME_MAP).unwrap_or_default();
        let map = sequence_times(map).unwrap_or_else(|| "N/A".into());
        self.line("Sequence number to time mapping", map)
    }

    fn get(&self, property: &str) -> u64 {
        self.properties.number(property).unwrap_or(0)
    }

    fn number(&mut self, name: &str, property: &str) -> io::Result<()> {
        self.line(name, self.get(property))
    }

    fn average(&mut self, name: &str, property: &str) -> io::Result<()> {
        let average = match self.properties.num_entries() {
            0 => 0.0,
            entries => self.get(property) as f64 / entries as f64,
        };
        self.line(name, format_args!("{average:.6}"))
    }

    fn name(&mut self, name: &str, property: &str) -> io::Result<()> {
        let value = self.properties.get(property).filter(|value| !value.is_empty());
        self.bytes(name, value.unwrap_or(b"N/A"))
    }

    /// Bytes of a file are printed unchanged.
    fn bytes(&mut self, name: &str, value: &[u8]) -> io::Result<()> {
        write!(self.out, "  {name}: ")?;
        self.out.write_all(value)?;
        writeln!(self.out)
    }

    fn line(&mut self, name: &str, value: impl std::fmt::Display) -> io::Result<()> {
        writeln!(self.out, "  {name}: {value}")
    }
}

/// The pairs of the property `rocksdb.seqno.time.map`: their number, then each as the difference
/// to the one before. `None` if they are not readable.
///
/// ```text
/// 02 | 05 64 | 03 0A      two pairs: 5->100,8->110,
/// ```
fn sequence_times(mut map: &[u8]) -> Option<String> {
    let mut text = String::new();
    if map.is_empty() {
        return Some(text);
    }
    let count = get_varint64(&mut map)?;
    let (mut sequence, mut time) = (0u64, 0u64);
    // However large the count, each pair takes at least two bytes.
    for _ in 0..count {
        sequence = sequence.wrapping_add(get_varint64(&mut map)?);
        time = time.wrapping_add(get_varint64(&mut map)?);
        text.push_str(&format!("{sequence}->{time},"));
    }
    map.is_empty().then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drawn_pairs() {
        assert_eq!(sequence_times(&[2, 5, 100, 3, 10]).unwrap(), "5->100,8->110,");
        assert_eq!(sequence_times(&[]).unwrap(), "");
        assert_eq!(sequence_times(&[0]).unwrap(), "");
        for damaged in [&[1][..], &[1, 5], &[0, 5], &[0xff], &[2, 5, 100]] {
            assert_eq!(sequence_times(damaged), None, "{damaged:?}");
        }
    }

    #[test]
    fn what_a_table_does_not_have() {
        let mut text = Vec::new();
        write(&Properties::default(), &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        for line in [
            "  # entries: 0",
            "  raw average key size: 0.000000",
            "  index block size (user-key? 0, delta-value? 0): 0",
            "  column family ID: N/A",
            "  comparator name: N/A",
            "  user defined timestamps persisted: true",
            "  largest sequence number in file: 18446744073709551615",
            "  DB host id: ",
            "  unique ID: N/A",
            "  Sequence number to time mapping: ",
        ] {
            assert!(text.lines().any(|found| found == line), "{line:?} in {text}");
        }
        assert!(!text.contains("# index partitions"));
    }
}
