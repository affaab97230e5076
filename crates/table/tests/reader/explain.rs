//! Explained lookups and filter statistics, over every golden table.

use std::sync::Arc;

use sstkit_filter::{FilterKind, FilterLayout, FilterParameters};
use sstkit_table::explain::{
    BlockStep, IntervalSearch, LookupAnswer, LookupTrace, NotProbed, ProbedFor,
};
use sstkit_table::raw::{Block, BlockHandle, BlockKind, EntryKind, TableView};
use sstkit_table::{BlockCache, ErrorKind, Table, TableReadOptions, Ticker, Tickers};
use sstkit_testkit::goldens::{Golden, Model, golden_tables, open, options};

use crate::table_maker::{TableMaker, internal};

/// A table whose reads and counters can be observed.
struct Watched {
    table: Table,
    cache: BlockCache,
    tickers: Arc<Tickers>,
}

impl Watched {
    fn open(golden: &Golden, options: TableReadOptions) -> Self {
        let (cache, tickers) = (BlockCache::new(64 << 20), Arc::new(Tickers::default()));
        let options = options.block_cache(&cache).tickers(&tickers);
        Self { table: open(golden, &options), cache, tickers }
    }

    fn state(&self) -> (usize, u64, Vec<u64>) {
        let counts = Ticker::ALL.iter().map(|&ticker| self.tickers.get(ticker)).collect();
        (self.cache.len(), self.cache.used_bytes(), counts)
    }

    /// Explains a lookup, and checks that nothing changed.
    fn explain(&self, key: &[u8]) -> LookupTrace {
        let before = self.state();
        let trace = self.table.explain(key).unwrap();
        assert_eq!(before, self.state());
        trace
    }
}

/// The trace of a lookup agrees with the results of lookups and filters.
fn agrees(table: &Table, key: &[u8], trace: &LookupTrace) {
    let (value, entries) = (table.get(key).unwrap(), table.get_entries(key).unwrap());
    match &trace.answer {
        LookupAnswer::Value(found) => assert_eq!(Some(found), value.as_ref()),
        LookupAnswer::Deleted => assert!(value.is_none() && !entries.is_empty()),
        LookupAnswer::NotFound | LookupAnswer::Filtered => assert!(entries.is_empty()),
        other => panic!("{other:?}"),
    }
    let seen = trace.blocks.iter().flat_map(|block| block.data.iter().flat_map(|it| &it.entries));
    let mut count = 0;
    for (step, entry) in seen.zip(&entries) {
        assert_eq!(step.user_key, entry.user_key);
        assert_eq!((step.sequence, step.kind), (entry.sequence, entry.kind));
        assert_eq!((step.value_length, step.is_covered), (entry.value.len(), false));
        count += 1;
    }
    assert_eq!(count > 0, !entries.is_empty());

    let Some(filter) = table.filter() else { return assert!(trace.filter.is_none()) };
    let step = trace.filter.as_ref().unwrap();
    assert_eq!((step.layout, step.handle), (filter.layout(), filter.handle()));
    assert_eq!((step.policy.as_str(), &step.problem), (filter.policy(), &None));
    let may_contain = filter.may_contain(key).unwrap();
    if filter.layout() == FilterLayout::Block {
        assert!(step.trace.is_none() && step.partition.is_none());
        let first = trace.blocks.first().and_then(|block| block.filter.as_ref());
        assert_eq!(first.is_some_and(|it| it.filter.may_contain), may_contain);
        return;
    }
    assert_eq!(step.may_contain, may_contain);
    assert_eq!(trace.answer == LookupAnswer::Filtered, !may_contain);
    let asked = !matches!(step.probed_for, ProbedFor::Nothing(_));
    assert_eq!(step.trace.is_some(), asked);
    match filter.layout() {
        FilterLayout::Partitioned if asked => {
            let handle = step.partition.as_ref().unwrap().handle;
            assert!(filter.partitions().unwrap().contains(&handle));
        }
        _ => assert!(step.partition.is_none()),
    }
    if let Some(trace) = &step.trace {
        assert!(may_contain || trace.probes.last().is_none_or(|probe| !probe.passes()));
        assert_eq!(trace.may_contain, may_contain);
    }
}

/// The interval that a search for `key` has to start in, by walking through the block.
fn interval(view: &TableView<'_>, handle: BlockHandle, key: &[u8], step: IntervalSearch) -> usize {
    let block = Block::parse(view.block(BlockKind::Data, handle).unwrap()).unwrap();
    let mut entries = block.entries();
    let mut start = 0;
    while entries.advance().unwrap() {
        if entries.key().starts_with(key) {
            let restart = entries.restart_index();
            // A binary search looks for the last restart point before the key.
            let is_first = block.restart(restart) == start;
            let before = is_first && step != IntervalSearch::HashIndex;
            return restart.saturating_sub(usize::from(before));
        }
        start = entries.next_offset();
    }
    panic!("{} is in the block", key.escape_ascii());
}

