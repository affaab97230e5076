//! Prints the steps of a point lookup.
//!
//! ```text
//! user00042
//!   level 0, files 000044 000046: key out of range
//!   level 1, file 000042: not found
//!     filter: fast local bloom, whole-key probe, hash 0x01234567: no
//!       line 12 of 160 (64 bytes), 6 probes: bits 17 201 set, 33 not set
//! ```

use std::collections::BTreeMap;
use std::io;

use sstkit_inspect::{
    BlockVisit, Explanation, FilterAnswer, FoundEntry, LookupStep, PartitionVisit, ProbedPlace,
    TableStep,
};

use crate::output::page::{BAD, FAINT, GOOD, HEADING};
use crate::output::plain::plain;
use crate::output::{Grid, Page, units};

/// Prints the explanation of a lookup.
pub(super) fn print(
    page: &mut Page,
    explanation: &Explanation,
    statistics: &BTreeMap<&'static str, u64>,
) -> io::Result<()> {
    let title = page.paint(HEADING, &explanation.key);
    let family = explanation.column_family.as_ref();
    let family =
        family.map(|name| format!(" in column family {}", plain(name))).unwrap_or_default();
    let sequence = explanation.seq.map(|it| format!(", as of sequence number {it}"));
    let sequence = sequence.unwrap_or_default();
    writeln!(page, "{title}{family}{sequence}")?;
    for step in &explanation.steps {
        print_step(page, step)?;
    }
    let answer = match (&explanation.value, &explanation.merge, &explanation.problem) {
        (_, Some(operands), _) => format!("merge [{}]", operands.join(", ")),
        (Some(value), ..) => format!("found: {value}"),
        (None, None, Some(problem)) => format!("found, but {problem}"),
        (None, None, None) => answer_text(explanation.answer).to_owned(),
    };
    let style = if explanation.found { GOOD } else { BAD };
    let answer = page.paint(style, answer);
    writeln!(page, "  {answer}")?;
    if statistics.is_empty() {
        return Ok(());
    }
    let title = page.paint(FAINT, "statistics");
    writeln!(page, "  {title}")?;
    let mut grid = Grid::pairs().indent(4);
    for (name, count) in statistics {
        grid.pair(name, units::count(*count));
    }
    grid.print(page)
}

fn print_step(page: &mut Page, step: &LookupStep) -> io::Result<()> {
    match step {
        LookupStep::Memtable { range_deletion, range_deletion_covers, entries } => {
            let nothing = entries.is_empty() && range_deletion.is_none();
            writeln!(page, "  memtable{}", if nothing { ": no entries" } else { "" })?;
            print_tombstone(page, *range_deletion, *range_deletion_covers)?;
            entries.iter().try_for_each(|entry| print_entry(page, "    ", entry))
        }
        LookupStep::OutOfRange { level, files } => {
            let text = format!("level {level}, {}: key out of range", numbers(files));
            let text = page.paint(FAINT, text);
            writeln!(page, "  {text}")
        }
        LookupStep::Skipped { level, files } => {
            let text = format!("level {level}, {}: skipped: already resolved", numbers(files));
            let text = page.paint(FAINT, text);
            writeln!(page, "  {text}")
        }
        LookupStep::Table(step) => print_table(page, step),
        LookupStep::Blob { file: 0, offset, length } => {
            writeln!(page, "  embedded blob: {length} bytes at {offset}")
        }
        LookupStep::Blob { file, offset, length } => {
            writeln!(page, "  blob file {file:06}: {length} bytes at {offset}")
        }
        _ => Ok(()),
    }
}

/// The answer as text; `absent` is the name in JSON.
fn answer_text(answer: &str) -> &str {
    match answer {
        "absent" => "not found",
        _ => answer,
    }
}

fn numbers(files: &[u64]) -> String {
    let names: Vec<String> = files.iter().map(|number| format!("{number:06}")).collect();
    match names.as_slice() {
        [one] => format!("file {one}"),
        _ => format!("files {}", names.join(" ")),
    }
}

fn print_table(page: &mut Page, step: &TableStep) -> io::Result<()> {
    match (step.level, step.file) {
        (Some(level), Some(file)) => {
            writeln!(page, "  level {level}, file {file:06}: {}", answer_text(step.answer))?;
        }
        _ => writeln!(page, "  table: {}", answer_text(step.answer))?,
    }
    print_tombstone(page, step.range_deletion, step.range_deletion_covers)?;
    match &step.filter {
        Some(filter) => print_filter(page, "    ", filter)?,
        None => writeln!(page, "    filter: none")?,
    }
    step.blocks.iter().try_for_each(|block| print_block(page, block))
}

fn print_tombstone(page: &mut Page, seq: Option<u64>, covers: Option<bool>) -> io::Result<()> {
    let Some(seq) = seq else { return Ok(()) };
    match covers {
        Some(false) => {
            let but = "but covers only older entries";
            writeln!(page, "    a range tombstone spans the key, sequence number {seq}, {but}")
        }
        _ => writeln!(page, "    a range tombstone covers the key, sequence number {seq}"),
    }
}

