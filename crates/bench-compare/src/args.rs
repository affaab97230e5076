//! Arguments.

use std::path::PathBuf;

use clap::Parser;

/// sstkit compared with RocksDB, LevelDB and the filters of other crates, in one run.
#[derive(Debug, Parser)]
#[command(
    name = "bench-compare",
    after_long_help = "\
Examples:
  cargo run --release                            everything: more than an hour, and 15 GB of memory and disk
  cargo run --release -- --quick                 everything, small: to see that it works
  cargo run --release -- --only scan --only get  what has this in its name
  cargo run --release -- --dir /dev/shm --markdown ../../docs/benchmarks/YYYY-MM-DD-machine-rocksdb.md"
)]
pub(crate) struct Args {
    /// Tables of 100 thousand entries and small filters: seconds, and numbers that mean little
    #[arg(long)]
    pub(crate) quick: bool,

    /// Only work with this in its name; may be given more than once
    #[arg(long, value_name = "PATTERN")]
    pub(crate) only: Vec<String>,

    /// Rounds, in each of which every subject has a turn; the best one counts
    #[arg(long, value_name = "N")]
    pub(crate) runs: Option<usize>,

    /// Entries of the table
    #[arg(long, value_name = "N")]
    pub(crate) entries: Option<u64>,

    /// Keys to look up in the table
    #[arg(long, value_name = "N")]
    pub(crate) queries: Option<u64>,

    /// The largest filter, in keys
    #[arg(long, value_name = "N")]
    pub(crate) filter_keys: Option<u64>,

    /// The largest table of the growth series, in entries
    #[arg(long, value_name = "N")]
    pub(crate) growth: Option<u64>,

    /// Counts the time that the process has worked, not that on the wall: for machines that do something
    /// else at the same time. Means nothing for work of 2 threads and for commands
    #[arg(long)]
    pub(crate) cpu_time: bool,

    /// Measures even if the machine is busy with something else
    #[arg(long)]
    pub(crate) noisy: bool,

    /// Where the folder for tables is made, and removed at the end; a folder in memory leaves the
    /// disk out of it [default: the system's]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) dir: Option<PathBuf>,

    /// The `sst` to measure [default: built from this repository, with the same flags]
    #[arg(long, value_name = "FILE")]
    pub(crate) sst: Option<PathBuf>,

    /// Writes all times, the machine and the versions as JSON
    #[arg(long, value_name = "FILE", default_value = "bench-compare.json")]
    pub(crate) json: PathBuf,

    /// Writes a plot for each piece of work
    #[arg(long, value_name = "FOLDER", default_value = "bench-compare-svg")]
    pub(crate) svg: PathBuf,

    /// Writes the tables as a page
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,

    /// The date in the reports [default: today]
    #[arg(long, value_name = "YYYY-MM-DD")]
    pub(crate) date: Option<String>,
}

/// How much of everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) runs: usize,
    pub(crate) entries: u64,
    pub(crate) queries: u64,
    /// Keys of the filters, from small to large.
    pub(crate) filter_keys: Vec<u64>,
    /// Filters probed at random, together about 100 MB of Bloom filters.
    pub(crate) many_filters: u64,
    /// Keys of each of them.
    pub(crate) many_keys: u64,
    /// Entries of growing tables.
    pub(crate) growth: Vec<u64>,
    only: Vec<String>,
}

impl Plan {
    pub(crate) fn new(args: &Args) -> Self {
        let pick = |quick: u64, full: u64| if args.quick { quick } else { full };
        let largest = args.filter_keys.unwrap_or(pick(100_000, 100_000_000));
        let growth = args.growth.unwrap_or(pick(100_000, 50_000_000));
        Self {
            runs: args.runs.unwrap_or(pick(2, 5) as usize).max(1),
            entries: args.entries.unwrap_or(pick(100_000, 5_000_000)).max(1),
            queries: args.queries.unwrap_or(pick(20_000, 1_000_000)).max(1),
            filter_keys: up_to(&[10_000, 100_000, 1_000_000, 10_000_000, 100_000_000], largest),
            many_filters: pick(80, 800),
            many_keys: pick(10_000, 100_000),
            growth: growth_series(growth),
            only: args.only.clone(),
        }
    }

    /// Whether work of this name is wanted.
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|pattern| name.contains(pattern.as_str()))
    }
}

/// The steps that are not too large, and at least one.
fn up_to(steps: &[u64], largest: u64) -> Vec<u64> {
    let steps: Vec<u64> = steps.iter().copied().filter(|&step| step <= largest).collect();
    if steps.is_empty() { vec![largest.max(1)] } else { steps }
}

/// A fiftieth, a fifth and all of it: 1, 10 and 50 million.
fn growth_series(largest: u64) -> Vec<u64> {
    [largest / 50, largest / 5, largest].into_iter().filter(|&entries| entries > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(args: &[&str]) -> Plan {
        let args = std::iter::once("bench-compare").chain(args.iter().copied());
        Plan::new(&Args::try_parse_from(args).unwrap())
    }

    #[test]
    fn the_whole_and_the_quick() {
        let whole = plan(&[]);
        assert_eq!((whole.entries, whole.runs), (5_000_000, 5));
        assert_eq!(whole.growth, [1_000_000, 10_000_000, 50_000_000]);
        assert_eq!(whole.filter_keys.last(), Some(&100_000_000));
        let quick = plan(&["--quick"]);
        assert_eq!((quick.entries, quick.runs), (100_000, 2));
        assert_eq!(quick.filter_keys, [10_000, 100_000]);
    }

    #[test]
    fn numbers_given_win() {
        let plan = plan(&["--quick", "--entries", "7", "--runs", "3", "--filter-keys", "500"]);
        assert_eq!((plan.entries, plan.runs), (7, 3));
        assert_eq!(plan.filter_keys, [500]);
    }

    #[test]
    fn patterns_choose() {
        assert!(plan(&[]).wants("scan/none"));
        let some = plan(&["--only", "scan", "--only", "get"]);
        assert!(some.wants("reverse scan/none") && some.wants("get present/lz4"));
        assert!(!some.wants("write/none"));
    }

    #[test]
    fn arguments_are_sound() {
        use clap::CommandFactory as _;
        Args::command().debug_assert();
    }
}
