//! Prints what a table or database contains, for people.

use std::io;

use sstkit_inspect::{
    EntryTotals, FamilyStats, OtherGroups, PrefixGroup, PrefixReport, SizesReport,
    SkippedRangeReport, SpaceReport, SpaceUse, StatsReport,
};

use crate::output::bar::{self, Part};
use crate::output::page::{BAD, FAINT, HEADING};
use crate::output::{Align, Grid, Page, units};

/// Scans do not notice fewer entries between two keys.
const MIN_SKIPPED: u64 = 2;

pub(super) fn print(page: &mut Page, report: &StatsReport, files: bool) -> io::Result<()> {
    let size: u64 = report.column_families.iter().map(|family| family.size).sum();
    let title = page.paint(HEADING, &report.file);
    writeln!(page, "{title}  {}", units::size(size))?;
    if report.sampled {
        page.styled_line(FAINT, "estimated from indexes and properties; no entries were read")?;
    }
    for family in &report.column_families {
        if let Some(name) = &family.name {
            writeln!(page)?;
            page.styled_line(HEADING, format!("column family {name}"))?;
        }
        Printer { page, files, sampled: report.sampled }.family(family)?;
    }
    if !report.problems.is_empty() {
        writeln!(page)?;
        page.styled_line(BAD, "incomplete: not everything could be read")?;
    }
    Ok(())
}

struct Printer<'p> {
    page: &'p mut Page,
    files: bool,
    sampled: bool,
}

