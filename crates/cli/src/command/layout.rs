//! `sst layout`: lists the blocks of a table in file order.

use crate::remote::readable_path;
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use anyhow::Result;
use sstkit_inspect::{BlockDescription, BlockEntry, InspectedTable, blocks};

use crate::args::{PrintArgs, ReadArgs};
use crate::output::bar::{self, Part};
use crate::output::grid::shorten;
use crate::output::page::{BAD, FAINT, HEADING};
use crate::output::{Align, Grid, Page, units};
use crate::status::Status;
use crate::target::Target;

/// List every block of a table in file order
///
/// Prints kind, offset, length, compression, checksum and number of entries of each block, after a
/// bar that shows the share of each kind. With --blocks, the entries and restart points of each
/// block follow it. JSON has one object per block.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  sst layout 000011.sst
  sst layout --blocks 000011.sst | less
  sst layout --format json 000011.sst | jq 'select(.kind == \"data\") | .length'")]
pub(crate) struct Args {
    /// Table file
    #[arg(value_parser = readable_path())]
    file: PathBuf,

    /// Also print the entries and restart points of each block
    #[arg(long)]
    blocks: bool,

    #[command(flatten)]
    print: PrintArgs,

    #[command(flatten)]
    read: ReadArgs,
}

impl Args {
    pub(crate) fn run(self) -> Result<Status> {
        let path = Target::table(&self.file)?;
        let file = InspectedTable::open(&path, &self.read.table_options())?;
        let contents = self.blocks.then_some(self.print.encoding());
        let mut page = Page::stdout();
        let mut sound = true;
        if self.print.format.is_json() {
            for block in blocks(&file, contents)? {
                sound &= block.problem.is_none();
                page.json(&block)?;
            }
        } else {
            let name = path.display().to_string();
            let (mut shares, mut list) = (Shares::default(), BlockList::new(&name));
            for block in blocks(&file, None)? {
                sound &= block.problem.is_none();
                shares.add(&block);
                if !self.blocks {
                    list.add(&block);
                }
            }
            shares.print(&mut page, &name, file.table().size())?;
            if self.blocks {
                for block in blocks(&file, contents)? {
                    print_block(&mut page, &block)?;
                }
            } else {
                list.grid.print(&mut page)?;
            }
        }
        page.finish()?;
        Ok(Status::of(sound))
    }
}

/// The size of the trailer: codec and checksum.
const TRAILER: u64 = 5;

/// The share of each kind of block.
#[derive(Default)]
struct Shares {
    /// Bytes and blocks.
    kinds: BTreeMap<&'static str, (u64, u64)>,
    total: u64,
}

impl Shares {
    fn add(&mut self, block: &BlockDescription) {
        let trailer = if block.compression.is_some() { TRAILER } else { 0 };
        let (bytes, count) = self.kinds.entry(block.kind).or_default();
        *bytes += block.length + trailer;
        *count += 1;
        self.total += block.length + trailer;
    }

    /// Largest first.
    fn print(self, page: &mut Page, name: &str, file_size: u64) -> io::Result<()> {
        let part = |(kind, (size, count)): (&str, (u64, u64))| {
            let note =
                if kind == "footer" { String::new() } else { units::counted(count, "block") };
            Part { name: kind.replace('_', " "), size, note }
        };
        let mut parts: Vec<Part> = self.kinds.into_iter().map(part).collect();
        // Overlapping blocks in a damaged file leave no padding.
        if let Some(size) = file_size.checked_sub(self.total).filter(|&size| size > 0) {
            parts.push(Part { name: "padding".into(), size, note: String::new() });
        }
        parts.sort_by(|a, b| b.size.cmp(&a.size).then_with(|| a.name.cmp(&b.name)));
        let title = page.paint(HEADING, name);
        writeln!(page, "{title}  {}", units::size(file_size))?;
        bar::parts(page, &parts)?;
        writeln!(page)
    }
}

/// A row for each block.
struct BlockList {
    /// The file, with which messages begin.
    prefix: String,
    grid: Grid,
}

