//! The plan of a build: which keys belong to which part, and how the tables are written.
//!
//! ```text
//! { "version": 1, "id": "9f…", "tool": "sstkit 0.1.0", "comparator": "leveldb.BytewiseComparator",
//!   "splits": ["68", "70"], "max_file_size": 67108864, "duplicates": "error",
//!   "compression_level": null, "options": { "engine": "rocksdb", "compression": "kLZ4Compression", … } }
//!
//! part 0   keys before "h"      part 1   from "h", before "p"      part 2   from "p" on
//! ```

use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sstkit_table::raw::Engine;
use sstkit_table::{Comparator, KeyExcerpt, TableOptions, TableWriter};

use super::decision::decision_path;
use super::plan_options::PlanOptions;
use super::write_once;
use crate::bulk::Duplicates;
use crate::bulk_manifest::{MANIFEST_NAME, ManifestOptions, hex_list};
use crate::error::{Error, Result};

/// The folder below the output that has everything but the result.
pub const PLAN_FOLDER: &str = "_sstkit";

/// The file in it that has the plan.
pub(super) const PLAN_NAME: &str = "plan.json";

/// The version that is written.
const VERSION: u32 = 1;

/// More parts than any engine has tasks.
const MAX_PARTS: usize = 1_000_000;

/// A build in parts. See the module's page for the files.
///
/// ```
/// use sstkit_db::{Commit, CommitOptions, Database, PartOptions, PartWriter, Plan, PlanOptions};
/// use sstkit_table::TableOptions;
///
/// # let folder = tempfile::tempdir()?;
/// # let out = folder.path().join("out");
/// let plan = Plan::create(&out, &PlanOptions::new(TableOptions::rocksdb()).splits([b"m"]))?;
/// for (part, key) in [(0, b"alice"), (1, b"zelda")] {
///     // On any machine that sees the folder, in any order, as often as one likes.
///     let plan = Plan::open(&out)?;
///     let mut writer = PartWriter::create(&plan, part, "first", &PartOptions::default())?;
///     writer.put(key, b"1")?;
///     writer.finish()?;
/// }
/// let summary = Commit::new(&out, CommitOptions::default())?.run()?;
/// assert_eq!(summary.manifest.entries, 2);
/// assert_eq!(Database::open_bulk(&out)?.get(b"zelda")?.unwrap(), b"1");
/// # Ok::<(), sstkit_db::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Plan {
    output: PathBuf,
    file: PlanFile,
    comparator: Comparator,
}

/// The contents of the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct PlanFile {
    version: u32,
    id: String,
    tool: String,
    comparator: String,
    #[serde(with = "hex_list")]
    splits: Vec<Vec<u8>>,
    max_file_size: u64,
    duplicates: String,
    compression_level: Option<i32>,
    options: ManifestOptions,
}

impl Plan {
    /// Writes a new plan for the output directory `output`, which is created if necessary.
    ///
    /// # Errors
    ///
    /// Fails if the directory has a plan, tables or a database already, if the split keys are not in
    /// order, or if a setting cannot be written.
    pub fn create(output: impl AsRef<Path>, options: &PlanOptions) -> Result<Self> {
        let output = output.as_ref();
        let plan = Self::planned(output, options)?;
        let failed = |error: io::Error| Error::from(error).in_file(output);
        fs::create_dir_all(output).map_err(failed)?;
        refuse_contents(output)?;
        let folder = plan.parts_folder();
        fs::create_dir_all(&folder).map_err(failed)?;
        if !write_once::write_once(&output.join(PLAN_FOLDER).join(PLAN_NAME), &plan.file)? {
            // Empty, and unknown to every other process.
            let _ = fs::remove_dir(folder);
            return Err(Error::invalid_input("there is a plan already").in_file(output));
        }
        Ok(plan)
    }

    /// Reads the plan of an output directory.
    pub fn open(output: impl AsRef<Path>) -> Result<Self> {
        let output = output.as_ref();
        let plan = Self::open_if_any(output)?;
        plan.ok_or_else(|| Error::invalid_input("there is no plan").in_file(output))
    }

    pub(super) fn open_if_any(output: &Path) -> Result<Option<Self>> {
        let path = output.join(PLAN_FOLDER).join(PLAN_NAME);
        let Some(file) = write_once::read::<PlanFile>(&path, "a plan")? else { return Ok(None) };
        Self::new(output, file).map(Some).map_err(|error| error.in_file(path))
    }

