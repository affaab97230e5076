//! Sizes, probes and rates of the three kinds side by side.

use std::fmt::Write;

use sstkit_filter::{BuildContext, Filter, FilterParameters};

use crate::building::{bloom_parameters, build, expected_rate, numbers};

pub(super) fn table() -> String {
    let mut out = String::from(
        "                legacy, 64-byte lines     cache-local               Ribbon\n\
         bits     keys   bytes   k   rate          bytes   k   rate          bytes   blocks  columns  rate\n",
    );
    for bits in [5, 10, 16] {
        for count in [1, 10, 100, 1000, 10_000, 100_000] {
            let legacy = bloom_columns(bits, count, &BuildContext::default().format_version(4));
            let cache_local = bloom_columns(bits, count, &BuildContext::default());
            let ribbon = ribbon_columns(bits, count);
            let _ = writeln!(out, "{bits:>4}  {count:>7}{legacy}{cache_local}{ribbon}");
        }
    }
    out
}

fn bloom_columns(bits: u32, count: u32, context: &BuildContext) -> String {
    let filter = build(&format!("bloomfilter:{bits}"), context, numbers(count));
    let (k, _) = bloom_parameters(&filter);
    let rate = expected_rate(&filter, count);
    format!("  {:>6}  {k:>2}   {rate:<9}  ", filter.len())
}

fn ribbon_columns(bits: u32, count: u32) -> String {
    let policy = format!("ribbonfilter:{bits}:-1");
    let filter = build(&policy, &BuildContext::default(), numbers(count));
    let FilterParameters::Ribbon { num_blocks, upper_columns, upper_start_block, .. } =
        Filter::from_bytes(&filter).parameters()
    else {
        return "   Bloom".to_owned();
    };
    let columns = match upper_start_block {
        0 => upper_columns.to_string(),
        _ => format!("{}, {upper_columns}", upper_columns - 1),
    };
    let rate = expected_rate(&filter, count);
    format!("  {:>6}  {num_blocks:>6}  {columns:<7}  {rate}", filter.len())
}
