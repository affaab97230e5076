//! The advice as text.

use std::io;

use sstkit_inspect::{Advice, AdvisedLevel, ChangedNumber, FilterChange, MeasuredReads};

use crate::output::page::{FAINT, HEADING};
use crate::output::{Align, Grid, Page, plot, units};

pub(super) fn print(page: &mut Page, advice: &Advice) -> io::Result<()> {
    let title = page.paint(HEADING, &advice.file);
    writeln!(page, "{title}")?;
    print_now(page, advice)?;
    print_levels(page, advice)?;
    print_suggestions(page, advice)?;
    print_change(page, "best filters in this memory", &advice.plan, advice)?;
    if let Some(change) = &advice.what_if {
        print_change(page, "what if", change, advice)?;
    }
    print_plot(page, advice)
}

fn reads(reads: f64) -> String {
    format!("{reads:.4}")
}

fn lookups(advice: &Advice) -> String {
    match advice.hit_rate {
        0.0 => "per lookup of a key that is not found".into(),
        share => format!("per lookup, if {} find their key", units::percent(share)),
    }
}

fn print_now(page: &mut Page, advice: &Advice) -> io::Result<()> {
    let now = &advice.now;
    let mut grid = Grid::pairs();
    let filters = units::size(now.filter_bytes);
    let allocated = units::size(now.allocated_filter_bytes);
    grid.pair("filters", format!("{filters}, {allocated} with jemalloc"));
    grid.pair("indexes", units::size(now.index_bytes));
    let bytes = units::size(now.wasted_bytes as u64);
    let wasted = reads(now.wasted_reads);
    grid.pair("wasted reads, expected", format!("{wasted} ({bytes}) {}", lookups(advice)));
    let seek = reads(now.wasted_seek_reads);
    grid.pair("", format!("{seek} per seek to a prefix without keys"));
    if let Some(measured) = &advice.measured {
        for (name, text) in measured_lines(measured, advice) {
            grid.pair(name, text);
        }
        for note in &measured.notes {
            grid.pair("", note.clone());
        }
    }
    grid.print(page)
}

