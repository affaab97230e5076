//! Tables and databases as plain, serialisable descriptions: what the command prints and other
//! programs read.
//!
//! | question | answer |
//! |---|---|
//! | what is it? | [`TableInfo`], [`DatabaseInfo`] |
//! | what does the file consist of? | [`LayoutDescription`], [`blocks`], [`raw_dump`] |
//! | which backups are there? | [`BackupFolderInfo`] |
//! | what is in a log, MANIFEST or another single file? | [`SingleFileInfo`], [`dump_file`] |
//! | what is in it? | [`InternalScan`] for every entry, [`OwnerView::visible`] for what is visible |
//! | what happens when a key is looked up? | [`Explanation`] |
//! | what is its space used for? | [`StatsReport`] |
//! | is it sound? | [`VerifyReport`], [`verify_database`] |
//! | what can be saved of it, and what is lost? | [`SalvageDescription`] |
//! | what do the levels look like, and what did they? | [`DatabaseMap`], [`FileTail`], [`ManifestHistory`] |
//! | what does each byte of a block mean? | [`BlockList`], [`BlockBytes`] |
//! | which bits does the filter have? | [`FilterBits`], [`FilterProbeBits`], [`filter_curves()`] |
//! | which keys are next? | [`ScanPage`], [`KeyVersion`] |
//! | what does the filter cost and catch? | [`FilterReport`], [`FilterTotal`] |
//! | which filters would be better? | [`Advice`], [`FilterPlan`] |
//!
//! Keys and values are texts in some [`Encoding`]; the fields are those of the command's JSON, which
//! are added to but never renamed. Numbers that a format has are under the [`names`] that the
//! command's options have for them.
//!
//! ```no_run
//! use sstkit_inspect::{Encoding, InspectedTable, TableInfo};
//! use sstkit_table::TableReadOptions;
//!
//! let file = InspectedTable::open("000011.sst", &TableReadOptions::default())?;
//! let info = TableInfo::of("000011.sst", &file, Encoding::Escape)?;
//! println!("{:?} entries, {} bytes of filter", info.entries, info.sizes.filter);
//! # Ok::<(), sstkit_table::Error>(())
//! ```
//!
//! Files are read a block at a time, and damage to one block does not hide the others.

#![forbid(unsafe_code)]
#![warn(missing_debug_implementations)]

mod advice;
mod backup_info;
mod block_bytes;
mod database;
mod difference;
mod dump;
mod encoding;
mod error;
mod explain;
mod file_dump;
mod file_info;
mod filter_bits;
mod filter_curves;
mod filter_plan;
mod filter_probe;
mod filter_report;
mod info;
mod ingestion_report;
mod inspected_table;
mod internal_scan;
mod key_axis;
mod layout;
mod layout_page;
mod log_info;
pub mod names;
mod owner_view;
mod record;
mod salvage_description;
mod scan_page;
pub mod setting_names;
mod stats_report;
pub mod suggest;
mod verify;
mod versions;

pub use advice::{
    Advice, AdviceOptions, AdvisedLevel, ChangedLevel, ChangedNumber, DEFAULT_CACHE_SIZE,
    FamilyChange, FilterBudget, FilterChange, LookupCost, MeasuredLevel, MeasuredReads,
    MemoryCurve, MemoryPoint, Suggestion, WhatIf,
};
pub use backup_info::{BackupFolderInfo, BackupInfo};
pub use block_bytes::{BlockBytes, BlockWindow, EntryRow, Field, MarkedBytes};
pub use database::{
    BlobFileInfo, ColumnFamilyInfo, DatabaseInfo, DatabaseMap, EditInfo, FamilyOptions,
    FamilySummary, FileInfo, FileTail, HistoryFile, LevelInfo, ManifestHistory, MapFile, MapLevel,
    filter_reports, open_level_file,
};
pub use difference::{DifferenceCounts, DifferenceRecord, DifferenceSummary};
pub use dump::raw_dump;
pub use encoding::{DecodeError, Encoding, is_active};
pub use error::{Error, Result};
pub use explain::{
    BlockSearch, BlockVisit, ExplainedLookup, Explanation, FilterAnswer, FoundEntry, LookupStep,
    PartitionVisit, ProbedBit, ProbedPlace, TableStep,
};
pub use file_dump::{
    BatchOperation, BatchOperations, BatchRecord, BlobFileAdditionRecord, BlobFileHeaderRecord,
    BlobGarbageRecord, BlobValueRecord, BoundRecord, EditRecord, FamilyStateRecord, FileAtLevel,
    FileDumpOptions, FileRecord, LogSettings, OutputFileRecord, OutputRecord, ProblemRecord,
    ProgressRecord, SectionRecord, StateRecord, TableRecord, TransactionMarker, WalRecord,
    dump_file, scan_blob_file, scan_log,
};
pub use file_info::SingleFileInfo;
pub use filter_bits::{DecodedTrailer, FilterBits, FilterPartSummary, PartBits, RibbonColumns};
pub use filter_curves::{CurveKeys, CurvePoint, FilterCurve, filter_curves, filter_curves_while};
pub use filter_plan::{
    FilterLevels, FilterPlan, FilteredFile, LevelFilters, PlannedKeys, PlannedLevel, RefilterFile,
    RefilterReport, TableMemory,
};
pub use filter_probe::{FilterProbeBits, ProbedLine};
pub use filter_report::{FilterReport, FilterTotal};
pub use info::{
    COUNTED_SIZE, CodecShare, IndexInfo, PropertyValue, Readers, Sizes, TableInfo, VersionRange,
};
pub use ingestion_report::{IngestedTableReport, IngestionReport, RefusalReport};
pub use inspected_table::InspectedTable;
pub use internal_scan::InternalScan;
pub use key_axis::KeyAxis;
pub use layout::{BlockContents, BlockDescription, BlockEntry, LayoutDescription, blocks};
pub use layout_page::{BlockList, LayoutPage, PlacedBlock};
pub use log_info::LogInfo;
pub use owner_view::OwnerView;
pub use record::{BlobReference, GetRecord, JsonRecord};
pub use salvage_description::{
    LossDescription, LostValueDescription, SalvageDescription, SalvagedFamilyDescription,
    SalvagedFileDescription, SalvagedTableDetails, UncertaintyDescription, UnusedWritesDescription,
    WrittenDescription,
};
pub use scan_page::{ScanPage, ScanRequest, ScanRow};
pub use stats_report::{
    BlobSpace, DenseRangeReport, EntryTotals, FamilyStats, FileTotals, LargeValueReport,
    LevelTotals, OtherGroups, PrefixGroup, PrefixReport, RangeTombstoneReport,
    RangeTombstonesReport, SizeBin, SizesReport, SkippedRangeReport, SpaceReport, SpaceUse,
    StatsReport, TombstonesReport, VersionsReport,
};
pub use verify::{Problem, VerifyReport, verify_database, verify_database_observed, verify_file};
pub use versions::KeyVersion;

pub use sstkit_db::{FileKind, VerifyStatus};
pub use sstkit_table::{UniqueId, VerifyProgress};
