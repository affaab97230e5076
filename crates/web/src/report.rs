//! The pages as one file that needs no server: the same HTML and modules, with the data inside.

use std::collections::HashSet;
use std::io::{self, Write};

use sstkit_db::ColumnFamily;
use sstkit_inspect::{CurveKeys, FilterBits};

use crate::assets::{MODULE_PRELOAD, MODULES, SHELL, STYLE};
use crate::error::Result;
use crate::inspector::Inspector;
use crate::source::{InspectedSource, Opened};

/// What a report contains.
#[derive(Clone, Debug)]
pub struct ReportOptions {
    max_bytes: u64,
    verify: bool,
}

/// 64 MiB, and a verification.
impl Default for ReportOptions {
    fn default() -> Self {
        Self { max_bytes: 64 << 20, verify: true }
    }
}

impl ReportOptions {
    /// The most bytes of data; pages that do not fit are left out, except for the list of sources.
    #[must_use]
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Whether everything is verified, for the page about health.
    #[must_use]
    pub fn verify(mut self, verify: bool) -> Self {
        self.verify = verify;
        self
    }
}

/// What a report has become.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReportSummary {
    /// Pages and parts of pages in it.
    pub pages: u64,
    /// Those that did not fit.
    pub left_out: u64,
    /// Bytes of the file.
    pub bytes: u64,
}

/// The page that is always in a report: without it, no page is shown.
const INDEX: &str = "/index.json";

/// Blocks of each table whose bytes are in a report: the first data blocks, and all others up to that.
const BLOCKS_OF_TABLE: usize = 40;

/// Keys of a filter whose number of keys is not known, as the page requests its curves.
const UNKNOWN_KEYS: u64 = 1_000_000;

/// Parts of each filter whose bits are in a report.
const PARTS_OF_FILTER: u64 = 16;

/// Blocks of each table that are described, and how many at once, as the page of a table requests them.
const MAX_DETAILS: usize = 2_000;
const DETAILS: usize = 500;

/// Writes a report about all sources. `progress` is called with the address of each page before it is
/// made, and ends the report early by returning false.
///
/// # Errors
///
/// Fails if the report cannot be written, or was ended early.
pub fn write_report(
    inspector: &Inspector,
    out: &mut dyn Write,
    options: &ReportOptions,
    progress: &mut dyn FnMut(&str) -> bool,
) -> io::Result<ReportSummary> {
    let mut report = Report {
        inspector,
        out,
        options,
        progress,
        summary: ReportSummary::default(),
        added: HashSet::new(),
    };
    let nonce = nonce()?;
    let (head, tail) = shell(&nonce);
    report.write(head.as_bytes())?;
    report.pages()?;
    report.write(tail.as_bytes())?;
    Ok(report.summary)
}

struct Report<'r> {
    inspector: &'r Inspector,
    out: &'r mut dyn Write,
    options: &'r ReportOptions,
    progress: &'r mut dyn FnMut(&str) -> bool,
    summary: ReportSummary,
    /// The addresses so far.
    added: HashSet<String>,
}