fn measured_lines(measured: &MeasuredReads, advice: &Advice) -> [(&'static str, String); 2] {
    let count = units::count(measured.lookups);
    let wasted = reads(measured.wasted_reads);
    let seek = reads(measured.wasted_seek_reads);
    let seeks = match measured.seeks {
        0 => "no seeks: no prefix without keys is in the range of the keys".to_owned(),
        seeks => {
            let seeks = units::count(seeks);
            format!("{seek} per seek to a prefix without keys ({seeks} seeks)")
        }
    };
    [
        ("wasted reads, measured", format!("{wasted} {} ({count} lookups)", lookups(advice))),
        ("", seeks),
    ]
}

/// The name of a level, with its column family if there are several.
fn level_name(levels: &[AdvisedLevel], family: &str, level: u32) -> String {
    match levels.windows(2).all(|it| it[0].column_family == it[1].column_family) {
        true => level.to_string(),
        false => format!("{level} of {family}"),
    }
}

fn print_levels(page: &mut Page, advice: &Advice) -> io::Result<()> {
    writeln!(page)?;
    let mut grid = Grid::new(&[
        ("level", Align::Left),
        ("files", Align::Right),
        ("entries", Align::Right),
        ("filter", Align::Shorten),
        ("bits per key", Align::Right),
        ("filters", Align::Right),
        ("indexes", Align::Right),
        ("false positives", Align::Right),
        ("wasted reads", Align::Right),
        ("measured", Align::Right),
    ])
    .indent(2)
    .dispensable(&["files", "entries", "bits per key"]);
    for level in &advice.levels {
        let measured = advice
            .measured
            .iter()
            .flat_map(|it| &it.levels)
            .find(|it| it.level == level.level && it.column_family == level.column_family);
        grid.row([
            level_name(&advice.levels, &level.column_family, level.level),
            units::count(level.files),
            units::count(level.entries),
            level.kinds.join(", "),
            format!("{:.1}", level.bits_per_key),
            units::size(level.filter_bytes),
            units::size(level.index_bytes),
            units::percent(level.fpr),
            reads(level.wasted_reads),
            measured.map(|it| reads(it.wasted_reads)).unwrap_or_default(),
        ]);
    }
    grid.print(page)
}

fn print_suggestions(page: &mut Page, advice: &Advice) -> io::Result<()> {
    let is_one_family =
        advice.levels.windows(2).all(|it| it[0].column_family == it[1].column_family);
    if advice.suggestions.is_empty() {
        writeln!(page)?;
        return writeln!(page, "nothing to change: the filters suit this memory");
    }
    for suggestion in &advice.suggestions {
        writeln!(page)?;
        let kind = if suggestion.advised { "advice" } else { "it depends" };
        let kind = page.paint(HEADING, kind);
        let family = match &suggestion.column_family {
            Some(family) if !is_one_family => format!(" for column family {family}"),
            _ => String::new(),
        };
        writeln!(page, "{kind}{family}: {}", suggestion.text)?;
        let mut grid = Grid::pairs();
        for ChangedNumber { what, unit, before, after, .. } in &suggestion.numbers {
            let text = |number: f64| match *unit {
                "bytes" => units::size(number as u64),
                _ => reads(number),
            };
            grid.pair(what, format!("{} -> {}", text(*before), text(*after)));
        }
        grid.print(page)?;
        if !suggestion.options.is_empty() {
            let options = page.paint(FAINT, &suggestion.options);
            writeln!(page, "  {options}")?;
        }
    }
    Ok(())
}

fn print_change(
    page: &mut Page,
    what: &str,
    change: &FilterChange,
    advice: &Advice,
) -> io::Result<()> {
    writeln!(page)?;
    let unknown = || "unknown".to_owned();
    let title = page.paint(HEADING, what);
    let filters = change.filter_bytes.map_or_else(unknown, units::size);
    let wasted = change.wasted_reads.map_or_else(unknown, reads);
    writeln!(page, "{title}: {filters}, {wasted} wasted reads {}", lookups(advice))?;
    let mut grid = Grid::new(&[
        ("level", Align::Left),
        ("policy", Align::Shorten),
        ("filters", Align::Right),
        ("false positives", Align::Right),
        ("wasted reads", Align::Right),
    ])
    .indent(2);
    for level in &change.levels {
        grid.row([
            level_name(&advice.levels, &level.column_family, level.level),
            level.policy.clone().unwrap_or_else(|| "as before".into()),
            level.filter_bytes.map(units::size).unwrap_or_default(),
            level.fpr.map(units::percent).unwrap_or_default(),
            level.wasted_reads.map(reads).unwrap_or_default(),
        ]);
    }
    grid.print(page)?;
    if let Some(line) = &change.refilter {
        writeln!(page, "  now: {line}")?;
    }
    for family in change.column_families.iter().filter(|it| !it.options.is_empty()) {
        let cost = match (family.filter_bytes, family.wasted_reads) {
            (Some(bytes), Some(wasted)) => {
                format!(" ({}, {} wasted reads)", units::size(bytes), reads(wasted))
            }
            _ => String::new(),
        };
        let of = match change.column_families.len() {
            1 => String::new(),
            _ => format!(" of column family {}", family.column_family),
        };
        writeln!(page, "  options{of}{cost}: {}", family.options)?;
    }
    Ok(())
}

fn print_plot(page: &mut Page, advice: &Advice) -> io::Result<()> {
    let points = &advice.curve.points;
    let curve = |of_point: fn(&sstkit_inspect::MemoryPoint) -> f64| {
        points.iter().map(|point| (point.bytes as f64, of_point(point))).collect::<Vec<_>>()
    };
    let curves = [
        plot::Curve {
            mark: 'o',
            name: "one policy for all levels",
            points: curve(|point| point.wasted_reads_of_one_policy),
        },
        plot::Curve {
            mark: '*',
            name: "best policies for each level",
            points: curve(|point| point.wasted_reads),
        },
        plot::Curve {
            mark: '@',
            name: "now",
            points: vec![(advice.now.filter_bytes as f64, advice.now.wasted_reads)],
        },
    ];
    writeln!(page)?;
    page.styled_line(HEADING, "wasted reads per lookup, by memory of filters")?;
    plot::print(page, &curves, |bytes| units::size(bytes as u64), |reads| format!("{reads:.1e}"))
}
