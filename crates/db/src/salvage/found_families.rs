//! Which column families there are, where no MANIFEST says it any more.
//!
//! | | first | then | then |
//! |---|---|---|---|
//! | id of a table | MANIFESTs | its properties | a column family of its own |
//! | name | MANIFESTs | properties of tables | OPTIONS, in the order of the ids |
//! | comparator | MANIFESTs | properties of tables | OPTIONS; the order that fits the tables |

use std::collections::{BTreeMap, BTreeSet};

use sstkit_table::Comparator;
use sstkit_table::raw::{Engine, property_names as names};
use sstkit_table::visibility::UserKeys;

use super::inferred_order::UNKNOWN_COMPARATOR;
use super::manifest_evidence::{Evidence, FamilyEvidence};
use super::salvage_report::DatabaseUncertainty;
use super::table_examination::ExaminedTable;
use crate::raw::OptionsFile;

/// A column family of the result.
#[derive(Debug)]
pub(super) struct FoundFamily {
    pub(super) name: String,
    pub(super) comparator: String,
    /// `None` if the comparator is not known.
    pub(super) order: Option<Comparator>,
    pub(super) persist_timestamps: Option<bool>,
    pub(super) full_history_timestamp_low: Option<Vec<u8>>,
    /// As tables name it.
    pub(super) merge_operator: Option<String>,
    /// As tables name it.
    pub(super) prefix_extractor: Option<String>,
    pub(super) tables: Vec<ExaminedTable>,
}

impl FoundFamily {
    /// The order of its keys, or that of the bytes where it is not known.
    pub(super) fn keys(&self) -> UserKeys {
        UserKeys::new(self.order.clone().unwrap_or_default())
    }
}

/// The column families, by id.
#[derive(Debug, Default)]
pub(super) struct FoundFamilies {
    pub(super) families: BTreeMap<u32, FoundFamily>,
    /// Tables of column families that were dropped.
    pub(super) dropped: Vec<ExaminedTable>,
    pub(super) uncertain: Vec<DatabaseUncertainty>,
}

/// What is known besides the tables.
pub(super) struct FamilySources<'s> {
    pub(super) engine: Engine,
    pub(super) evidence: &'s Evidence,
    /// The MANIFEST is whole: there are no other column families than it says.
    pub(super) is_exact: bool,
    /// There are only tables, and nothing else that a database has.
    pub(super) is_folder: bool,
    pub(super) options: &'s OptionsFile,
    /// The ids in the logs.
    pub(super) logged: &'s BTreeSet<u32>,
    /// Orders that were given.
    pub(super) comparators: &'s [Comparator],
}

impl FoundFamilies {
    pub(super) fn find(sources: &FamilySources<'_>, tables: Vec<ExaminedTable>) -> Self {
        let mut found = Self::default();
        let mut described: BTreeMap<u32, FamilyEvidence> = BTreeMap::new();
        for (&id, family) in &sources.evidence.families {
            if !sources.evidence.dropped.contains(&id) {
                described.insert(id, family.clone());
            }
        }
        let mut placed: BTreeMap<u32, Vec<ExaminedTable>> = BTreeMap::new();
        let mut homeless = Vec::new();
        for table in tables {
            match table.family() {
                Some(id) if sources.evidence.dropped.contains(&id) => found.dropped.push(table),
                Some(id) => {
                    let family = described.entry(id).or_default();
                    if family.name.is_empty() {
                        family.name = table.text(names::COLUMN_FAMILY_NAME).unwrap_or_default();
                    }
                    placed.entry(id).or_default().push(table);
                }
                None => homeless.push(table),
            }
        }
        if !sources.is_exact && sources.engine == Engine::RocksDb {
            found.name_by_options(sources, &mut described);
        }
        for table in homeless {
            let id = found.home(sources, &table, &mut described);
            placed.entry(id).or_default().push(table);
        }
        for (id, family) in described {
            let tables = placed.remove(&id).unwrap_or_default();
            found.add(sources, id, family, tables);
        }
        found
    }

