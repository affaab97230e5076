//! Distributing memory over levels, compared with searches that know nothing of slopes.

use std::f64::consts::LN_2;

use sstkit_filter::allocation::monkey_rates;
use sstkit_filter::{
    AllocatedKind, AllocationOptions, BuildContext, Filter, FilterAllocator, FilterPolicy,
    FilteredLevel,
};
use sstkit_testkit::random::{Random, mix, seeds};

const KINDS: [&[AllocatedKind]; 4] = [
    &[AllocatedKind::Bloom],
    &[AllocatedKind::Ribbon],
    &[AllocatedKind::Bloom, AllocatedKind::Ribbon],
    &[AllocatedKind::LevelDb],
];

fn policy(text: impl AsRef<str>) -> FilterPolicy {
    text.as_ref().parse().unwrap()
}

/// The rates of ideal filters by moving bits between pairs of levels until nothing improves.
fn numeric_rates(levels: &[(f64, f64)], bits: f64) -> Vec<f64> {
    let all_keys: f64 = levels.iter().map(|(keys, _)| keys).sum();
    let mut bits_per_key = vec![bits / all_keys; levels.len()];
    let rate = |bits: f64| (-bits * LN_2 * LN_2).exp();
    let mut step = bits / 2.0;
    while step > bits * 1e-9 {
        let mut improved = false;
        for from in 0..levels.len() {
            for to in 0..levels.len() {
                let moved = step.min(bits_per_key[from] * levels[from].0);
                let less = bits_per_key[from] - moved / levels[from].0;
                let more = bits_per_key[to] + moved / levels[to].0;
                let lost = levels[from].1 * (rate(less) - rate(bits_per_key[from]));
                let won = levels[to].1 * (rate(bits_per_key[to]) - rate(more));
                if from != to && won > lost * (1.0 + 1e-12) {
                    (bits_per_key[from], bits_per_key[to]) = (less.max(0.0), more);
                    improved = true;
                }
            }
        }
        if !improved {
            step /= 2.0;
        }
    }
    bits_per_key.into_iter().map(rate).collect()
}

fn wasted(levels: &[(f64, f64)], rates: &[f64]) -> f64 {
    levels.iter().zip(rates).map(|((_, probes), rate)| probes * rate).sum()
}

#[test]
fn closed_form_is_the_numeric_optimum() {
    for seed in seeds(200) {
        let mut random = Random::new(seed);
        let count = 1 + random.index(7);
        let mut keys = 1e3;
        let levels: Vec<(f64, f64)> = (0..count)
            .map(|_| {
                keys *= 1.0 + random.below(12) as f64;
                (keys, (1 + random.below(80)) as f64 / 10.0)
            })
            .collect();
        let all_keys: f64 = levels.iter().map(|(keys, _)| keys).sum();
        let bits = all_keys * (1 + random.below(200)) as f64 / 10.0;
        let closed = monkey_rates(&levels, bits);
        let used: f64 = levels.iter().zip(&closed).map(|((keys, _), rate)| -keys * rate.ln()).sum();
        assert!(used / LN_2 / LN_2 <= bits * (1.0 + 1e-9), "{levels:?}: {closed:?}");
        let numeric = numeric_rates(&levels, bits);
        let ratio = wasted(&levels, &closed) / wasted(&levels, &numeric);
        assert!((0.99..=1.000_001).contains(&ratio), "{levels:?}, {bits}: {closed:?} {numeric:?}");
    }
}

/// The rates of Monkey for leveling: p(i) = R·(T-1)/T^(L+1-i), if all levels have filters.
#[test]
fn closed_form_is_that_of_monkey() {
    for ratio in [2.0f64, 4.0, 10.0] {
        let count = 5;
        let levels: Vec<(f64, f64)> = (1..=count).map(|i| (ratio.powi(i), 1.0)).collect();
        let all_keys: f64 = levels.iter().map(|(keys, _)| keys).sum();
        let rates = monkey_rates(&levels, 10.0 * all_keys);
        let sum: f64 = rates.iter().sum();
        for (i, rate) in (1..=count).zip(&rates) {
            // The paper's formula is for endless levels; its sum lacks those above the first.
            let endless = sum / (1.0 - ratio.powi(-count));
            let expected = endless * (ratio - 1.0) / ratio.powi(count + 1 - i);
            assert!((rate / expected - 1.0).abs() < 1e-9, "T = {ratio}: {rates:?}");
        }
    }
}

#[test]
fn few_bits_leave_the_largest_level_without_filter() {
    let levels = [(1e6, 1.0), (1e7, 1.0), (1e8, 1.0)];
    let rates = monkey_rates(&levels, 1e7);
    assert!(rates[0] < rates[1] && rates[1] < 1.0 && rates[2] == 1.0, "{rates:?}");
    assert_eq!(monkey_rates(&levels, 0.0), [1.0; 3]);
    assert_eq!(monkey_rates(&[(0.0, 1.0), (10.0, 0.0)], 100.0), [1.0; 2]);
    assert!(monkey_rates(&[], 100.0).is_empty());
}