impl BlockList {
    fn new(name: &str) -> Self {
        let columns = [
            ("offset", Align::Right),
            ("length", Align::Right),
            ("kind", Align::Left),
            ("compression", Align::Left),
            ("uncompressed", Align::Right),
            ("checksum", Align::Left),
            ("entries", Align::Right),
            ("name", Align::Shorten),
        ];
        let grid = Grid::new(&columns).dispensable(&["uncompressed", "checksum", "compression"]);
        Self { prefix: format!("{name}: "), grid }
    }

    fn add(&mut self, block: &BlockDescription) {
        let note = match (&block.problem, &block.name) {
            (Some(problem), _) => {
                let message = &problem.message;
                message.strip_prefix(&self.prefix).unwrap_or(message).to_owned()
            }
            (None, name) => name.clone().unwrap_or_default(),
        };
        self.grid.row([
            block.offset.to_string(),
            block.length.to_string(),
            block.kind.replace('_', " "),
            block.compression.clone().unwrap_or_default(),
            block.uncompressed.map(|bytes| bytes.to_string()).unwrap_or_default(),
            block.checksum.clone().unwrap_or_default(),
            block.entries.map(units::count).unwrap_or_default(),
            note,
        ]);
    }
}

fn print_block(page: &mut Page, block: &BlockDescription) -> io::Result<()> {
    let mut title = format!(
        "{} at {}, {}",
        block.kind.replace('_', " "),
        block.offset,
        units::counted(block.length, "byte")
    );
    if let Some(name) = &block.name {
        title.push_str(&format!(", {name}"));
    }
    if let Some(codec) = block.compression.as_deref().filter(|&codec| codec != "none") {
        let from = block.uncompressed.map(|bytes| format!(" from {bytes}")).unwrap_or_default();
        title.push_str(&format!(", {codec}{from}"));
    }
    let title = page.width().map_or_else(|| title.clone(), |width| shorten(&title, width));
    page.styled_line(HEADING, title)?;
    if let Some(problem) = &block.problem {
        let message = page.paint(BAD, &problem.message);
        writeln!(page, "  {message}")?;
    }
    let Some(contents) = &block.contents else { return Ok(()) };
    contents.for_each(|entry| print_entry(page, &entry))?;
    let points: Vec<String> = contents.restart_points().map(|point| point.to_string()).collect();
    let points = format!("restart points: {}", points.join(" "));
    let points = page.paint(FAINT, points);
    writeln!(page, "  {points}")?;
    if contents.has_separated_values() {
        writeln!(page, "  values are stored after the keys")?;
    }
    if let Some(buckets) = contents.hash_index() {
        let buckets: Vec<String> = buckets.iter().map(|&bucket| bucket_name(bucket)).collect();
        writeln!(page, "  hash index: {}", buckets.join(" "))?;
    }
    Ok(())
}

/// A restart point, or the name of a special value.
fn bucket_name(bucket: u8) -> String {
    match bucket {
        254 => "!".into(),
        255 => ".".into(),
        restart => restart.to_string(),
    }
}

fn print_entry(page: &mut Page, entry: &BlockEntry) -> io::Result<()> {
    let restart = if entry.restart.is_some() { '*' } else { ' ' };
    let mut text = entry.key.clone();
    if let (Some(kind), Some(sequence)) = (entry.kind, entry.seq) {
        text.push_str(&format!(" {kind} {sequence}"));
    }
    if let Some(value) = &entry.value {
        text.push_str(&format!(" => {value}"));
    }
    if let Some([offset, size]) = entry.handle {
        text.push_str(&format!(" -> block at {offset}, {size} bytes"));
    }
    if let Some(first) = &entry.first_key {
        text.push_str(&format!(", first key {first}"));
    }
    let start = format!("  {:>6} {restart} ", entry.offset);
    if let Some(width) = page.width() {
        text = shorten(&text, width.saturating_sub(start.len()).max(1));
    }
    let start = page.paint(FAINT, start);
    writeln!(page, "{start}{text}")
}
