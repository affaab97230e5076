//! Each rule, with a database that it is for and one that it is not for.

use sstkit_inspect::{Advice, AdviceOptions, Suggestion, WhatIf};
use sstkit_table::raw::FormatVersion;

use crate::made::{Made, MadeLevel, level, open};

fn advise(made: &Made, options: &AdviceOptions) -> Advice {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("database");
    made.write(&path);
    Advice::of(&open(&path), "db", options).unwrap()
}

fn find<'a>(advice: &'a Advice, rule: &str) -> Option<&'a Suggestion> {
    advice.suggestions.iter().find(|suggestion| suggestion.rule == rule)
}

/// Before and after of a number of a rule.
fn number(suggestion: &Suggestion, what: &str) -> (f64, f64) {
    let found = suggestion.numbers.iter().find(|number| number.what == what);
    let found = found.unwrap_or_else(|| panic!("{what}: {suggestion:?}"));
    (found.before, found.after)
}

fn two_levels(policy: &'static str) -> [MadeLevel; 2] {
    [level(1, 1, 1, 2000, policy), level(6, 1, 2, 10_000, policy)]
}

#[test]
fn ribbon_filters_take_less_memory() {
    let advice = advise(&Made::new("", &two_levels("bloomfilter:10")), &AdviceOptions::default());
    let ribbon = find(&advice, "ribbon").unwrap();
    assert!(ribbon.advised);
    assert!(ribbon.options.contains("filter_policy=ribbonfilter:10:6"), "{}", ribbon.options);
    let (before, after) = number(ribbon, "memory of filters");
    assert!((0.65..0.8).contains(&(after / before)), "{ribbon:?}");
    let (before, after) = number(ribbon, "wasted reads per lookup");
    assert!((0.8..1.25).contains(&(after / before)), "{ribbon:?}");
    let ribbons = advise(&Made::new("", &two_levels("ribbonfilter:10")), &AdviceOptions::default());
    assert!(find(&ribbons, "ribbon").is_none());
}

#[test]
fn the_last_level_needs_no_filter_if_keys_are_found() {
    let made = Made::new("", &two_levels("bloomfilter:10"));
    assert!(find(&advise(&made, &AdviceOptions::default()), "no_last_level").is_none());
    let some = advise(&made, &AdviceOptions::default().hit_rate(0.5));
    assert!(!find(&some, "no_last_level").unwrap().advised);
    let all = advise(&made, &AdviceOptions::default().hit_rate(0.9999));
    let suggestion = find(&all, "no_last_level").unwrap();
    assert!(suggestion.advised && suggestion.options == "optimize_filters_for_hits=true;");
    assert_eq!(all.plan.levels[1].policy.as_deref(), Some("none"));
    assert!(all.plan.column_families[0].options.contains("optimize_filters_for_hits=true"));
    // The memory goes to the block cache.
    assert!(all.plan.filter_bytes.unwrap() <= all.levels[0].filter_bytes);
}

#[test]
fn large_filters_are_partitioned() {
    let made = Made::new("", &two_levels("bloomfilter:10"));
    let small = AdviceOptions::default().cache_size(256 << 10);
    let advice = advise(&made, &small);
    let suggestion = find(&advice, "partitions").unwrap();
    let (before, after) = number(suggestion, "read of a filter that is not cached, at most");
    assert!(before > 12_000.0 && after < 4500.0, "{suggestion:?}");
    assert!(find(&advise(&made, &AdviceOptions::default()), "partitions").is_none());
    let partitioned = Made { partitioned: true, ..made };
    assert!(find(&advise(&partitioned, &small), "partitions").is_none());
}

