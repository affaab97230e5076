//! The report as text.

use std::fmt;
use std::io;
use std::path::Path;
use std::time::Duration;

use sstkit_inspect::{
    LossDescription, SalvageDescription, SalvagedFileDescription, WrittenDescription,
};

use crate::output::grid::shorten;
use crate::output::page::{BAD, FAINT, GOOD, HEADING};
use crate::output::{Align, Grid, Page, units};

/// Lines of a list that are printed; JSON has all.
const MAX_LINES: usize = 50;
/// The width of a key.
const KEY_WIDTH: usize = 64;

pub(super) fn print(
    page: &mut Page,
    description: &SalvageDescription,
    all_files: bool,
) -> io::Result<()> {
    print_totals(page, description)?;
    print_families(page, description)?;
    print_files(page, description, all_files)?;
    print_lost(page, description)?;
    let uncertain = description.uncertain.iter().map(|it| match &it.file {
        Some(file) => format!("{}: {}", name(description, file), it.message),
        None => it.message.clone(),
    });
    print_list(page, "uncertain", uncertain.collect())
}

fn print_totals(page: &mut Page, description: &SalvageDescription) -> io::Result<()> {
    let title = page.paint(HEADING, &description.path);
    let saved = units::counted(description.entries_saved, "entry");
    let bytes = units::size(description.bytes_lost);
    let lost = match (description.complete, description.entries_lost) {
        (true, _) => page.paint(GOOD, "nothing lost".to_owned()),
        (false, Some(lost)) => {
            page.paint(BAD, format!("{} lost ({bytes})", units::counted(lost, "entry")))
        }
        (false, None) => page.paint(BAD, format!("{bytes} with {} lost", Unknown(description))),
    };
    writeln!(page, "{title}: {}, {saved} saved, {lost}", description.kind)?;
    match (&description.output, &description.written) {
        (Some(output), Some(written)) => {
            let time = units::time(Duration::from_secs_f64(description.seconds));
            writeln!(page, "  written to {output}: {}, in {time}", Written(written))
        }
        _ => page.styled_line(FAINT, "  nothing was written: use -o OUT to save it"),
    }
}

/// A number of entries of which only the least is known, in words.
struct Unknown<'d>(&'d SalvageDescription);

impl fmt::Display for Unknown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.entries_lost_at_least {
            0 => f.write_str("an unknown number of entries"),
            least => write!(f, "at least {}", units::counted(least, "entry")),
        }
    }
}

/// What was written, in words.
struct Written<'w>(&'w WrittenDescription);

impl fmt::Display for Written<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(written) = self;
        f.write_str(&units::counted(written.tables, "table"))?;
        match (written.copied, written.tables - written.copied.min(written.tables)) {
            (0, _) => {}
            (_, 0) => f.write_str(" as before")?,
            (copied, new) => write!(f, " ({} as before, {} new)", copied, new)?,
        }
        if written.blob_files > 0 {
            write!(f, ", {}", units::counted(written.blob_files, "blob file"))?;
        }
        if written.merged > 0 {
            let merged = units::counted(written.merged, "table");
            write!(f, "; {merged} merged, since their order is not known")?;
        }
        for family in &written.reordered {
            write!(
                f,
                "; recorded levels of column family \"{family}\" contradict the sequence numbers: the \
                 larger numbers count"
            )?;
        }
        Ok(())
    }
}

fn print_families(page: &mut Page, description: &SalvageDescription) -> io::Result<()> {
    if description.column_families.len() < 2 {
        return Ok(());
    }
    writeln!(page)?;
    let mut grid = Grid::new(&[
        ("column family", Align::Shorten),
        ("tables", Align::Right),
        ("entries", Align::Right),
        ("comparator", Align::Shorten),
    ])
    .indent(2)
    .dispensable(&["comparator"]);
    for family in &description.column_families {
        grid.row([
            family.name.clone(),
            units::count(family.tables),
            units::count(family.entries_saved),
            family.comparator.clone(),
        ]);
    }
    grid.print(page)
}

fn print_files(
    page: &mut Page,
    description: &SalvageDescription,
    all_files: bool,
) -> io::Result<()> {
    let is_listed = |file: &&SalvagedFileDescription| all_files || file.outcome != "sound";
    let listed: Vec<_> = description.files.iter().filter(is_listed).collect();
    if !listed.is_empty() {
        writeln!(page)?;
    }
    let mut grid = Grid::new(&[
        ("file", Align::Path),
        ("size", Align::Right),
        ("outcome", Align::Left),
        ("saved", Align::Right),
        ("lost", Align::Right),
        ("note", Align::Shorten),
    ])
    .indent(2)
    .dispensable(&["note", "size"]);
    for file in &listed {
        let has_entries = matches!(file.kind, "table" | "log" | "blob-file")
            && !matches!(file.outcome, "obsolete" | "orphaned");
        let entries = |number: Option<u64>| match number {
            _ if !has_entries => String::new(),
            Some(number) => units::count(number),
            None => "?".into(),
        };
        grid.row([
            name(description, &file.file),
            units::size(file.size),
            file.outcome.into(),
            entries(Some(file.entries_saved)),
            entries(file.entries_lost),
            file.notes.join("; "),
        ]);
    }
    grid.print(page)?;
    let others = description.files.len() - listed.len();
    match (others, listed.len()) {
        (0, _) => Ok(()),
        (others, 0) => writeln!(page, "  {}: sound", units::counted(others as u64, "file")),
        (others, _) => writeln!(page, "  {}: sound", units::counted(others as u64, "other file")),
    }
}

