//! `optimize_filters_for_memory`: sizes for an allocator, and the balance of the rates.

use std::fmt::Write;
use std::sync::Arc;

use sstkit_filter::{BuildContext, MemorySizing, UsableSize};

use crate::building::{bloom_parameters, build, expected_rate, numbers};

const POLICY: &str = "bloomfilter:10";

pub(super) fn tables() -> String {
    format!("{}\n{}", without_slack(), with_size_classes())
}

fn without_slack() -> String {
    let mut out = format!("{POLICY}, no unused space: only the number of probes changes\n");
    let _ = writeln!(out, "   keys  bytes  k, option off  k, option on");
    for count in [1, 10, 51, 52, 100, 1000, 10_000] {
        let off = build(POLICY, &BuildContext::default(), numbers(count));
        let sizing = Arc::new(MemorySizing::new(UsableSize::Exact));
        let context = BuildContext::default().optimize_for_memory(sizing);
        let on = build(POLICY, &context, numbers(count));
        assert_eq!(off.len(), on.len());
        let (off_k, on_k) = (bloom_parameters(&off).0, bloom_parameters(&on).0);
        let _ = writeln!(out, "{count:>7}  {:>5}  {off_k:>13}  {on_k:>12}", on.len());
    }
    out
}

fn with_size_classes() -> String {
    const COUNT: u32 = 3500;

    let row = |label: &str, context: &BuildContext| {
        let filter = build(POLICY, context, numbers(COUNT));
        let class = UsableSize::Jemalloc.of(filter.len() + 5);
        let (k, _) = bloom_parameters(&filter);
        let rate = expected_rate(&filter, COUNT);
        format!("{label:>6}  {:>5}  {class:>8}  {k:>2}  {rate:<9}", filter.len())
    };
    let mut out = format!("{POLICY}, jemalloc's size classes, {COUNT} keys each time\n");
    let _ = writeln!(out, "filter  bytes  of class   k  rate       balance after, in rate·2^32");
    let _ = writeln!(out, "{}", row("off", &BuildContext::default()));
    let sizing = Arc::new(MemorySizing::new(UsableSize::Jemalloc));
    let context = BuildContext::default().optimize_for_memory(Arc::clone(&sizing));
    for i in 1..=6 {
        let filter = row(&i.to_string(), &context);
        let _ = writeln!(out, "{filter}  {:>12}", sizing.balance());
    }
    out
}
