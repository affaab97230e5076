//! The report as text.

use std::io;
use std::time::Duration;

use sstkit_inspect::{FilterPlan, RefilterReport};

use crate::output::page::HEADING;
use crate::output::{Align, Grid, Page, units};

/// Files that are listed without `--files`.
const FEW_FILES: usize = 20;

pub(super) fn print(report: &RefilterReport, all_files: bool, page: &mut Page) -> io::Result<()> {
    let tables = units::counted(report.files.len() as u64, "table");
    match (&report.output, report.bytes_after) {
        (Some(output), Some(bytes)) => {
            let title = page.paint(HEADING, output);
            let time = units::time(Duration::from_secs_f64(report.seconds));
            writeln!(page, "{title}: {tables}, {}, in {time}", units::size(bytes))?;
        }
        _ => {
            let title = page.paint(HEADING, "plan");
            writeln!(page, "{title}: {tables}, {}", units::size(report.bytes_before))?;
        }
    }
    print_totals(report, page)?;
    print_levels(&report.plan, page)?;
    if !report.dry_run && (all_files || report.files.len() <= FEW_FILES) {
        print_files(report, page)?;
    }
    Ok(())
}

fn print_totals(report: &RefilterReport, page: &mut Page) -> io::Result<()> {
    let plan = &report.plan;
    let mut grid = Grid::pairs();
    let before = units::size(plan.filter_bytes_before);
    grid.pair("filters", arrow(before, plan.filter_bytes_after.map(units::size)));
    let reads = |reads: f64| format!("{reads:.4}");
    let after = plan.wasted_reads_after.map(reads);
    let lookups = match report.hit_rate {
        0.0 => "per lookup of a key that is not found".into(),
        share => format!("per lookup, if {} find their key", units::percent(share)),
    };
    let wasted = arrow(reads(plan.wasted_reads_before), after);
    grid.pair("wasted reads, expected", format!("{wasted} files {lookups}"));
    for (what, count) in
        [("write-ahead logs copied", report.logs), ("blob files linked", report.blob_files)]
    {
        if count > 0 {
            grid.pair(what, units::count(count));
        }
    }
    grid.print(page)
}

fn print_levels(plan: &FilterPlan, page: &mut Page) -> io::Result<()> {
    writeln!(page)?;
    let mut grid = Grid::new(&[
        ("level", Align::Left),
        ("files", Align::Right),
        ("keys", Align::Right),
        ("policy", Align::Shorten),
        ("filters", Align::Right),
        ("after", Align::Right),
        ("false positives", Align::Right),
        ("after", Align::Right),
    ])
    .indent(2)
    .dispensable(&["files", "keys"]);
    let is_one_family = plan.levels.windows(2).all(|it| it[0].column_family == it[1].column_family);
    for level in &plan.levels {
        let name = match (level.level, &level.column_family) {
            (None, _) => "-".into(),
            (Some(number), Some(family)) if !is_one_family => format!("{number} of {family}"),
            (Some(number), _) => number.to_string(),
        };
        let about = if level.keys_are_estimated { "~" } else { "" };
        grid.row([
            name,
            units::count(level.files),
            format!("{about}{}", units::count(level.keys)),
            level.policy.clone().unwrap_or_else(|| "as before".into()),
            units::size(level.filter_bytes_before),
            level.filter_bytes_after.map(units::size).unwrap_or_default(),
            units::percent(level.fpr_before),
            level.fpr_after.map(units::percent).unwrap_or_default(),
        ]);
    }
    grid.print(page)
}

fn print_files(report: &RefilterReport, page: &mut Page) -> io::Result<()> {
    writeln!(page)?;
    let mut grid = Grid::new(&[
        ("file", Align::Path),
        ("size", Align::Right),
        ("after", Align::Right),
        ("filter", Align::Right),
        ("after", Align::Right),
        ("false positives", Align::Right),
        ("after", Align::Right),
    ])
    .indent(2)
    .dispensable(&["size"]);
    for file in &report.files {
        grid.row([
            file.output.clone().unwrap_or_else(|| file.file.clone()),
            units::size(file.bytes_before),
            file.bytes_after.map(units::size).unwrap_or_default(),
            units::size(file.filter_bytes_before),
            file.filter_bytes_after.map(units::size).unwrap_or_default(),
            units::percent(file.fpr_before),
            file.fpr_after.map(units::percent).unwrap_or_default(),
        ]);
    }
    grid.print(page)
}

fn arrow(before: String, after: Option<String>) -> String {
    match after {
        Some(after) => format!("{before} -> {after}"),
        None => before,
    }
}