/// What is lost, and what is rebuilt.
fn print_lost(page: &mut Page, description: &SalvageDescription) -> io::Result<()> {
    let (mut lost, mut rebuilt) = (Vec::new(), Vec::new());
    for file in &description.files {
        let name = name(description, &file.file);
        for loss in &file.losses {
            let line = format!("{name}: {}", LostPart(loss));
            if loss.has_entries { lost.push(line) } else { rebuilt.push(line) }
        }
        // Of a file that does not exist any more there are no parts.
        if file.outcome == "lost" && !file.losses.iter().any(|it| it.has_entries) {
            let range = Keys(file.smallest_key.as_deref(), file.largest_key.as_deref());
            lost.push(format!("{name}: all of it, {range}"));
        }
    }
    let of_values = description.lost_values.iter().map(|value| {
        let key = shorten(&value.key, KEY_WIDTH);
        let family = match value.column_family.as_str() {
            "default" => String::new(),
            family => format!(" of column family {family}"),
        };
        format!("{:06}.blob: the value of key {key}{family}: {}", value.blob_file, value.reason)
    });
    lost.extend(of_values);
    print_list(page, "lost", lost)?;
    print_list(page, "rebuilt", rebuilt)
}

/// A part of a file, in words.
struct LostPart<'l>(&'l LossDescription);

impl fmt::Display for LostPart<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(loss) = self;
        let bytes = units::counted(loss.length, "byte");
        match loss.block {
            Some(block) => write!(f, "{} block, {bytes} at offset {}", block, loss.offset)?,
            None => write!(f, "{bytes} at offset {}", loss.offset)?,
        }
        if loss.has_entries && (loss.after.is_some() || loss.before.is_some()) {
            write!(f, ", {}", Keys(loss.after.as_deref(), loss.before.as_deref()))?;
        }
        if let Some(writes) = loss.entries {
            write!(f, ", {} readable", units::counted(writes, "write"))?;
        }
        for (nth, unused) in loss.unused.iter().enumerate() {
            let before = if nth == 0 { " (" } else { "; " };
            let keys = Keys(unused.smallest_key.as_deref(), unused.largest_key.as_deref());
            let family = shorten(&unused.column_family, KEY_WIDTH);
            let writes = units::counted(unused.entries, "write");
            match (unused.column_family.as_str(), loss.unused.len()) {
                ("default", 1) => write!(f, "{before}{keys}")?,
                _ => write!(f, "{before}{writes} to {family}, {keys}")?,
            }
        }
        if !loss.unused.is_empty() {
            f.write_str(")")?;
        }
        // The message of an error names the place, too.
        let reason = loss.reason.split_once(" is corrupt: ").map_or(&*loss.reason, |it| it.1);
        write!(f, ": {reason}")
    }
}

/// Keys after one and before another, in words.
struct Keys<'k>(Option<&'k str>, Option<&'k str>);

impl fmt::Display for Keys<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = |key: &str| shorten(key, KEY_WIDTH);
        match (self.0.map(short), self.1.map(short)) {
            (Some(after), Some(before)) => write!(f, "keys from {after} to {before}"),
            (Some(after), None) => write!(f, "keys from {after} on"),
            (None, Some(before)) => write!(f, "keys up to {before}"),
            (None, None) => f.write_str("unknown keys"),
        }
    }
}

fn print_list(page: &mut Page, title: &'static str, lines: Vec<String>) -> io::Result<()> {
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(page)?;
    page.styled_line(HEADING, title)?;
    for line in lines.iter().take(MAX_LINES) {
        writeln!(page, "  {line}")?;
    }
    match lines.len().saturating_sub(MAX_LINES) {
        0 => Ok(()),
        more => writeln!(page, "  {} more: see --format json", units::count(more as u64)),
    }
}

/// The name of a file in the directory.
fn name(description: &SalvageDescription, file: &str) -> String {
    let below = Path::new(file).strip_prefix(&description.path).ok();
    let below = below.filter(|it| !it.as_os_str().is_empty());
    below.map_or_else(|| file.to_owned(), |it| it.display().to_string())
}