impl Printer<'_> {
    fn family(&mut self, family: &FamilyStats) -> io::Result<()> {
        self.totals(family)?;
        if let Some(space) = &family.space {
            self.space(space)?;
        }
        self.levels(family)?;
        self.sizes("key sizes", family.key_sizes.as_ref())?;
        self.sizes("value sizes", family.value_sizes.as_ref())?;
        self.largest(family)?;
        self.tombstones(family)?;
        self.range_tombstones(family)?;
        match &family.prefixes {
            Some(prefixes) => self.prefixes(prefixes),
            None => Ok(()),
        }
    }

    fn heading(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.page)?;
        self.page.styled_line(HEADING, text)
    }

    fn totals(&mut self, family: &FamilyStats) -> io::Result<()> {
        let totals = &family.totals;
        let mut grid = Grid::pairs();
        grid.pair_if("keys", keys(family));
        grid.pair_if("entries", entries(totals));
        let (keys, values) =
            (totals.key_bytes.map(units::size), totals.value_bytes.map(units::size));
        grid.pair_if("keys and values", keys.zip(values).map(|(k, v)| format!("{k} and {v}")));
        let share = totals.stored_share.map(|it| format!(", {} of that", units::percent(it)));
        let stored = units::size(totals.stored_bytes);
        grid.pair("data blocks as stored", stored + &share.unwrap_or_default());
        grid.print(self.page)?;
        match family.log_entries {
            entries @ 1.. if self.sampled => {
                let entries = units::counted(entries, "entry");
                writeln!(
                    self.page,
                    "  not included: {entries} of the write-ahead log, not in tables yet"
                )
            }
            _ => Ok(()),
        }
    }

    fn space(&mut self, space: &SpaceReport) -> io::Result<()> {
        self.heading("what the space is used for, before compression")?;
        let part = |name: &str, it: SpaceUse| Part {
            name: name.into(),
            size: it.bytes,
            note: match it.stored_bytes {
                0 => units::counted(it.entries, "entry"),
                stored => {
                    let entries = units::counted(it.entries, "entry");
                    format!("{entries}, about {} as stored", units::size(stored))
                }
            },
        };
        let mut parts = vec![
            part("visible", space.visible),
            part("older versions", space.older_versions),
            part("covered by range tombstones", space.covered),
            part("tombstones", space.tombstones),
        ];
        if let Some(blobs) = space.blob_files {
            let size = blobs.bytes.saturating_sub(blobs.garbage_bytes);
            let note = units::counted(blobs.files, "blob file");
            parts.push(Part { name: "blobs".into(), size, note });
            let (name, size) = ("garbage in blob files".into(), blobs.garbage_bytes);
            parts.push(Part { name, size, note: String::new() });
        }
        parts.retain(|part| part.size > 0);
        bar::parts(self.page, &parts)?;
        match space.amplification {
            Some(factor) => writeln!(self.page, "  space amplification {factor:.2}"),
            None => writeln!(self.page, "  nothing is visible"),
        }
    }

    fn levels(&mut self, family: &FamilyStats) -> io::Result<()> {
        let is_table = family.name.is_none();
        if family.levels.is_empty() || is_table {
            return Ok(());
        }
        self.heading("levels")?;
        let mut grid = Grid::new(&[
            ("level", Align::Right),
            ("file", Align::Right),
            ("size", Align::Right),
            ("entries", Align::Right),
            ("tombstones", Align::Right),
            ("keys", Align::Right),
            ("values", Align::Right),
            ("as stored", Align::Right),
            ("share", Align::Right),
            ("not visible", Align::Right),
            ("written", Align::Left),
        ])
        .indent(2)
        .dispensable(&["written", "share", "keys", "values", "tombstones"]);
        for level in &family.levels {
            let number = level.level.map_or("log".into(), |number| number.to_string());
            let files = match (level.level, level.files.len()) {
                (None, _) => String::new(),
                (_, files) => units::counted(files as u64, "file"),
            };
            let written = level.files.iter().filter_map(|file| file.created);
            let written = match (written.clone().min(), written.max()) {
                (Some(first), Some(last)) if first != last => {
                    format!("{} to {}", units::date(first), units::date(last))
                }
                (Some(first), _) => units::date(first),
                _ => String::new(),
            };
            grid.row(row(number, files, level.size, &level.totals, written));
            for file in level.files.iter().filter(|file| self.files && file.number.is_some()) {
                let number = file.number.map_or(String::new(), |number| format!("{number:06}"));
                let written = file.created.map(units::date).unwrap_or_default();
                grid.row(row(String::new(), number, file.size, &file.totals, written));
            }
        }
        grid.print(self.page)
    }

    fn sizes(&mut self, name: &str, sizes: Option<&SizesReport>) -> io::Result<()> {
        let Some((sizes, mean)) = sizes.and_then(|it| Some((it, it.mean?))) else { return Ok(()) };
        self.heading(&format!(
            "{name}: {} to {}, mean {}",
            units::size(sizes.min.unwrap_or(0)),
            units::size(sizes.max.unwrap_or(0)),
            units::size(mean.round() as u64)
        ))?;
        let label = |from: u64, to: u64| match from == to {
            true => units::size(from),
            false => format!("{} …", units::size(from)),
        };
        let bins: Vec<_> = sizes.bins.iter().map(|it| (label(it.from, it.to), it.count)).collect();
        bar::bins(self.page, &bins)
    }

    fn largest(&mut self, family: &FamilyStats) -> io::Result<()> {
        if !family.largest_values.is_empty() {
            self.heading("largest values")?;
            let mut grid = Grid::new(&[
                ("size", Align::Right),
                ("key", Align::Shorten),
                ("", Align::Left),
                ("level", Align::Right),
                ("file", Align::Right),
            ])
            .indent(2);
            for value in &family.largest_values {
                let state = if value.state == "visible" { "" } else { value.state };
                grid.row([
                    units::size(value.size),
                    value.key.clone(),
                    state.replace('_', " "),
                    value.level.map(|it| it.to_string()).unwrap_or_default(),
                    value.number.map(|it| format!("{it:06}")).unwrap_or_default(),
                ]);
            }
            grid.print(self.page)?;
        }
        if !family.most_versions.is_empty() {
            self.heading("keys with most entries")?;
            let mut grid =
                Grid::new(&[("entries", Align::Right), ("key", Align::Shorten)]).indent(2);
            for key in &family.most_versions {
                grid.row([units::count(key.versions), key.key.clone()]);
            }
            grid.print(self.page)?;
        }
        Ok(())
    }

    fn tombstones(&mut self, family: &FamilyStats) -> io::Result<()> {
        let tombstones = &family.tombstones;
        let count = family.totals.tombstone_entries.unwrap_or(0);
        let is_skipping = |it: &SkippedRangeReport| it.entries >= MIN_SKIPPED;
        if count == 0 && !tombstones.skipped_ranges.iter().any(is_skipping) {
            return Ok(());
        }
        let share = count as f64 / family.totals.entries.unwrap_or(1).max(1) as f64;
        let mut text = format!(
            "{}, {} of all entries",
            units::counted(count, "tombstone"),
            units::percent(share)
        );
        if let Some(sequence) = tombstones.oldest_seq {
            text.push_str(&format!("; oldest: sequence number {sequence}"));
        }
        if let Some(number) = tombstones.oldest_number {
            text.push_str(&format!(" in {number:06}"));
        }
        if let Some(time) = tombstones.oldest_before {
            text.push_str(&format!(", written {} or before", units::date(time)));
        }
        self.heading(&text)?;
        if self.sampled {
            return Ok(());
        }
        let skipped = tombstones.skipped_ranges.iter().filter(|it| is_skipping(it));
        if skipped.clone().next().is_some() {
            writeln!(self.page, "  most entries that a scan skips from one key to the next")?;
            let mut grid = Grid::new(&[
                ("entries", Align::Right),
                ("tombstones", Align::Right),
                ("from", Align::Shorten),
                ("to", Align::Shorten),
            ])
            .indent(4);
            for range in skipped {
                let to = range.to.clone().unwrap_or_else(|| "(end)".into());
                let (entries, of_them) =
                    (units::count(range.entries), units::count(range.tombstones));
                grid.row([entries, of_them, range.from.clone(), to]);
            }
            grid.print(self.page)?;
        }
        if !tombstones.dense_ranges.is_empty() {
            writeln!(self.page, "  ranges with most tombstones per entry")?;
            let mut grid = Grid::new(&[
                ("tombstones", Align::Right),
                ("share", Align::Right),
                ("from", Align::Shorten),
                ("to", Align::Shorten),
            ])
            .indent(4);
            for range in &tombstones.dense_ranges {
                let to = range.to.clone().unwrap_or_else(|| "(end)".into());
                let (count, share) =
                    (units::count(range.tombstones), units::percent(range.density));
                grid.row([count, share, range.from.clone(), to]);
            }
            grid.print(self.page)?;
        }
        Ok(())
    }

    fn range_tombstones(&mut self, family: &FamilyStats) -> io::Result<()> {
        let tombstones = &family.range_tombstones;
        if tombstones.count == 0 {
            return Ok(());
        }
        let listed = tombstones.listed.len() as u64;
        let mut text = units::counted(tombstones.count, "range tombstone");
        if listed < tombstones.count {
            text.push_str(&format!(", the first {}", units::count(listed)));
        }
        self.heading(&text)?;
        let mut grid = Grid::new(&[
            ("from", Align::Shorten),
            ("to", Align::Shorten),
            ("sequence number", Align::Right),
            ("level", Align::Right),
            ("file", Align::Right),
        ])
        .indent(2);
        for range in &tombstones.listed {
            grid.row([
                range.from.clone(),
                range.to.clone(),
                range.seq.to_string(),
                range.level.map(|it| it.to_string()).unwrap_or_default(),
                range.number.map(|it| format!("{it:06}")).unwrap_or_default(),
            ]);
        }
        grid.print(self.page)
    }

    fn prefixes(&mut self, prefixes: &PrefixReport) -> io::Result<()> {
        self.heading(&format!("by prefix: {}", units::counted(prefixes.all.groups, "group")))?;
        if prefixes.all.groups == 0 {
            return writeln!(self.page, "  no key contains the delimiter");
        }
        if !prefixes.exact {
            let text =
                "  approximate: small groups were dropped, and the keys are in a user-made order";
            self.page.styled_line(FAINT, text)?;
        }
        let mut grid = Grid::new(&[
            ("share", Align::Right),
            ("keys and values", Align::Right),
            ("as stored", Align::Right),
            ("entries", Align::Right),
            ("tombstones", Align::Right),
            ("prefix", Align::Shorten),
        ])
        .indent(2)
        .dispensable(&["tombstones", "entries", "as stored"]);
        add_groups(&mut grid, &prefixes.all, 0);
        grid.print(self.page)
    }
}