#[test]
fn explanations_agree_with_lookups() {
    let mut searches = Vec::new();
    for golden in golden_tables() {
        let model = Model::of(&golden);
        let (present, absent) = (model.keys.iter(), model.absent_keys());
        for options in [options(), options().cache_index_and_filter_blocks(true)] {
            let watched = Watched::open(&golden, options);
            let table = &watched.table;
            let layout = table.layout().unwrap();
            let view = TableView::open(&golden.bytes).unwrap();
            for key in absent.iter().step_by(89) {
                agrees(table, key, &watched.explain(key));
            }
            for key in present.clone().step_by(47) {
                let trace = watched.explain(key);
                agrees(table, key, &trace);
                let BlockStep { handle, data, index_partition, .. } = trace.blocks.last().unwrap();
                let data = data.as_ref().unwrap();
                let listed = layout.blocks.iter().find(|block| block.handle == *handle).unwrap();
                assert_eq!((listed.kind, listed.codec), (BlockKind::Data, data.codec));
                let contents = view.block(BlockKind::Data, *handle).unwrap();
                assert_eq!(contents.len(), data.decoded_size);
                let mut cursor = table.entry_cursor();
                assert!(cursor.seek(key).unwrap());
                assert_eq!(cursor.block(), Some(*handle));
                let partitions =
                    layout.blocks.iter().filter(|it| it.kind == BlockKind::IndexPartition);
                let mut partitions = partitions.map(|it| it.handle);
                match index_partition {
                    Some(step) => assert!(partitions.any(|handle| handle == step.handle)),
                    None => assert_eq!(partitions.next(), None),
                }
                let expected = interval(&view, *handle, key, data.search);
                assert_eq!(data.interval, Some(expected), "{}", golden.path.display());
                assert!(expected < data.intervals);
                searches.push(data.search);
            }
        }
    }
    for search in [IntervalSearch::Binary, IntervalSearch::HashIndex] {
        assert!(searches.contains(&search), "{search:?}");
    }
}

#[test]
fn the_cache_is_seen_as_it_is() {
    let golden = golden_tables();
    let golden = golden.iter().find(|g| g.path.to_string_lossy().contains("partitioned-decoupled"));
    let golden = golden.unwrap();
    let key = &Model::of(golden).keys[0];
    let watched = Watched::open(golden, options());
    let cached = |trace: &LookupTrace| {
        let partition = trace.filter.as_ref().unwrap().partition.as_ref().unwrap();
        let block = &trace.blocks[0];
        [
            partition.is_cached,
            block.index_partition.as_ref().unwrap().is_cached,
            block.data.as_ref().unwrap().is_cached,
        ]
    };
    assert_eq!(cached(&watched.explain(key)), [false; 3]);
    watched.table.get(key).unwrap();
    assert_eq!(cached(&watched.explain(key)), [true; 3]);
    assert_eq!(
        cached(&open(golden, &options().no_block_cache()).explain(key).unwrap()),
        [false; 3]
    );
}

#[test]
fn deletions_and_merges_are_explained() {
    let entry = |key: &[u8], sequence, kind| (internal(key, sequence, kind), b"v".to_vec());
    let mut maker = TableMaker::new(vec![
        vec![
            entry(b"deleted", 9, EntryKind::Deletion),
            entry(b"deleted", 8, EntryKind::Value),
            entry(b"merged", 9, EntryKind::Merge),
        ],
        vec![entry(b"merged", 7, EntryKind::Merge), entry(b"ranged", 3, EntryKind::Value)],
    ]);
    maker.range_deletions = vec![(internal(b"r", 5, EntryKind::RangeDeletion), b"s".to_vec())];
    let table = Table::from_bytes(maker.rocksdb()).unwrap();
    let kinds = |trace: &LookupTrace| -> Vec<_> {
        let data = trace.blocks.iter().filter_map(|block| block.data.as_ref());
        data.flat_map(|data| &data.entries).map(|it| (it.kind, it.is_covered)).collect()
    };

    let trace = table.explain(b"deleted").unwrap();
    assert_eq!(trace.answer, LookupAnswer::Deleted);
    assert_eq!(kinds(&trace), [(EntryKind::Deletion, false)], "older ones do not matter");
    assert_eq!((trace.range_deletion, trace.filter.is_none()), (None, true));

    let trace = table.explain(b"ranged").unwrap();
    assert_eq!((&trace.answer, trace.range_deletion), (&LookupAnswer::Deleted, Some(5)));
    assert_eq!(kinds(&trace), [(EntryKind::Value, true)]);

    // Across two blocks, and without an operator.
    let trace = table.explain(b"merged").unwrap();
    assert_eq!((trace.blocks.len(), kinds(&trace)), (2, vec![(EntryKind::Merge, false); 2]));
    assert!(matches!(&trace.answer, LookupAnswer::Unresolved(why) if why.contains("operator")));

    assert_eq!(table.explain(b"absent").unwrap().answer, LookupAnswer::NotFound);
    let after_all = table.explain(b"z").unwrap();
    assert_eq!((after_all.answer, after_all.blocks.len()), (LookupAnswer::NotFound, 0));
}