    /// Removes the plan of a build that will not be committed, with everything that was written for
    /// it. Attempts that are still being written fail.
    ///
    /// # Errors
    ///
    /// Fails if a commit has begun: it can be completed by another one, which loses nothing.
    pub fn discard(self) -> Result<()> {
        let output = &self.output;
        if decision_path(output).exists() {
            let what = "a commit of this plan has begun: commit it again";
            return Err(Error::invalid_input(what).in_file(output));
        }
        remove(output, Some(self.id())).map_err(|error| Error::from(error).in_file(output))
    }

    /// A new plan, which is not written yet.
    pub(super) fn planned(output: &Path, options: &PlanOptions) -> Result<Self> {
        let file = PlanFile {
            version: VERSION,
            id: new_id(),
            tool: concat!("sstkit ", env!("CARGO_PKG_VERSION")).into(),
            comparator: options.comparator.name().into_owned(),
            splits: options.splits.clone(),
            max_file_size: options.max_file_size,
            duplicates: duplicates_name(options.duplicates).into(),
            compression_level: options.compression_level,
            options: table_settings(&options.table),
        };
        Self::new(output, file)
    }

    /// The text of the file, from which [`restore`](Self::restore) makes the same plan in another directory.
    pub fn to_json(&self) -> String {
        // Plain structs of strings and numbers can always be written as JSON.
        serde_json::to_string_pretty(&self.file).unwrap_or_default() + "\n"
    }

    /// The plan of a text, with an output directory that is not read or written.
    pub(super) fn from_json(output: &Path, json: &[u8]) -> Result<Self> {
        let file = serde_json::from_slice(json)
            .map_err(|error| Error::corrupt("not a plan").with_source(error).in_file(output))?;
        Self::new(output, file).map_err(|error| error.in_file(output))
    }

    /// Writes the same plan, with its id, for another output directory: of a worker that does not share that of
    /// the plan. What it writes is brought to where the commit is ([`RemoteBuild::upload`](crate::RemoteBuild::upload)).
    ///
    /// # Errors
    ///
    /// Fails if the text is no plan, and if the directory has another one.
    pub fn restore(output: impl AsRef<Path>, json: &str) -> Result<Self> {
        let output = output.as_ref();
        let plan = Self::from_json(output, json.as_bytes())?;
        let failed = |error: io::Error| Error::from(error).in_file(output);
        fs::create_dir_all(plan.parts_folder()).map_err(failed)?;
        let written =
            write_once::write_once(&output.join(PLAN_FOLDER).join(PLAN_NAME), &plan.file)?;
        if !written && Self::open(output)?.id() != plan.id() {
            return Err(Error::invalid_input("there is another plan already").in_file(output));
        }
        Ok(plan)
    }

    fn new(output: &Path, file: PlanFile) -> Result<Self> {
        if file.version != VERSION {
            return Err(Error::unsupported(format!("plan version {}", file.version)));
        }
        let is_id = file.id.len() == 32 && file.id.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_id {
            return Err(Error::corrupt(format!("{:?} is not the id of a plan", file.id)));
        }
        let comparator: Comparator = file.comparator.parse()?;
        if file.splits.len() >= MAX_PARTS {
            return Err(Error::invalid_input(format!("more than {MAX_PARTS} parts")));
        }
        for pair in file.splits.windows(2) {
            if comparator.compare_without_timestamp(&pair[0], &pair[1]).is_ge() {
                let (one, other) = (KeyExcerpt(&pair[0]), KeyExcerpt(&pair[1]));
                let what = format!("the split key {other} does not come after {one}");
                return Err(Error::invalid_input(what));
            }
        }
        let plan = Self { output: output.to_path_buf(), file, comparator };
        plan.duplicates()?;
        // Reports settings that the table writer rejects before any part is written.
        TableWriter::to_sink(io::sink(), &plan.table_options()?)?;
        Ok(plan)
    }

    /// What no other plan has.
    pub fn id(&self) -> &str {
        &self.file.id
    }

    /// The output directory.
    pub fn output(&self) -> &Path {
        &self.output
    }

    /// The number of parts.
    pub fn parts(&self) -> usize {
        self.file.splits.len() + 1
    }

    /// The first key of every part but the first.
    pub fn splits(&self) -> &[Vec<u8>] {
        &self.file.splits
    }

