//! Filters without tables: a million keys, probed one by one and in batches.
//!
//! ```text
//! cargo run --release --example filters_alone
//! ```

use std::error::Error;

use sstkit::{BuildContext, Filter, FilterPolicy};

const KEYS: u64 = 1_000_000;
const BATCH: usize = 1000;

/// The key `user` and a number.
fn key(i: u64) -> [u8; 12] {
    let mut key = *b"user\0\0\0\0\0\0\0\0";
    key[4..].copy_from_slice(&i.to_be_bytes());
    key
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let absent: Vec<[u8; 12]> = (KEYS..2 * KEYS).map(key).collect();
    for (policy, largest_rate) in
        [("bloomfilter:10", 0.011), ("ribbonfilter:10", 0.011), ("bloomfilter:20", 0.0003)]
    {
        let policy: FilterPolicy = policy.parse()?;
        let mut builder = policy.builder(&BuildContext::default())?;
        builder.extend((0..KEYS).map(key));
        let filter = Filter::from_bytes(builder.finish()?);
        assert!((0..KEYS).all(|i| filter.may_contain(&key(i))), "a filter has all of its keys");

        let (mut passed, mut answers) = (0, [false; BATCH]);
        for keys in absent.chunks(BATCH) {
            filter.may_contain_batch(keys, &mut answers[..keys.len()]);
            passed += answers[..keys.len()].iter().filter(|&&answer| answer).count();
        }
        let rate = passed as f64 / absent.len() as f64;
        let bits = 8.0 * filter.bytes().len() as f64 / KEYS as f64;
        println!("{policy}: {bits:.2} bits per key, {:.4} % false positives", 100.0 * rate);
        assert!(rate < largest_rate, "{policy}: {rate}");
    }
    Ok(())
}