    /// Finds names for ids that only logs and tables have, and adds the column families that only
    /// OPTIONS has.
    fn name_by_options(
        &mut self,
        sources: &FamilySources<'_>,
        described: &mut BTreeMap<u32, FamilyEvidence>,
    ) {
        for &id in sources.logged.difference(&sources.evidence.dropped) {
            described.entry(id).or_default();
        }
        let known: BTreeSet<&str> = described.values().map(|it| it.name.as_str()).collect();
        let unused: Vec<String> = sources
            .options
            .sections()
            .iter()
            .filter(|section| section.kind() == "CFOptions")
            .filter_map(|section| section.name())
            .filter(|name| !known.contains(name))
            .map(str::to_owned)
            .collect();
        let unnamed: Vec<u32> =
            described.iter().filter(|(_, it)| it.name.is_empty()).map(|(&id, _)| id).collect();
        // RocksDB writes the sections in the order in which column families were created.
        let names = (unnamed.len() == unused.len()).then_some(&unused);
        for (nth, id) in unnamed.iter().enumerate() {
            let name = names.and_then(|names| names.get(nth)).cloned();
            let assumed = match &name {
                Some(name) => format!("column family {id} is treated as {name:?}, by OPTIONS"),
                None => format!("the name of column family {id} is not recorded any more"),
            };
            self.uncertain.push(DatabaseUncertainty::assumed(None, assumed));
            if let Some(family) = described.get_mut(id) {
                family.name = name.unwrap_or_else(|| format!("column-family-{id}"));
            }
        }
        if unnamed.is_empty() {
            for name in unused {
                let id = described.keys().next_back().map_or(1, |last| last + 1);
                described.insert(id, FamilyEvidence { name, ..FamilyEvidence::default() });
            }
        }
    }

    /// The column family of a table that does not say it: the only one, or one of its own.
    fn home(
        &mut self,
        sources: &FamilySources<'_>,
        table: &ExaminedTable,
        described: &mut BTreeMap<u32, FamilyEvidence>,
    ) -> u32 {
        if sources.engine == Engine::LevelDb || described.len() < 2 {
            if sources.engine == Engine::RocksDb && !sources.is_folder {
                let what = "the column family is not recorded any more; treated as \"default\"";
                self.uncertain.push(DatabaseUncertainty::assumed_of_table(table, what));
            }
            described.entry(0).or_default().name = "default".into();
            return 0;
        }
        let id = described.keys().next_back().map_or(1, |last| last + 1);
        let name = format!("salvaged-{:06}", table.number);
        let what = format!(
            "the column family is not recorded any more; saved as a column family of its own, \
             {name:?}"
        );
        self.uncertain.push(DatabaseUncertainty::assumed_of_table(table, what));
        described.insert(id, FamilyEvidence { name, ..FamilyEvidence::default() });
        id
    }

    fn add(
        &mut self,
        sources: &FamilySources<'_>,
        id: u32,
        family: FamilyEvidence,
        tables: Vec<ExaminedTable>,
    ) {
        let of_tables = |name: &str| {
            tables.iter().find_map(|table| table.text(name).filter(|it| it != "nullptr"))
        };
        let of_options = sources.options.column_family(&family.name);
        let comparator = family
            .comparator
            .or_else(|| of_tables(names::COMPARATOR))
            .or_else(|| of_options.comparator().map(str::to_owned))
            .or_else(|| sources.comparators.last().map(|it| it.name().into_owned()))
            .unwrap_or_else(|| order_of_tables(&tables));
        let given = sources.comparators.iter().rfind(|it| it.name() == comparator).cloned();
        let order = given.or_else(|| comparator.parse().ok());
        let found = FoundFamily {
            name: family.name,
            comparator,
            order,
            persist_timestamps: family.persist_timestamps,
            full_history_timestamp_low: family.full_history_timestamp_low,
            merge_operator: of_tables(names::MERGE_OPERATOR),
            prefix_extractor: of_tables(names::PREFIX_EXTRACTOR_NAME),
            tables,
        };
        self.families.insert(id, found);
    }
}

/// The name of the order that fits the table with most entries; bytewise without tables.
fn order_of_tables(tables: &[ExaminedTable]) -> String {
    let with_entries = tables.iter().filter(|it| it.has_entries());
    let unknown = || UNKNOWN_COMPARATOR.to_owned();
    let name = |order: &Option<Comparator>| {
        order.as_ref().map_or_else(unknown, |order| order.name().into_owned())
    };
    let largest = with_entries.max_by_key(|it| (it.order.is_some(), it.entries()));
    largest.map_or_else(|| Comparator::Bytewise.name().into_owned(), |it| name(&it.order))
}
