//! Random reads of a server with random faults and latency: the results of a local table, or an error.

use std::sync::Arc;
use std::time::Duration;

use object_store::http::HttpBuilder;
use object_store::{BackoffConfig, ClientOptions, RetryConfig};
use sstkit_object_store::{AsyncObject, RemoteObject, Store, object_store};
use sstkit_table::{AsyncTable, Error, ErrorKind, ReadOptions, Table, TableReadOptions, Value};
use sstkit_testkit::object_stores::{Fault, Proxy, Upstream};
use sstkit_testkit::random::{Random, seeds};

use crate::tables::{KEYS, key, table};

const FAULTS: [Fault; 5] =
    [Fault::Status(500), Fault::Status(503), Fault::Status(429), Fault::Reset, Fault::Truncated];

/// A read that is made of both tables.
enum Read {
    Get(Vec<u8>),
    GetMany(Vec<Vec<u8>>),
    Scan { start: u32, length: u32, backward: bool, cached: bool },
}

/// The values, or the keys and values, that were read.
type Found = Vec<(Vec<u8>, Option<Value>)>;

fn client(proxy: &Proxy) -> Store {
    let backoff = BackoffConfig {
        init_backoff: Duration::from_millis(1),
        max_backoff: Duration::from_millis(2),
        base: 1.5,
    };
    let client = HttpBuilder::new()
        .with_url(format!("http://127.0.0.1:{}", proxy.port))
        .with_client_options(ClientOptions::new().with_allow_http(true))
        .with_retry(RetryConfig { backoff, max_retries: 2, ..RetryConfig::default() })
        .build();
    Store::new(Arc::new(client.unwrap()))
}

#[test]
fn random_reads_with_faults() {
    // Selects the provider of TLS, as every program does that parses an address.
    Store::parse("http://localhost").unwrap();
    let bytes = table(6);
    let local = Table::from_bytes(bytes.clone()).unwrap();
    let proxy = Proxy::start(Upstream::File(bytes));
    let (store, far_store) = (client(&proxy), client(&proxy));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (mut equal, mut failed) = (0, 0);
    for seed in seeds(25) {
        let mut random = Random::new(seed);
        let options = match random.below(3) {
            0 => TableReadOptions::default().no_block_cache(),
            _ => TableReadOptions::default(),
        };
        let blocking = random.below(2) == 0;
        let latency = Duration::from_micros(random.below(3000));
        proxy.slow_down(latency, 1e9);
        let open = || -> Result<Opened<'_>, Error> {
            Ok(match blocking {
                true => {
                    let object = RemoteObject::open(&store, "users.sst")?;
                    Opened::Blocking(Table::from_source(object, &options)?)
                }
                false => {
                    let object = AsyncObject::new(&far_store, "users.sst");
                    let opened = AsyncTable::from_source(object, &options);
                    Opened::Async(Box::new(runtime.block_on(opened)?), &runtime)
                }
            })
        };
        fail_randomly(&proxy, &mut random);
        if let Err(error) = open() {
            assert_eq!(error.kind(), ErrorKind::Io, "{error}");
        }
        proxy.clear_faults();
        let remote = open().unwrap();
        for _ in 0..6 {
            let read = random_read(&mut random);
            let expected = Opened::Blocking(local.clone()).read(&read).unwrap();
            fail_randomly(&proxy, &mut random);
            match remote.read(&read) {
                Ok(found) => {
                    assert!(found == expected);
                    equal += 1;
                }
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
                    failed += 1;
                }
            }
            proxy.clear_faults();
            assert!(remote.read(&read).unwrap() == expected, "after the faults");
        }
    }
    assert!(equal > 0 && failed > 0, "{equal} reads were equal, {failed} failed");
}

/// Often few enough that all of them are repeated.
fn fail_randomly(proxy: &Proxy, random: &mut Random) {
    let count = [0, 1, 2, 3, 10, 100][random.index(6)];
    proxy.fail((0..count).map(|_| *random.pick(&FAULTS)).collect::<Vec<_>>());
}

fn random_read(random: &mut Random) -> Read {
    // Some keys are beyond the last one.
    let number = |random: &mut Random| random.below(u64::from(KEYS) + 100) as u32;
    match random.below(3) {
        0 => Read::Get(key(number(random))),
        1 => {
            let count = 1 + random.below(100);
            Read::GetMany((0..count).map(|_| key(number(random))).collect())
        }
        _ => Read::Scan {
            start: number(random),
            length: [1, 50, 5000, 40_000][random.index(4)],
            backward: random.below(2) == 0,
            cached: random.below(2) == 0,
        },
    }
}

enum Opened<'r> {
    Blocking(Table),
    Async(Box<AsyncTable<AsyncObject>>, &'r tokio::runtime::Runtime),
}

impl Opened<'_> {
    fn read(&self, read: &Read) -> Result<Found, Error> {
        let values = |keys: &[Vec<u8>], values: Vec<Option<Value>>| {
            keys.iter().cloned().zip(values).collect::<Found>()
        };
        match (self, read) {
            (Self::Blocking(table), Read::Get(key)) => Ok(vec![(key.clone(), table.get(key)?)]),
            (Self::Async(table, runtime), Read::Get(key)) => {
                Ok(vec![(key.clone(), runtime.block_on(table.get(key))?)])
            }
            (Self::Blocking(table), Read::GetMany(keys)) => Ok(values(keys, table.get_many(keys)?)),
            (Self::Async(table, runtime), Read::GetMany(keys)) => {
                Ok(values(keys, runtime.block_on(table.get_many(keys))?))
            }
            (_, Read::Scan { start, length, backward, cached }) => {
                let range = key(*start)..key(start + length);
                let options = ReadOptions::default().range(range).fill_cache(*cached);
                let mut found = match self {
                    Self::Blocking(table) if *backward => {
                        table.iter_with(&options).rev().collect::<Result<Vec<_>, _>>()?
                    }
                    Self::Blocking(table) => {
                        table.iter_with(&options).collect::<Result<Vec<_>, _>>()?
                    }
                    Self::Async(table, runtime) => runtime.block_on(async {
                        let (mut scan, mut found) = (table.iter_with(&options), Vec::new());
                        while let Some(pair) = scan.next().await {
                            found.push(pair?);
                        }
                        Ok::<_, Error>(found)
                    })?,
                };
                if *backward && matches!(self, Self::Blocking(_)) {
                    found.reverse();
                }
                Ok(found.into_iter().map(|(key, value)| (key, Some(value))).collect())
            }
        }
    }
}
