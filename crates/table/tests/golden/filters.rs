//! The filters inside every golden table, rebuilt from the table's keys and compared byte for
//! byte.
//!
//! A table says which policy and prefix extractor it was written with, but not how many bits per
//! key, nor whether sizes were optimised for memory, nor how large filter partitions were meant to
//! be. Those are searched for: a filter must come out the same, to the last byte, under some
//! setting. The settings found are printed (`--nocapture`).

use std::collections::BTreeMap;
use std::sync::Arc;

use sstkit_filter::{
    BitsPerKey, BlockBloom, BuildContext, Filter, FilterBlock, FilterBlockBuilder, FilterLayout,
    FilterPolicy, GLIBC_MMAP_THRESHOLD, KeyFiltering, MemorySizing, Partition,
    PartitionedFilterBuilder, PrefixExtractor, UsableSize,
};
use sstkit_table::raw::{
    Block, BlockHandle, BlockKind, IndexEntries, InternalKey, TableView, property_names,
};
use sstkit_testkit::goldens::{Expected, TABLES_VARIABLE, expected_entries, golden_tables};

/// A table's filter and what it was made of.
struct Case<'t, 'a> {
    table: &'t TableView<'a>,
    handle: BlockHandle,
    /// User keys without timestamps, with the offset of the data block that each one is in.
    keys: Vec<(u64, Vec<u8>)>,
    filtering: KeyFiltering,
}

#[test]
fn filters_are_what_the_engine_wrote() {
    let mut found = BTreeMap::<String, usize>::new();
    let mut failures = Vec::new();
    for golden in golden_tables() {
        let table = TableView::open(&golden.bytes).unwrap();
        for (layout, policy, handle) in table.metaindex().filters() {
            let case = Case::new(&table, handle, expected_entries(&golden.path));
            match case.check(layout, policy) {
                Ok((kind, settings)) => {
                    println!("{}: {kind}, {settings}", golden.path.display());
                    *found.entry(kind).or_default() += 1;
                }
                Err(problem) => failures.push(format!("{}: {problem}", golden.path.display())),
            }
        }
    }
    println!("{found:#?}");
    assert!(failures.is_empty(), "{} differ:\n{}", failures.len(), failures.join("\n"));
    if std::env::var_os(TABLES_VARIABLE).is_none() {
        let kinds: Vec<&str> = found.keys().map(String::as_str).collect();
        assert_eq!(
            kinds,
            [
                "block_based_bloom",
                "fast_local_bloom",
                "legacy_bloom",
                "leveldb_bloom",
                "partitioned fast_local_bloom",
                "partitioned legacy_bloom",
                "partitioned ribbon128",
                "ribbon128",
            ],
            "every kind is among the golden tables"
        );
    }
}

impl<'t, 'a> Case<'t, 'a> {
    fn new(table: &'t TableView<'a>, handle: BlockHandle, listed: Vec<Expected>) -> Self {
        let property = |name: &str| table.properties().get(name);
        let extractor = property(property_names::PREFIX_EXTRACTOR_NAME)
            .and_then(|name| std::str::from_utf8(name).unwrap().parse::<PrefixExtractor>().ok());
        let whole_key = property(property_names::WHOLE_KEY_FILTERING) != Some(b"0");
        let points = listed.into_iter().filter(|entry| !entry.is_range());
        let mut entries = table.entries().unwrap();
        let keys = points
            .map(|point| {
                assert!(entries.advance().unwrap());
                (entries.block().unwrap().offset, point.key)
            })
            .collect();
        Self { table, handle, keys, filtering: KeyFiltering::new(whole_key, extractor) }
    }

    /// What the filter is and the settings that it was built with, or what is wrong.
    fn check(&self, layout: FilterLayout, policy: &str) -> Result<(String, String), String> {
        match (layout, policy) {
            (FilterLayout::Full, "rocksdb.BuiltinBloomFilter") => self.check_full(),
            (FilterLayout::Partitioned, "rocksdb.BuiltinBloomFilter") => self.check_partitioned(),
            (FilterLayout::Block, "leveldb.BuiltinBloomFilter2") => {
                self.check_block(BlockBloom::LevelDb)
            }
            (FilterLayout::Block, "rocksdb.BuiltinBloomFilter") => {
                self.check_block(BlockBloom::RocksDb)
            }
            _ => Err(format!("unknown {layout:?} filter of {policy}")),
        }
    }