fn keys(family: &FamilyStats) -> Option<String> {
    let Some(keys) = family.keys.map(units::count) else {
        let is_counted = family.key_sizes.is_some();
        return is_counted.then(|| "unknown, as their order is".to_owned());
    };
    Some(match family.visible_keys {
        Some(visible) => format!("{keys}, {} of them visible", units::count(visible)),
        None => keys,
    })
}

fn entries(totals: &EntryTotals) -> Option<String> {
    let mut text = units::count(totals.entries?);
    let kinds = totals.entries_by_kind.iter().flatten();
    let kinds: Vec<_> = kinds
        .map(|(kind, count)| format!("{} {}", units::count(*count), kind.replace('_', " ")))
        .collect();
    if !kinds.is_empty() {
        text.push_str(&format!(": {}", kinds.join(", ")));
    }
    Some(text)
}

fn row(
    level: String,
    file: String,
    size: u64,
    totals: &EntryTotals,
    written: String,
) -> [String; 11] {
    let count = |number: Option<u64>| number.map(units::count).unwrap_or_default();
    let bytes = |number: Option<u64>| number.map(units::size).unwrap_or_default();
    [
        level,
        file,
        if size > 0 { units::size(size) } else { String::new() },
        count(totals.entries),
        count(totals.tombstone_entries.filter(|&it| it > 0)),
        bytes(totals.key_bytes),
        bytes(totals.value_bytes),
        bytes(Some(totals.stored_bytes).filter(|&it| it > 0)),
        totals.stored_share.map(units::percent).unwrap_or_default(),
        bytes(totals.garbage_bytes.filter(|&it| it > 0)),
        written,
    ]
}

