//! The levels of a database, and what lookups and seeks cost.

use sstkit_db::Database;
use sstkit_filter::{AllocationOptions, FilterAllocator, FilterPolicy};
use sstkit_table::raw::Engine;

use super::{AdviceOptions, AdvisedLevel, LookupCost};
use crate::filter_plan::{FilterLevels, FilteredFile, LevelFilters, TableMemory};

/// A database with its filters.
pub(super) struct Situation<'a> {
    pub(super) database: &'a Database,
    pub(super) filters: &'a FilterLevels,
    pub(super) options: &'a AdviceOptions,
    allocator: FilterAllocator,
}

/// The levels of a column family, by their numbers in [`FilterLevels::levels`], from top to bottom.
#[derive(Clone, Debug)]
pub(super) struct FamilyLevels {
    pub(super) name: String,
    pub(super) numbers: Vec<usize>,
}

impl FamilyLevels {
    /// The last level, which has no other one below it.
    pub(super) fn last(&self) -> Option<usize> {
        self.numbers.last().copied()
    }
}

impl<'a> Situation<'a> {
    pub(super) fn new(
        database: &'a Database,
        filters: &'a FilterLevels,
        options: &'a AdviceOptions,
    ) -> Self {
        let allocator = AllocationOptions::default().hit_rate(options.hit_rate).kinds(&[]);
        Self { database, filters, options, allocator: filters.allocator(allocator) }
    }

    pub(super) fn is_rocksdb(&self) -> bool {
        self.filters.engine == Engine::RocksDb
    }

    pub(super) fn level(&self, number: usize) -> &LevelFilters {
        &self.filters.levels[number]
    }

    /// The probes per lookup that can be wasted in a level.
    pub(super) fn weight(&self, number: usize) -> f64 {
        self.allocator.weights()[number]
    }

    pub(super) fn families(&self) -> Vec<FamilyLevels> {
        let mut families: Vec<FamilyLevels> = Vec::new();
        for (number, level) in self.filters.levels.iter().enumerate() {
            let name = level.column_family.clone().unwrap_or_default();
            match families.last_mut().filter(|last| last.name == name) {
                Some(last) => last.numbers.push(number),
                None => families.push(FamilyLevels { name, numbers: vec![number] }),
            }
        }
        families
    }

    /// The files of some levels.
    pub(super) fn files<'n>(
        &'n self,
        numbers: &'n [usize],
    ) -> impl Iterator<Item = &'n FilteredFile> {
        self.filters.files.iter().filter(|file| numbers.contains(&file.group))
    }

    /// A sum over the files of some levels.
    pub(super) fn sum(&self, numbers: &[usize], of_file: impl Fn(&TableMemory) -> u64) -> u64 {
        self.files(numbers).map(|file| of_file(&file.memory)).fold(0, u64::saturating_add)
    }

    /// The bytes of the filters of some levels.
    pub(super) fn filter_bytes(&self, numbers: &[usize]) -> u64 {
        numbers.iter().map(|&number| self.level(number).bytes).sum()
    }

    /// The wasted reads of a lookup in some levels.
    pub(super) fn wasted_reads(&self, numbers: &[usize]) -> f64 {
        numbers.iter().map(|&number| self.weight(number) * self.level(number).fpr).sum()
    }

    /// The size and rate of a policy in each level; `None` if they are not known.
    pub(super) fn evaluate(&self, policy: &FilterPolicy) -> Option<Vec<(u64, f64)>> {
        let everywhere = vec![policy.clone(); self.filters.levels.len()];
        let evaluated = self.allocator.evaluate(&everywhere)?;
        Some(evaluated.levels.iter().map(|level| (level.bytes, level.fpr)).collect())
    }

    /// The size and rate of a policy in a level, or what it has now without a policy.
    pub(super) fn in_level(
        &self,
        number: usize,
        policy: Option<&FilterPolicy>,
    ) -> Option<(u64, f64)> {
        match policy {
            Some(policy) => Some(self.evaluate(policy)?[number]),
            None => Some((self.level(number).bytes, self.level(number).fpr)),
        }
    }

    /// An option of the tables of a column family, or of the column family, in OPTIONS.
    pub(super) fn option(&self, family: &str, name: &str) -> Option<&str> {
        let file = self.database.options_file();
        let value = file.table(family).get(name).or_else(|| file.column_family(family).get(name));
        value?.as_text()
    }

    pub(super) fn is_on(&self, family: &str, name: &str) -> bool {
        self.option(family, name) == Some("true")
    }

    /// The mean size of a data block as stored.
    pub(super) fn block_bytes(&self, numbers: &[usize]) -> f64 {
        let blocks = self.sum(numbers, |file| file.data_blocks).max(1);
        self.sum(numbers, |file| file.data_bytes) as f64 / blocks as f64
    }

    pub(super) fn cost(&self) -> LookupCost {
        let all: Vec<usize> = (0..self.filters.levels.len()).collect();
        let wasted_reads = self.wasted_reads(&all);
        LookupCost {
            filter_bytes: self.filter_bytes(&all),
            allocated_filter_bytes: self.sum(&all, |file| file.allocated_filter_bytes),
            index_bytes: self.sum(&all, |file| file.index_bytes),
            wasted_reads,
            wasted_bytes: wasted_reads * self.block_bytes(&all),
            wasted_seek_reads: self.filters.levels.iter().map(|it| it.wasted_seek_reads).sum(),
        }
    }

    pub(super) fn levels(&self) -> Vec<AdvisedLevel> {
        let described = self.filters.levels.iter().enumerate().map(|(number, level)| {
            let own = [number];
            let mut kinds: Vec<&'static str> = Vec::new();
            for file in self.files(&own) {
                if !kinds.contains(&file.report.kind) {
                    kinds.push(file.report.kind);
                }
            }
            let count = |kind: &&str| self.files(&own).filter(|it| it.report.kind == *kind).count();
            kinds.sort_by_key(|kind| std::cmp::Reverse(count(kind)));
            let keys: u64 = self.files(&own).filter_map(|file| file.report.keys).sum();
            AdvisedLevel {
                column_family: level.column_family.clone().unwrap_or_default(),
                level: level.level.unwrap_or(0),
                files: level.files,
                entries: self.sum(&own, |file| file.entries),
                kinds,
                filter_bytes: level.bytes,
                bits_per_key: 8.0 * level.bytes as f64 / keys.max(1) as f64,
                index_bytes: self.sum(&own, |file| file.index_bytes),
                fpr: level.fpr,
                wasted_reads: self.weight(number) * level.fpr,
            }
        });
        described.collect()
    }
}
