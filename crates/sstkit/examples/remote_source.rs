//! A source of your own where each read costs a round trip: how a table is read from it, and in how many round trips.
//!
//! ```text
//! cargo run --release --example remote_source
//! ```

use std::error::Error;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;
use sstkit::{PreferredRead, Source, Table, TableOptions, TableReadOptions, TableWriter};

const KEYS: u32 = 100_000;

/// A table on another machine: here it is memory, and a counter in place of the network.
struct Remote {
    bytes: Bytes,
    round_trips: AtomicU32,
}

impl Source for Remote {
    fn size(&self) -> io::Result<u64> {
        Ok(self.bytes.len() as u64)
    }

    fn read_at(&self, offset: u64, length: usize) -> io::Result<Bytes> {
        self.round_trips.fetch_add(1, Ordering::Relaxed);
        self.bytes.read_at(offset, length)
    }

    /// All ranges at the same time, so one round trip. Without this function they are read one by one.
    fn read_many(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Bytes>> {
        self.round_trips.fetch_add(1, Ordering::Relaxed);
        let read = |it: &Range<u64>| self.bytes.read_at(it.start, (it.end - it.start) as usize);
        ranges.iter().map(read).collect()
    }

    /// With this function, the source is read as a remote one.
    fn preferred_read(&self) -> Option<PreferredRead> {
        Some(PreferredRead::default().tail(256 << 10).read_ahead(2 << 20))
    }
}

fn key(number: u32) -> String {
    format!("user{number:08}")
}

fn users() -> sstkit::Result<Vec<u8>> {
    let options = TableOptions::rocksdb().filter("bloomfilter:10".parse()?);
    let mut writer = TableWriter::to_sink(Vec::new(), &options)?;
    for number in 0..KEYS {
        writer.put(key(number).as_bytes(), &[number.to_le_bytes(); 25].concat())?;
    }
    Ok(writer.finish_sink()?.1)
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let remote = Arc::new(Remote { bytes: users()?.into(), round_trips: AtomicU32::new(0) });
    let round_trips = |what: &str| {
        let count = remote.round_trips.swap(0, Ordering::Relaxed);
        println!("{what}: {count} round trips");
        count
    };

    let table = Table::from_source(Arc::clone(&remote), &TableReadOptions::default())?;
    assert!(round_trips("open") <= 2);

    assert!(table.get(key(70_000).as_bytes())?.is_some());
    assert_eq!(round_trips("a key"), 1);
    assert!(table.get(b"user00070000?")?.is_none());
    assert_eq!(round_trips("a key that the filter excludes"), 0);

    let keys: Vec<String> = (0..64).map(|number| key(number * 1500)).collect();
    assert_eq!(table.get_many(&keys)?.iter().flatten().count(), 64);
    assert!(round_trips("64 keys") <= 3);

    // Windows of growing size, of which several are read while one is decoded.
    assert_eq!(
        table.iter().map(|entry| entry.map(drop)).collect::<Result<Vec<_>, _>>()?.len(),
        100_000
    );
    assert!(round_trips("all keys") < 20);
    Ok(())
}