impl Report<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.summary.bytes += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    /// All pages, the most important first: those at the end may not fit.
    fn pages(&mut self) -> io::Result<()> {
        self.write(b"{\"pages\":{")?;
        self.add(INDEX.into())?;
        let inspector = self.inspector;
        let sources: Vec<_> = inspector.sources().iter().map(InspectedSource::opened).collect();
        for (at, opened) in sources.iter().enumerate() {
            match &**opened {
                Opened::Table(_) => self.add_table(at, None, "")?,
                Opened::Database(database, _) => {
                    self.add(address(at, "budget", &[]))?;
                    for family in database.column_families() {
                        let cf = parameter_of(&family);
                        self.add(address(at, "database", &[("cf", &cf)]))?;
                        self.add(address(at, "history", &[("cf", &cf)]))?;
                        self.add_tails(
                            at,
                            &cf,
                            family.levels().iter().map(|it| it.files.len()).sum(),
                        )?;
                        self.add(address(at, "scan", &[("cf", &cf), ("encoding", "hex")]))?;
                    }
                }
                Opened::Failed(_) => {}
            }
        }
        for (at, opened) in sources.iter().enumerate() {
            if self.options.verify && !matches!(**opened, Opened::Failed(_)) {
                self.announce(&format!("/{at}/health.json"))?;
                // What it finds is on the page.
                let _ = inspector.verify(at, &mut |_| Ok(()));
            }
            self.add(address(at, "health", &[]))?;
            if let Opened::Database(database, _) = &**opened {
                for family in database.column_families() {
                    let cf = parameter_of(&family);
                    for level in family.levels() {
                        for file in &level.files {
                            self.add_table(at, Some(file.number()), &cf)?;
                        }
                    }
                }
            }
        }
        self.write(b"}}")
    }

    fn add_tails(&mut self, source: usize, cf: &str, files: usize) -> io::Result<()> {
        const TAILS: usize = 200;
        for from in (0..files.max(1)).step_by(TAILS) {
            let (from, limit) = (from.to_string(), TAILS.to_string());
            self.add(address(source, "files", &[("cf", cf), ("from", &from), ("limit", &limit)]))?;
        }
        Ok(())
    }

    /// A table: what it is, its blocks, its filter, and the bytes of its first blocks.
    fn add_table(&mut self, source: usize, number: Option<u64>, cf: &str) -> io::Result<()> {
        let file = number.map(|number| number.to_string()).unwrap_or_default();
        let of = |page, more: &[(&str, &str)]| {
            let mut parameters = vec![("file", &file[..])];
            parameters.extend_from_slice(more);
            address(source, page, &parameters)
        };
        self.add(of("table", &[]))?;
        self.add(of("blocks", &[]))?;
        self.add(of("filter", &[]))?;
        // As the page of the table links to it.
        self.add(of("scan", &[("cf", cf), ("encoding", "hex")]))?;
        let blocks = self.block_count(source, number);
        for from in (0..blocks.min(MAX_DETAILS)).step_by(DETAILS) {
            self.add(of(
                "details",
                &[("from", &from.to_string()), ("limit", &DETAILS.to_string())],
            ))?;
        }
        let (keys, filters, parts) = self.filter_extent(source, number);
        let (keys, filters) = (keys.to_string(), filters.map(|it| it.to_string()));
        let filters = filters.as_deref().unwrap_or_default();
        self.add(address(source, "whatif", &[("keys", &keys), ("filters", filters)]))?;
        for part in 1..parts.min(PARTS_OF_FILTER) {
            self.add(of("filter", &[("part", &part.to_string()), ("parts", "0")]))?;
        }
        for offset in self.block_offsets(source, number) {
            self.add(of("block", &[("offset", &offset.to_string())]))?;
        }
        Ok(())
    }

    fn block_count(&self, source: usize, number: Option<u64>) -> usize {
        let opened = self.inspector.sources()[source].opened();
        let list = opened.find_table("", number).and_then(|table| {
            self.inspector.block_lists.get((source, number), table.file(), &|| true)
        });
        list.map_or(0, |list| list.len())
    }

    /// The keys of a filter, and of a filter block the number of filters, as the page requests its curves;
    /// and the number of parts.
    fn filter_extent(&self, source: usize, number: Option<u64>) -> (u64, Option<u64>, u64) {
        let opened = self.inspector.sources()[source].opened();
        let bits = || {
            let table = opened.find_table("", number).ok()?;
            FilterBits::of("", table.file(), 0, 1).ok()?
        };
        let Some(bits) = bits() else { return (UNKNOWN_KEYS, None, 0) };
        let filters = (bits.layout == Some("block")).then_some(bits.filled_parts);
        // As JavaScript has the number, and as the server limits it.
        let keys = bits.report.keys.unwrap_or(UNKNOWN_KEYS).min(CurveKeys::MAX);
        (keys, filters, bits.part_count)
    }

    /// The offsets of the blocks whose bytes are in the report: the last ones, which are all but data
    /// blocks, and the first.
    fn block_offsets(&self, source: usize, number: Option<u64>) -> Vec<u64> {
        let opened = self.inspector.sources()[source].opened();
        let list = || -> Result<Vec<u64>> {
            let table = opened.find_table("", number)?;
            let list = self.inspector.block_lists.get((source, number), table.file(), &|| true)?;
            let half = BLOCKS_OF_TABLE / 2;
            let first = list.page("", table.file(), 0, half);
            let last = list.page("", table.file(), list.len().saturating_sub(half), half);
            let mut offsets: Vec<u64> =
                first.blocks.iter().chain(&last.blocks).map(|block| block.offset).collect();
            offsets.sort_unstable();
            offsets.dedup();
            Ok(offsets)
        };
        list().unwrap_or_default()
    }

    fn announce(&mut self, address: &str) -> io::Result<()> {
        match (self.progress)(address) {
            true => Ok(()),
            false => Err(io::ErrorKind::Interrupted.into()),
        }
    }

    /// Adds the JSON of an address, if it has any and it fits.
    fn add(&mut self, address: String) -> io::Result<()> {
        if !self.added.insert(address.clone()) {
            return Ok(());
        }
        self.announce(&address)?;
        // A page that cannot be made says so when it is opened: it is not in the report.
        let Ok(json) = self.inspector.json_at(&address) else { return Ok(()) };
        let json = escape_markup(&json);
        let is_index = address == INDEX;
        if self.summary.bytes + json.len() as u64 > self.options.max_bytes && !is_index {
            self.summary.left_out += 1;
            return Ok(());
        }
        let comma = if self.summary.pages > 0 { "," } else { "" };
        let name = serde_json::Value::String(address);
        self.write(escape_markup(format!("{comma}{name}:").as_bytes()).as_slice())?;
        self.write(&json)?;
        self.summary.pages += 1;
        Ok(())
    }
}

/// The name of a column family as the pages write it: the default one has none.
fn parameter_of(family: &ColumnFamily) -> String {
    match family.name() {
        "default" => String::new(),
        name => encode(name),
    }
}

