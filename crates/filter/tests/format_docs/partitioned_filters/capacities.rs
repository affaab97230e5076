//! The number of entries per partition, by policy and `metadata_block_size`.

use std::fmt::Write;

use sstkit_filter::{BuildContext, KeyFiltering, PartitionedFilterBuilder};

use crate::building::policy;

const BLOCK_SIZES: [usize; 5] = [1, 128, 1024, 4096, 65_536];

pub(super) fn table() -> String {
    let mut out = String::from(
        "                                 metadata_block_size\npolicy               prefixes   ",
    );
    for size in BLOCK_SIZES {
        let _ = write!(out, "{size:>8}");
    }
    out.push('\n');
    for (label, policy, format_version) in [
        ("legacy Bloom", "bloomfilter:10", 4),
        ("cache-local Bloom", "bloomfilter:10", 5),
        ("Ribbon", "ribbonfilter:10:-1", 5),
    ] {
        let context = BuildContext::default().format_version(format_version);
        for (prefixes, extractor) in [("no", None), ("yes", Some("fixed:8"))] {
            let _ = write!(out, "{label:<19}  {prefixes:<11}");
            for size in BLOCK_SIZES {
                let _ = write!(out, "{:>8}", capacity(policy, &context, extractor, size));
            }
            out.push('\n');
        }
    }
    out
}

fn capacity(name: &str, context: &BuildContext, extractor: Option<&str>, size: usize) -> usize {
    let filtering = KeyFiltering::new(true, extractor.map(|text| text.parse().expect("known")));
    PartitionedFilterBuilder::new(&policy(name), context, filtering, size, 10)
        .expect("builds filters")
        .capacity()
}