fn print_filter(page: &mut Page, indent: &str, filter: &FilterAnswer) -> io::Result<()> {
    let kind =
        filter.kind.map_or_else(|| format!("{} filter", filter.layout), |it| it.replace('_', " "));
    let probe = match (filter.question, &filter.prefix, filter.reason) {
        (_, Some(prefix), _) => format!(", prefix probe {prefix}"),
        (Some("whole_key"), ..) => ", whole-key probe".into(),
        (Some("nothing"), _, Some(reason)) => format!(", skipped: {reason}"),
        _ => String::new(),
    };
    let hash = filter.hash.as_ref().map(|hash| format!(", hash {hash}")).unwrap_or_default();
    // A filter block is probed for each data block, further down.
    let later = filter.layout == "block" && filter.kind.is_none();
    let answer = match (later, filter.may_contain) {
        (true, _) => "one for each 2 KiB",
        (false, true) => "maybe",
        (false, false) => "no",
    };
    writeln!(page, "{indent}filter: {kind}{probe}{hash}: {answer}")?;
    if let Some(problem) = &filter.problem {
        writeln!(page, "{indent}  unusable, so everything matches: {}", plain(problem))?;
    }
    if let Some(partition) = &filter.partition {
        print_partition(page, &format!("{indent}  "), partition)?;
    }
    print_probes(page, &format!("{indent}  "), filter)
}

fn print_partition(page: &mut Page, indent: &str, partition: &PartitionVisit) -> io::Result<()> {
    let PartitionVisit { separator, offset, length, .. } = partition;
    writeln!(page, "{indent}partition at {offset}, {length} bytes, up to {separator}")
}

/// Prints the probed positions and their contents. The probes of a Bloom filter end at the first
/// bit that is not set, those of a Ribbon filter at the first column whose equation does not hold.
fn print_probes(page: &mut Page, indent: &str, filter: &FilterAnswer) -> io::Result<()> {
    let positions = |passed: bool| {
        let probes = filter.probes.iter().filter(|it| (it.expected == it.found) == passed);
        probes.map(|probe| probe.position.to_string()).collect::<Vec<_>>().join(" ")
    };
    let found = |good: &str, bad: &str| match (positions(true), positions(false)) {
        (passed, failed) if failed.is_empty() => format!("{passed} {good}"),
        (passed, failed) if passed.is_empty() => format!("{failed} {bad}"),
        (passed, failed) => format!("{passed} {good}, {failed} {bad}"),
    };
    match &filter.place {
        Some(ProbedPlace::Line { index, count, length, num_probes }) => {
            let line = match count {
                1 => units::counted(*length, "byte"),
                _ => format!("line {index} of {count} ({length} bytes)"),
            };
            let bits = found("set", "not set");
            writeln!(page, "{indent}{line}, {num_probes} probes: bits {bits}")
        }
        Some(ProbedPlace::Slots { start, count, columns, .. }) => {
            let end = start.saturating_add(127);
            let columns = units::counted(*columns, "column");
            let sums = found("fit", "does not fit");
            writeln!(page, "{indent}slots {start} to {end} of {count}, {columns}: {sums}")
        }
        _ => Ok(()),
    }
}

fn print_block(page: &mut Page, block: &BlockVisit) -> io::Result<()> {
    if let Some(partition) = &block.index_partition {
        write!(page, "    index ")?;
        print_partition(page, "", partition)?;
    }
    writeln!(
        page,
        "    index entry {}: block at {}, {} bytes",
        block.separator, block.offset, block.length
    )?;
    if let Some(filter) = &block.filter {
        print_filter(page, "      ", filter)?;
    }
    let Some(search) = &block.search else {
        return writeln!(page, "      not read");
    };
    let interval = match search.interval {
        Some(interval) => format!("restart interval {interval} of {}", search.intervals),
        None => "not in any restart interval".into(),
    };
    let cached = if search.cached { ", in the cache" } else { "" };
    let by = search.by.replace('_', " ");
    writeln!(
        page,
        "      {} bytes uncompressed{cached}; by {by} search: {interval}",
        search.uncompressed
    )?;
    if search.entries.is_empty() {
        return writeln!(page, "      no entry of the key");
    }
    search.entries.iter().try_for_each(|entry| print_entry(page, "      ", entry))
}

fn print_entry(page: &mut Page, indent: &str, entry: &FoundEntry) -> io::Result<()> {
    let FoundEntry { kind, seq, value_length, covered, .. } = entry;
    let length = value_length.map(|it| format!(", value of {it} bytes")).unwrap_or_default();
    let covered = if *covered { ", deleted by a range tombstone" } else { "" };
    writeln!(page, "{indent}entry: {kind}, sequence number {seq}{length}{covered}")
}