#[test]
fn filters_that_cannot_be_probed() {
    let mut reasons = Vec::new();
    for golden in golden_tables() {
        let table = open(&golden, &options());
        let Some(filter) = table.filter() else { continue };
        let key = &Model::of(&golden).keys[0];
        let off = open(&golden, &options().use_filters(false)).explain(key).unwrap();
        let step = off.filter.unwrap();
        assert_eq!(step.probed_for, ProbedFor::Nothing(NotProbed::FiltersOff));
        assert!(step.may_contain && off.blocks.iter().all(|block| block.filter.is_none()));
        let probed_for = table.explain(b"k").unwrap().filter.unwrap().probed_for;
        match (filter.whole_key_filtering(), filter.prefix_extractor()) {
            (true, _) => assert_eq!(probed_for, ProbedFor::WholeKey),
            (false, Some(extractor)) => match extractor.prefix(b"k") {
                Some(prefix) => assert_eq!(probed_for, ProbedFor::Prefix(prefix.to_vec())),
                None => reasons.push(probed_for),
            },
            (false, None) => reasons.push(probed_for),
        }
    }
    assert!(reasons.contains(&ProbedFor::Nothing(NotProbed::KeyWithoutPrefix)), "{reasons:?}");
}

#[test]
fn orders_that_are_not_known_cannot_be_explained() {
    let table = TableMaker::new(vec![vec![(internal(b"k", 1, EntryKind::Value), vec![])]]);
    let table = Table::from_bytes(table.comparator("nobody.knows").rocksdb()).unwrap();
    assert_eq!(table.explain(b"k").unwrap_err().kind(), ErrorKind::Unsupported);
}

/// Keys with the prefixes of the given ones and random ends.
fn scattered(keys: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut state = 0x0dd5_eed0_0dd5_eed1_u64;
    let mut next = |key: &Vec<u8>| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        [key.as_slice(), &state.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()].concat()
    };
    keys.iter().flat_map(|key| [next(key), next(key)]).collect()
}

/// Statistics from the bits, compared with the properties and with measured rates.
#[test]
fn filters_laid_open() {
    let mut kinds = Vec::new();
    for golden in golden_tables() {
        let name = golden.path.display();
        let watched = Watched::open(&golden, options());
        let table = &watched.table;
        let Some(filter) = table.filter() else { continue };
        let before = watched.state();
        let stats = filter.stats().unwrap();
        assert_eq!(before, watched.state());
        assert_eq!((stats.layout, stats.policy.as_str()), (filter.layout(), filter.policy()));
        let size = table.properties().number("rocksdb.filter.size");
        assert!(size.is_none_or(|size| size == stats.bytes), "{name}: {stats:?}");
        let first = filter.kind().unwrap().unwrap();
        let counted: usize = stats.kinds().iter().map(|&(_, count)| count).sum();
        assert_eq!(counted, stats.parts.len(), "{name}");
        assert!(stats.kinds().iter().any(|&(kind, _)| kind == first), "{name}");
        kinds.extend(stats.kinds().into_iter().map(|(kind, _)| kind));
        match filter.layout() {
            FilterLayout::Full => assert_eq!(stats.parts.len(), 1),
            FilterLayout::Partitioned => {
                let handles: Vec<_> = stats.parts.iter().map(|part| part.handle).collect();
                assert_eq!(handles, filter.partitions().unwrap());
            }
            _ => assert!(stats.parts.iter().all(|part| part.handle == filter.handle())),
        }

        if let (Some(entries), Some(estimate)) = (stats.entries, stats.estimated_keys()) {
            let slack = 140.0 * stats.parts.len() as f64 + 0.1 * entries as f64;
            assert!((estimate - entries as f64).abs() < slack, "{name}: {estimate} {entries}");
        }
        let bits = stats.bits_per_key().unwrap();
        assert!((1.0..1000.0).contains(&bits), "{name}: {bits}");
        let is_bloom = |part: &sstkit_table::FilterPart| {
            matches!(part.filter.parameters, FilterParameters::Bloom { .. })
        };
        assert_eq!(stats.num_probes().is_some(), stats.parts.iter().any(is_bloom), "{name}");
        assert_eq!(stats.fill().is_some(), stats.num_probes().is_some(), "{name}");

        // Keys that the table does not have, all over its range. Their ends are of all kinds: hashes of 32
        // bits do not tell keys well apart that differ in the last byte only.
        let absent = scattered(&Model::of(&golden).keys);
        if !filter.whole_key_filtering() || absent.len() < 1000 {
            continue;
        }
        let positives = absent.iter().filter(|key| filter.may_contain(key).unwrap()).count();
        let measured = positives as f64 / absent.len() as f64;
        let expected = stats.expected_fpr().unwrap();
        let noise = 6.0 * (expected / absent.len() as f64).sqrt() + 0.004;
        let limits = 0.6 * expected - noise..1.6 * expected + noise;
        assert!(limits.contains(&measured), "{name}: expected {expected}, measured {measured}");
    }
    for kind in [
        FilterKind::LevelDbBloom,
        FilterKind::BlockBasedBloom,
        FilterKind::LegacyBloom,
        FilterKind::FastLocalBloom,
        FilterKind::Ribbon128,
    ] {
        assert!(kinds.contains(&kind), "{kind}");
    }
}