/// All policies of some kinds, by size, those only that are better than all smaller ones.
fn all_policies(level: &FilteredLevel, kinds: &[AllocatedKind]) -> Vec<(u64, f64)> {
    let mut policies = vec!["none".to_string()];
    for kind in kinds {
        let bits = (100..2000).chain((2000..=10_000).step_by(10));
        match kind {
            AllocatedKind::Bloom => {
                policies.extend(bits.map(|it| format!("bloomfilter:{}", f64::from(it) / 100.0)));
            }
            AllocatedKind::Ribbon => {
                policies.extend(bits.map(|it| format!("ribbonfilter:{}", f64::from(it) / 100.0)));
            }
            AllocatedKind::LevelDb => {
                policies.extend((1..=100).map(|it| format!("leveldb.BuiltinBloomFilter2:{it}")));
            }
            other => panic!("{other:?}"),
        }
    }
    let alone = FilterAllocator::new(std::slice::from_ref(level), AllocationOptions::default());
    let mut all: Vec<(u64, f64)> = policies
        .iter()
        .map(|text| alone.evaluate(&[policy(text)]).unwrap())
        .map(|it| (it.bytes, it.levels[0].fpr))
        .collect();
    all.sort_by(|a, b| a.partial_cmp(b).unwrap());
    let mut best = f64::INFINITY;
    all.retain(|&(_, fpr)| {
        let is_better = fpr < best;
        best = best.min(fpr);
        is_better
    });
    all
}

/// The fewest wasted reads of three levels: all pairs of policies of the first two, the best of the
/// third that fits.
fn exhaustive(policies: &[Vec<(u64, f64)>], weights: &[f64], budget: u64) -> f64 {
    let [first, second, third] = policies else { panic!("three levels") };
    let mut fewest = f64::INFINITY;
    for (a_bytes, a) in first {
        for (b_bytes, b) in second {
            let Some(left) = budget.checked_sub(a_bytes + b_bytes) else { break };
            let c = third[third.partition_point(|(bytes, _)| *bytes <= left) - 1].1;
            fewest = fewest.min(weights[0] * a + weights[1] * b + weights[2] * c);
        }
    }
    fewest
}

#[test]
fn allocation_is_the_exhaustive_optimum() {
    for seed in seeds(16) {
        let mut random = Random::new(seed);
        let kinds = KINDS[seed as usize % KINDS.len()];
        let is_leveldb = kinds[0] == AllocatedKind::LevelDb;
        let mut keys = 1000;
        let levels: Vec<FilteredLevel> = (0..3)
            .map(|i| {
                keys *= 1 + random.below(if i == 2 { 30 } else { 12 });
                let files = if is_leveldb { keys / 30 } else { 1 + random.below(10) };
                let runs = if i == 0 { 1 + random.below(6) as u32 } else { 1 };
                let reach = if i == 1 { (1 + random.below(10)) as f64 / 10.0 } else { 1.0 };
                FilteredLevel::new(keys).filters(files).runs(runs).reach(reach)
            })
            .collect();
        let options = AllocationOptions::default().kinds(kinds);
        let allocator = FilterAllocator::new(&levels, options);
        let weight = |i: usize| {
            let mut rates = [0.0; 3];
            rates[i] = 1.0;
            allocator.wasted_reads(&rates)
        };
        let weights: Vec<f64> = (0..3).map(weight).collect();
        // Of the smaller levels every eighth policy is enough.
        let mut policies: Vec<Vec<(u64, f64)>> =
            levels.iter().map(|level| all_policies(level, kinds)).collect();
        for few in &mut policies[..2] {
            let every = if is_leveldb { 1 } else { 8 };
            *few = few.iter().copied().step_by(every).collect();
        }
        let most: u64 = policies.iter().filter_map(|it| it.last()).map(|it| it.0).sum();
        for part in [0, 1, 2, 3, 5, 8, 13, 21, 100] {
            let budget = most / 100 * part;
            let best = exhaustive(&policies, &weights, budget);
            let found = allocator.allocate(budget);
            assert!(found.bytes <= budget, "{found:?}");
            let ratio = found.wasted_reads / best;
            assert!(ratio < 1.01, "{levels:?}, {budget} bytes: {ratio} times {best}: {found:?}");
            // What it says is what its policies cost.
            let policies: Vec<FilterPolicy> =
                found.levels.iter().map(|it| policy(it.policy.to_string())).collect();
            let evaluated = allocator.evaluate(&policies).unwrap();
            assert_eq!(evaluated.bytes, found.bytes);
            assert!((evaluated.wasted_reads / found.wasted_reads - 1.0).abs() < 1e-12);
        }
    }
}