    fn check_full(&self) -> Result<(String, String), String> {
        let stored = self.filter_block(self.handle);
        let kind = self.check_keys(&stored, self.keys.iter().map(|(_, key)| key))?;
        let build = |setting: &Setting| {
            let policy = self.policy(setting.bits);
            let mut builder = policy.builder(&self.context(setting)).unwrap();
            self.keys.iter().for_each(|(_, key)| builder.add_filtered(key, &self.filtering));
            (builder.num_entries() as u64, builder.finish().unwrap())
        };
        let setting = search(
            |setting| build(setting).1.len(),
            stored.len(),
            |setting| build(setting).1 == stored,
        )
        .ok_or("no setting builds these bytes")?;
        self.check_num_entries(build(&setting).0)?;
        Ok((kind, setting.to_string()))
    }

    fn check_partitioned(&self) -> Result<(String, String), String> {
        let partitions = self.partitions();
        let build = |setting: &Setting| self.build_partitions(setting, &partitions);
        let total = partitions.iter().map(|(_, bytes)| bytes.len()).sum();
        let length = |setting: &Setting| build(setting).1.iter().map(|p| p.filter.len()).sum();
        let setting = search(length, total, |setting| {
            build(setting).1.iter().map(|p| &p.filter).eq(partitions.iter().map(|(_, bytes)| bytes))
        })
        .ok_or("no setting builds these partitions")?;
        let (num_entries, built) = build(&setting);
        self.check_num_entries(num_entries)?;

        let mut rest = self.keys.as_slice();
        let mut kinds = Vec::new();
        for partition in &built {
            let keys = rest.iter().position(|(_, key)| *key == partition.last_key).unwrap() + 1;
            let (these, after) = rest.split_at(keys);
            rest = after;
            kinds.push(self.check_keys(&partition.filter, these.iter().map(|(_, key)| key))?);
        }
        kinds.sort();
        kinds.dedup();
        // Small ones at the end may be Bloom filters in place of Ribbon.
        let kind = format!("partitioned {}", kinds.last().ok_or("no partitions")?);

        let decoupled = self.table.properties().get(property_names::DECOUPLED_PARTITIONED_FILTERS);
        if decoupled != Some(b"1") {
            return Ok((kind, format!("{setting}, cut with the index")));
        }
        // Decoupled partitions are cut by their own size alone.
        let size = (64..=8192)
            .step_by(64)
            .find(|&size| self.build_decoupled(&setting, size) == built)
            .ok_or("no metadata_block_size cuts where the engine did")?;
        Ok((kind, format!("{setting}, metadata_block_size {size}")))
    }

    /// The partitions as stored: the key in the index, without its tail, and the filter.
    fn partitions(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let contents = self.filter_block(self.handle);
        let format = self.table.index_format().of_filter_partitions();
        let mut index = IndexEntries::new(Block::parse(contents).unwrap(), format).unwrap();
        let mut partitions = Vec::new();
        while index.advance().unwrap() {
            let key = match format.user_keys {
                true => index.key(),
                false => InternalKey::decode_from(index.key()).unwrap().user_key,
            };
            partitions.push((key.to_vec(), self.filter_block(index.handle())));
        }
        partitions
    }

    /// Partitions cut where the stored ones are.
    fn build_partitions(
        &self,
        setting: &Setting,
        stored: &[(Vec<u8>, Vec<u8>)],
    ) -> (u64, Vec<Partition>) {
        let mut builder = self.partitioned_builder(setting, 4096);
        let mut partitions = Vec::new();
        for (_, key) in &self.keys {
            while stored.get(partitions.len()).is_some_and(|(last, _)| self.is_after(key, last)) {
                partitions.push(builder.cut(key).unwrap());
            }
            builder.add_uncut(key);
        }
        let num_entries = builder.num_entries();
        partitions.extend(builder.finish().unwrap());
        (num_entries, partitions)
    }

    /// Whether `key` comes after `other` in the order of this table.
    fn is_after(&self, key: &[u8], other: &[u8]) -> bool {
        match self.table.properties().comparator() {
            Some(b"rocksdb.ReverseBytewiseComparator") => key < other,
            _ => key > other,
        }
    }

    /// Partitions cut by their size.
    fn build_decoupled(&self, setting: &Setting, metadata_block_size: usize) -> Vec<Partition> {
        let mut builder = self.partitioned_builder(setting, metadata_block_size);
        let mut partitions = Vec::new();
        for (_, key) in &self.keys {
            partitions.extend(builder.add(key).unwrap());
        }
        partitions.extend(builder.finish().unwrap());
        partitions
    }

    fn partitioned_builder(&self, setting: &Setting, size: usize) -> PartitionedFilterBuilder {
        let policy = self.policy(setting.bits);
        let context = self.context(setting);
        PartitionedFilterBuilder::new(&policy, &context, self.filtering.clone(), size, 10).unwrap()
    }

