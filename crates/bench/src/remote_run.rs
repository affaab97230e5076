//! Scans of tables on a server with latency, beside plain downloads of the same bytes.
//!
//! ```text
//! server     waits 20 ms before each response; 100 MB/s for all connections together
//! download   one ranged request for the whole file; the same bytes by four requests at a time
//! scan       all keys and values, by `Table` and by `AsyncTable`; nothing is in a cache
//! ```
//!
//! The server is in the same process, on loopback.

use std::error::Error;
use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::{Value, json};
use sstkit_object_store::{AsyncObject, RemoteObject, Store};
use sstkit_table::raw::{Codec, IndexKind};
use sstkit_table::{AsyncTable, Source, Table, TableOptions, TableReadOptions, TableWriter};
use sstkit_testkit::Random;
use sstkit_testkit::object_stores::{Proxy, Upstream};

use crate::record::date::today;

/// What is measured.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Bytes of keys and values.
    pub sizes: Vec<u64>,
    /// Rounds of each measurement.
    pub rounds: u32,
    /// Before each response.
    pub latency: Duration,
    /// Bytes per second.
    pub bandwidth: f64,
}

impl Default for Settings {
    fn default() -> Self {
        let latency = Duration::from_millis(20);
        Self { sizes: vec![16 << 20, 256 << 20], rounds: 5, latency, bandwidth: 100e6 }
    }
}

/// The bytes of a value, which do not compress.
const VALUE: u64 = 100;

/// Measures tables of each size, with an index of one block and with partitions, and returns the record.
///
/// # Errors
///
/// If a read fails, or finds another number of entries.
pub fn measure(settings: &Settings) -> Result<Value, Box<dyn Error>> {
    let mut tables = Vec::new();
    for &size in &settings.sizes {
        for (name, index) in
            [("one block", IndexKind::BinarySearch), ("partitions", IndexKind::TwoLevel)]
        {
            let entries = size / (VALUE + 12);
            let bytes = table(entries, index)?;
            let length = bytes.len();
            let run = Run::new(bytes, entries, settings)?;
            let mut seconds = [const { Vec::new() }; 4];
            for _ in 0..settings.rounds {
                for (measurement, times) in
                    [Run::download, Run::four_downloads, Run::scan, Run::stream]
                        .iter()
                        .zip(&mut seconds)
                {
                    times.push(measurement(&run)?);
                }
            }
            let [download, four_downloads, scan, stream] = seconds;
            tables.push(json!({
                "bytes": length, "entries": entries, "index": name,
                "seconds": {
                    "download": download, "four downloads": four_downloads,
                    "scan": scan, "stream": stream,
                },
            }));
        }
    }
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    Ok(json!({
        "date": today(),
        "machine": crate::record::machine::machine().trim_end(),
        "load_average": load.split(' ').next(),
        "debug_assertions": cfg!(debug_assertions),
        "latency_ms": settings.latency.as_millis() as u64,
        "bandwidth_mb": settings.bandwidth / 1e6,
        "tables": tables,
    }))
}

fn table(entries: u64, index: IndexKind) -> Result<Bytes, Box<dyn Error>> {
    let options = TableOptions::rocksdb()
        .compression(Codec::None)
        .filter("bloomfilter:10".parse()?)
        .index_kind(index)
        .partition_filters(index == IndexKind::TwoLevel);
    let mut random = Random::new(1);
    let mut writer = TableWriter::to_sink(Vec::new(), &options)?;
    for number in 0..entries {
        writer.put(format!("user{number:08}").as_bytes(), &random.bytes(VALUE))?;
    }
    Ok(writer.finish_sink()?.1.into())
}

/// A table on a server.
struct Run {
    entries: u64,
    options: TableReadOptions,
    url: String,
    store: Store,
    /// Connections belong to the runtime that has opened them.
    async_store: Store,
    runtime: tokio::runtime::Runtime,
    _server: Proxy,
}

impl Run {
    fn new(bytes: Bytes, entries: u64, settings: &Settings) -> Result<Self, Box<dyn Error>> {
        let server = Proxy::start(Upstream::File(bytes));
        server.slow_down(settings.latency, settings.bandwidth);
        let url = format!("http://127.0.0.1:{}/users.sst", server.port);
        let (store, _) = Store::parse(&url)?;
        let (async_store, _) = Store::parse(&url)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let options = TableReadOptions::default().no_block_cache();
        Ok(Self { entries, options, url, store, async_store, runtime, _server: server })
    }

    fn object(&self) -> Result<RemoteObject, Box<dyn Error>> {
        Ok(RemoteObject::open(&self.store, Store::parse(&self.url)?.1)?)
    }

    /// The seconds of `work`, which returns the number of bytes or entries that it has read.
    fn timed(
        expected: u64,
        work: impl FnOnce() -> Result<u64, Box<dyn Error>>,
    ) -> Result<f64, Box<dyn Error>> {
        let start = Instant::now();
        let found = work()?;
        let seconds = start.elapsed().as_secs_f64();
        match found == expected {
            true => Ok(seconds),
            false => Err(format!("{found} instead of {expected}").into()),
        }
    }

    fn download(&self) -> Result<f64, Box<dyn Error>> {
        let object = self.object()?;
        let size = object.size()?;
        Self::timed(size, || Ok(object.read_at(0, size as usize)?.len() as u64))
    }

    fn four_downloads(&self) -> Result<f64, Box<dyn Error>> {
        let object = self.object()?;
        let size = object.size()?;
        let ranges: Vec<_> = (0..4).map(|at| at * size / 4..(at + 1) * size / 4).collect();
        Self::timed(size, || Ok(object.read_many(&ranges)?.iter().map(|it| it.len() as u64).sum()))
    }

    fn scan(&self) -> Result<f64, Box<dyn Error>> {
        let table = Table::from_source(self.object()?, &self.options)?;
        Self::timed(self.entries, || {
            let mut count = 0;
            for pair in &table {
                pair?;
                count += 1;
            }
            Ok(count)
        })
    }

    fn stream(&self) -> Result<f64, Box<dyn Error>> {
        let object = AsyncObject::new(&self.async_store, Store::parse(&self.url)?.1);
        let table =
            self.runtime.block_on(AsyncTable::from_source(Arc::new(object), &self.options))?;
        Self::timed(self.entries, || {
            self.runtime.block_on(async {
                let (mut scan, mut count) = (table.iter(), 0);
                while let Some(pair) = scan.next().await {
                    pair?;
                    count += 1;
                }
                Ok(count)
            })
        })
    }
}
