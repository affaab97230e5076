//! From the bytes of keys to a filter, in nanoseconds per key.

use std::cell::LazyCell;
use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use sstkit_bench::{Keys, LINEUP, Mode, Queries};

const SIZES: [usize; 4] = [1_000, 100_000, 1_000_000, 10_000_000];

/// Keys probed in a finished filter, to check it.
const CHECKS: usize = 100_000;

fn build(criterion: &mut Criterion) {
    for size in SIZES {
        // Lazily, so that a run of a few benches does not prepare for all of them.
        let keys = LazyCell::new(|| Keys::present(size));
        let queries = LazyCell::new(|| [Queries::present(&keys, CHECKS), Queries::absent(CHECKS)]);
        let mut group = criterion.benchmark_group(format!("build/{size}"));
        group.throughput(Throughput::Elements(size as u64)).sampling_mode(SamplingMode::Flat);
        for entrant in &LINEUP {
            let checked = LazyCell::new(|| {
                let subject = (entrant.build)(&keys);
                for queries in &*queries {
                    queries.check(subject.pass(Mode::Single, queries)(), subject.expected_fpr());
                }
            });
            group.bench_function(entrant.name, |bencher| {
                LazyCell::force(&checked);
                bencher.iter(|| (entrant.build)(black_box(&keys)));
            });
        }
        group.finish();
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(10)
        .nresamples(2_000)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_secs(1));
    targets = build
}
criterion_main!(benches);
