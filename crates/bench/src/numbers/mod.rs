//! Tables in documents, printed from recorded runs.
//!
//! ```text
//! docs/benchmarks/records/*.json ---> Comparisons --.     <!-- numbers: speed -->
//!          fuzz.json, salvage.json -> tables ------+-->   | scan | 4.0 (3.8 to 4.1) |
//!                                                         <!-- end of numbers -->
//! ```
//!
//! A document marks where a table goes; [`fill`] replaces what stands between the marks. A test keeps
//! the documents equal to the records, so no number is typed.

mod comparisons;
mod diff;
mod fields;
mod fuzzing;
mod goals;
mod inspector;
mod redesign;
mod refilter;
mod remote;
mod salvage;
mod serve;
mod speed;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use self::comparisons::Comparisons;

const START: &str = "<!-- numbers: ";
const START_END: &str = " -->\n";
const END: &str = "<!-- end of numbers -->";

/// Documents with numbers, from the root of the project.
pub const DOCUMENTS: [&str; 9] = [
    "README.md",
    "docs/benchmarks/diff.md",
    "docs/benchmarks/goals.md",
    "docs/benchmarks/inspector.md",
    "docs/benchmarks/redesign.md",
    "docs/benchmarks/refilter.md",
    "docs/benchmarks/remote.md",
    "docs/benchmarks/salvage.md",
    "docs/testing.md",
];

/// The records of a project.
#[derive(Debug)]
pub struct Records {
    /// Those of the last day with any.
    comparisons: Comparisons,
    /// Of the commit before the redesign of the read path, and of the first one after it.
    redesign: [Comparisons; 2],
    fuzzing: Value,
    /// `sst diff` beside `cat`.
    diffs: Vec<Value>,
    /// `sst refilter` beside `cp`.
    refilters: Vec<Value>,
    /// Scans of remote tables beside downloads.
    remotes: Vec<Value>,
    /// `sst serve` under load.
    serves: Vec<Value>,
    /// The inspector in a browser.
    inspectors: Vec<Value>,
    salvage: Value,
}

impl Records {
    /// Reads the records below the root of the project.
    pub fn read(root: &Path) -> Result<Self, Box<dyn Error>> {
        let folder = root.join("docs/benchmarks/records");
        let mut paths: Vec<PathBuf> = fs::read_dir(&folder)?
            .map(|entry| entry.map(|it| it.path()))
            .collect::<Result<_, _>>()?;
        paths.sort();
        let name = |path: &Path| path.file_name().map(|it| it.to_string_lossy().into_owned());
        let runs = |prefix| {
            let is_run = |name: String| name.starts_with(prefix) && name.ends_with(".json");
            let runs = paths.iter().filter(|path| name(path).is_some_and(is_run));
            runs.map(|path| json(path)).collect::<Result<Vec<_>, _>>()
        };
        let (compared, before) = (runs("compare-")?, runs("before-")?);
        let of_day = |day: Option<&Value>| {
            let of_day = compared.iter().filter(|run| Some(&run["date"]) == day);
            Comparisons::new(&of_day.cloned().collect::<Vec<_>>())
        };
        let day = |runs: &[Value]| runs.last().map(|run| run["date"].clone());
        Ok(Self {
            comparisons: of_day(day(&compared).as_ref())?,
            redesign: [Comparisons::new(&before)?, of_day(day(&before).as_ref())?],
            fuzzing: json(&folder.join("fuzz.json"))?,
            diffs: runs("diff-")?,
            refilters: runs("refilter-")?,
            remotes: runs("remote-")?,
            serves: runs("serve-")?,
            inspectors: runs("inspector-")?,
            salvage: json(&folder.join("salvage.json"))?,
        })
    }

    /// The table of that name.
    fn table(&self, name: &str) -> Result<String, Box<dyn Error>> {
        match name {
            "speed" => Ok(speed::table(&self.comparisons)),
            "goals" => Ok(goals::table(&self.comparisons)),
            "redesign" => Ok(redesign::table(&self.redesign)),
            "runs" => Ok(self.comparisons.runs()),
            "fuzzing" => fuzzing::table(&self.fuzzing),
            "diff" => diff::table(&self.diffs),
            "refilter" => refilter::table(&self.refilters),
            "remote" => remote::table(&self.remotes),
            "serve" => serve::table(&self.serves),
            "inspector" => inspector::table(&self.inspectors),
            "salvage" => salvage::table(&self.salvage),
            _ => Err(format!("there is no table \"{name}\"").into()),
        }
    }
}

fn json(path: &Path) -> Result<Value, Box<dyn Error>> {
    let text = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(serde_json::from_slice(&text).map_err(|error| format!("{}: {error}", path.display()))?)
}

/// The document with every table replaced.
pub fn fill(document: &str, records: &Records) -> Result<String, Box<dyn Error>> {
    let (mut filled, mut rest) = (String::new(), document);
    while let Some((before, after)) = rest.split_once(START) {
        let (name, after) = after.split_once(START_END).ok_or("a mark does not end its line")?;
        let (_, after) =
            after.split_once(END).ok_or_else(|| format!("table \"{name}\" has no end"))?;
        filled += &format!("{before}{START}{name}{START_END}\n{}\n{END}", records.table(name)?);
        rest = after;
    }
    Ok(filled + rest)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn records() -> Records {
        let fuzzing = json!({ "targets": { "block": { "executions": 1_234_567, "seconds": 60 } } });
        let none = Comparisons::default;
        Records {
            comparisons: none(),
            redesign: [none(), none()],
            fuzzing,
            diffs: Vec::new(),
            refilters: Vec::new(),
            remotes: Vec::new(),
            serves: Vec::new(),
            inspectors: Vec::new(),
            salvage: json!({}),
        }
    }

    #[test]
    fn text_between_the_marks_is_replaced() {
        let document = "a\n<!-- numbers: fuzzing -->\nold\n<!-- end of numbers -->\nb\n";
        let filled = fill(document, &records()).unwrap();
        assert!(filled.starts_with("a\n<!-- numbers: fuzzing -->\n\n| target |"), "{filled}");
        assert!(filled.contains("| `block` | 1,234,567 |"), "{filled}");
        assert!(filled.ends_with("\n<!-- end of numbers -->\nb\n"), "{filled}");
        assert!(!filled.contains("old"));
        assert_eq!(fill(&filled, &records()).unwrap(), filled);
    }

    #[test]
    fn marks_without_an_end_and_unknown_tables_are_errors() {
        for document in
            ["<!-- numbers: fuzzing -->\n", "<!-- numbers: no -->\n<!-- end of numbers -->"]
        {
            assert!(fill(document, &records()).is_err(), "{document}");
        }
    }
}
