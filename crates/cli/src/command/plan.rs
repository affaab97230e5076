//! `sst plan`: plans a build in parts, which any number of processes or machines write.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use serde::Serialize;
use sstkit_arrow::EntrySink;
use sstkit_db::{KeySamples, Plan, PlanOptions};
use sstkit_inspect::Encoding;
use sstkit_table::Comparator;
use sstkit_table::raw::InternalKey;

use super::input_args::{InputArgs, bare};
use super::output_args::check_parent;
use crate::args::{DuplicatesName, FormatArgs, SetIfGiven as _, WriteArgs};
use crate::interrupt;
use crate::output::{Page, units};
use crate::status::Status;

/// Plan a build in parts, for several processes or machines
///
/// Chooses the keys at which the data is split, so that parts have about the same size, and writes
/// them with all table options to a plan in the output directory. `sst part` then builds the parts,
/// in any order and on any machine that shares the directory, and `sst commit` puts them together.
/// A part may be built several times, and any of these may be interrupted: the result has neither
/// overlaps nor gaps.
///
/// The split keys come from the input, which may be a sample of the data, or from --split-at.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  sst plan users.csv --key id --value name --parts 16 -o parts
  sst plan -o parts --split-at g --split-at p --for rocksdb-9.8
  sst plan users.ndjson --parts 64 --shard-at m -o parts --max-file-size 64MiB")]
pub(crate) struct Args {
    /// Input files to sample keys from, or - for standard input
    #[arg(value_name = "INPUT", required_unless_present = "split_at", conflicts_with = "split_at")]
    inputs: Vec<PathBuf>,

    /// Output directory
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,

    /// Number of parts of about the same size
    #[arg(long, value_name = "N", required_unless_present = "split_at")]
    parts: Option<usize>,

    /// First key of a part; may be repeated, in order
    #[arg(long, value_name = "KEY", conflicts_with = "parts")]
    split_at: Vec<String>,

    /// Key at which a part must start, such as the first key of a shard; may be repeated, in order
    #[arg(long, value_name = "KEY", conflicts_with = "split_at")]
    shard_at: Vec<String>,

    /// Start a new file of a part after SIZE bytes of data [default: 256MiB]
    #[arg(long, value_name = "SIZE", value_parser = units::parse_size)]
    max_file_size: Option<u64>,

    /// What to do with several entries for one key in a part
    #[arg(long, value_enum, default_value_t = DuplicatesName::Error, value_name = "WHICH")]
    duplicates: DuplicatesName,

    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    write: WriteArgs,

    #[command(flatten)]
    format: FormatArgs,
}

/// The result, as JSON.
#[derive(Serialize)]
struct Report {
    output: String,
    plan: String,
    parts: usize,
    splits: Vec<String>,
}

impl Args {
    pub(crate) fn run(self) -> Result<Status> {
        check_parent(&self.output)?;
        ensure!(self.max_file_size != Some(0), "--max-file-size must be 1 or more");
        interrupt::listen();
        let comparator = self.write.comparator.clone().unwrap_or(Comparator::Bytewise);
        let splits = match self.parts {
            Some(parts) => interrupt::outcome(self.sampled_splits(parts, &comparator))?,
            None => self.keys(&self.split_at)?,
        };
        let options = PlanOptions::new(self.write.options()?)
            .compression_level(self.write.compression_level()?)
            .comparator(comparator)
            .splits(splits)
            .duplicates(self.duplicates.into())
            .set_if_given(self.max_file_size, PlanOptions::max_file_size);
        let plan = Plan::create(&self.output, &options)?;
        interrupt::done();
        let encoding = self.input.encoding.shown(!self.format.is_json());
        let report = Report {
            output: self.output.display().to_string(),
            plan: plan.id().to_owned(),
            parts: plan.parts(),
            splits: plan.splits().iter().map(|key| encoding.encode(key)).collect(),
        };
        let mut page = Page::stdout();
        match self.format.is_json() {
            true => page.json(&report)?,
            false => {
                writeln!(
                    page,
                    "{}: {}",
                    report.output,
                    units::counted(report.parts as u64, "part")
                )?;
                for (part, key) in (1..).zip(&report.splits) {
                    writeln!(page, "  part {part} starts at {key}")?;
                }
            }
        }
        page.finish()?;
        Ok(Status::Fine)
    }

    fn sampled_splits(&self, parts: usize, comparator: &Comparator) -> Result<Vec<Vec<u8>>> {
        self.input.check(&self.inputs, self.write.profile)?;
        let mut sampler =
            Sampler { samples: KeySamples::default(), comparator: comparator.clone() };
        self.input.read_all(&self.inputs, comparator, &mut sampler)?;
        Ok(sampler.samples.split_keys(parts, &self.keys(&self.shard_at)?, comparator)?)
    }

    fn keys(&self, texts: &[String]) -> Result<Vec<Vec<u8>>> {
        let encoding: Encoding = self.input.encoding.given().unwrap_or_default();
        texts.iter().map(|text| Ok(encoding.decode(text)?)).collect()
    }
}

/// Samples the keys of the input.
struct Sampler {
    samples: KeySamples,
    comparator: Comparator,
}

impl EntrySink for Sampler {
    fn add(&mut self, key: &InternalKey<'_>, value: &[u8]) -> sstkit_arrow::Result<()> {
        self.samples.offer(bare(key, &self.comparator)?, (key.user_key.len() + value.len()) as u64);
        Ok(())
    }
}