    fn check_block(&self, bloom: BlockBloom) -> Result<(String, String), String> {
        let stored = self.filter_block(self.handle);
        let (kind, filters) = match bloom {
            BlockBloom::LevelDb => ("leveldb_bloom", FilterBlock::leveldb(&stored)),
            BlockBloom::RocksDb => ("block_based_bloom", FilterBlock::rocksdb(&stored)),
        };
        for (offset, key) in &self.keys {
            if self.filtering.whole_key() && !filters.may_contain(*offset, key) {
                return Err(format!("it denies {key:02x?}"));
            }
        }
        let build = |bits: u32| {
            let mut builder = FilterBlockBuilder::bloom(bloom, bits);
            for (offset, key) in &self.keys {
                builder.start_block(*offset);
                builder.add_filtered(key, &self.filtering);
            }
            // Reported at the end of the last data block, which the filter follows.
            builder.start_block(self.handle.offset);
            builder.finish().unwrap()
        };
        let bits = (1..=100).find(|&bits| build(bits) == stored);
        let bits = bits.ok_or("no number of bits per key builds this block")?;
        Ok((kind.to_owned(), format!("{bits} bits per key")))
    }

    /// The engine's own filter, read by ours, has all keys; its kind.
    fn check_keys<'k>(
        &self,
        filter: &[u8],
        keys: impl Iterator<Item = &'k Vec<u8>>,
    ) -> Result<String, String> {
        let filter = Filter::from_bytes(filter);
        for key in keys {
            if self.filtering.whole_key() && !filter.may_contain(key) {
                return Err(format!("it denies {key:02x?}"));
            }
            if self.filtering.prefix(key).is_some_and(|prefix| !filter.may_contain(prefix)) {
                return Err(format!("it denies the prefix of {key:02x?}"));
            }
        }
        Ok(filter.kind().to_string())
    }

    fn check_num_entries(&self, built: u64) -> Result<(), String> {
        match self.table.properties().number(property_names::NUM_FILTER_ENTRIES) {
            // Before 6.22 it was not written.
            None => Ok(()),
            Some(stored) if stored == built => Ok(()),
            Some(stored) => Err(format!("{built} entries instead of {stored}")),
        }
    }

    fn filter_block(&self, handle: BlockHandle) -> Vec<u8> {
        self.table.block(BlockKind::Filter, handle).unwrap().to_vec()
    }

    fn policy(&self, bits: BitsPerKey) -> FilterPolicy {
        match self.table.properties().get(property_names::FILTER_POLICY) {
            Some(b"ribbonfilter") => {
                FilterPolicy::Ribbon { bits_per_key: bits, bloom_before_level: 0 }
            }
            _ => FilterPolicy::Bloom(bits),
        }
    }

    fn context(&self, setting: &Setting) -> BuildContext {
        let version = self.table.footer().version as u32;
        let context = BuildContext::default().format_version(version);
        match setting.allocator {
            None => context,
            Some(allocator) => context.optimize_for_memory(Arc::new(MemorySizing::new(allocator))),
        }
    }
}

/// What a table does not say of its filter.
struct Setting {
    bits: BitsPerKey,
    allocator: Option<UsableSize>,
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bits per key", self.bits)?;
        match self.allocator {
            None => Ok(()),
            Some(allocator) => write!(f, ", optimised for memory ({allocator:?})"),
        }
    }
}

/// The first setting that is right: ten bits, whole bits, tenths of a bit, and then thousandths
/// where the length is about right.
fn search(
    length: impl Fn(&Setting) -> usize,
    stored: usize,
    is_right: impl Fn(&Setting) -> bool,
) -> Option<Setting> {
    let settings = |millibits: u32| {
        let bits = BitsPerKey::new(f64::from(millibits) / 1000.0);
        [
            None,
            Some(UsableSize::Glibc { mmap_threshold: GLIBC_MMAP_THRESHOLD }),
            Some(UsableSize::Exact),
        ]
        .map(|allocator| Setting { bits, allocator })
    };
    let whole = (1..=100).map(|bits| 1000 * bits);
    let tenths = (10..=1000).map(|tenths| 100 * tenths);
    let near = |millibits: &u32| {
        let [this, ..] = settings(*millibits);
        let [next, ..] = settings(millibits + 100);
        (length(&this)..=length(&next)).contains(&stored)
    };
    let thousandths =
        (1000..100_000).step_by(100).filter(near).flat_map(|millibits| millibits..millibits + 100);
    std::iter::once(10_000)
        .chain(whole)
        .chain(tenths)
        .chain(thousandths)
        .flat_map(settings)
        .find(|setting| length(setting) == stored && is_right(setting))
}