/// Adds the groups below `group`, and what is in none of them.
fn add_groups(grid: &mut Grid, group: &PrefixGroup, depth: usize) {
    let indent = "  ".repeat(depth);
    for child in &group.children {
        grid.row(group_row(
            child.share,
            child.key_bytes + child.value_bytes,
            child.stored_bytes,
            child.entries,
            child.tombstones,
            format!("{indent}{}", child.prefix),
        ));
        add_groups(grid, child, depth + 1);
    }
    if let Some(others) = &group.others {
        grid.row(group_row(
            others.share,
            others.key_bytes + others.value_bytes,
            others.stored_bytes,
            others.entries,
            others.tombstones,
            format!("{indent}{}", others_name(others)),
        ));
    }
}

fn others_name(others: &OtherGroups) -> String {
    match others.groups {
        0 => "(keys in no group)".into(),
        groups => format!("({})", units::counted(groups, "more group")),
    }
}

fn group_row(
    share: f64,
    bytes: u64,
    stored: Option<u64>,
    entries: u64,
    tombstones: u64,
    prefix: String,
) -> [String; 6] {
    [
        units::percent(share),
        if bytes > 0 { units::size(bytes) } else { String::new() },
        stored.map(units::size).unwrap_or_default(),
        if entries > 0 { units::count(entries) } else { String::new() },
        if tombstones > 0 { units::count(tombstones) } else { String::new() },
        prefix,
    ]
}
