//! Filters on their own: building, probing one, probing many at random.

use std::ffi::CStr;
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Result, ensure};

use crate::clock::Moment;
use crate::comparison::{Comparison, Run};
use crate::data::Answer;
use crate::filters::{
    BATCH, CHUNK, Drawn, Fastbloom, FilterKey, FilterKind, Fuse, Keys, RocksFilter, Sbbf,
    SstkitFilter,
};
use crate::session::Session;

/// Bloom filters that touch one cache line, and Ribbon filters, which are small and take longer:
/// what they are called here, and RocksDB's names.
const BLOOM: (&str, &CStr) = ("bloom", c"bloomfilter");
const RIBBON: (&str, &CStr) = ("ribbon", c"ribbonfilter");
/// Keys that a turn takes at least, so that it is long enough to be measured.
const LEAST_WORK: u64 = 1 << 20;
/// The highest false-positive rate allowed here is one in this number.
const FALSE_POSITIVES: u64 = 40;

pub(crate) fn run(session: &mut Session) -> Result<()> {
    for (name, policy) in [BLOOM, RIBBON] {
        for keys in session.plan.filter_keys.clone() {
            equal_bytes(session, name, policy, keys)?;
            build(session, name, policy, keys)?;
            query(session, name, policy, keys)?;
        }
        many(session, name, policy)?;
    }
    Ok(())
}

/// Both make the same filter, to the byte.
fn equal_bytes(session: &Session, name: &str, policy: &'static CStr, keys: u64) -> Result<()> {
    if !session.plan.wants(&format!("{name} build/{keys} keys")) {
        return Ok(());
    }
    let (ours, _) = built(&SstkitFilter::new(policy)?, 0, keys)?;
    let (theirs, _) = built(&RocksFilter::new(policy), 0, keys)?;
    ensure!(ours == theirs.bytes(), "{name} of {keys} keys: the filters differ");
    Ok(())
}

/// A filter of `keys` keys and the time it took, without that for making the keys.
fn built<K: FilterKind>(kind: &K, filter: u64, keys: u64) -> Result<(K::Built, Duration)> {
    let mut chunk = Vec::new();
    let mut start = Moment::now();
    let mut builder = kind.builder(keys as usize);
    let mut time = start.elapsed();
    for first in (0..keys).step_by(CHUNK) {
        Keys { filter }.fill(first, &mut chunk, CHUNK.min((keys - first) as usize));
        start = Moment::now();
        kind.add(&mut builder, &chunk);
        time += start.elapsed();
    }
    start = Moment::now();
    let built = kind.finish(builder)?;
    Ok((built, time + start.elapsed()))
}

fn build(session: &mut Session, name: &str, policy: &'static CStr, keys: u64) -> Result<()> {
    let times = (LEAST_WORK / keys).max(1);
    let right = |answer: &Answer| {
        ensure!(answer.count > 0, "an empty filter");
        Ok(())
    };
    let mut comparison =
        Comparison::checked_by(format!("{name} build/{keys} keys"), times * keys, right);
    building(&mut comparison, SstkitFilter::new(policy)?, keys, times);
    building(&mut comparison, RocksFilter::new(policy), keys, times);
    if policy == BLOOM.1 {
        building(&mut comparison, Fastbloom, keys, times);
        building(&mut comparison, Sbbf, keys, times);
    }
    building(&mut comparison, Fuse, keys, times);
    session.run(comparison)
}

fn building<K: FilterKind + 'static>(
    comparison: &mut Comparison<'_>,
    kind: K,
    keys: u64,
    times: u64,
) {
    comparison.subject(kind.name(), kind.family(), move || {
        let (mut time, mut size) = (Duration::ZERO, 0);
        for filter in 0..times {
            let (built, took) = built(&kind, filter, keys)?;
            time += took;
            size += kind.size(&built) as u64;
        }
        Ok(Run { time, answer: Answer { count: size, ..Answer::default() } })
    });
}

/// One filter, probed key by key and in batches.
fn query(session: &mut Session, name: &str, policy: &'static CStr, keys: u64) -> Result<()> {
    let queries = (2 * session.plan.queries).max(CHUNK as u64);
    let single = format!("{name} query/{keys} keys");
    let batched = format!("{name} query in batches/{keys} keys");
    if !session.plan.wants(&single) && !session.plan.wants(&batched) {
        return Ok(());
    }
    let mut comparisons =
        [single, batched].map(|name| Comparison::checked_by(name, queries, plausible));
    querying(&mut comparisons, SstkitFilter::new(policy)?, keys, queries)?;
    querying(&mut comparisons, RocksFilter::new(policy), keys, queries)?;
    if policy == BLOOM.1 {
        querying(&mut comparisons, Fastbloom, keys, queries)?;
        querying(&mut comparisons, Sbbf, keys, queries)?;
    }
    querying(&mut comparisons, Fuse, keys, queries)?;
    comparisons.into_iter().try_for_each(|comparison| session.run(comparison))
}

fn querying<K: FilterKind + 'static>(
    [single, batched]: &mut [Comparison<'_>; 2],
    kind: K,
    keys: u64,
    queries: u64,
) -> Result<()> {
    let (built, _) = built(&kind, 0, keys)?;
    let built = kind.settle(built);
    let shared = Rc::new((kind, built));
    let (name, family) = (shared.0.name(), shared.0.family());
    let ask = Rc::clone(&shared);
    single.subject(name, family, move || {
        let (kind, built) = &*ask;
        Ok(asked(keys, queries, |chunk| kind.query(built, chunk)))
    });
    let ask = shared;
    batched.subject(name, family, move || {
        let (kind, built) = &*ask;
        Ok(asked(keys, queries, |chunk| kind.query_batch(built, chunk)))
    });
    Ok(())
}