/// Real filters are worse than ideal ones, but the optimum has the same form.
#[test]
fn allocation_has_the_form_of_monkey() {
    let keys = [1_000_000, 10_000_000, 100_000_000];
    let levels = keys.map(FilteredLevel::new);
    let ideal: Vec<(f64, f64)> = keys.iter().map(|&keys| (keys as f64, 1.0)).collect();
    for (kinds, overhead) in [(KINDS[0], 1.0..1.6), (KINDS[1], 0.2..0.5)] {
        let allocator = FilterAllocator::new(&levels, AllocationOptions::default().kinds(kinds));
        for bits in [4, 8, 12] {
            let budget = 111_000_000 * bits / 8;
            let found = allocator.allocate(budget);
            let ratio = found.wasted_reads
                / wasted(&ideal, &monkey_rates(&ideal, (111_000_000 * bits) as f64));
            assert!(overhead.contains(&ratio.powf(8.0 / bits as f64)), "{kinds:?} {bits}: {ratio}");
            for pair in found.levels.windows(2) {
                let ratio = pair[1].fpr / pair[0].fpr;
                assert!((5.0..20.0).contains(&ratio), "{kinds:?}, {bits} bits: {found:?}");
            }
        }
    }
}

#[test]
fn filters_of_the_last_level_are_useless_for_keys_that_are_found() {
    let levels = [FilteredLevel::new(100_000), FilteredLevel::new(1_000_000)];
    let allocate = |hit_rate| {
        let options = AllocationOptions::default().hit_rate(hit_rate);
        FilterAllocator::new(&levels, options).allocate(1 << 20)
    };
    let (none, half, all) = (allocate(0.0), allocate(0.5), allocate(1.0));
    assert!(half.levels[0].bytes > none.levels[0].bytes);
    assert!(half.levels[1].bytes < none.levels[1].bytes);
    assert_eq!(all.levels[1].policy.to_string(), "none");
    assert_eq!(all.levels[1].wasted_reads, 0.0);
}

#[test]
fn levels_have_kinds_of_their_own() {
    use AllocatedKind::{Bloom, Ribbon};
    let levels = [
        FilteredLevel::new(10_000).kinds(&[Bloom]),
        FilteredLevel::new(100_000).kinds(&[Ribbon]),
        FilteredLevel::new(1_000_000).kinds(&[]),
    ];
    let allocator = FilterAllocator::new(&levels, AllocationOptions::default());
    assert_eq!(allocator.weights(), [1.0; 3]);
    let allocation = allocator.allocate(120_000);
    let policies = allocation.levels.iter().map(|it| it.policy.to_string()).collect::<Vec<_>>();
    assert!(policies[0].starts_with("bloomfilter:"), "{policies:?}");
    assert!(policies[1].starts_with("ribbonfilter:"), "{policies:?}");
    assert_eq!(policies[2], "none");
}

#[test]
fn limits() {
    let levels = [FilteredLevel::new(0), FilteredLevel::new(1000), FilteredLevel::new(u64::MAX)];
    let options = || AllocationOptions::default().kinds(KINDS[2]);
    let allocator = FilterAllocator::new(&levels, options());
    let nothing = allocator.allocate(0);
    assert_eq!(nothing.bytes, 0);
    assert_eq!(nothing.levels[1].policy.to_string(), "none");
    let everything = FilterAllocator::new(&levels[..2], options()).allocate(u64::MAX);
    assert!(everything.wasted_reads < 1e-9, "{everything:?}");
    assert!(FilterAllocator::new(&[], options()).allocate(1000).levels.is_empty());
    // Fewer than eight bytes for a thousand keys.
    assert_eq!(allocator.allocate(7).levels[1].policy.to_string(), "none");
    // Legacy filters have whole bits and an odd number of cache lines.
    let legacy = AllocationOptions::default().format_version(4);
    let legacy = FilterAllocator::new(&levels[1..2], legacy).allocate(1200);
    assert_eq!(legacy.levels[0].policy.to_string(), "bloomfilter:8");
}

/// Lookups in real filters waste as many reads as expected.
#[test]
fn measured_reads_are_the_expected_ones() {
    const PROBES: u64 = 1_000_000;
    let keys = [20_000, 60_000, 400_000];
    let levels = keys.map(FilteredLevel::new);
    for kinds in [KINDS[0], KINDS[1]] {
        let options = AllocationOptions::default().kinds(kinds);
        let allocation = FilterAllocator::new(&levels, options).allocate(300_000);
        let (mut bytes, mut reads) = (0, 0);
        for (level, allocated) in allocation.levels.iter().enumerate() {
            let key = |i: u64| mix(i << 2 | level as u64).to_le_bytes();
            let mut builder = allocated.policy.builder(&BuildContext::default()).unwrap();
            (0..keys[level]).for_each(|i| builder.add(&key(i)));
            let filter = builder.finish().unwrap();
            bytes += filter.len() as u64;
            let filter = Filter::from_bytes(filter);
            reads += (0..PROBES).filter(|&i| filter.may_contain(&key(i + keys[level]))).count();
        }
        // The rounding of Ribbon filters depends on a key.
        assert!(bytes.abs_diff(allocation.bytes) <= 3 * 16, "{bytes}: {allocation:?}");
        let measured = reads as f64 / PROBES as f64;
        let ratio = measured / allocation.wasted_reads;
        assert!((0.97..1.03).contains(&ratio), "{measured}: {allocation:?}");
    }
}