#[test]
fn prefixes_that_are_everywhere_do_not_help() {
    // 4096 prefixes of four letters, all in each table; and 2^32 of twelve bytes.
    let levels =
        [level(1, 1, 1, 60_000, "bloomfilter:10"), level(6, 1, 1, 60_000, "bloomfilter:10")];
    let short = Made { prefix: Some("fixed:2"), ..Made::new("", &levels) };
    let advice = advise(&short, &AdviceOptions::default());
    let suggestion = find(&advice, "prefixes").unwrap();
    let (before, after) = number(suggestion, "memory of filters");
    assert!(after <= before, "{suggestion:?}");
    let (with, without) = number(suggestion, "wasted reads per seek");
    assert!(with > 0.98 * without, "{suggestion:?}");
    let long = Made { prefix: Some("fixed:12"), ..short };
    let advice = advise(&long, &AdviceOptions::default());
    assert!(find(&advice, "prefixes").is_none());
    // Half of what is in these are prefixes.
    let whole_keys = find(&advice, "whole_keys").unwrap();
    let (before, after) = number(whole_keys, "memory of filters");
    assert!(!whole_keys.advised && (0.4..0.6).contains(&(after / before)), "{whole_keys:?}");
    let (filtered, unfiltered) = number(whole_keys, "wasted reads per lookup");
    assert!(filtered < 0.05 && (1.9..=2.0).contains(&unfiltered), "{whole_keys:?}");
    let only_prefixes = Made { whole_keys: false, ..long };
    assert!(find(&advise(&only_prefixes, &AdviceOptions::default()), "whole_keys").is_none());
}

#[test]
fn legacy_filters_have_more_false_positives() {
    let new = Made::new("", &two_levels("bloomfilter:10"));
    assert!(find(&advise(&new, &AdviceOptions::default()), "legacy_bloom").is_none());
    let old = Made { format_version: FormatVersion::V4, ..new };
    let advice = advise(&old, &AdviceOptions::default());
    let (before, after) = number(find(&advice, "legacy_bloom").unwrap(), "wasted reads per lookup");
    assert!(after < before, "{before} {after}");
}

#[test]
fn jemalloc_rounds_sizes_up() {
    // 10 bits for 10,500 keys: 13 KiB, for which jemalloc has 14 KiB.
    let made = Made::new("", &[level(6, 1, 3, 10_500, "bloomfilter:10")]);
    let advice = advise(&made, &AdviceOptions::default());
    let suggestion = find(&advice, "allocator_rounding").unwrap();
    let (before, after) = number(suggestion, "memory of filters with jemalloc");
    assert_eq!((before, after), (3.0 * 14.0 * 1024.0, advice.now.filter_bytes as f64));
    let fitting = Made::new("", &[level(6, 1, 3, 11_400, "bloomfilter:10")]);
    assert!(find(&advise(&fitting, &AdviceOptions::default()), "allocator_rounding").is_none());
}

#[test]
fn large_blocks_are_read_for_one_entry() {
    let made = Made::new("", &two_levels("bloomfilter:10"));
    assert!(find(&advise(&made, &AdviceOptions::default()), "block_size").is_none());
    let large = Made { block_size: 32 << 10, ..made.clone() };
    let advice = advise(&large, &AdviceOptions::default());
    let suggestion = find(&advice, "block_size").unwrap();
    let (before, after) = number(suggestion, "block size");
    assert!((30_000.0..36_000.0).contains(&before) && after == 4096.0, "{suggestion:?}");
    let (before, after) = number(suggestion, "memory of indexes");
    assert!((6.0..9.0).contains(&(after / before)), "{suggestion:?}");
    // It is so: the index of the same keys in small blocks.
    let small = advise(&made, &AdviceOptions::default());
    assert!(
        (0.7..1.4).contains(&(after / small.now.index_bytes as f64)),
        "{after} {:?}",
        small.now
    );
}

#[test]
fn what_if_is_evaluated() {
    let made = Made::new("", &two_levels("bloomfilter:10"));
    let choice: WhatIf = "filter=ribbonfilter:8;filter.1=bloomfilter:12;partition_filters=true;\
                          block_size=8192"
        .parse()
        .unwrap();
    let advice = advise(&made, &AdviceOptions::default().what_if(choice));
    let change = advice.what_if.unwrap();
    let policies: Vec<&str> = change.levels.iter().filter_map(|it| it.policy.as_deref()).collect();
    assert_eq!(policies, ["bloomfilter:12", "ribbonfilter:8"]);
    assert_eq!(
        change.refilter.unwrap(),
        "sst refilter db -o db.new --per-level 1=bloomfilter:12 --per-level 6=ribbonfilter:8 \
         --partition-filters"
    );
    assert!((0.4..0.6).contains(&(change.index_bytes as f64 / advice.now.index_bytes as f64)));
    let options = &change.column_families[0].options;
    assert!(
        options.contains("partition_filters=true;index_type=kTwoLevelIndexSearch;"),
        "{options}"
    );
    assert!(options.contains("block_size=8192;"), "{options}");
    assert!(advice.now.filter_bytes > change.filter_bytes.unwrap());
}
