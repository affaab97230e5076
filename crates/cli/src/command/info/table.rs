//! Prints the description of a table.

use std::io;

use sstkit_inspect::{FilterReport, TableInfo};

use crate::output::bar::{self, Part};
use crate::output::page::{BAD, HEADING};
use crate::output::{Grid, Page, units};

pub(super) fn print(page: &mut Page, info: &TableInfo) -> io::Result<()> {
    let title = page.paint(HEADING, &info.file);
    writeln!(page, "{title}  {}", units::size(info.size))?;
    let mut grid = Grid::pairs();
    grid.pair("kind", info.kind);
    grid.pair("format version", info.format_version.to_string());
    grid.pair("checksum", info.checksum);
    grid.pair("readable by", readers(info));
    grid.pair("comparator", info.comparator.as_deref().unwrap_or("not named"));
    grid.pair("keys", if info.key_form == "user" { "user keys" } else { "internal keys" });
    grid.pair("entries", entries(info));
    if let (Some(smallest), Some(largest)) = (&info.smallest_key, &info.largest_key) {
        grid.pair("smallest key", smallest);
        grid.pair("largest key", largest);
    }
    grid.pair_if("sequence numbers", sequence_numbers(info));
    for share in info.codecs.iter().flatten() {
        let ratio = share.uncompressed as f64 / share.bytes.max(1) as f64;
        let blocks = units::counted(share.blocks, "data block");
        let (from, to) = (units::size(share.uncompressed), units::size(share.bytes));
        let text = match share.codec.as_str() {
            "none" => format!("none: {blocks}, {to}"),
            codec => format!("{codec}: {blocks}, {from} to {to}, {ratio:.2} to 1"),
        };
        grid.pair("compression", text);
    }
    grid.pair("index", index(info));
    grid.pair("filter", info.filter.as_ref().map_or("none".into(), filter));
    grid.pair_if("unique id", info.unique_id.as_ref());
    grid.print(page)?;
    writeln!(page)?;
    print_sizes(page, info)?;
    print_properties(page, info)?;
    info.problems.iter().try_for_each(|it| page.styled_line(BAD, &it.message))
}

pub(super) fn sequence_numbers(info: &TableInfo) -> Option<String> {
    let (smallest, largest) = (info.smallest_seq?, info.largest_seq?);
    let global = info.global_seq.map(|_| ", global").unwrap_or_default();
    Some(format!("{smallest} to {largest}{global}"))
}

/// The engines that can read the table, and why older ones cannot.
fn readers(info: &TableInfo) -> String {
    let readers = &info.readable_by;
    let because =
        readers.because.as_ref().filter(|_| readers.rocksdb.is_some() && !readers.leveldb);
    match because {
        Some(because) => format!("{} ({because})", readers.text),
        None => readers.text.clone(),
    }
}

fn entries(info: &TableInfo) -> String {
    let Some(entries) = info.entries else {
        return "not counted; use --full".into();
    };
    if !info.full {
        return format!("{}, from the properties; use --full to count", units::count(entries));
    }
    let kinds: Vec<String> = info
        .entries_by_kind
        .iter()
        .flatten()
        .map(|(kind, &count)| format!("{} {kind}", units::count(count)))
        .collect();
    match kinds.len() {
        0 => units::count(entries),
        _ => format!("{}: {}", units::count(entries), kinds.join(", ")),
    }
}

fn index(info: &TableInfo) -> String {
    let mut text = info.index.kind.to_owned();
    if info.index.partitions > 0 {
        text.push_str(&format!(", {}", units::counted(info.index.partitions, "partition")));
    }
    if info.index.user_keys {
        text.push_str(", user keys");
    }
    if info.index.delta_values {
        text.push_str(", delta values");
    }
    text
}

fn filter(report: &FilterReport) -> String {
    let mut text = report.kind.replace('_', " ");
    if report.partitioned {
        text.push_str(&format!(", {}", units::counted(report.partitions, "partition")));
    }
    if let Some(bits) = report.bits_per_key {
        text.push_str(&format!(", {bits:.2} bits per key"));
    }
    if let Some(rate) = report.expected_fpr {
        text.push_str(&format!(", {} false positives expected", units::percent(rate)));
    }
    text
}

fn print_sizes(page: &mut Page, info: &TableInfo) -> io::Result<()> {
    let sizes = &info.sizes;
    let parts: Vec<Part> = [
        ("data", sizes.data),
        ("blobs", sizes.blobs),
        ("filter", sizes.filter),
        ("index", sizes.index),
        ("other", sizes.other + sizes.footer),
        ("padding", sizes.padding),
    ]
    .into_iter()
    .filter(|&(_, size)| size > 0)
    .map(|(name, size)| Part { name: name.into(), size, note: String::new() })
    .collect();
    bar::parts(page, &parts)
}

fn print_properties(page: &mut Page, info: &TableInfo) -> io::Result<()> {
    if info.properties.is_empty() {
        return Ok(());
    }
    writeln!(page)?;
    page.styled_line(HEADING, "properties")?;
    let mut grid = Grid::pairs();
    for (name, value) in &info.properties {
        grid.pair(name, value.to_string());
    }
    grid.print(page)
}