/// An address as the pages write it: parameters by name, empty ones left out.
fn address(source: usize, page: &str, parameters: &[(&str, &str)]) -> String {
    let mut parameters: Vec<_> = parameters.iter().filter(|(_, value)| !value.is_empty()).collect();
    parameters.sort();
    let query: Vec<String> =
        parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
    match query.is_empty() {
        true => format!("/{source}/{page}.json"),
        false => format!("/{source}/{page}.json?{}", query.join("&")),
    }
}

/// Encodes a parameter as `URLSearchParams` does.
fn encode(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'*' | b'-' | b'.' | b'_' => {
                encoded.push(char::from(byte));
            }
            b' ' => encoded.push('+'),
            other => encoded.push_str(&format!("%{other:02X}")),
        }
    }
    encoded
}

/// JSON within HTML: `<` only occurs in texts, where an escape means the same.
fn escape_markup(json: &[u8]) -> Vec<u8> {
    let mut escaped = Vec::with_capacity(json.len());
    for &byte in json {
        match byte {
            b'<' => escaped.extend_from_slice(b"\\u003c"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// The HTML before and after the data. Only scripts with the nonce run, and texts in the data do not
/// know it.
fn shell(nonce: &str) -> (String, String) {
    let policy = format!(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; base-uri 'none'; \
         form-action 'none'\">"
    );
    let style = format!("<style nonce=\"{nonce}\">\n{}</style>", STYLE.text);
    // The modules are in the page itself.
    let lines = SHELL.lines().filter(|line| !line.starts_with(MODULE_PRELOAD));
    let html: String = lines.flat_map(|line| [line, "\n"]).collect();
    let html = html
        .replace("<link rel=\"icon\" href=\"/assets/icon.svg\">", &policy)
        .replace("<link rel=\"stylesheet\" href=\"/assets/style.css\">", &style);
    let script = "<script type=\"module\" src=\"/assets/app.js\"></script>";
    let (head, tail) = html.split_once(script).unwrap_or((&html, ""));
    let modules = join_modules();
    (
        format!("{head}<script type=\"application/json\" id=\"report-data\">"),
        format!("</script>\n<script type=\"module\" nonce=\"{nonce}\">\n{modules}</script>{tail}"),
    )
}

/// The modules as one: each is a function that returns what it exports.
fn join_modules() -> String {
    let mut joined = String::new();
    for module in MODULES {
        let mut names = Vec::new();
        let mut body = String::new();
        for line in module.text.lines() {
            let line = match line.strip_prefix("export ") {
                Some(rest) => {
                    names.extend(exported_name(rest));
                    rest.to_owned()
                }
                None => import_as_constants(line),
            };
            body.push_str(&line);
            body.push('\n');
        }
        let (variable, names) = (variable_of(module.name), names.join(", "));
        joined.push_str(&format!(
            "const {variable} = (() => {{\n{body}return {{ {names} }};\n}})();\n"
        ));
    }
    joined
}

/// `function h(` and the like: the name.
fn exported_name(declaration: &str) -> Option<&str> {
    let declaration = declaration.strip_prefix("async ").unwrap_or(declaration);
    let (_, rest) = declaration.split_once(' ')?;
    rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()
}

/// `import { h } from "./dom.js";` takes from the variable of that module.
fn import_as_constants(line: &str) -> String {
    let import = line.strip_prefix("import ").and_then(|it| it.split_once(" from \"./"));
    match import.and_then(|(names, path)| Some((names, path.strip_suffix("\";")?))) {
        Some((names, module)) => format!("const {names} = {};", variable_of(module)),
        None => line.to_owned(),
    }
}

fn variable_of(module: &str) -> String {
    format!("module_{}", module.trim_end_matches(".js"))
}

fn nonce() -> io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shell_has_everything_inside() {
        let (head, tail) = shell("abc");
        for text in [&head, &tail] {
            assert!(!text.contains("/assets/"), "{text:.200}");
        }
        assert!(head.contains("script-src 'nonce-abc'") && head.contains("<style nonce=\"abc\">"));
        assert!(tail.contains("<script type=\"module\" nonce=\"abc\">"));
        assert!(!join_modules().contains("\nimport ") && !join_modules().contains("\nexport "));
        assert!(!join_modules().contains("</script"));
    }

    #[test]
    fn modules_become_functions() {
        assert_eq!(
            import_as_constants("import { h, row } from \"./dom.js\";"),
            "const { h, row } = module_dom;"
        );
        assert_eq!(exported_name("async function tablePage({ root }) {"), Some("tablePage"));
        assert_eq!(exported_name("class Viewport {"), Some("Viewport"));
        assert_eq!(exported_name("const BLOCK_KINDS = {"), Some("BLOCK_KINDS"));
    }

    #[test]
    fn texts_cannot_end_the_data() {
        let json = escape_markup(br#"{"a":"</script><b>"}"#);
        assert_eq!(json, br#"{"a":"\u003c/script>\u003cb>"}"#);
        assert_eq!(encode("a b/<x>"), "a+b%2F%3Cx%3E");
        let of = address(0, "files", &[("limit", "2"), ("cf", ""), ("from", "0")]);
        assert_eq!(of, "/0/files.json?from=0&limit=2");
    }
}
