//! A filter of your own in a table: the binary fuse filter of the crate `xorf`, beside the built-in
//! Bloom filter.
//!
//! ```text
//! cargo run --release --example own_filter
//! ```

use std::error::Error;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sstkit::{
    FilterPolicy, HashedKey, Registry, Table, TableOptions, TableReadOptions, TableWriter,
    UserBuilder, UserFilter, UserPolicy,
};
use xorf::{BinaryFuse8, Descriptor, Filter as _};

type Failure = Box<dyn Error + Send + Sync>;

#[derive(Debug)]
struct FusePolicy;

impl UserPolicy for FusePolicy {
    fn name(&self) -> &str {
        "example.BinaryFuse8"
    }

    fn builder(&self) -> Box<dyn UserBuilder> {
        Box::new(FuseBuilder::default())
    }

    /// Called once for each filter that is read from a table. The bytes may be damaged: positions
    /// outside of the fingerprints must not be possible.
    fn open(&self, filter: &[u8]) -> Option<Box<dyn UserFilter>> {
        Some(Box::new(Fuse::decode_from(filter)?))
    }
}

#[derive(Default)]
struct FuseBuilder {
    hashes: Vec<u64>,
}

impl UserBuilder for FuseBuilder {
    fn add(&mut self, key: &HashedKey<'_>) {
        self.hashes.push(key.hash64());
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<u8>, Failure> {
        self.hashes.sort_unstable();
        self.hashes.dedup();
        let fuse = BinaryFuse8::try_from(&self.hashes)?;
        let Descriptor { seed, segment_length, segment_length_mask, segment_count_length } =
            fuse.descriptor;
        let mut bytes = seed.to_le_bytes().to_vec();
        for word in [segment_length, segment_length_mask, segment_count_length] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        bytes.extend_from_slice(&fuse.fingerprints);
        Ok(bytes)
    }
}

/// An opened filter.
struct Fuse(BinaryFuse8);

impl UserFilter for Fuse {
    fn may_contain(&self, _: &[u8], key: &HashedKey<'_>) -> bool {
        self.0.contains(&key.hash64())
    }
}

impl Fuse {
    fn decode_from(bytes: &[u8]) -> Option<Self> {
        let (seed, rest) = bytes.split_first_chunk()?;
        let (words, fingerprints) = rest.split_first_chunk::<12>()?;
        let ([segment_length, segment_length_mask, segment_count_length], _) =
            words.as_chunks::<4>().0.split_first_chunk()?;
        let descriptor = Descriptor {
            seed: u64::from_le_bytes(*seed),
            segment_length: u32::from_le_bytes(*segment_length),
            segment_length_mask: u32::from_le_bytes(*segment_length_mask),
            segment_count_length: u32::from_le_bytes(*segment_count_length),
        };
        let length = descriptor.segment_length;
        let end = descriptor.segment_count_length.checked_add(length.checked_mul(2)?)?;
        let is_sound = length.is_power_of_two()
            && descriptor.segment_length_mask == length - 1
            && end as usize <= fingerprints.len();
        is_sound.then(|| Self(BinaryFuse8 { descriptor, fingerprints: fingerprints.into() }))
    }
}

const KEYS: u32 = 200_000;

fn table(policy: FilterPolicy) -> Result<Table, Box<dyn Error>> {
    let options = TableOptions::rocksdb().filter(policy);
    let mut writer = TableWriter::to_sink(Vec::new(), &options)?;
    for i in 0..KEYS {
        writer.put(format!("user{i:08}").as_bytes(), b"value")?;
    }
    let (_, bytes) = writer.finish_sink()?;
    let mut registry = Registry::default();
    registry.register_policy(Arc::new(FusePolicy))?;
    Ok(Table::from_source(bytes, &TableReadOptions::default().registry(registry))?)
}

/// The same keys with either filter.
pub(crate) struct Tables {
    pub(crate) fuse: Table,
    pub(crate) bloom: Table,
}

pub(crate) fn tables() -> Result<Tables, Box<dyn Error>> {
    let fuse = table(FilterPolicy::User(Arc::new(FusePolicy)))?;
    Ok(Tables { fuse, bloom: table("bloomfilter:10".parse()?)? })
}

/// Keys that are between those of the table, so that without a filter a data block would be read.
pub(crate) fn absent_keys() -> Vec<Vec<u8>> {
    (0..KEYS / 4).map(|i| format!("user{i:08}?").into()).collect()
}

/// Looks up keys, and returns how many are found.
pub(crate) fn lookups(table: &Table, keys: &[Vec<u8>]) -> sstkit::Result<usize> {
    let mut found = 0;
    for key in keys {
        found += usize::from(black_box(table.get(key)?).is_some());
    }
    Ok(found)
}

/// The time of lookups of absent keys with the fuse filter, divided by that with the Bloom filter: the
/// smallest of rounds that take turns.
fn ratio_of_times(tables: &Tables, absent: &[Vec<u8>]) -> Result<f64, Box<dyn Error>> {
    let (mut own, mut built_in) = (Duration::MAX, Duration::MAX);
    for _ in 0..7 {
        for (table, least) in [(&tables.fuse, &mut own), (&tables.bloom, &mut built_in)] {
            let start = Instant::now();
            assert_eq!(lookups(table, absent)?, 0);
            *least = start.elapsed().min(*least);
        }
    }
    Ok(own.as_secs_f64() / built_in.as_secs_f64())
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let (tables, absent) = (tables()?, absent_keys());
    let filter = tables.fuse.filter().ok_or("a filter")?;
    assert_eq!(filter.policy(), "example.BinaryFuse8");
    let present: Vec<Vec<u8>> = (0..KEYS).map(|i| format!("user{i:08}").into()).collect();
    assert_eq!(lookups(&tables.fuse, &present)?, present.len(), "no false negatives");

    // One in 256, as the fingerprints have eight bits.
    let mut passed = 0;
    for key in &absent {
        passed += u32::from(filter.may_contain(key)?);
    }
    let rate = f64::from(passed) / absent.len() as f64;
    println!("{:.2} % false positives", 100.0 * rate);
    assert!((0.002..0.006).contains(&rate), "{rate}");

    // `docs/benchmarks/instruction-counts.txt` has both as instructions.
    let ratio = ratio_of_times(&tables, &absent)?;
    println!("an absent key takes {ratio:.2} times as long as with bloomfilter:10");
    Ok(())
}
