//! `sst serve` under a constant load of JSON requests.
//!
//! ```text
//! clients    request i is due at i / rate; client i % clients sends it, on one connection
//! latency    from the time a request is due until its whole answer has arrived: a slow answer also
//!            delays those after it
//! memory     the resident set of the server (VmRSS), once a second
//! ```

mod client;

use std::error::Error;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use self::client::Client;
use crate::record::date::today;

/// JSON of all pages of a database; the key need not exist.
const PAGES: [&str; 9] = [
    "/0/database.json",
    "/0/files.json",
    "/0/history.json",
    "/0/whatif.json",
    "/0/scan.json",
    "/0/scan.json?last=1",
    "/0/lookup.json?key=user00003/post0007",
    "/0/lookup.json?key=nothing",
    "/index.json",
];

/// What is measured.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The `sst` command.
    pub command: PathBuf,
    /// The database that is served.
    pub database: PathBuf,
    /// Requests per second.
    pub rate: u32,
    /// For how long.
    pub seconds: u32,
    /// Connections.
    pub clients: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            command: PathBuf::from("target/release/sst"),
            database: PathBuf::from("testdata/databases/rocksdb-leveled-bloom"),
            rate: 1_000,
            seconds: 60,
            clients: 8,
        }
    }
}

/// The measurements.
#[derive(Clone, Debug)]
pub struct ServeRun {
    settings: Settings,
    /// Sorted.
    latencies: Vec<Duration>,
    answer_bytes: u64,
    /// Kilobytes, after each second.
    memory: Vec<u64>,
}

impl ServeRun {
    /// Serves and loads. An answer other than 200 is an error.
    pub fn measure(settings: &Settings) -> Result<Self, Box<dyn Error>> {
        let mut server = Command::new(&settings.command)
            .args(["serve", "--no-open"])
            .arg(&settings.database)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let run = Self::load(settings, &mut server);
        server.kill()?;
        server.wait()?;
        run
    }

    fn load(settings: &Settings, server: &mut Child) -> Result<Self, Box<dyn Error>> {
        let output = server.stdout.take().ok_or("the server has no output")?;
        let mut url = String::new();
        BufReader::new(output).read_line(&mut url)?;
        let host = url.trim().trim_start_matches("http://").trim_end_matches('/');
        let start = Instant::now();
        let requests = settings.rate * settings.seconds;
        let (clients, rate) = (settings.clients, settings.rate);
        let work = |client: u32| -> Result<(Vec<Duration>, u64), String> {
            let mut connection = Client::connect(host)?;
            let (mut latencies, mut bytes) = (Vec::new(), 0);
            for number in (client..requests).step_by(clients as usize) {
                let due = start + Duration::from_secs(1) * number / rate;
                thread::sleep(due.saturating_duration_since(Instant::now()));
                bytes += connection.get(PAGES[number as usize % PAGES.len()])?;
                latencies.push(due.elapsed());
            }
            Ok((latencies, bytes))
        };
        let mut memory = Vec::new();
        let done = thread::scope(|scope| {
            let work = &work;
            let clients: Vec<_> =
                (0..clients).map(|client| scope.spawn(move || work(client))).collect();
            for second in 1..=settings.seconds {
                let due = start + Duration::from_secs(second.into());
                thread::sleep(due.saturating_duration_since(Instant::now()));
                memory.push(resident_set(server.id()).unwrap_or(0));
            }
            let join = |client: thread::ScopedJoinHandle<'_, _>| {
                client.join().unwrap_or_else(|_| Err("a client panicked".into()))
            };
            clients.into_iter().map(join).collect::<Result<Vec<_>, String>>()
        })?;
        let answer_bytes = done.iter().map(|(_, bytes)| bytes).sum();
        let mut latencies: Vec<Duration> =
            done.into_iter().flat_map(|(latencies, _)| latencies).collect();
        latencies.sort();
        Ok(Self { settings: settings.clone(), latencies, answer_bytes, memory })
    }

    /// The record.
    pub fn to_json(&self) -> Value {
        let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let at = |share: f64| {
            let index = (share * self.latencies.len() as f64) as usize;
            let latency = self.latencies.get(index).or(self.latencies.last());
            latency.map(|it| it.as_secs_f64() * 1e3)
        };
        json!({
            "date": today(),
            "machine": crate::record::machine::machine().trim_end(),
            "load_average": load.split(' ').next(),
            "rate": self.settings.rate,
            "seconds": self.settings.seconds,
            "clients": self.settings.clients,
            "requests": self.latencies.len(),
            "answer_bytes": self.answer_bytes,
            "latency_ms": { "median": at(0.5), "p99": at(0.99), "max": at(1.0) },
            "memory_kb": self.memory,
        })
    }
}

/// `VmRSS:    1234 kB`.
fn resident_set(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}
