//! From a key, or its hash, to an answer, in nanoseconds per query.
//!
//! Filters of a thousand keys (1 KB) live in the first-level cache, of a hundred thousand (125 KB) in the second, of ten
//! million (12.5 MB) outside it; `many` are 800 filters of a hundred thousand keys each, outside all of them.

use std::cell::LazyCell;
use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use sstkit_bench::{Entrant, Keys, LINEUP, Mode, Presence, Queries, Subject};

const SIZES: [usize; 3] = [1_000, 100_000, 10_000_000];

/// Enough for a branch predictor not to learn the answers by heart: asked the same 2^14 absent keys again and again, a
/// Zen 4 answers them in `fastbloom` within 1.7 ns, and the same 2^17 within 9.5 ns.
const QUERIES: usize = 1 << 17;

/// Where the filter is larger than the cache: enough to touch all of it.
const QUERIES_OF_LARGE: usize = 1 << 18;

/// And for many filters, enough to touch more of them than the last cache holds: 64 MB.
const QUERIES_OF_MANY: usize = 1 << 20;

/// Filters of [`MANY_KEYS`] keys: 100 MB at ten bits per key.
const MANY_FILTERS: usize = 800;
const MANY_KEYS: usize = 100_000;

/// Sets of keys that the many filters are made from.
const MANY_SETS: usize = 8;

fn query_one(criterion: &mut Criterion) {
    for size in SIZES {
        let count = if size > 100_000 { QUERIES_OF_LARGE } else { QUERIES };
        let keys = LazyCell::new(|| Keys::present(size));
        query(
            criterion,
            &size.to_string(),
            count,
            |entrant| (entrant.build)(&keys),
            |presence| match presence {
                Presence::Present => Queries::present(&keys, count),
                Presence::Absent => Queries::absent(count),
            },
        );
    }
}

fn query_many(criterion: &mut Criterion) {
    let sets = LazyCell::new(|| {
        (0..MANY_SETS).map(|number| Keys::present_set(number, MANY_KEYS)).collect::<Vec<_>>()
    });
    query(
        criterion,
        "many",
        QUERIES_OF_MANY,
        |entrant| (entrant.build_many)(&sets, MANY_FILTERS),
        |presence| Queries::of_many(presence, &sets, MANY_FILTERS, QUERIES_OF_MANY),
    );
}

/// All query modes of all candidates; those that are compared are measured in succession.
fn query(
    criterion: &mut Criterion,
    size: &str,
    count: usize,
    subject: impl Fn(&Entrant) -> Box<dyn Subject>,
    queries: impl Fn(Presence) -> Queries,
) {
    // Lazily, so that a run of a few benches does not prepare for all of them.
    let subjects = LINEUP.map(|entrant| {
        let subject = &subject;
        (entrant, LazyCell::new(move || subject(&entrant)))
    });
    for presence in Presence::ALL {
        let queries = LazyCell::new(|| queries(presence));
        for mode in Mode::ALL {
            let mut group = criterion.benchmark_group(format!("query/{mode}/{presence}/{size}"));
            group.throughput(Throughput::Elements(count as u64));
            group.sampling_mode(SamplingMode::Flat);
            for (entrant, subject) in &subjects {
                if mode == Mode::Batch && !entrant.batches {
                    continue;
                }
                group.bench_function(entrant.name, |bencher| {
                    let pass = subject.pass(mode, &queries);
                    queries.check(pass(), subject.expected_fpr());
                    bencher.iter(|| black_box(&pass)());
                });
            }
            group.finish();
        }
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(10)
        .nresamples(2_000)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(500));
    targets = query_one, query_many
}
criterion_main!(benches);