/// Asks about keys of one filter, made a chunk at a time.
fn asked(keys: u64, queries: u64, ask: impl Fn(&[FilterKey]) -> u64) -> Run {
    let mut drawn = Drawn::new(keys);
    let mut chunk = Vec::new();
    let mut run = Run { time: Duration::ZERO, answer: Answer::default() };
    while run.answer.count < queries {
        let length = CHUNK.min((queries - run.answer.count) as usize);
        let added = drawn.fill(0, &mut chunk, length);
        let start = Moment::now();
        let positives = ask(&chunk);
        run.time += start.elapsed();
        note(&mut run.answer, length, added, positives);
    }
    run
}

/// The number of probes, of positive answers, and of added keys.
fn note(answer: &mut Answer, asked: usize, added: u64, positives: u64) {
    answer.count += asked as u64;
    answer.found += positives;
    answer.digest += added;
}

/// Every key that was added is let through, and few of the others.
fn plausible(answer: &Answer) -> Result<()> {
    let (added, absent) = (answer.digest, answer.count - answer.digest);
    ensure!(answer.found >= added, "{} of {added} keys are found", answer.found);
    let wrong = answer.found - added;
    ensure!(
        wrong <= absent / FALSE_POSITIVES + 16,
        "{wrong} of {absent} absent keys are let through"
    );
    Ok(())
}

/// Many filters that together are larger than any cache.
fn many(session: &mut Session, name: &str, policy: &'static CStr) -> Result<()> {
    let (filters, keys) = (session.plan.many_filters, session.plan.many_keys);
    let names = [
        format!("{name} query/random over {filters} filters of {keys} keys"),
        format!("{name} query in batches/random over {filters} filters of {keys} keys, each key"),
        format!("{name} query in batches/random over {filters} filters of {keys} keys, each batch"),
    ];
    if !names.iter().any(|name| session.plan.wants(name)) {
        return Ok(());
    }
    let queries = session.plan.queries.max(CHUNK as u64);
    let mut comparisons = names.map(|name| Comparison::checked_by(name, queries, plausible));
    asking_many(&mut comparisons, SstkitFilter::new(policy)?, filters, keys, queries)?;
    asking_many(&mut comparisons, RocksFilter::new(policy), filters, keys, queries)?;
    if policy == BLOOM.1 {
        asking_many(&mut comparisons, Fastbloom, filters, keys, queries)?;
        asking_many(&mut comparisons, Sbbf, filters, keys, queries)?;
    }
    asking_many(&mut comparisons, Fuse, filters, keys, queries)?;
    comparisons.into_iter().try_for_each(|comparison| session.run(comparison))
}

fn asking_many<K: FilterKind + 'static>(
    [single, ahead, batched]: &mut [Comparison<'_>; 3],
    kind: K,
    filters: u64,
    keys: u64,
    queries: u64,
) -> Result<()> {
    let built: Result<Vec<K::Filter>> =
        (0..filters).map(|filter| Ok(kind.settle(built(&kind, filter, keys)?.0))).collect();
    let shared = Rc::new((kind, built?));
    let (name, family) = (shared.0.name(), shared.0.family());
    let ask = Rc::clone(&shared);
    single.subject(name, family, move || {
        let (kind, built) = &*ask;
        Ok(asked_many(filters, keys, queries, 1, |which, chunk| {
            kind.query_each(built, which, chunk)
        }))
    });
    let ask = Rc::clone(&shared);
    ahead.subject(name, family, move || {
        let (kind, built) = &*ask;
        Ok(asked_many(filters, keys, queries, 1, |which, chunk| {
            kind.query_each_ahead(built, which, chunk)
        }))
    });
    let ask = shared;
    batched.subject(name, family, move || {
        let (kind, built) = &*ask;
        Ok(asked_many(filters, keys, queries, BATCH, |which, chunk| {
            kind.query_each_batch(built, which, chunk)
        }))
    });
    Ok(())
}

/// Asks about keys of filters at random; `same` keys in a row are of the same filter.
fn asked_many(
    filters: u64,
    keys: u64,
    queries: u64,
    same: usize,
    ask: impl Fn(&[u32], &[FilterKey]) -> u64,
) -> Run {
    let mut drawn = Drawn::new(keys);
    let (mut which, mut chunk) = (Vec::new(), Vec::new());
    let mut run = Run { time: Duration::ZERO, answer: Answer::default() };
    while run.answer.count < queries {
        let length = CHUNK.min((queries - run.answer.count) as usize);
        which.clear();
        chunk.clear();
        let mut added = 0;
        while chunk.len() < length {
            let filter = drawn.below(filters);
            for _ in 0..same.min(length - chunk.len()) {
                let (key, present) = drawn.key(filter);
                which.push(filter as u32);
                chunk.push(key);
                added += u64::from(present);
            }
        }
        let start = Moment::now();
        let positives = ask(&which, &chunk);
        run.time += start.elapsed();
        note(&mut run.answer, length, added, positives);
    }
    run
}