    /// The part of a key, without timestamp.
    pub fn part_of(&self, key: &[u8]) -> usize {
        self.file
            .splits
            .partition_point(|split| self.comparator.compare_without_timestamp(split, key).is_le())
    }

    /// The first key of a part, and that of the next one; `None` at the ends.
    pub fn range(&self, part: usize) -> (Option<&[u8]>, Option<&[u8]>) {
        let split = |number: usize| self.file.splits.get(number).map(Vec::as_slice);
        (part.checked_sub(1).and_then(split), split(part))
    }

    /// The order of the keys.
    pub fn comparator(&self) -> &Comparator {
        &self.comparator
    }

    /// Bytes of data of a table, about.
    pub fn max_file_size(&self) -> u64 {
        self.file.max_file_size
    }

    /// What to do with several entries for one key.
    pub(super) fn duplicates(&self) -> Result<Duplicates> {
        let all = [Duplicates::Last, Duplicates::First, Duplicates::Error];
        let named = all.into_iter().find(|&it| duplicates_name(it) == self.file.duplicates);
        named.ok_or_else(|| Error::corrupt(format!("duplicates = {:?}", self.file.duplicates)))
    }

    /// How the tables are written.
    pub fn table_options(&self) -> Result<TableOptions> {
        let base = match self.file.options.get("engine").map(String::as_str) {
            Some("rocksdb") => TableOptions::rocksdb(),
            _ => {
                let what = "a plan is for tables that RocksDB ingests; LevelDB ingests none";
                return Err(Error::unsupported(what));
            }
        };
        let options = self.file.options.iter().filter(|(name, _)| *name != "engine");
        let options = options
            .fold(base.comparator(self.comparator.clone()), |table, (name, value)| {
                table.rocksdb_option(name, value)
            });
        // A setting that this version does not understand would make other tables than planned.
        let understood = table_settings(&options);
        for (name, value) in &self.file.options {
            if understood.get(name) != Some(value) {
                return Err(Error::unsupported(format!(
                    "the setting {name} = {value} of the plan"
                )));
            }
        }
        Ok(match self.file.compression_level {
            Some(level) => options.compression_level(level),
            None => options,
        })
    }

    /// The folder of the attempts. It is made by the plan alone: what is written for a plan that
    /// was removed has nowhere to go.
    pub(super) fn parts_folder(&self) -> PathBuf {
        self.output.join(PLAN_FOLDER).join(&self.file.id)
    }
}

/// Removes the plan and all attempts; without an id, what an interrupted removal has left. They
/// disappear at once, so that no other process sees some of them, and no late attempt finds a place.
pub(super) fn remove(output: &Path, id: Option<&str>) -> io::Result<()> {
    let aside = output.join(format!(".{PLAN_FOLDER}.{}.tmp", id.unwrap_or("old")));
    let gone = |result: io::Result<()>| match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    };
    if id.is_some() {
        gone(fs::rename(output.join(PLAN_FOLDER), &aside))?;
    }
    gone(fs::remove_dir_all(aside))
}

fn table_settings(options: &TableOptions) -> ManifestOptions {
    let engine = match options.engine() {
        Engine::RocksDb => "rocksdb",
        Engine::LevelDb => "leveldb",
    };
    let (of_family, of_tables) = options.rocksdb_options();
    let all = of_family.into_iter().chain(of_tables).chain([("engine", engine.to_owned())]);
    all.map(|(name, value)| (name.to_owned(), value)).collect()
}

const fn duplicates_name(duplicates: Duplicates) -> &'static str {
    match duplicates {
        Duplicates::Last => "last",
        Duplicates::First => "first",
        Duplicates::Error => "error",
    }
}

/// 128 bits from the system's source of randomness.
fn new_id() -> String {
    // Each state has keys of its own, which the standard library takes from that source.
    let half = || RandomState::new().hash_one(std::process::id());
    let time = std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |time| time.as_nanos() as u64);
    format!("{:016x}{:016x}", half(), half() ^ time)
}

/// A commit must find nothing in its way.
fn refuse_contents(output: &Path) -> Result<()> {
    let failed = |error: io::Error| Error::from(error).in_file(output);
    for entry in fs::read_dir(output).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name().to_string_lossy().into_owned();
        let is_table = name.ends_with(".sst") || name.ends_with(".ldb");
        if name == MANIFEST_NAME || name == "CURRENT" || is_table {
            let what = format!("{name} already exists in this directory; use a new one");
            return Err(Error::invalid_input(what).in_file(output));
        }
    }
    Ok(())
}
